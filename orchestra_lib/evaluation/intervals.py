"""Means of runs with their intervals, the spread from seed to seed, and paired tests between two orchestrators.

Runs of one task hang together, so tasks and not runs are drawn: a bootstrap over tasks, each with all its runs. Values
of runs stand as T×S, a row a task and a column a seed, NaN where there is none. All lots are of a fixed seed: the same
runs give the same figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from orchestra_lib.calibration import share
from orchestra_lib.record import record

Array = NDArray[np.float64]
DRAWS, FLIPS = 4_000, 20_000
"""Samples of a bootstrap, and of a permutation test where there are too many signs to try them all."""
_ALL_SIGNS = 14
"""Up to so many tasks with a difference all 2^n signs are tried."""
_ENDS = (2.5, 97.5)
_CELLS = 2_000_000
"""So many lots are held in memory at once."""


@record
class Spread:
    """How the mean differs from seed to seed: its standard deviation, the least and the greatest of them."""

    sd: float
    least: float
    most: float
    seeds: int


@record
class Figure:
    """The mean over tasks of the mean over a task's runs, and its interval of 95 %.

    `of` runs have a value and `unknown` have none; those are in no mean. The ends are None of fewer than two tasks,
    `spread` of fewer than two seeds.
    """

    mean: float | None
    low: float | None
    high: float | None
    of: int
    unknown: int
    spread: Spread | None


@record
class Difference:
    """By how much A is above B on the `tasks` that both have a value for, with its interval of 95 %.

    `p` is that of a sign-flip test over tasks, `p_holm` the same after Holm over all pairs of the report.
    """

    tasks: int
    mean: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None = None


def figure(values_TS: Array, runs: int, *, shares: bool = False) -> Figure:
    """The mean of what `runs` runs came to; `shares` says that every value is 0 or 1.

    Where every task came to the same share a bootstrap sees no spread, and Wilson's interval over tasks stands instead.
    """
    known = int(np.isfinite(values_TS).sum())
    values_T = task_means(values_TS)
    if values_T.size == 0:
        return Figure(mean=None, low=None, high=None, of=0, unknown=runs, spread=None)
    low, high = _interval(values_T)
    mean = float(values_T.mean())
    if shares and low is not None and low == high and mean in (0.0, 1.0):
        wilson = share(round(mean * values_T.size), values_T.size)
        low, high = wilson.low, wilson.high
    return Figure(mean=mean, low=low, high=high, of=known, unknown=runs - known, spread=_spread(values_TS))


def mean_of_suites(suites: Sequence[Array], runs: int) -> Figure:
    """The mean over suites of each suite's own mean, every suite counting alike however many tasks it has.

    Tasks are drawn within their suite. A suite of which nothing is known leaves the mean unknown.
    """
    if len(suites) == 1:
        return figure(suites[0], runs)
    known = sum(int(np.isfinite(values_TS).sum()) for values_TS in suites)
    means = [task_means(values_TS) for values_TS in suites]
    if not means or any(values_T.size == 0 for values_T in means):
        return Figure(mean=None, low=None, high=None, of=known, unknown=runs - known, spread=None)
    low = high = None
    if all(values_T.size > 1 for values_T in means):
        dice = np.random.default_rng(0)
        low, high = _ends(np.mean([_drawn_means(values_T, dice) for values_T in means], axis=0))
    mean = float(np.mean([values_T.mean() for values_T in means]))
    return Figure(mean=mean, low=low, high=high, of=known, unknown=runs - known, spread=None)


def difference(a_TS: Array, b_TS: Array) -> Difference:
    """A less B on the same tasks, a row each."""
    with_both = np.isfinite(a_TS).any(axis=1) & np.isfinite(b_TS).any(axis=1)
    if not with_both.any():
        return Difference(tasks=0, mean=None, low=None, high=None, p=None)
    apart_T = task_means(a_TS[with_both]) - task_means(b_TS[with_both])
    low, high = _interval(apart_T)
    return Difference(tasks=apart_T.size, mean=float(apart_T.mean()), low=low, high=high, p=sign_flip(apart_T))


def task_means(values_TS: Array) -> Array:
    """The mean of each task that has a value, in order."""
    known_TS = np.isfinite(values_TS)
    counts_T = known_TS.sum(axis=1)
    sums_T = np.where(known_TS, values_TS, 0.0).sum(axis=1)
    return np.asarray(sums_T[counts_T > 0] / counts_T[counts_T > 0])


def sign_flip(apart_T: Array) -> float | None:
    """The two-sided p of no difference: each task's difference could as well have had the other sign.

    With a single run of each it is the exact test of McNemar. None of nothing.
    """
    if apart_T.size == 0:
        return None
    moved_N = apart_T[apart_T != 0]
    if moved_N.size == 0:
        return 1.0
    seen = abs(moved_N.sum()) * (1 - 1e-12)  # sums in another order are the same but for their last digit
    if moved_N.size <= _ALL_SIGNS:
        bits = np.arange(2**moved_N.size)[:, None] >> np.arange(moved_N.size) & 1
        return float((abs((1.0 - 2.0 * bits) @ moved_N) >= seen).mean())
    dice, above, left = np.random.default_rng(0), 0, FLIPS
    while left:
        rows = min(left, max(1, _CELLS // moved_N.size))
        signs = dice.integers(0, 2, size=(rows, moved_N.size), dtype=np.int8) * 2.0 - 1.0
        above += int((abs(signs @ moved_N) >= seen).sum())
        left -= rows
    return (above + 1) / (FLIPS + 1)


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """The p of several tests, each made fit to be looked at among the others."""
    known = sorted((p, at) for at, p in enumerate(ps) if p is not None)
    adjusted: list[float | None] = [None] * len(ps)
    least = 0.0
    for rank, (p, at) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - rank)))
        adjusted[at] = least
    return adjusted


def adjusted(tests: Sequence[Mapping[str, Difference]]) -> list[dict[str, Difference]]:
    """Differences by what they are of, each with Holm's p over all `tests` of the same."""
    ps = {what: holm([one[what].p for one in tests]) for what in (tests[0] if tests else ())}
    return [{what: replace(each, p_holm=ps[what][at]) for what, each in one.items()} for at, one in enumerate(tests)]


def _interval(values_T: Array) -> tuple[float | None, float | None]:
    """The percentiles of the means of tasks drawn with replacement."""
    if values_T.size < 2:
        return None, None
    if (values_T == values_T[0]).all():  # whoever is drawn, the mean is this
        return float(values_T[0]), float(values_T[0])
    return _ends(_drawn_means(values_T, np.random.default_rng(0)))


def _drawn_means(values_T: Array, dice: np.random.Generator) -> Array:
    """The means of as many tasks as there are, drawn with replacement, `DRAWS` times."""
    means, left = [], DRAWS
    while left:
        rows = min(left, max(1, _CELLS // values_T.size))
        means.append(values_T[dice.integers(0, values_T.size, size=(rows, values_T.size))].mean(axis=1))
        left -= rows
    return np.concatenate(means)


def _ends(means_N: Array) -> tuple[float, float]:
    low, high = np.percentile(means_N, _ENDS)
    return float(low), float(high)


def _spread(values_TS: Array) -> Spread | None:
    """Over the seeds that have any value, each by its own mean over tasks."""
    means = [float(column[known].mean()) for column in values_TS.T if (known := np.isfinite(column)).any()]
    if len(means) < 2:
        return None
    return Spread(sd=float(np.std(means, ddof=1)), least=min(means), most=max(means), seeds=len(means))
