"""Units of measure, read and converted by pint; what stands in an answer reaches it only as plain unit names."""

import re
from functools import cache
from typing import TYPE_CHECKING

from orchestra_lib.errors import BadInput

if TYPE_CHECKING:
    from pint import Unit, UnitRegistry

_MAX_WORDS = 4
_ATOM = r"(?:square |cubic )?[A-Za-z°µμΩ]{1,24}(?:\^?-?[1-4])?"
_PLAIN = re.compile(rf"{_ATOM}(?:(?:\s?[*/·⋅]\s?|\sper\s|\s){_ATOM}){{0,3}}")
"""The exponents are single digits: an expression can be no power tower."""
_EVERYDAY = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "by",
        "for",
        "from",
        "he",
        "in",
        "is",
        "it",
        "me",
        "of",
        "on",
        "or",
        "per",
        "the",
        "to",
        "us",
        "was",
        "we",
        "with",
        "you",
    ]
)
"""Words that pint takes for units, such as `in`, but that end most sentences with a number."""


@cache
def _registry() -> "UnitRegistry[float]":
    from pint import UnitRegistry  # takes seconds to import, and most numbers have no unit

    return UnitRegistry(cache_folder=None)


@cache
def unit(text: str) -> "Unit | None":
    """The unit of this name; None for what is none."""
    from pint.errors import PintError

    name = text.strip(" .")
    if not _PLAIN.fullmatch(name):
        return None
    for spelt in (name, name.lower()):
        try:
            return _registry().parse_units(spelt)
        except (PintError, ValueError, TypeError, AttributeError, KeyError, OverflowError):
            continue
    return None


def known_unit(text: str) -> "Unit":
    """The unit of this name. Raises `BadInput` for what is none."""
    if (found := unit(text)) is None:
        raise BadInput(f"check unit = {text!r} is no unit of measure; write for example km/h, kg or square meters")
    return found


def leading_unit(after: str, like: "Unit") -> "tuple[Unit, str] | None":
    """The unit that a text begins with and its name, the longest first; None where none stands there.

    An everyday word counts only where it measures the same as `like`.
    """
    words = after.split()[:_MAX_WORDS]
    for count in range(len(words), 0, -1):
        name = " ".join(words[:count]).strip(".,;:!?()")
        found = unit(name) if name else None
        if found is None:
            continue
        if name.lower() in _EVERYDAY and not found.is_compatible_with(like):
            continue
        return found, name
    return None


def converted(value: float, given: "Unit", wanted: "Unit") -> float | None:
    """The value in another unit; None where the two measure different things."""
    if not given.is_compatible_with(wanted):
        return None
    return float(_registry().Quantity(value, given).to(wanted).magnitude)
