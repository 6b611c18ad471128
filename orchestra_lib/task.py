"""A task: the question, and how success would be checked."""

from collections.abc import Mapping
from typing import Any

from orchestra_lib.check import Check
from orchestra_lib.errors import BadInput
from orchestra_lib.record import record

MAX_TASK_CHARS = 200_000


@record
class Assigned:
    """What a run in a domain was to do, whole, so that it can be judged again when the files have changed.

    `assignment` is it as plain data, `world` the SHA-256 of the domain with its records. `user` names the model that
    plays the user; None is the user that answers by rules.
    """

    domain: str
    world: str
    assignment: Mapping[str, Any]
    user: str | None = None


@record
class Task:
    """What the orchestrator is asked. `reference` is the expected answer where one is known.

    `check` says how the two are compared; None with a reference leaves the choice to the grader.
    Raises `BadInput` for an empty text or one over 200,000 characters, and for a check that lacks its reference.
    """

    text: str
    id: str | None = None
    reference: str | None = None
    check: Check | None = None

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise BadInput("the task is empty; say what should be done")
        for what, text in (("task", self.text), ("reference", self.reference or "")):
            if len(text) > MAX_TASK_CHARS:
                raise BadInput(f"the {what} has {len(text):,} characters; the limit is {MAX_TASK_CHARS:,}")
        if self.reference is not None and not self.reference.strip():
            raise BadInput("the reference is empty; give the expected answer, or leave it out")
        if self.check is not None and self.check.needs_reference and self.reference is None:
            raise BadInput(f"check {self.check.kind} compares with a reference; give one with --reference")
