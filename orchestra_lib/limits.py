"""What a run may use at most."""

from dataclasses import fields

from orchestra_lib.errors import BadInput
from orchestra_lib.record import record


@record
class Limits:
    """Limits of one run; None means no limit. Time is wall seconds from the start of the run.

    `tokens` counts input and output of every model on the bill. `call_timeout_s` caps the
    tools' own timeouts. Raises `BadInput` for a limit that is not above 0.
    """

    max_turns: int = 50
    cost_usd: float | None = None
    time_s: float | None = None
    tokens: int | None = None
    call_timeout_s: float = 300.0
    parallel_calls: int = 8

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value is not None and not value > 0:
                raise BadInput(f"limit {limit.name} = {value!r}; a limit is above 0")
