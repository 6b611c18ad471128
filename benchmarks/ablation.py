"""What each part of the reward, each filter and each departure is good for: GRPO without it, one at a time.

    python -m benchmarks.ablation --json                 # the table, from the runs that ship: no training
    python -m benchmarks.ablation --train                # makes the runs that are missing: about 30 CPU-s each
    python -m benchmarks.ablation --train --seeds 0 1 --variant "no gate" --folder DIR

Everything here is simulated. The reference is the paper's objective (arXiv 2511.21689, section 3.2) at the sizes of
`configs/tiny.toml`, cut to 30 steps of 12 groups; every variant differs from it in one thing, begins with the same warm
start and sees the same exercises. Trained policies sample at temperature 1 on 300 held-out markets of their seed.
Differences are taken market by market; their intervals of 95 % are by bootstrap over markets and say nothing of other
seeds, which `--json` has Student's intervals over. p is by sign flips, after Holm over the variants of a column.
`reward` is the mean preference reward, as the paper has it, where all variants of a seed are one group: no figure
outside of this table.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ablated import WARM, Ablated, keep, key_of, make, mean_excluded, place, read
from benchmarks.claims import note, parser
from benchmarks.learning import place as checkpoint
from orchestra_lib.errors import BadInput
from orchestra_lib.evaluation.intervals import Array, difference, holm
from orchestra_lib.interval import over_seeds
from orchestra_lib.paths import DATA
from orchestra_lib.training.steps import REASONS
from orchestra_lib.training.tiny.evaluation import Played, held_out, rewards_of
from orchestra_lib.training.tiny.market import AIMS, SEEN

FOLDER = DATA / "ablation"
STEPS, PROMPTS, MARKETS = 30, 12, 300
PAPER = (
    'grpo.loss="grpo"', "grpo.kl=0.0", 'grpo.malformed="mask"', 'grpo.no_answer="mask"', "grpo.min_std=0.1",
    "grpo.clip_low=0.2", "grpo.clip_high=0.2",
)  # fmt: skip
"""What takes the departures of `configs/tiny.toml` back; the optimiser and the sizes stay a laptop's."""


@dataclass(frozen=True)
class Variant:
    """What differs from the reference: a part of the reward, a filter of the loss, or a departure from the paper."""

    of: str
    sets: tuple[str, ...]
    base: tuple[str, ...] = PAPER


REFERENCE = "paper"
VARIANTS: Mapping[str, Variant] = {
    REFERENCE: Variant("reference", ()),
    "no outcome weight": Variant("reward", ('grpo.drop=["outcome"]',)),
    "no gate": Variant("reward", ("grpo.gate=false",)),
    "no cost": Variant("reward", ('grpo.drop=["cost"]',)),
    "no latency": Variant("reward", ('grpo.drop=["latency"]',)),
    "no tools": Variant("reward", ('grpo.drop=["tools"]',)),
    "all groups": Variant("filter", ("grpo.min_std=0.0",)),
    "malformed kept": Variant("filter", ('grpo.malformed="keep"',)),
    "no answer kept": Variant("filter", ('grpo.no_answer="keep"',)),
    "kl 0.02": Variant("departure", ("grpo.kl=0.02",)),
    "dapo": Variant("departure", ('grpo.loss="dapo"',)),
    "malformed unpaid": Variant("departure", ('grpo.malformed="penalise"',)),
    "as configured": Variant("departure", (), base=()),
    # Rollouts that are used once cannot be clipped: the ratio of the policies is 1.
    "used twice": Variant("departure", ("grpo.iterations=2",)),
    "twice, clip 0.28": Variant("departure", ("grpo.iterations=2", "grpo.clip_high=0.28")),
}
COLUMNS = (*(f"{aim} kept" for aim in AIMS), "accuracy", "malformed", "$ (cost)", "s (latency)", "reward")
SURE = 0.05


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--train", action="store_true", help="make the runs that are not there yet")
    options.add_argument("--folder", type=Path, default=FOLDER, help="where the runs are kept")
    options.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4], help="those with a warm start")
    options.add_argument("--variant", nargs="+", choices=VARIANTS, default=list(VARIANTS), help="only these")
    options.add_argument("--steps", type=int, default=STEPS)
    options.add_argument("--markets", type=int, default=MARKETS, help="held-out markets to measure each policy on")
    chosen = options.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    steps, markets = (2, 16) if chosen.quick else (chosen.steps, chosen.markets)
    names = list(dict.fromkeys([REFERENCE, *chosen.variant]))
    if chosen.train:
        train(chosen.folder, names, chosen.seeds, steps=steps, markets=markets)
    runs = stored(chosen.folder, names, chosen.seeds, steps=steps, markets=markets)
    seeds = sorted({seed for seed, of in runs.items() if {REFERENCE, WARM} <= of.keys()})
    if not seeds:
        raise SystemExit(f"{chosen.folder} has no runs of these settings; make them with --train")
    rows = compare({seed: runs[seed] for seed in seeds})
    if chosen.json:
        print(*map(json.dumps, rows), sep="\n")
    else:
        print(*_table(rows), sep="\n")


def sets_of(variant: Variant, steps: int) -> tuple[str, ...]:
    """All that stands over `configs/tiny.toml`."""
    return (*variant.base, *variant.sets, f"grpo.steps={steps}", f"grpo.prompts={PROMPTS}")


def train(folder: Path, names: Sequence[str], seeds: Sequence[int], *, steps: int, markets: int) -> None:
    """Make what is not there, a whole seed before the next, so that what is there can be compared."""
    for seed, name in product(seeds, (WARM, *names)):
        sets = () if name == WARM else sets_of(VARIANTS[name], steps)
        file = place(folder, name, seed)
        if file.is_file() and read(file).key == key_of(sets, markets):
            continue
        warm_start = checkpoint(DATA / "checkpoints", seed, "warm-start")
        run = make(name, seed, sets, warm_start, kind=SEEN, markets=markets)
        keep(run, file)
        note(f"seed {seed}, {name}: {run.step} steps, {run.cpu_s or 0:.0f} CPU s, kept in {file.name}")


def stored(
    folder: Path, names: Sequence[str], seeds: Sequence[int], *, steps: int, markets: int
) -> dict[int, dict[str, Ablated]]:
    """The runs of these settings that are there, by seed and variant. Raises `BadInput` for one of other settings."""
    found: dict[int, dict[str, Ablated]] = {}
    for seed, name in product(seeds, (WARM, *names)):
        file = place(folder, name, seed)
        if not file.is_file():
            continue
        run = read(file)
        if run.key != key_of(() if name == WARM else sets_of(VARIANTS[name], steps), markets):
            raise BadInput(
                f"{file} was made with {', '.join(run.sets)} and {len(run.played)} markets; ask for the same, name "
                "another --folder, or make it again with --train"
            )
        found.setdefault(seed, {})[name] = run
    return found


def compare(runs: Mapping[int, Mapping[str, Ablated]]) -> list[dict[str, Any]]:
    """A row for each variant: its figures, and by how much each is above the reference's, over the seeds it has."""
    values = {seed: _values(seed, of) for seed, of in runs.items()}
    rows = []
    for name in (WARM, *VARIANTS):
        seeds = sorted(seed for seed, of in values.items() if name in of)
        if not seeds:
            continue
        members = [runs[seed][name] for seed in seeds]
        mine, paper = ([values[seed][who] for seed in seeds] for who in (name, REFERENCE))
        rows.append({
            "simulated": True,
            "variant": name,
            "of": "start" if name == WARM else VARIANTS[name].of,
            "seeds": seeds,
            "steps": members[0].step,
            "markets": len(members[0].played),
            "cpu_s": None if name == WARM else sum(one.cpu_s or 0.0 for one in members) / len(members),
            "excluded": {reason: mean_excluded(members, reason) for reason in REASONS},
            "figures": {title: asdict(over_seeds([_mean(one[title]) for one in mine])) for title in COLUMNS},
            "above": {} if name == REFERENCE else {title: _above(mine, paper, title) for title in COLUMNS},
        })  # fmt: skip
    _adjust(rows)
    return rows


Values = Mapping[str, Array]
"""Of a policy, a column's title to the values of the markets that it is over, T×1."""


def _values(seed: int, runs: Mapping[str, Ablated]) -> dict[str, Values]:
    """What the variants of a seed did market by market; their rewards are compared with each other."""
    one = next(iter(runs.values()))
    rewards = rewards_of(held_out(one.kind, len(one.played), seed), {name: run.played for name, run in runs.items()})
    return {name: {**_columns(run.played), "reward": rewards[name][:, None]} for name, run in runs.items()}


def _columns(played: Sequence[Played]) -> Values:
    told = {
        **{f"{aim} kept": [one.complies for one in played if one.aim == aim] for aim in AIMS},
        "accuracy": [one.solved for one in played],
        "malformed": [one.malformed for one in played],
        "$ (cost)": [one.cost_usd for one in played if one.aim == "cost"],
        "s (latency)": [one.latency_s for one in played if one.aim == "latency"],
    }
    return {title: np.array(values, dtype=np.float64)[:, None] for title, values in told.items()}


def _mean(values_TS: Array) -> float:
    return float(values_TS.mean())


def _above(mine: Sequence[Values], paper: Sequence[Values], title: str) -> dict[str, Any]:
    """A difference on the same markets, with its intervals over markets and over seeds."""
    over_markets = difference(*(np.concatenate([one[title] for one in side]) for side in (mine, paper)))
    apart = [_mean(a[title]) - _mean(b[title]) for a, b in zip(mine, paper, strict=True)]
    return {"over markets": asdict(over_markets), "over seeds": asdict(over_seeds(apart))}


def _adjust(rows: Sequence[dict[str, Any]]) -> None:
    """Holm's p over all variants of a column; the warm start is no variant."""
    for title in COLUMNS:
        told = [row["above"][title]["over markets"] for row in rows if row["above"] and row["variant"] != WARM]
        for one, p in zip(told, holm([one["p"] for one in told]), strict=True):
            one["p_holm"] = p


def _table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    titles = (*COLUMNS, "out of the loss")
    lines = ["all simulated; figures of the warm start and of the reference, then how far each variant is above it"]
    lines.append(f"{'':10} {'':18}{'seeds':>6}" + "".join(f"{title:>17}" for title in titles))
    for row in rows:
        absolute = row["variant"] in (WARM, REFERENCE)
        cells = "".join(f"{_cell(row, title, absolute=absolute):>17}" for title in COLUMNS)
        shares = [share for share in row["excluded"].values() if share is not None]
        out = f"{sum(shares):.1%}" if shares else "—"
        lines.append(f"{row['of']:10} {row['variant']:18}{len(row['seeds']):>6}{cells}{out:>17}")
    lines.append(
        "± of differences: half the bootstrap interval of 95 % over markets, of these policies; other seeds may"
    )
    lines.append(f"differ (--json has their interval). * p after Holm below {SURE:g} over the variants of the column")
    return lines


def _cell(row: Mapping[str, Any], title: str, *, absolute: bool) -> str:
    if absolute:
        return f"{row['figures'][title]['mean']:.3g}"
    one = row["above"][title]["over markets"]
    return f"{one['mean']:+.3g} ±{(one['high'] - one['low']) / 2:.2g}{'*' if one['p_holm'] < SURE else ''}"


if __name__ == "__main__":
    main()
