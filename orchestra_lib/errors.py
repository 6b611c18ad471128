"""The tree of errors, and `Fault`: the world's failure kept as a value.

Three failures have three fates. A `ModelMistake` becomes a tool message that the
model reads and that costs a turn. A `WorldFault` is recorded on the trajectory as
a `Fault`; siblings go on and no reward is given. Everything else is a bug of ours
and is raised at once. `BadInput` is the person's: one clear line, exit code 2.

    OrchestraError
    ├── BadInput
    │   └── NewerSchema        a record that only a newer workbench can read
    ├── ModelMistake
    └── WorldFault
        ├── ProviderFault      an endpoint is down, slow or lies
        │   └── ContextOverflow    the conversation is longer than the model takes
        ├── SandboxFault       no isolation can be had, or it broke
        ├── WeightsFault       weights missing, half or corrupted
        ├── ServerFault        an MCP server is gone, slow or lies
        ├── StoreFault         disk full, file locked, journal unreadable
        └── WorkerFault        a process of the engine ended again and again
"""

from typing import Any

from orchestra_lib.record import record


class OrchestraError(Exception):
    """Root of every error that this library raises on purpose."""


class BadInput(OrchestraError):
    """A value that a person gave cannot be used; the message names it and the remedy."""


class NewerSchema(BadInput):
    """A record was written by a newer workbench; nothing is wrong with it, the remedy is to update."""


class ModelMistake(OrchestraError):
    """The model asked for something impossible; the message is written for the model to read."""


class WorldFault(OrchestraError):
    """Something outside the episode failed; `kind` names it in one word for records and counts."""

    kind = "world"


class ProviderFault(WorldFault):
    """A model endpoint refused, broke off, timed out or answered nonsense.

    `attempts` are the tries that were made (`pricing.Attempt`), so that the bill can show them.
    """

    kind = "provider"

    def __init__(self, message: str, attempts: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.attempts = attempts


class ContextOverflow(ProviderFault):
    """The conversation, with room for a reply, is longer than the model takes; the same request fails again."""

    kind = "context_overflow"


class SandboxFault(WorldFault):
    """Isolation for model-written code is missing or broke."""

    kind = "sandbox"


class WeightsFault(WorldFault):
    """Model weights are not here yet, or failed their hash."""

    kind = "weights"


class ServerFault(WorldFault):
    """An MCP server cannot be reached, broke off, or is not what it was when its tools were added."""

    kind = "mcp"


class StoreFault(WorldFault):
    """The journal or the query store could not be read or written."""

    kind = "store"


class WorkerFault(WorldFault):
    """A worker of the engine ended in the middle of the same work as often as that is tried, or could not start."""

    kind = "worker"


@record
class Fault:
    """A `WorldFault` as it stands in a record. `where` is a tool name, `orchestrator` or `run`."""

    where: str
    kind: str
    message: str

    @classmethod
    def of(cls, error: WorldFault, *, where: str) -> "Fault":
        return cls(where=where, kind=error.kind, message=str(error))


def first_line(error: Exception) -> str:
    """What a foreign library's error says first; more of it is for that library's users."""
    return str(error).strip().partition("\n")[0]
