"""Means with intervals of 95 %: over many independent values, and over the few seeds of a training."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from orchestra_lib.record import record

_Z = 1.959963984540054
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""The 97.5th percentile of Student's distribution at 1, 2, … degrees of freedom."""


@record
class Mean:
    """A mean with its interval of 95 %, of `of` values; the ends are None of fewer than two."""

    mean: float
    low: float | None
    high: float | None
    of: int


def mean(values: Sequence[float]) -> Mean:
    """The mean of independent values, by the normal approximation."""
    return _around(values, _Z)


def over_seeds(values: Sequence[float]) -> Mean:
    """The mean with Student's interval; of more than ten values that of ten, which is wider."""
    return _around(values, _STUDENT[min(max(len(values), 2) - 2, len(_STUDENT) - 1)])


def _around(values: Sequence[float], quantile: float) -> Mean:
    middle = fmean(values)
    if len(values) < 2:
        return Mean(mean=middle, low=None, high=None, of=len(values))
    reach = quantile * stdev(values) / math.sqrt(len(values))
    return Mean(mean=middle, low=middle - reach, high=middle + reach, of=len(values))
