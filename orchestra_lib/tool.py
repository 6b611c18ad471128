"""Tools as the orchestrator sees them, the calls it makes, and what comes back."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from orchestra_lib.errors import BadInput
from orchestra_lib.json_writing import spoken
from orchestra_lib.record import record

PAYEES = ("orchestrator", "judge")
"""Names that stand for themselves on every bill; a tool under one of them would hide what it costs."""

ASK_USER = "ask_user"
"""The tool that speaks with the user: its one argument is the `message`, its observation the reply."""

RECORDED = "recorded:"
"""Begins the name by which a recorded model is asked for, and the one that prices it: no bill passes it off as new."""

_MAX_DEPTH = 100
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME = 64


class ToolKind(StrEnum):
    """What a tool is in the method's own terms; the pages give each kind a colour, an icon and a lane."""

    BASIC = "basic"
    SPECIALIST = "specialist"
    GENERALIST = "generalist"
    DOMAIN = "domain"


@record
class ToolSpec:
    """One tool behind the one JSON schema: name, description, parameters, and what a call may cost.

    `parameters` is a JSON schema of type object. `model` names the price row of a model
    behind the tool; None means that the tool's own name is priced. Where a call chooses among
    several models, `models` names their rows instead; `parts` names the rows that every call pays
    besides (a retriever, an interpreter). `max_input_tokens`, `max_output_tokens` and `timeout_s`
    bound a call's worst case. `observation_chars` is where a result is cut for the record, None for the
    loop's own cap. `typical_latency_s` is a measured or published median, None when nobody measured it.
    `simulated` marks a tool whose answers come from a stated profile and not from the thing it names.
    `source` is where a user's own function was loaded from, as `path/file.py:function`. `parallel` is how many
    calls of this tool a run makes at once, None for as many as the run may. `third_party` names the MCP
    server whose tool it is: what it says of itself is that server's word, and what it is asked goes there.
    """

    name: str
    title: str
    description: str
    parameters: Mapping[str, Any]
    kind: ToolKind = ToolKind.BASIC
    model: str | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    timeout_s: float = 120.0
    typical_latency_s: float | None = None
    simulated: bool = False
    models: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    observation_chars: int | None = None
    source: str | None = None
    parallel: int | None = None
    third_party: str | None = None

    def __post_init__(self) -> None:
        if self.name in PAYEES:
            raise BadInput(f"a tool cannot be named {self.name!r}, the bill uses that name; give it another")

    @property
    def priced_as(self) -> str:
        """The name to look up in a price table."""
        return self.model or self.name

    @property
    def choices(self) -> tuple[str, ...]:
        """The names of which a call pays one."""
        return self.models or (self.priced_as,)

    @property
    def priced_names(self) -> tuple[str, ...]:
        """Every name that a call may have to pay."""
        return (*self.choices, *self.parts)

    @property
    def states_its_time(self) -> bool:
        """Whether the seconds on its bill stand for what a call takes: it answers at once and says how long that is."""
        return self.simulated or self.priced_as.startswith(RECORDED)


@record
class ToolCall:
    """A call as the model proposed it.

    `arguments` is None when `arguments_text` is not a JSON object, or one nested more than 100 deep,
    which no record can hold; the text is always kept. `recovered` says how the call was read when the
    strict way failed.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any] | None
    arguments_text: str
    recovered: str | None = None

    def __post_init__(self) -> None:
        if is_too_deep(self.arguments):
            object.__setattr__(self, "arguments", None)

    @classmethod
    def of(cls, call_id: str, tool: str, arguments: Mapping[str, Any]) -> "ToolCall":
        """A call whose arguments are known to be an object."""
        return cls(id=call_id, tool=tool, arguments=arguments, arguments_text=spoken(arguments))


def is_too_deep(value: object) -> bool:
    """Whether plain data is nested more than 100 deep, which no record can hold."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [part for value in level for part in _parts(value)]
        if not level:
            return False
    return True


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


class CallStatus(StrEnum):
    """How a call ended; each has one meaning."""

    OK = "ok"
    ERROR = "error"
    """The tool ran and failed, or could not be reached."""
    REJECTED = "rejected"
    """Never run: unknown tool, bad arguments, a limit, or a repeat."""
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


@record
class ArtefactRef:
    """A file that a call produced, kept apart under its hash."""

    sha256: str
    media_type: str
    size_bytes: int
    name: str


@record
class Observation:
    """What the model reads after a call: exactly one per call id.

    `text` may be cut to the model's cap; then `full` holds all of it. Times are
    seconds since the run started, by a monotonic clock.
    """

    call_id: str
    status: CallStatus
    text: str
    artefacts: tuple[ArtefactRef, ...] = ()
    full: ArtefactRef | None = None
    started_s: float
    finished_s: float

    @property
    def latency_s(self) -> float:
        return self.finished_s - self.started_s


@record
class File:
    """A file that a tool hands over: its name, media type and content."""

    name: str
    media_type: str
    data: bytes = field(repr=False)


def wire_name(text: str, gap: str = "-") -> str:
    """A text as the name of a tool: servers take letters, digits, '_' and '-' only, and 64 of them at most."""
    return _NO_NAME.sub(gap, text)[:_MAX_NAME]
