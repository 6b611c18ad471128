"""A trajectory as OpenTelemetry spans in the terms of the GenAI semantic conventions.

`invoke_agent` holds a `chat` for every move of a model (`plan` where a policy of rules moved, which asks no model) and
an `execute_tool` for every call; a call that a model answered holds that model's `chat`. Ids follow from the run's id,
so that a run sent twice is the same trace. Times are the recorded ones. What is unknown is left out, never 0. Texts
are given only where the caller asks for `content`.

Conventions: github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai. Names under `orchestra.` are ours.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta

from orchestra_lib.errors import BadInput
from orchestra_lib.json_writing import spoken
from orchestra_lib.pricing import Attempt, Usage, total_tokens
from orchestra_lib.record import record
from orchestra_lib.tool import CallStatus, ToolSpec
from orchestra_lib.trajectory import ORCHESTRATOR, Call, StopReason, Trajectory, Turn

Value = str | bool | int | float | tuple[str, ...]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_NS = 2**64 - 1


@record
class Span:
    """One span. Times are nanoseconds since 1970; `parent_id` is None for the root, `error` for what went well.

    `client` marks a request to something outside the process.
    """

    trace_id: int
    span_id: int
    parent_id: int | None
    name: str
    start_ns: int
    end_ns: int
    client: bool = False
    attributes: Mapping[str, Value] = field(default_factory=dict)
    error: str | None = None


def spans(trajectory: Trajectory, *, content: bool = False) -> tuple[Span, ...]:
    """The spans of a run that has ended, the root first.

    Raises `BadInput` for one that still goes on, and for times that no span can hold.
    """
    if trajectory.stop is None:
        raise BadInput(f"run {trajectory.id} has not ended; export it when it has")
    run = _Run(trajectory, content)
    return (run.root(), *run.inside())


class _Run:
    """Makes the spans of one run."""

    def __init__(self, trajectory: Trajectory, content: bool) -> None:
        self._trajectory, self._content = trajectory, content
        self._specs = {spec.name: spec for spec in trajectory.setting.tools}
        self._begun_ns = (trajectory.setting.started_at - _EPOCH) // timedelta(microseconds=1) * 1000
        self._trace_id = _number(f"trace {trajectory.id}", 16)
        self._root_id = _number(f"span {trajectory.id}", 8)

    def root(self) -> Span:
        run, setting = self._trajectory, self._trajectory.setting
        bill = run.bill()
        told = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": setting.orchestrator,
            "gen_ai.conversation.id": run.id,
            "gen_ai.request.seed": setting.seed,
            "orchestra.stop": run.status,
            "orchestra.outcome": run.outcome,
            "orchestra.cost_usd": bill.cost_usd,
            "orchestra.prices": f"{setting.prices.name} {setting.prices.dated.isoformat()}",
            "orchestra.nominal": setting.prices.nominal,
            "orchestra.simulated": run.simulated,
            "orchestra.timed": setting.timed,
            "orchestra.group": setting.group,
            "orchestra.origin": setting.origin,
        }
        said = {
            "gen_ai.input.messages": _message("user", {"type": "text", "content": setting.task.text}),
            "gen_ai.output.messages": None
            if run.answer is None
            else _message("assistant", {"type": "text", "content": run.answer}, finish_reason="stop"),
        }
        error = run.faults[-1].kind if run.stop is StopReason.FAULT and run.faults else None
        failed = error or (None if run.stop is StopReason.ANSWERED else run.status)
        name = f"invoke_agent {setting.orchestrator}"
        made = self._span(name, self._root_id, 0.0, self._end_s(), told, said, error=failed)
        return replace(made, parent_id=None)

    def inside(self) -> Iterator[Span]:
        for turn in self._trajectory.turns:
            yield self._move(turn)
            for place, call in enumerate(turn.calls):
                yield from self._call(call, f"turn {turn.index} call {place}", self._turn_end(turn))

    def _move(self, turn: Turn) -> Span:
        setting, generation = self._trajectory.setting, turn.generation
        attempts = generation.attempts if generation else ()
        asked_model = bool(attempts) or generation is None
        model = attempts[-1].priced_as if attempts else setting.orchestrator
        told: dict[str, Value | None] = {
            "gen_ai.operation.name": "chat" if asked_model else "plan",
            "gen_ai.agent.name": setting.orchestrator,
            "gen_ai.conversation.id": self._trajectory.id,
            "orchestra.turn": turn.index,
        }
        if asked_model:
            told |= {"gen_ai.provider.name": _provider(setting.orchestrator), "gen_ai.request.model": model}
            told |= _usage(attempts)
        said = {}
        if generation is not None:
            parts: list[Mapping[str, object]]
            parts = [{"type": "reasoning", "content": generation.reasoning}] if generation.reasoning else []
            parts += [{"type": "text", "content": generation.content}] if generation.content else []
            parts += [
                {"type": "tool_call", "id": call.id, "name": call.tool, "arguments": call.arguments}
                for call in generation.calls
            ]
            finish = "tool_call" if generation.calls else "stop"
            said = {"gen_ai.output.messages": _message("assistant", *parts, finish_reason=finish)}
        end_s = self._turn_end(turn) if turn.generated_s is None else turn.generated_s
        return self._span(
            f"chat {model}" if asked_model else f"plan {setting.orchestrator}",
            self._id(f"turn {turn.index}"),
            turn.started_s,
            end_s,
            told,
            said,
            error=None if generation is not None else self._fault_of(ORCHESTRATOR) or "_OTHER",
            client=asked_model,
        )

    def _call(self, call: Call, place: str, turn_end_s: float) -> Iterator[Span]:
        asked, seen, spec = call.call, call.observation, self._specs.get(call.call.tool)
        start_s, end_s = (seen.started_s, seen.finished_s) if seen else (turn_end_s, turn_end_s)
        told = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": asked.tool,
            "gen_ai.tool.call.id": asked.id,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.description": spec.description if spec else None,
            "gen_ai.conversation.id": self._trajectory.id,
        }
        said = {
            "gen_ai.tool.call.arguments": asked.arguments_text if asked.arguments is None else spoken(asked.arguments),
            "gen_ai.tool.call.result": seen.text if seen else None,
        }
        error = "_OTHER" if seen is None else _error(seen.status, self._fault_of(asked.tool))
        made = self._span(f"execute_tool {asked.tool}", self._id(place), start_s, end_s, told, said, error=error)
        yield made
        for model, attempts in _by_model(call.attempts, spec):
            inner = {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": _provider(model),
                "gen_ai.request.model": model,
                "gen_ai.conversation.id": self._trajectory.id,
                **_usage(attempts),
            }
            span = self._span(f"chat {model}", self._id(f"{place} {model}"), start_s, end_s, inner, {}, client=True)
            failed = attempts[-1].error is not None
            yield replace(span, parent_id=made.span_id, error="_OTHER" if failed else None)

    def _fault_of(self, where: str) -> str | None:
        return next((fault.kind for fault in self._trajectory.faults if fault.where == where), None)

    def _span(
        self,
        name: str,
        span_id: int,
        start_s: float,
        end_s: float,
        told: Mapping[str, Value | None],
        said: Mapping[str, Value | None],
        *,
        error: str | None = None,
        client: bool = False,
    ) -> Span:
        given = {**told, **(said if self._content else {}), "error.type": error}
        return Span(
            trace_id=self._trace_id,
            span_id=span_id,
            parent_id=self._root_id,
            name=name,
            start_ns=self._at(start_s),
            end_ns=self._at(max(start_s, end_s)),
            client=client,
            attributes={key: value for key, value in given.items() if value is not None},
            error=error,
        )

    def _id(self, place: str) -> int:
        return _number(f"span {self._trajectory.id} {place}", 8)

    def _at(self, time_s: float) -> int:
        """Nanoseconds since 1970, as the protocol has them: 64 bits without a sign."""
        made = self._begun_ns + round(time_s * 1e9) if time_s < _LAST_NS / 1e9 else _LAST_NS + 1
        if not 0 <= made <= _LAST_NS:
            began = self._trajectory.setting.started_at
            raise BadInput(
                f"run {self._trajectory.id}: {time_s:g} s after {began:%Y-%m-%d} is before 1970 or after 2554, and no "
                "span can say so; leave it out"
            )
        return made

    def _turn_end(self, turn: Turn) -> float:
        return self._end_s() if turn.finished_s is None else turn.finished_s

    def _end_s(self) -> float:
        return self._trajectory.finished_s or 0.0


def _number(text: str, size: int) -> int:
    """An id of `size` bytes; all zeros, which no id may be, is out of reach of a hash."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:size], "big")


def _error(status: CallStatus, fault: str | None) -> str | None:
    """The kind of error of a call: the fault's where the world failed, else how it ended."""
    if status is CallStatus.OK:
        return None
    return fault if fault is not None and status is CallStatus.ERROR else str(status)


def _provider(name: str) -> str:
    """Whose form of API was spoken, to our best knowledge: of an endpoint OpenAI's, of anything else our own."""
    return "openai" if name.startswith("openai:") else "orchestra"


def _by_model(attempts: Iterable[Attempt], spec: ToolSpec | None) -> Iterator[tuple[str, list[Attempt]]]:
    """The attempts at models, by name: a tool's own work has no tokens."""
    groups: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        if attempt.usage is not None or (spec is not None and attempt.priced_as in (spec.model, *spec.models)):
            groups.setdefault(attempt.priced_as, []).append(attempt)
    yield from groups.items()


def _usage(attempts: Iterable[Attempt]) -> dict[str, Value | None]:
    """The tokens of all attempts together; a sum with an unknown part is unknown."""
    usages = [attempt.usage or Usage() for attempt in attempts if attempt.billed]
    if not usages:
        return {}
    return {
        "gen_ai.usage.input_tokens": total_tokens(usage.input_tokens for usage in usages),
        "gen_ai.usage.output_tokens": total_tokens(usage.output_tokens for usage in usages),
        "gen_ai.usage.cache_read.input_tokens": total_tokens(usage.cached_tokens for usage in usages),
        "gen_ai.usage.cache_creation.input_tokens": total_tokens(usage.cache_write_tokens for usage in usages),
        "gen_ai.usage.reasoning.output_tokens": total_tokens(usage.reasoning_tokens for usage in usages),
        "orchestra.usage.estimated": True if any(usage.estimated for usage in usages) else None,
    }


def _message(role: str, *parts: Mapping[str, object], finish_reason: str | None = None) -> str:
    said: dict[str, object] = {"role": role, "parts": list(parts)}
    return spoken([said if finish_reason is None else {**said, "finish_reason": finish_reason}])
