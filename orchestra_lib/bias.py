"""Statistics of bias: shares and indices with intervals, what follows a swap, collapse, and the Pareto front.

All arithmetic is on sums over tasks, so that a million calls cost no more than their sums. Runs of one task are alike,
so the task and not the call is what was drawn: every variance is that of a ratio of sums over tasks (Cochran, Sampling
Techniques, 3rd ed., 6.3 and 9A), and every interval is Wilson's for the number of independent calls that would have
that variance. Shares and indices are fractions; an index is a share less the share of the best choice. What cannot be
known from the data, such as an interval from one task, is NaN and never 0.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orchestra_lib.record import record

Floats = NDArray[np.float64]

Z95 = 1.959964
"""Half the width of a two-sided 95 % interval of the normal distribution, in standard deviations."""

OVER = 0.2
"""So far above the best choice's share a share is marked."""

LEAST_CALLS, LEAST_TASKS = 20, 5
"""Below these nothing is called a collapse: the interval alone would be too kind to so few."""

MOST = 0.6
"""Where nobody knows the best choice, a share whose interval lies above this is a collapse."""


@record
class Estimate:
    """A figure with its 95 % interval; None where it, or the interval, is unknown.

    `n` counts calls, `tasks` the tasks, or groups of tasks, over which the variance was taken.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    tasks: int = 0

    @property
    def excludes_zero(self) -> bool:
        """Whether the whole interval lies on one side of 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def ratio_variance(
    ratio: ArrayLike, yy: ArrayLike, yn: ArrayLike, n: ArrayLike, nn: ArrayLike, tasks: ArrayLike
) -> Floats:
    """The variance of Σy / Σn over tasks, from the sums Σy², Σyn, Σn, Σn²; NaN for fewer than two tasks."""
    r, yy, yn, n, nn, m = _floats(ratio, yy, yn, n, nn, tasks)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.maximum(yy - 2 * r * yn + r * r * nn, 0.0) / (n * n) * m / (m - 1)
    return np.where((m > 1) & (n > 0), spread, np.nan)


def wilson(share: ArrayLike, size: ArrayLike) -> tuple[Floats, Floats]:
    """Wilson's 95 % interval of a share of `size` independent draws, which need not be whole; NaN without any."""
    p, n = _floats(share, size)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 1 + Z95**2 / n
        middle = (p + Z95**2 / (2 * n)) / scale
        half = Z95 / scale * np.sqrt(p * (1 - p) / n + Z95**2 / (4 * n * n))
    known = n > 0
    low, high = np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0)
    return np.where(known, np.minimum(low, p), np.nan), np.where(known, np.maximum(high, p), np.nan)


def independent(share: ArrayLike, variance: ArrayLike, calls: ArrayLike, tasks: ArrayLike) -> Floats:
    """How many independent calls would have this variance of a share: at most the calls, at least one.

    Where no task differs from another the sums say nothing of the variance; then every task counts as one call.
    """
    p, v, n, m = _floats(share, variance, calls, tasks)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.clip(p * (1 - p) / v, 1.0, np.maximum(n, 1.0))
    return np.where(np.isnan(v), np.nan, np.where(v > 1e-15, size, m))


def shares(x: ArrayLike, xx: ArrayLike, xn: ArrayLike, n: ArrayLike, nn: ArrayLike, tasks: ArrayLike) -> list[Estimate]:
    """Shares Σx / Σn with intervals; `x` are the calls of a tool in a task and `n` all calls in it."""
    return _estimates(0.0, 1.0, x, xx, xn, n, nn, tasks)


def indices(
    d: ArrayLike, dd: ArrayLike, dn: ArrayLike, n: ArrayLike, nn: ArrayLike, tasks: ArrayLike
) -> list[Estimate]:
    """Indices Σd / Σn with intervals, from -1 to 1; `d` are calls less those that the best choice would have made."""
    return _estimates(-1.0, 1.0, d, dd, dn, n, nn, tasks)


def _estimates(low: float, high: float, *sums: ArrayLike) -> list[Estimate]:
    y, yy, yn, n, nn, m = _floats(*sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(n > 0, y / n, np.nan)
    variance = ratio_variance(value, yy, yn, n, nn, m)
    width = high - low
    placed = np.clip((value - low) / width, 0.0, 1.0)
    size = independent(placed, variance / width**2, n, m)
    ends = [low + width * end for end in wilson(placed, size)]
    return [
        Estimate(value=known(v), low=known(a), high=known(b), n=int(calls), tasks=int(tasks))
        for v, a, b, calls, tasks in zip(*np.atleast_1d(value, *ends, n, m), strict=True)
    ]


def followed(before: Sequence[int], after: Sequence[int], again: Sequence[int], heir: Sequence[int]) -> Estimate:
    """How many more choices went to the heir of a swapped property than without a swap would have gone there.

    One entry for each task, experts by number: who was chosen `before`, who `after` the swap, who `again` when the
    same offer was played anew, and the `heir`, who has now what the first choice had. -1 is no choice. A policy that
    follows nothing but the property moves by 1; one that does not see it, or draws by lot, by 0.
    """
    first, swapped, control, holder = (np.asarray(one, dtype=np.int64) for one in (before, after, again, heir))
    counts = (first >= 0) & (holder >= 0) & (holder != first)
    return paired((swapped == holder)[counts], (control == holder)[counts])


def paired(after: Sequence[bool] | NDArray[np.bool_], before: Sequence[bool] | NDArray[np.bool_]) -> Estimate:
    """How much more often something holds after than before, over pairs; unknown for none.

    The interval is Newcombe's for paired proportions (Statistics in Medicine 17, 1998, method 10): also where no pair
    differs it is only as wide as so many pairs leave it.
    """
    now, then = (np.asarray(one, dtype=bool) for one in (after, before))
    n = now.size
    if not n:
        return Estimate(value=None)
    p, q = now.mean(), then.mean()
    both, neither = int((now & then).sum()), int((~now & ~then).sum())
    gained, lost = int((now & ~then).sum()), int((~now & then).sum())
    (low, high), (least, most) = (tuple(float(end) for end in wilson(share, n)) for share in (p, q))
    shape = (both + gained) * (lost + neither) * (both + lost) * (gained + neither)
    cross = both * neither - gained * lost
    alike = 0.0 if not shape else (max(cross - n / 2, 0.0) if cross > 0 else cross) / np.sqrt(shape)

    def reach(one: float, other: float) -> float:
        return float(np.sqrt(max(one * one - 2 * alike * one * other + other * other, 0.0)))

    value = float(p - q)
    return Estimate(
        value=value,
        low=max(value - reach(p - low, most - q), -1.0),
        high=min(value + reach(high - p, q - least), 1.0),
        n=n,
        tasks=n,
    )


@record
class Alarm:
    """One expert has nearly all calls of an orchestrator. `best` is the best choice's share, None where unknown."""

    orchestrator: str
    model: str
    share: Estimate
    best: float | None
    choices: int


def collapse(
    orchestrator: str, by_model: Sequence[tuple[str, Estimate, float | None]], *, choices: int
) -> Alarm | None:
    """The alarm of an orchestrator, None where there is none, or too little to say so.

    Its most called expert has at least half of the calls and, by the whole interval, 20 points more than the best
    choice would give it; where the best choice is unknown, more than 60 %. `choices` is how many were on offer.
    """
    if choices < 2 or not by_model:
        return None
    model, share, best = max(by_model, key=lambda one: one[1].value or 0.0)
    if share.low is None or share.n < LEAST_CALLS or share.tasks < LEAST_TASKS or (share.value or 0.0) < 0.5:
        return None
    if share.low <= (MOST if best is None else best + OVER):
        return None
    return Alarm(orchestrator=orchestrator, model=model, share=share, best=best, choices=choices)


def mean_interval(mean: float, deviation: float | None, size: int) -> Estimate:
    """The mean of a positive quantity, such as a cost, with an interval that is even on a logarithmic axis."""
    if deviation is None or size < 2 or mean <= 0:
        return Estimate(value=mean, n=size)
    times = float(np.exp(Z95 * deviation / np.sqrt(size) / mean))
    return Estimate(value=mean, low=mean / times, high=mean * times, n=size)


def front(costs: Sequence[float | None], accuracies: Sequence[float | None]) -> list[int]:
    """Who is on the Pareto front, cheapest first: nobody is both as cheap and better, or as good and cheaper."""
    known_ = [(c, -a, at) for at, (c, a) in enumerate(zip(costs, accuracies, strict=True)) if None not in (c, a)]  # type: ignore[operator]  # None is left out
    kept: list[int] = []
    best = -np.inf
    for _, minus, at in sorted(known_):
        if -minus > best:
            kept.append(at)
            best = -minus
    return kept


@record
class Drift:
    """A share over the steps of a training run, and how far the last fifth of the steps lies above the first."""

    steps: tuple[int, ...]
    shares: tuple[Estimate, ...]
    change: Estimate


def drift(steps: Sequence[tuple[int, float | None, int]]) -> Drift:
    """From step, share and number of rollouts; a step of which no share is known is left out.

    The interval of a step counts its rollouts and not its calls; that of the change is Welch's over steps.
    """
    told = [(step, share, rollouts) for step, share, rollouts in steps if share is not None]
    values = np.array([share for _, share, _ in told], dtype=np.float64)
    ends = wilson(values, [rollouts for *_, rollouts in told])
    rows = zip(told, *ends, strict=True)
    shares_ = tuple(Estimate(value=one[1], low=known(a), high=known(b), n=one[2], tasks=one[2]) for one, a, b in rows)
    part = len(told) // 5
    change = Estimate(value=None, n=len(told))
    if part >= 2:
        first, last = values[:part], values[-part:]
        value = float(last.mean() - first.mean())
        half = Z95 * float(np.sqrt((first.var(ddof=1) + last.var(ddof=1)) / part))
        change = Estimate(value=value, low=value - half, high=value + half, n=len(told))
    return Drift(steps=tuple(step for step, *_ in told), shares=shares_, change=change)


def known(value: float) -> float | None:
    """The number, None for NaN."""
    return None if np.isnan(value) else float(value)


def _floats(*values: ArrayLike) -> tuple[Floats, ...]:
    return tuple(np.asarray(value, dtype=np.float64) for value in values)
