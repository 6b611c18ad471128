"""What somebody found of a run's outcome: a check, a model as judge, or a person."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta

from orchestra_lib.record import record


@record
class Grade:
    """One verdict on one run; the last one counts.

    `outcome` is None when the grader could not say: then the run is ungraded again. `by` names who graded:
    the name of a check (`exact`, `state`), `model:NAME` or `person:NAME`. `conditions` are the parts of a
    verdict that has several. `at` is aware UTC, anything else is a ValueError.
    """

    at: datetime
    by: str
    outcome: bool | None
    reason: str | None = None
    conditions: Mapping[str, bool | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.at.utcoffset() != timedelta(0):
            raise ValueError(f"at = {self.at.isoformat()} is not UTC")
