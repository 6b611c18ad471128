"""The rules of an operation before a model reads them: what only tells is left out, what a record settles is settled.

Small models take a rule that holds for broken, most of all where it asks for a status; that is looked up here.
"""

import re
from collections.abc import Iterable, Sequence

from orchestra_lib.policy.conductor.desk.records import Known

_RESTRICTS = re.compile(
    r"\b(?:only|must|never|not|no|none|cannot|unless|until|within|at (?:most|least)|or (?:later|earlier)|is in status"
    r"|same)\b",
    re.IGNORECASE,
)
_STATUS = re.compile(
    r"(?:Only if the|The) (?P<one>\w+)(?:'s| is in) (?P<field>\w+)(?: is)?(?: one of)? (?P<values>[\w, ]+)\."
)


def restrictions(lines: Iterable[str]) -> tuple[str, ...]:
    """The lines of a policy that may forbid something; the others say what an operation does or costs."""
    return tuple(line for line in lines if _RESTRICTS.search(line))


def settled(rules: Sequence[str], concerned: Sequence[Known]) -> tuple[tuple[str, ...], str | None]:
    """The rules that the records leave open, and the first one that they show to be broken."""
    left: list[str] = []
    for rule in rules:
        match _holds(rule, concerned):
            case None:
                left.append(rule)
            case False:
                return (), rule
    return tuple(left), None


def _holds(rule: str, concerned: Sequence[Known]) -> bool | None:
    """Whether a field has one of the values that a rule asks for; None for rules of another kind."""
    asks = _STATUS.fullmatch(rule)
    if asks is None:
        return None
    record = next((one for one in concerned if one.key == f"{asks['one']}_id" and asks["field"] in one.fields), None)
    if record is None:
        return None
    return str(record.fields[asks["field"]]) in re.split(r",? or |, ", asks["values"])
