"""Whether a tiny policy learns whom to ask: over seeds and kinds of market, beside rules, warm start and oracle.

    python -m benchmarks.learning --json           # measures the shipped checkpoints
    python -m benchmarks.learning --train          # trains warm start and GRPO of every seed first: about an hour
    python -m benchmarks.learning --train grpo     # from the warm starts that are there
    python -m benchmarks.learning --keep           # also writes what the Training page shows of the shipped policy

Everything here is simulated. Learned policies sample at temperature 1, as in training. A seed is a warm start from
scratch, a GRPO run from it, and held-out markets of its own, which every contestant plays with the same lots. Figures
are means over seeds with Student's intervals of 95 %; a claim holds where the whole interval does, and ratios and
differences by their means. *Seen* markets are new draws of the kind that training drew from; of no other kind did it
see any. The strongest are those with the best mean chance over everything.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.claims import Claim, Rival, note, parser, show
from orchestra_lib.interval import Mean, over_seeds
from orchestra_lib.paths import DATA
from orchestra_lib.training.run_folder import EVALUATION
from orchestra_lib.training.tiny.evaluation import PolicyOf, compared, held_out, play_all, scripted, summary
from orchestra_lib.training.tiny.market import AIMS, DRAWS, SEEN

STAGES = ("warm-start", "grpo")
CONFIG = DATA.parent / "configs" / "tiny.toml"
Figures = dict[str, list[float]]
"""A figure's name to its value at each seed."""


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--train", nargs="*", choices=STAGES, help="train first, over what is there: all, or a stage")
    options.add_argument("--folder", type=Path, default=DATA / "checkpoints")
    options.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    options.add_argument("--markets", type=int, default=400, help="held-out markets of each kind")
    options.add_argument("--keep", action="store_true", help="write evaluation.json beside the policy that ships")
    chosen = options.parse_args()
    count = 8 if chosen.quick else chosen.markets
    seeds = chosen.seeds[:2] if chosen.quick else chosen.seeds
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for seed in seeds if chosen.train is not None else ():
        for stage in chosen.train or STAGES:
            TRAIN[stage](seed, chosen.folder)
    found = {kind: measured(kind, count, seeds, chosen.folder) for kind in DRAWS}
    if chosen.keep:
        keep(found, count, seeds, chosen.folder)
    if chosen.json:
        print(*map(json.dumps, _told(found)), sep="\n")
    else:
        print(*_table(found), sep="\n")
    show(claims(found, _cpu_minutes(seeds, chosen.folder)), as_json=chosen.json)


def place(folder: Path, seed: int, stage: str) -> Path:
    """Where a checkpoint stands: those of seed 0 under names that the Live page offers."""
    return folder / f"tiny-{stage}" if seed == 0 else folder / "seeds" / str(seed) / stage


def warm_start(seed: int, folder: Path) -> None:
    """A network from nothing to the habits of a prompted baseline."""
    import torch

    from orchestra_lib.training.tiny import warm_start as warm
    from orchestra_lib.training.tiny.network import new_network, save_network

    torch.set_num_threads(1)
    network = new_network(seed)
    cpu_s = warm.warm_start(network, seed=seed, on_step=lambda step, loss: _progress(seed, step, loss))
    steps = sum(stage.steps for stage in warm.STAGES)
    save_network(network, place(folder, seed, "warm-start"), _card("warm_start", seed, steps, cpu_s))


def grpo(seed: int, folder: Path) -> None:
    """The trainer's own run, from the warm start of the same seed."""
    import torch

    from orchestra_lib.training.running import train
    from orchestra_lib.training.settings import resolve
    from orchestra_lib.training.tiny.network import load_network, save_network

    torch.set_num_threads(1)
    first, last = place(folder, seed, "warm-start"), place(folder, seed, "grpo")
    with TemporaryDirectory() as output:
        run = Path(output) / "run"
        settings = resolve(
            CONFIG, [f"seed={seed}", f"policy.checkpoint={first}", f"output_dir={run}"], home=Path(output)
        )
        begun = time.process_time()
        done = train(settings)
        cpu_s = time.process_time() - begun
        save_network(load_network(run / "final"), last, _card("grpo", seed, done["step"], cpu_s))
        (last / "steps.jsonl").write_text((run / "steps.jsonl").read_text("utf-8"), "utf-8")
    note(f"seed {seed}: GRPO took {cpu_s:.0f} CPU s")


TRAIN = {"warm-start": warm_start, "grpo": grpo}


def _card(stage: str, seed: int, step: int, cpu_s: float) -> dict[str, object]:
    return {"stage": stage, "trained_on": "tiny", "step": step, "seed": seed, "cpu_s": round(cpu_s, 1)}


def _progress(seed: int, step: int, loss: float) -> None:
    if step % 100 == 0:
        note(f"seed {seed}: warm start step {step}, loss {loss:.3f}")


def measured(kind: str, count: int, seeds: Sequence[int], folder: Path) -> dict[str, Figures]:
    """Every contestant on the held-out markets of a kind: at each seed other markets and other learned policies."""
    rules = scripted()
    found: dict[str, Figures] = {}
    for seed in seeds:
        note(f"{kind} markets, seed {seed}")
        markets = held_out(kind, count, seed)
        policies = {**rules, **{_NAMES[stage]: _learned(place(folder, seed, stage), seed) for stage in STAGES}}
        with TemporaryDirectory() as artefacts:
            played = {name: asyncio.run(play_all(markets, one, Path(artefacts))) for name, one in policies.items()}
        reward = compared(markets, played)
        for name, rows in played.items():
            for figure, value in _flat(summary(rows), reward[name]).items():
                found.setdefault(name, {}).setdefault(figure, []).append(value)
    return found


_NAMES = {"warm-start": "warm start", "grpo": "trained"}


def _learned(folder: Path, seed: int) -> PolicyOf:
    from orchestra_lib.training.tiny.learned import learned
    from orchestra_lib.training.tiny.network import load_network

    return learned(load_network(folder).eval(), name=folder.name, seed=seed)


def _flat(figures: Mapping[str, Any], reward: Mean) -> dict[str, float]:
    flat = {"reward": reward.mean}
    for aim, told in figures.items():
        for name in ("accuracy", "compliance", "malformed"):
            flat[f"{aim} {name}"] = told[name].rate
        for name in ("strongest_share", "cost_usd", "latency_s"):
            flat[f"{aim} {name}"] = told[name].mean
    return flat


def claims(found: Mapping[str, Mapping[str, Figures]], grpo_minutes: Sequence[float]) -> list[Claim]:
    """What the issue asks of learning."""
    seen = found[SEEN]
    trained = seen["trained"]
    accuracies = zip(trained["all accuracy"], seen["warm start"]["all accuracy"], strict=True)
    gain = over_seeds([after - before for after, before in accuracies])
    made = [
        _claim(
            "accuracy on seen markets, less the warm start's", gain.mean, None, "at least 0", _end(gain, gain.low) >= 0
        ),
        _against("$ under a cost preference, beside the warm start's", seen, "cost cost_usd", most=0.6),
        _against("s under a latency preference, beside the warm start's", seen, "latency latency_s", most=0.6),
        _against("calls to a strongest expert, beside the warm start's", seen, "all strongest_share", most=2 / 3),
        _bound("CPU minutes of GRPO, slowest seed", max(grpo_minutes), 10.0),
    ]
    for kind in DRAWS:
        malformed = over_seeds(found[kind]["trained"]["all malformed"])
        made.append(_bound(f"malformed, {kind} markets", _end(malformed, malformed.high), 0.05))
    for kind in DRAWS:
        made += [_complies(found[kind], kind, aim) for aim in AIMS]
    for kind in DRAWS[1:]:
        for aim in AIMS:
            gap = fmean(trained[f"{aim} compliance"]) - fmean(found[kind]["trained"][f"{aim} compliance"])
            made.append(_bound(f"compliance lost from seen to {kind}, {aim} preference", gap, 0.05))
    reward, oracle = over_seeds(trained["reward"]), Rival(name="oracle", value=fmean(seen["oracle"]["reward"]))
    for name in (*_RULES, "warm start"):
        rival = Rival(name=name, value=fmean(seen[name]["reward"]))
        better = _end(reward, reward.low) > rival.value
        made.append(_claim("mean preference reward on seen markets", reward.mean, rival, "above the rival", better))
    made.append(_claim("the same, beside the oracle", reward.mean, oracle, None, None))
    own, mixed = over_seeds(trained["all accuracy"]), _mixed(seen, fmean(trained["all cost_usd"]))
    rival = Rival(name="always cheapest and strongest in turns", value=mixed)
    made.append(_claim("accuracy at its mean cost", own.mean, rival, "above the rival", _end(own, own.low) > mixed))
    return made


def keep(found: Mapping[str, Mapping[str, Figures]], count: int, seeds: Sequence[int], folder: Path) -> None:
    """Write it where the Training page looks, and how it was made. `changes` are of each seed to its own warm start."""
    changes = {kind: _changes(one["trained"], one["warm start"]) for kind, one in found.items()}
    figures = {kind: {name: _means(one) for name, one in by.items()} for kind, by in found.items()}
    command = f"python -m benchmarks.learning {' '.join(sys.argv[1:])}"
    made = {"command": command, "at": datetime.now(UTC).isoformat(timespec="seconds"), "commit": _commit()}
    told = {"simulated": True, "markets": count, "over": "seeds", "seeds": list(seeds), "made": made}
    text = json.dumps({**told, "figures": figures, "changes": changes}, indent=1)
    (place(folder, seeds[0], "grpo") / EVALUATION).write_text(text + "\n", "utf-8")


def _means(one: Figures) -> dict[str, Any]:
    return {figure: asdict(over_seeds(values)) for figure, values in one.items()}


def _changes(after: Figures, before: Figures) -> dict[str, Any]:
    """The ratio of each figure to that of the same seed before; none where one of those is 0."""
    pairs = {figure: list(zip(after[figure], before[figure], strict=True)) for figure in after}
    known = {figure: values for figure, values in pairs.items() if all(was for _, was in values)}
    return {figure: asdict(over_seeds([now / was for now, was in values])) for figure, values in known.items()}


def _commit() -> str | None:
    """The commit that is measured, None where there is no Git."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, cwd=DATA.parent, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _complies(contestants: Mapping[str, Figures], kind: str, aim: str) -> Claim:
    own = over_seeds(contestants["trained"][f"{aim} compliance"])
    rules = ", ".join(f"{name} {fmean(contestants[name][f'{aim} compliance']):.2f}" for name in (*_RULES, "oracle"))
    name = f"compliance, {aim} preference, {kind} markets ({rules})"
    return _claim(name, own.mean, None, "at least 0.85", _end(own, own.low) >= 0.85)


def _end(value: Mean, end: float | None) -> float:
    """The end of an interval, or the value where there is none."""
    return value.mean if end is None else end


_RULES = ("always strongest", "always cheapest", "random", "conductor")


def _mixed(seen: Mapping[str, Figures], cost_usd: float) -> float:
    """The accuracy of calling the cheapest and the strongest in turns, as often as gives this cost."""
    (low, cheap), (high, dear) = (
        (fmean(seen[name]["all cost_usd"]), fmean(seen[name]["all accuracy"]))
        for name in ("always cheapest", "always strongest")
    )
    return cheap + (dear - cheap) * (cost_usd - low) / (high - low)


def _against(name: str, seen: Mapping[str, Figures], figure: str, *, most: float) -> Claim:
    value = fmean(seen["trained"][figure])
    rival = Rival(name="warm start", value=fmean(seen["warm start"][figure]))
    return _claim(name, value, rival, f"ratio at most {most:.2f}", value / rival.value <= most)


def _bound(name: str, value: float, most: float) -> Claim:
    return _claim(name, value, None, f"at most {most:g}", value <= most)


def _claim(name: str, value: float, rival: Rival | None, target: str | None, holds: bool | None) -> Claim:
    ratio = None if rival is None or rival.value == 0 else value / rival.value
    return Claim(name=name, value=value, unit="", rival=rival, ratio=ratio, target=target, holds=holds)


def _cpu_minutes(seeds: Sequence[int], folder: Path) -> list[float]:
    cards = (place(folder, seed, "grpo") / "orchestra.json" for seed in seeds)
    return [json.loads(card.read_text("utf-8"))["cpu_s"] / 60 for card in cards]


def _told(found: Mapping[str, Mapping[str, Figures]]) -> list[dict[str, Any]]:
    return [
        {
            "simulated": True,
            "kind": kind,
            "contestant": name,
            "figures": _means(one),
        }
        for kind, contestants in found.items()
        for name, one in contestants.items()
    ]


_COLUMNS = {
    **{f"{aim} kept": f"{aim} compliance" for aim in AIMS},
    "accuracy": "all accuracy",
    "malformed": "all malformed",
    "strongest": "all strongest_share",
    "$ (cost)": "cost cost_usd",
    "s (latency)": "latency latency_s",
    "reward": "reward",
}


def _table(found: Mapping[str, Mapping[str, Figures]]) -> list[str]:
    lines = []
    for kind, contestants in found.items():
        lines.append(f"\n{kind + ' (simulated)':25}" + "".join(f"{title:>16}" for title in _COLUMNS))
        for name, one in contestants.items():
            cells = (_cell(over_seeds(one[figure])) for figure in _COLUMNS.values())
            lines.append(f"  {name:23}" + "".join(f"{cell:>16}" for cell in cells))
    return lines


def _cell(value: Mean) -> str:
    return f"{value.mean:.3g}" + ("" if value.high is None else f" ±{value.high - value.mean:.2g}")


if __name__ == "__main__":
    main()
