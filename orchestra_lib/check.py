"""How it is told whether an answer solves its task: the kind of check and its parameters."""

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from orchestra_lib.errors import BadInput
from orchestra_lib.record import record


class CheckKind(StrEnum):
    """Who or what compares an answer with its reference."""

    EXACT = "exact"
    """The same text, but for case, punctuation, accents and a leading article."""
    NUMERIC = "numeric"
    """The same quantity."""
    LIST = "list"
    """The same items."""
    SYMBOLIC = "symbolic"
    """The same mathematical expression."""
    STATE = "state"
    """The database that a tool environment was left with; the environment tells."""
    MODEL = "model"
    """A language model as judge."""


@record
class Check:
    """One check. What is no parameter of its kind must be left out.

    `numeric`: `tolerance` is a share of the reference, `margin` a distance in its unit, and the wider one holds;
    without both the answer has to round to the reference as it is written. `unit` is what the reference is in where it
    does not say so. `list`: `ordered` items, and whether it needs `all` of them or `any`. `exact`: `choices` make it a
    question with options, A being the first. `model` names the judge. Raises `BadInput`.
    """

    kind: CheckKind
    tolerance: float | None = None
    margin: float | None = None
    unit: str | None = None
    ordered: bool = False
    need: Literal["all", "any"] = "all"
    choices: tuple[str, ...] = ()
    model: str | None = None

    def __post_init__(self) -> None:
        for name, kind in _OF.items():
            if getattr(self, name) != _UNSAID[name] and self.kind is not kind:
                raise BadInput(f"check {self.kind} has no {name}; it belongs to {kind}")
        for name in ("tolerance", "margin"):
            value: float | None = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise BadInput(f"check {name} = {value!r}; it is a number, 0 or more")
        if self.ordered and self.need == "any":
            raise BadInput("check list: any item is enough, so there is no order; leave ordered or need out")
        if len(self.choices) == 1 or len(self.choices) > 26 or not all(choice.strip() for choice in self.choices):
            raise BadInput("check choices: give 2 to 26 options, none of them empty")

    @property
    def needs_reference(self) -> bool:
        return self.kind not in (CheckKind.STATE, CheckKind.MODEL)


_OF: Mapping[str, CheckKind] = {
    "tolerance": CheckKind.NUMERIC,
    "margin": CheckKind.NUMERIC,
    "unit": CheckKind.NUMERIC,
    "ordered": CheckKind.LIST,
    "need": CheckKind.LIST,
    "choices": CheckKind.EXACT,
    "model": CheckKind.MODEL,
}
_UNSAID: Mapping[str, Any] = {
    "tolerance": None, "margin": None, "unit": None, "ordered": False, "need": "all", "choices": (), "model": None,
}  # fmt: skip
