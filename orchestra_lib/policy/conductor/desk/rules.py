"""Rules of an operation that the records alone can show to be broken: those that ask for a status.

The other rules no model here reads: asked whether a rule is broken, those of 0.5B and 1.5B named one each time, also
where all held (4 of 4 tries). Rules that an operation enforces it refuses by itself.
"""

import re
from collections.abc import Iterable, Sequence

from orchestra_lib.policy.conductor.desk.records import Known

_STATUS = re.compile(
    r"(?:Only if the|The) (?P<one>\w+)(?:'s| is in) (?P<field>\w+)(?: is)?(?: one of)? (?P<values>[\w, ]+)\."
)


def shown_broken(rules: Iterable[str], concerned: Sequence[Known]) -> str | None:
    """The first rule that the records show to be broken."""
    return next((rule for rule in rules if _holds(rule, concerned) is False), None)


def _holds(rule: str, concerned: Sequence[Known]) -> bool | None:
    """Whether a field has one of the values that a rule asks for; None for rules of another kind."""
    asks = _STATUS.fullmatch(rule)
    if asks is None:
        return None
    record = next((one for one in concerned if one.key == f"{asks['one']}_id" and asks["field"] in one.fields), None)
    if record is None:
        return None
    return str(record.fields[asks["field"]]) in re.split(r",? or |, ", asks["values"])
