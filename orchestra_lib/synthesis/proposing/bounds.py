"""What a proposed domain may ask of this machine: records, lists and nested loops are bounded before anything runs."""

from collections.abc import Mapping
from typing import Any

from orchestra_lib.environment.operators import LOOPS
from orchestra_lib.errors import BadInput

MAX_RECORDS, MAX_LIST, MAX_LOOPS, MAX_LISTS = 300, 12, 3, 2
"""Records a table, items a drawn list, loops within loops of an expression, lists within lists of a plan."""

_LOOPS = frozenset((*LOOPS, "records", "for", "update", "drop"))


def bounded(data: Any) -> None:
    """Raise `BadInput` for loops that are nested deeper than any domain needs."""
    if _loops(data) > MAX_LOOPS:
        raise BadInput(f"an expression has more than {MAX_LOOPS} loops within each other; write it simpler")


def bounded_plan(plan: Mapping[str, Any]) -> None:
    """Raise `BadInput` for a plan of records that would draw without end, or far too much."""
    bounded(plan)
    for table in plan.get("tables") or ():
        count = table.get("count") if isinstance(table, Mapping) else None
        if not isinstance(count, int) or not 1 <= count <= MAX_RECORDS:
            raise BadInput(f"count {str(count)[:20]} of a table; draw 1 to {MAX_RECORDS} records")
    if _lists(plan) > MAX_LISTS:
        raise BadInput(f"a drawn list has more than {MAX_LISTS} lists within each other; write it flatter")


def _loops(part: Any) -> int:
    if isinstance(part, Mapping):
        return max(map(_loops, part.values()), default=0)
    if isinstance(part, list):
        own = bool(part) and isinstance(part[0], str) and part[0] in _LOOPS
        return max(map(_loops, part), default=0) + own
    return 0


def _lists(part: Any) -> int:
    """How deep drawn lists are nested. Raises `BadInput` for one whose length is no small number."""
    if isinstance(part, list):
        return max(map(_lists, part), default=0)
    if not isinstance(part, Mapping):
        return 0
    inside = max(map(_lists, part.values()), default=0)
    if "each" not in part:
        return inside
    ends = part.get("list")
    if not (isinstance(ends, list) and all(isinstance(end, int) and 0 <= end <= MAX_LIST for end in ends)):
        raise BadInput(f"a drawn list of {str(ends)[:40]} items; write two whole numbers up to {MAX_LIST}")
    return inside + 1
