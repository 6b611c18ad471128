"""A conversation in OpenAI's form as a trajectory: every message of the model is a turn.

What stands before the first of them is the task; what a user says later stays in the record's `conversation`, where
every message is kept as it was. Ids of calls that are missing are made; a result without an id answers the first
call that waits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any

from orchestra_lib.errors import BadInput
from orchestra_lib.generation import Generation
from orchestra_lib.importing.fields import Object, as_object, content_text, objects, reasoning_text, text
from orchestra_lib.json_text import decode
from orchestra_lib.json_writing import spoken
from orchestra_lib.limits import Limits
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import Attempt, PriceTable, Usage
from orchestra_lib.record import record
from orchestra_lib.task import Task
from orchestra_lib.tool import CallStatus, Observation, ToolCall, ToolSpec, is_too_deep
from orchestra_lib.trajectory import Call, Setting, StopReason, Trajectory, Turn

UNKNOWN_MODEL = "unknown"
"""Who conducted, where a file does not say."""
_HEAD = ("system", "developer", "user")
_ROLES = (*_HEAD, "assistant", "tool", "function")
_NO_RESULT = "No result: the imported conversation has none."


@record
class Move:
    """What a source tells of one message of the model beside its words. Times are seconds from the start."""

    started_s: float
    generated_s: float
    attempts: tuple[Attempt, ...]


@record
class Result:
    """What a source tells of one call beside the text that came back."""

    started_s: float
    finished_s: float
    status: CallStatus
    attempts: tuple[Attempt, ...]


@record
class Source:
    """A conversation with what else is known of it. `moves` and `results` go by the place of a message.

    `head` is how many messages are the prompt, None for those before the model's first. `task` replaces the text of
    the user's messages there.
    """

    run_id: str
    origin: str
    started_at: datetime
    messages: Sequence[Object]
    tools: tuple[ToolSpec, ...] = ()
    model: str = UNKNOWN_MODEL
    timed: bool = False
    head: int | None = None
    task: str | None = None
    task_id: str | None = None
    reference: str | None = None
    moves: Mapping[int, Move] = field(default_factory=dict)
    results: Mapping[int, Result] = field(default_factory=dict)
    group: str | None = None


def trajectory_of(source: Source) -> Trajectory:
    """The trajectory of a conversation, ended: answered where the model has the last word, else cancelled.

    Costs are unknown but where the source reports them. Raises `BadInput` naming the message and what is wrong.
    """
    said = [_checked(message, place) for place, message in enumerate(source.messages)]
    if is_too_deep(said):
        raise BadInput("the messages are nested more than 100 deep, which no record can hold")
    head = source.head
    if head is None:
        head = next((place for place, one in enumerate(said) if one["role"] not in _HEAD), len(said))
    reader = _Reader(source)
    for place in range(head, len(said)):
        reader.read(place, said[place])
    return reader.trajectory(_task(source, said[:head]))


def tool_specs(tools: Sequence[Object]) -> tuple[ToolSpec, ...]:
    """The tools on offer, from OpenAI's form or the bare functions within it. Raises `BadInput`."""
    specs: dict[str, ToolSpec] = {}
    for place, tool in enumerate(tools):
        function = as_object(tool.get("function", tool), f"tools[{place}].function")
        name = text(function, "name")
        if not name:
            raise BadInput(f"tools[{place}] has no name")
        parameters = as_object(function.get("parameters") or {"type": "object", "properties": {}}, "parameters")
        if is_too_deep(parameters):
            raise BadInput(f"the parameters of {name!r} are nested more than 100 deep, which no record can hold")
        words = text(function, "description") or ""
        specs.setdefault(name, ToolSpec(name=name, title=name, description=words, parameters=parameters))
    return tuple(specs.values())


def _checked(message: object, place: int) -> Object:
    said = as_object(message, f"message {place + 1}")
    role = said.get("role")
    if role not in _ROLES:
        raise BadInput(f"message {place + 1} has the role {str(role)[:40]!r}; use one of {', '.join(_ROLES)}")
    return said


def _task(source: Source, head: Sequence[Object]) -> Task:
    asked = [content_text(message.get("content")) for message in head if message["role"] == "user"]
    words = source.task if source.task is not None else "\n\n".join(asked)
    if not words.strip():
        raise BadInput("no user says anything before the model does, so there is no task; add such a message")
    return Task(text=words, id=source.task_id, reference=source.reference)


class _Reader:
    """Takes the messages after the prompt one by one."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._turns: list[Turn] = []
        self._now_s = 0.0
        self._answer: str | None = None

    def read(self, place: int, said: Object) -> None:
        self._answer = None
        if said["role"] == "assistant":
            self._begin(place, said)
        elif said["role"] in ("tool", "function"):
            self._answered(place, said)

    def trajectory(self, task: Task) -> Trajectory:
        source = self._source
        turns = tuple(self._closed(turn) for turn in self._turns)
        if turns and self._answer is not None and turns[-1].generation is not None:
            turns = (*turns[:-1], replace(turns[-1], generation=replace(turns[-1].generation, answer=self._answer)))
        setting = Setting(
            run_id=source.run_id,
            started_at=source.started_at,
            task=task,
            orchestrator=source.model,
            protocol="chat",
            preference=Preference(outcome=0.0, cost=0.0, latency=0.0),
            sentence="",
            tools=source.tools,
            prices=PriceTable(name="none", dated=source.started_at.date(), source="imported without prices"),
            limits=Limits(),
            group=source.group,
            origin=source.origin,
            conversation=tuple(source.messages),
            timed=source.timed,
        )
        return Trajectory(
            setting=setting,
            turns=turns,
            stop=StopReason.CANCELLED if self._answer is None else StopReason.ANSWERED,
            answer=self._answer,
            finished_s=self._now_s if source.timed else None,
        )

    def _begin(self, place: int, said: Object) -> None:
        index = len(self._turns)
        model_s = self._now_s
        nothing_told = Move(
            started_s=model_s,
            generated_s=model_s,
            # A model was asked, and what it used is unknown: without a row the bill would say 0.
            attempts=(Attempt(priced_as=self._source.model, usage=Usage(), wall_s=0.0),),
        )
        move = self._source.moves.get(place, nothing_told)
        words = content_text(said.get("content"))
        reasoning = text(said, "reasoning_content") or text(said, "reasoning") or reasoning_text(said.get("content"))
        calls = _calls(said, index)
        generation = Generation(raw_text=words, reasoning=reasoning, content=words, calls=calls, attempts=move.attempts)
        self._now_s = max(self._now_s, move.generated_s)
        turn = Turn(
            index=index,
            started_s=move.started_s,
            generated_s=move.generated_s,
            generation=generation,
            calls=tuple(Call(call=call) for call in calls),
        )
        self._turns.append(turn)
        self._answer = words if words.strip() and not calls else None

    def _answered(self, place: int, said: Object) -> None:
        call_id = text(said, "tool_call_id")
        for at in range(len(self._turns) - 1, -1, -1):
            turn = self._turns[at]
            for slot, call in enumerate(turn.calls):
                if call.observation is None and call_id in (None, call.call.id):
                    done = self._observed(place, said, call)
                    self._turns[at] = replace(turn, calls=(*turn.calls[:slot], done, *turn.calls[slot + 1 :]))
                    return
        named = f"the call {call_id[:60]!r}, which" if call_id else "a call, which"
        raise BadInput(f"message {place + 1} answers {named} no message before it makes, or one answered already")

    def _observed(self, place: int, said: Object, call: Call) -> Call:
        told = self._source.results.get(place)
        if told is None:
            attempt = Attempt(priced_as=call.call.tool, wall_s=0.0)
            told = Result(started_s=self._now_s, finished_s=self._now_s, status=CallStatus.OK, attempts=(attempt,))
        self._now_s = max(self._now_s, told.finished_s)
        observation = Observation(
            call_id=call.call.id,
            status=told.status,
            text=content_text(said.get("content")),
            started_s=told.started_s,
            finished_s=told.finished_s,
        )
        return replace(call, observation=observation, attempts=told.attempts)

    def _closed(self, turn: Turn) -> Turn:
        """The turn ended, every call answered: a record has exactly one result for each."""
        seen = [call.observation.finished_s for call in turn.calls if call.observation]
        ended_s = max([turn.generated_s or 0.0, *seen])
        calls = tuple(call if call.observation else _unanswered(call, ended_s) for call in turn.calls)
        return replace(turn, calls=calls, finished_s=ended_s)


def _unanswered(call: Call, at_s: float) -> Call:
    observation = Observation(
        call_id=call.call.id, status=CallStatus.CANCELLED, text=_NO_RESULT, started_s=at_s, finished_s=at_s
    )
    return replace(call, observation=observation, attempts=(Attempt(priced_as=call.call.tool, wall_s=0.0),))


def _calls(said: Object, turn: int) -> tuple[ToolCall, ...]:
    calls = objects(said, "tool_calls")
    older = said.get("function_call")
    if older is not None:
        calls = [*calls, {"function": older}]
    return tuple(_call(call, f"call-{turn}-{place}") for place, call in enumerate(calls))


def _call(call: Object, made_id: str) -> ToolCall:
    function = as_object(call.get("function"), "tool_calls.function")
    name = text(function, "name")
    if not name:
        raise BadInput("a call names no function")
    arguments, told, recovered = _arguments(function.get("arguments"))
    return ToolCall(
        id=text(call, "id") or made_id, tool=name, arguments=arguments, arguments_text=told, recovered=recovered
    )


def _arguments(given: Any) -> tuple[Mapping[str, Any] | None, str, str | None]:
    """Arguments as an object, None where they are none, with their text and how it was read."""
    if given is None or given == "":
        return {}, "{}", None
    if not isinstance(given, str):
        return (given if isinstance(given, dict) else None), spoken(given), None
    try:
        value, level = decode(given)
    except ValueError:
        return None, given, None
    return (value, given, level) if isinstance(value, dict) else (None, given, None)
