"""How long rewards take: many groups as arrays, beside a plain loop over the rollouts with the same arithmetic.

    python -m benchmarks.reward --json

100,000 made-up rollouts in groups of 8 with 12 tools, from counts, costs and seconds to rewards, advantages and what
is kept; CPU time of the whole process, the median of runs that take turns. Both must agree on every number. The loop
reads rows that are dicts, as a trainer would have them, and computes nothing that the arrays do not.
"""

import time
from collections.abc import Callable
from functools import partial
from statistics import fmean, median, stdev
from typing import Any

import numpy as np

from benchmarks.claims import Rival, claim, parser, show
from orchestra_lib.advantage import MIN_STD, advantages
from orchestra_lib.preference import Preference
from orchestra_lib.reward import Measures, Mode, rewards, weights_of
from orchestra_lib.reward_report import Rollout, reward_reports

GROUP, TOOLS = 8, 12
WISH = Preference(outcome=0.8, cost=0.6, latency=0.3, tools={"t0": 0.5, "t3": -0.4, "t7": 1.0})
NAMES = [f"t{at}" for at in range(TOOLS)]


def main() -> None:
    chosen = parser(__doc__).parse_args()
    many, repeats = (800, 1) if chosen.quick else (100_000, 5)
    measures = _made_up(many)
    answered = np.ones(many, bool)
    rows = _rows(measures)
    ours: dict[str, list[float]] = {"paper": [], "released_code": []}
    loop: list[float] = []
    for _ in range(repeats):
        for mode in Mode:
            took_s, found = _timed(partial(_arrays, measures, answered, mode))
            ours[mode].append(took_s)
            if mode is Mode.PAPER:
                arrays = found
        took_s, plain = _timed(lambda: _loop(rows))
        loop.append(took_s)
    for of_arrays, of_loop in zip(arrays, zip(*plain, strict=True), strict=True):
        np.testing.assert_allclose(of_arrays, of_loop, rtol=1e-9, atol=1e-12)
    few = min(many, 8_000)
    report_s, _ = _timed(lambda: reward_reports(_rollouts(measures, few), WISH))
    size = f"{many:,} rollouts in groups of {GROUP}, {TOOLS} tools"
    rival = Rival(name="a plain loop per rollout", value=median(loop))
    show(
        [
            claim(f"rewards and advantages of {size}", median(ours["paper"]), "CPU s", rival=rival, at_most=0.5),
            claim(f"the released code's of {size}", median(ours["released_code"]), "CPU s", at_most=0.5),
            claim("a report with every number", report_s / few * 1e6, "CPU µs per rollout"),
        ],
        as_json=chosen.json,
    )


def _made_up(many: int) -> Measures:
    random = np.random.default_rng(0)
    return Measures(
        count_T_N=random.poisson(0.7, (TOOLS, many)).astype(float),
        solved_N=random.random(many) < 0.6,
        cost_usd_N=random.lognormal(-4, 1, many),
        latency_s_N=random.lognormal(2, 1, many),
        group_N=np.arange(many) // GROUP,
    )


def _rows(measures: Measures) -> list[dict[str, Any]]:
    columns = (measures.count_T_N.T, measures.solved_N, measures.cost_usd_N, measures.latency_s_N)
    return [
        {"counts": counts, "solved": solved, "cost_usd": cost_usd, "latency_s": latency_s}
        for counts, solved, cost_usd, latency_s in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _rollouts(measures: Measures, few: int) -> list[Rollout]:
    return [
        Rollout(
            id=str(at), outcome=row["solved"], cost_usd=row["cost_usd"], latency_s=row["latency_s"],
            tool_counts=dict(zip(NAMES, map(int, row["counts"]), strict=True)), group=str(at // GROUP),
        )
        for at, row in enumerate(_rows(measures)[:few])
    ]  # fmt: skip


def _arrays(measures: Measures, answered: np.ndarray, mode: Mode) -> tuple[np.ndarray, ...]:
    found = rewards(measures, weights_of(WISH, NAMES), mode)
    compared = advantages(found.reward_N, answered, found.groups, mode)
    return found.reward_N, compared.advantage_N, compared.kept_N


def _loop(rows: list[dict[str, Any]]) -> list[tuple[float, float, bool]]:
    weights = weights_of(WISH, NAMES).tolist()
    signs = [-1 if weight < 0 else 1 for weight in weights[:TOOLS]]
    found = []
    for start in range(0, len(rows), GROUP):
        group = rows[start : start + GROUP]
        vectors = [_vector(row, signs) for row in group]
        low = [min(column) for column in zip(*vectors, strict=True)]
        high = [max(column) for column in zip(*vectors, strict=True)]
        scored = [
            _weighted(vector, low, high, weights) if row["solved"] else 0.0
            for row, vector in zip(group, vectors, strict=True)
        ]
        mean, std = fmean(scored), stdev(scored)
        found += [(value, (value - mean) / std if std else 0.0, std >= MIN_STD) for value in scored]
    return found


def _vector(row: dict[str, Any], signs: list[int]) -> list[float]:
    counts = [count * sign for count, sign in zip(row["counts"], signs, strict=True)]
    return [*counts, float(row["solved"]), -row["cost_usd"], -row["latency_s"]]


def _weighted(vector: list[float], low: list[float], high: list[float], weights: list[float]) -> float:
    total = 0.0
    for value, least, most, weight in zip(vector, low, high, weights, strict=True):
        if most > least:
            total += abs(weight) * (value - least) / (most - least)
    return total


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.process_time()
    found = work()
    return time.process_time() - begun, found


if __name__ == "__main__":
    main()
