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
    line = " ".join(text[: 4 * _SHOWN].split())
    cut = len(line) > _SHOWN or len(text) > 4 * _SHOWN
    return f"“{line[: _SHOWN - 1] + '…' if cut else line}”"
