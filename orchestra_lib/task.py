"""A task: the question, and how success would be checked."""

from orchestra_lib.errors import BadInput
from orchestra_lib.record import record

MAX_TASK_CHARS = 200_000


@record
class Task:
    """What the orchestrator is asked. `reference` is the expected answer where one is known.

    Raises `BadInput` for an empty text or one over 200,000 characters.
    """

    text: str
    id: str | None = None
    reference: str | None = None

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise BadInput("the task is empty; say what should be done")
        if len(self.text) > MAX_TASK_CHARS:
            raise BadInput(f"the task has {len(self.text):,} characters; the limit is {MAX_TASK_CHARS:,}")
