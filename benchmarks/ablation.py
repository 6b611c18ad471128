"""What each part of the reward, each filter and each departure is good for: GRPO without it, one at a time.

    python -m benchmarks.ablation --json                 # the table, from the runs that ship: no training
    python -m benchmarks.ablation --train                # makes the runs that are missing: about 30 CPU-s each
    python -m benchmarks.ablation --train --seeds 0 1 --variant "no gate" --folder DIR

Everything here is simulated. The reference is the paper's objective (arXiv 2511.21689, section 3.2) at the sizes of
`configs/tiny.toml`, cut to 30 steps of 12 groups; every variant differs from it in one thing, begins with the same warm
start and sees the same exercises. Trained policies sample at temperature 1 on 300 held-out markets of their seed.
Differences are taken seed by seed; intervals are Student's of 95 % over seeds, for no more than one comparison at a
time. `reward` is the mean preference reward, as the paper has it, where all variants of a seed are one group; that of a
variant is so no figure outside of this table.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.ablated import WARM, Ablated, keep, key_of, make, mean_excluded, place, read
from benchmarks.claims import note, parser
from benchmarks.learning import flat
from benchmarks.learning import place as checkpoint
from orchestra_lib.errors import BadInput
from orchestra_lib.interval import Mean, over_seeds
from orchestra_lib.paths import DATA
from orchestra_lib.training.steps import REASONS
from orchestra_lib.training.tiny.evaluation import compared, held_out, summary
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
COLUMNS = {
    **{f"{aim} kept": f"{aim} compliance" for aim in AIMS},
    "accuracy": "all accuracy",
    "malformed": "all malformed",
    "$ (cost)": "cost cost_usd",
    "s (latency)": "latency latency_s",
    "reward": "reward",
}

Figures = dict[str, dict[str, float]]
"""Of each variant of a seed, a figure's name to its value."""


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
    figures = {seed: _figures(seed, of) for seed, of in runs.items()}
    rows = []
    for name in (WARM, *VARIANTS):
        mine = {seed: of[name] for seed, of in figures.items() if name in of}
        if not mine:
            continue
        members = [runs[seed][name] for seed in mine]
        differences = {} if name == REFERENCE else {
            title: over_seeds([one[figure] - figures[seed][REFERENCE][figure] for seed, one in mine.items()])
            for title, figure in COLUMNS.items()
        }  # fmt: skip
        rows.append({
            "simulated": True,
            "variant": name,
            "of": "start" if name == WARM else VARIANTS[name].of,
            "seeds": sorted(mine),
            "steps": members[0].step,
            "markets": len(members[0].played),
            "cpu_s": None if name == WARM else sum(one.cpu_s or 0.0 for one in members) / len(members),
            "excluded": {reason: mean_excluded(members, reason) for reason in REASONS},
            "figures": {title: asdict(over_seeds([one[at] for one in mine.values()])) for title, at in COLUMNS.items()},
            "above the paper's": {title: asdict(one) for title, one in differences.items()},
        })  # fmt: skip
    return rows


def _figures(seed: int, runs: Mapping[str, Ablated]) -> Figures:
    """Every figure of the variants of a seed, whose rewards are compared with each other."""
    one = next(iter(runs.values()))
    markets = held_out(one.kind, len(one.played), seed)
    reward = compared(markets, {name: run.played for name, run in runs.items()})
    return {name: flat(summary(run.played), reward[name]) for name, run in runs.items()}


def _table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    titles = (*COLUMNS, "out of the loss")
    lines = ["all simulated; figures of the warm start and of the reference, then how far each variant is above it"]
    lines.append(f"{'':10} {'':18}{'seeds':>6}" + "".join(f"{title:>17}" for title in titles))
    for row in rows:
        absolute = row["variant"] in (WARM, REFERENCE)
        figures = {title: Mean(**one) for title, one in row["figures" if absolute else "above the paper's"].items()}
        shares = [share for share in row["excluded"].values() if share is not None]
        cells = "".join(f"{_cell(figures[title], signed=not absolute):>17}" for title in COLUMNS)
        out = f"{sum(shares):.1%}" if shares else "—"
        lines.append(f"{row['of']:10} {row['variant']:18}{len(row['seeds']):>6}{cells}{out:>17}")
    lines.append("* Student's interval of 95 % over seeds leaves 0 out; of so many comparisons some do by chance")
    return lines


def _cell(value: Mean, *, signed: bool) -> str:
    words = f"{value.mean:{'+' if signed else ''}.3g}"
    if value.low is None or value.high is None:
        return words
    apart = signed and (value.low > 0 or value.high < 0)
    return f"{words} ±{value.high - value.mean:.2g}{'*' if apart else ''}"


if __name__ == "__main__":
    main()
