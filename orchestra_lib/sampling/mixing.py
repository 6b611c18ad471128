"""In which numbers kinds of cases are mixed, and in which order they come; exact and by seed."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import floor
from random import Random
from typing import TypeVar

from orchestra_lib.errors import BadInput

T = TypeVar("T")


def largest_remainder(total: int, shares: Mapping[str, Fraction]) -> dict[str, int]:
    """Whole numbers that sum to `total` and differ from their exact share by less than one.

    What is left after rounding down goes to the largest remainders, and of equal ones to the first named. Raises
    `BadInput` for shares that do not sum to 1, or of which one is below 0.
    """
    if sum(shares.values()) != 1 or any(share < 0 for share in shares.values()):
        told = ", ".join(f"{name} {float(share):g}" for name, share in shares.items())
        raise BadInput(f"shares lie between 0 and 1 and sum to 1; these are {told}")
    exact = {name: total * share for name, share in shares.items()}
    counts = {name: floor(part) for name, part in exact.items()}
    left = total - sum(counts.values())
    for name in sorted(shares, key=lambda name: counts[name] - exact[name])[:left]:
        counts[name] += 1
    return counts


def share_of(text: str, what: str) -> Fraction:
    """A share as a person writes it, `0.25` or `1/4`, exactly. Raises `BadInput` outside of 0 to 1."""
    try:
        share = Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise BadInput(f"{what} {text!r} is no share; write 0.25 or 1/4") from None
    if not 0 <= share <= 1:
        raise BadInput(f"{what} {text!r} lies outside of 0 to 1")
    return share


def taken(draw: Random, items: Sequence[T], count: int) -> Iterator[T]:
    """So many of the items, each as often as every other or once more, shuffled anew in every round."""
    rounds = 0
    while rounds * len(items) < count:
        shuffled = draw.sample(list(items), min(len(items), count - rounds * len(items)))
        yield from shuffled
        rounds += 1
