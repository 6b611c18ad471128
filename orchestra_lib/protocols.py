"""The seams of the house: what a policy, a tool, a model, an embedder and an artefact store must do.

Rooms of floor 1 do not import each other; they are handed one of these.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from orchestra_lib.errors import Fault
from orchestra_lib.generation import ChatRequest, Completion, Delta, Generation
from orchestra_lib.pricing import Attempt
from orchestra_lib.record import record
from orchestra_lib.tool import ArtefactRef, File, ToolSpec
from orchestra_lib.trajectory import Call, Setting, Turn


@record
class Situation:
    """What a policy sees when it is its move: the setting, the turns so far, what is spent.

    `spent_usd` is None when a price or a usage is unknown.
    """

    setting: Setting
    turns: tuple[Turn, ...]
    spent_usd: float | None
    elapsed_s: float


@record
class PolicySpec:
    """A policy in a record and on a bill.

    `priced_as` names the price row of its own model, None when it uses none; the token bounds and
    `timeout_s` give the worst case of one generation.
    """

    name: str
    protocol: str = "chat"
    priced_as: str | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    timeout_s: float = 300.0


class Policy(Protocol):
    """Chooses the next action. `act` streams deltas and ends with exactly one `Generation`.

    Call ids are unique within the run. Raises `ProviderFault` or `WeightsFault` when its model
    cannot be reached.
    """

    @property
    def spec(self) -> PolicySpec: ...
    def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]: ...


@runtime_checkable
class ParticularPolicy(Policy, Protocol):
    """A policy that can only conduct some tools, such as one that was trained on them.

    `choose` names those of the tools at hand that it takes when nobody says which. `refusal` says why it cannot conduct
    these together, with the remedy; None when it can.
    """

    def choose(self, tools: Sequence[ToolSpec]) -> tuple[str, ...]: ...
    def refusal(self, tools: Sequence[ToolSpec]) -> str | None: ...


@runtime_checkable
class PreparedPolicy(Policy, Protocol):
    """A policy that has something to load before its first move, which is no part of a run's time.

    `prepare` returns when it is there, at once where it was there already. Raises `WeightsFault`, as `act` then does.
    """

    async def prepare(self) -> None: ...


def is_prepared(policy: Policy) -> TypeGuard[PreparedPolicy]:
    """What `isinstance` says of a policy, at a thirtieth of its cost: every run asks."""
    return hasattr(policy, "prepare")


@record
class ToolResult:
    """What a tool hands back. `attempts` are given by tools that pay for models or services.

    With a `fault` the call counts as failed: the world, and not the model, is to blame. An `answer`
    ends the episode with it; only tools whose very purpose is to answer give one.
    """

    text: str
    files: tuple[File, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    failed: bool = False
    fault: Fault | None = None
    answer: str | None = None


class Tool(Protocol):
    """Something the orchestrator can call. Arguments have passed the schema before `call` sees them.

    Raises `ModelMistake` for arguments that make no sense, `WorldFault` when the tool cannot
    work; any other exception is a bug and is reported to the model as a failed call.
    `release` frees what the tool keeps for a run; it is called once, also after a cancel.
    """

    @property
    def spec(self) -> ToolSpec: ...
    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult: ...
    async def release(self, run_id: str) -> None: ...


@runtime_checkable
class SituatedTool(Tool, Protocol):
    """A tool that works on the episode so far, and not on its arguments alone.

    The loop runs `call_in` in place of `call`. The same arguments mean new work in every turn, so a
    repeat is no loop. `spec_for` narrows the spec to what these arguments choose, for the budget.
    """

    def spec_for(self, arguments: Mapping[str, Any]) -> ToolSpec: ...
    async def call_in(self, situation: Situation, arguments: Mapping[str, Any]) -> ToolResult: ...


def is_situated(tool: Tool) -> TypeGuard[SituatedTool]:
    """What `isinstance` says of a tool, at a thirtieth of its cost: every run asks of every tool."""
    return hasattr(tool, "call_in")


@runtime_checkable
class Describable(Tool, Protocol):
    """A tool over a model, which can be offered by another description than its own: `described` is it by that one."""

    def described(self, description: str) -> "Tool": ...


@runtime_checkable
class Restorable(Tool, Protocol):
    """A tool that remembers earlier calls of its run, and can come to remember them in another run.

    Tools with the same `memory` are restored by one of them: `restore` is given the finished calls that the other run
    made of any of these, in the order in which they began, and does again what has to be done. It says in a few words
    what that was, for the record; nothing of it is billed. Raises `BadInput` when it cannot: the run does not start.
    """

    @property
    def memory(self) -> object: ...
    async def restore(self, run_id: str, calls: Sequence[Call]) -> str: ...


class ChatModel(Protocol):
    """A language model behind a chat API. `stream` yields deltas and ends with one `Completion`.

    `name` is the name that prices it. Raises `ProviderFault`; closing the iterator
    closes the connection.
    """

    @property
    def name(self) -> str: ...
    def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | Completion, None]: ...


class Embedder(Protocol):
    """Turns N texts into N unit vectors of D numbers, float32."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


class ArtefactStore(Protocol):
    """Keeps files apart from records, under their hash."""

    def put(self, file: File) -> ArtefactRef: ...
    def get(self, sha256: str) -> bytes: ...


class Recordings(Protocol):
    """Keeps answers under what was asked, both plain data. Raises `StoreFault`.

    `find` gives the answers in the order in which they were given, none for what was never asked;
    `keep` replaces them.
    """

    def find(self, asked: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]: ...
    def keep(self, asked: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> None: ...
