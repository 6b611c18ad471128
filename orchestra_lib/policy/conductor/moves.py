"""What the conductor decided in one turn, before it becomes a `Generation`."""

from collections.abc import Mapping
from typing import Any

from orchestra_lib.generation import Estimate
from orchestra_lib.record import record


@record
class Move:
    """Calls of one tool with their arguments, or an answer; `why` is shown."""

    why: str
    tool: str | None = None
    arguments: tuple[Mapping[str, Any], ...] = ()
    answer: str | None = None
    estimates: tuple[Estimate, ...] = ()
