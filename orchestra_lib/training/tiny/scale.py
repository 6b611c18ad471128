"""The two scales of the tiny policy: 24 steps of price and of time, each step dearer or slower by a fixed factor.

A call of step n costs 0.00004 x 1.35^n USD (up to 0.04) and takes 0.2 x 1.25^n s (up to 34), each rounded to the two
digits in which descriptions tell it. What lies outside is read as the nearest end.
"""

import math

STEPS = 24
_FIRST_USD, _DEARER = 4e-5, 1.35
_FIRST_S, _SLOWER = 0.2, 1.25


def _two_digits(value: float) -> float:
    return float(f"{value:.2g}")


PRICES_USD = tuple(_two_digits(_FIRST_USD * _DEARER**n) for n in range(STEPS))
SECONDS = tuple(_two_digits(_FIRST_S * _SLOWER**n) for n in range(STEPS))


def price_step(usd: float) -> int:
    """The step nearest to a price of a call in USD."""
    return _nearest(usd, _FIRST_USD, _DEARER)


def time_step(seconds: float) -> int:
    """The step nearest to a duration in seconds."""
    return _nearest(seconds, _FIRST_S, _SLOWER)


def _nearest(value: float, first: float, factor: float) -> int:
    if value <= 0:
        return 0
    return max(0, min(STEPS - 1, round(math.log(value / first) / math.log(factor))))
