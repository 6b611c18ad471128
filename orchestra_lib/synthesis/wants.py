"""What a user of a drawn task wants, as the planner means it before there are words for it."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from orchestra_lib.environment.assignment import Information
from orchestra_lib.environment.schema import Rule
from orchestra_lib.record import record
from orchestra_lib.synthesis.lexicon import Mention, Payment


class Aim(StrEnum):
    """What is asked: do something, say what it would come to, say a field, count, add up, subtract, count days."""

    DO = "do"
    WHAT_IF = "what_if"
    FIELD = "field"
    COUNT = "count"
    SUM = "sum"
    DIFFERENCE = "difference"
    DAYS = "days"


class Outcome(StrEnum):
    """What becomes of it under the policy."""

    DONE = "done"
    REFUSED = "refused"
    UNMET = "unmet"
    ANSWERED = "answered"


@record
class Condition:
    """Do it only if a quantity of the operation is at least (else: less than) a threshold."""

    path: str
    at_least: bool
    threshold: float

    def holds(self, value: float) -> bool:
        """Whether a value meets it."""
        return (value >= self.threshold) is self.at_least


@record
class Want:
    """One request. `mentions` says how each record is spoken of; `tell` are quantities that the user asks for too.

    `table`, `field` and `where` belong to questions about records; `rule` is the one that stands against it.
    """

    aim: Aim
    operation: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    mentions: Mapping[str, Mention] = field(default_factory=dict)
    payment: Payment | None = None
    condition: Condition | None = None
    tell: tuple[str, ...] = ()
    outcome: Outcome = Outcome.DONE
    rule: Rule | None = None
    table: str = ""
    field: str = ""
    where: tuple[str, str] | None = None
    answers: tuple[Information, ...] = ()


class Rejected(Exception):
    """A candidate that cannot become a task; the text is the reason that the report counts."""
