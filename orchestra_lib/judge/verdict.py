"""What a grader says of one answer."""

from collections.abc import Mapping
from dataclasses import field

from orchestra_lib.record import record


@record
class Verdict:
    """Solved, not solved, or None when the grader cannot say; `reason` names what was compared with what."""

    outcome: bool | None
    reason: str
    conditions: Mapping[str, bool | None] = field(default_factory=dict)


_SHOWN = 120


def shown(text: str) -> str:
    """A text within a reason: on one line, cut, in quotes."""
    line = " ".join(text.split())
    return f"“{line if len(line) <= _SHOWN else line[: _SHOWN - 1] + '…'}”"
