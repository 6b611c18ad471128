"""Replay: the real loop over recorded generations and results, which must make the same record, byte for byte.

The orchestrator's generations and what the tools brought come from the record; everything that the loop decides is
decided anew: which calls are refused and in what words, what is cut, when a limit ends the run, how the calls that
did not finish are answered. Times are facts of the machine that played the run and not decisions: they are the recorded
ones. A wait takes no time: the event loop's clock jumps to whatever comes next.
"""

import asyncio
import hashlib
import selectors
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from orchestra_lib.codec import to_data, to_text
from orchestra_lib.episode_log import EpisodeLog
from orchestra_lib.errors import BadInput, Fault, ProviderFault, WorldFault
from orchestra_lib.event import (
    CUT_OFF,
    CallFinished,
    Event,
    Generated,
    Graded,
    RunFinished,
    TurnFinished,
    closing,
    fold,
)
from orchestra_lib.forking import copied
from orchestra_lib.generation import Channel, Delta, Generation
from orchestra_lib.play import play
from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import ArtefactStore, PolicySpec, Situation, ToolResult
from orchestra_lib.record import record
from orchestra_lib.tool import ASK_USER, ArtefactRef, CallStatus, File, ToolSpec
from orchestra_lib.trajectory import ORCHESTRATOR, StopReason, Trajectory

T = TypeVar("T")
_TICK_S = 1e-7
"""Less than a record's clock tells apart: keeps what happened at the same moment in its order."""


@record
class Difference:
    """The first place where a replay made another record; None stands for nothing being there."""

    path: str
    recorded: Any
    replayed: Any


@record
class Replay:
    """A replayed run, without grades, and how it differs from the record; None when they are the same."""

    trajectory: Trajectory
    difference: Difference | None
    sha256: str
    """Of the canonical JSON of what was replayed."""


def replay(events: Sequence[Event], artefacts: ArtefactStore, spec: PolicySpec | None = None) -> Replay:
    """Play a record again. `spec` bounds a turn of its orchestrator, which only a limit in USD asks for.

    Raises `BadInput` for a run that still goes on and one whose files are no longer kept. Stores nothing.
    """
    kept = [event for event in events if not isinstance(event, Graded)]
    recorded = fold(kept)
    if recorded.stop is None:
        raise BadInput(f"run {recorded.id} still goes on; replay it when it has ended")
    if recorded.setting.conversation is not None:
        raise BadInput(
            f"run {recorded.id} was imported ({recorded.setting.origin}): another program played it, and there is no "
            "record of what this loop did; fork it to let an orchestrator of yours go on from a turn"
        )
    played = _run_without_waiting(_play(kept, recorded, artefacts, spec))
    text = to_text(played)
    same = text == to_text(recorded)
    difference = None if same else _first_difference(to_data(recorded), to_data(played))
    return Replay(trajectory=played, difference=difference, sha256=hashlib.sha256(text.encode()).hexdigest())


async def _play(
    kept: Sequence[Event], recorded: Trajectory, artefacts: ArtefactStore, spec: PolicySpec | None
) -> Trajectory:
    setting, cancel = recorded.setting, asyncio.Event()
    history = copied(kept, setting.first_turn)
    script = _Script(kept, recorded, cancel)
    if history:
        await script.until(history[-1].t_s)
    files = _files(recorded, artefacts)
    tools = [_tool(one, script, files) for one in setting.tools]
    log = _RecordedLog(recorded, kept)
    policy = _RecordedPolicy(script, spec)
    stream = play(setting, policy, tools, artefacts=_Hashing(artefacts), cancel=cancel, history=history, log=log)
    played: list[Event] = []
    # Raised once the record is complete, where it shows: a bug that was recorded, or a run that left the record's way.
    with suppress(_RecordedBug, _Astray):
        async for event in stream:
            played.append(event)
            if script.is_cut_off(event):
                break
    await stream.aclose()
    trajectory = fold(played)
    if script.cut_off is not None and script.cut_off.fault is not None:
        ended = closing(trajectory, seq=len(played) + 1, t_s=script.cut_off.t_s, fault=script.cut_off.fault)
        trajectory = fold([*played, *ended])
    return trajectory


# ---- what the record says


class _Script:
    """When the recorded things happened, and what made the run stop from outside."""

    def __init__(self, kept: Sequence[Event], recorded: Trajectory, cancel: asyncio.Event) -> None:
        self.recorded, self.cancel = recorded, cancel
        self.turns = recorded.turns
        end = kept[-1]
        assert isinstance(end, RunFinished)
        interrupted = end.fault is not None and (end.fault.where, end.fault.kind) == ("run", "interrupted")
        self.cut_off = end if interrupted else None
        self.finished: Mapping[str, CallFinished] = {
            event.observation.call_id: event for event in kept if isinstance(event, CallFinished)
        }
        self._due_s: dict[str, float] = {}
        last_s = 0.0
        for call_id, event in self.finished.items():
            last_s = self._due_s[call_id] = max(event.observation.finished_s, last_s + _TICK_S)
        # Closing a run ends its open turn too, at the same moment: that one is made anew.
        own = [event for event in kept[:-1] if not _is_closing(event)]
        self._last_own = own[-2] if isinstance(own[-1], TurnFinished) else own[-1]

    def is_cut_off(self, event: Event) -> bool:
        """Whether the run's process ended right after this event."""
        return self.cut_off is not None and _place(event) == _place(self._last_own)

    async def until(self, t_s: float) -> None:
        """Wait for a moment of the recorded run."""
        await asyncio.sleep(t_s - asyncio.get_running_loop().time())

    async def done(self, call_id: str) -> CallFinished:
        """Wait for the moment at which a call came back."""
        await self.until(self._due_s[call_id])
        return self.finished[call_id]

    async def never(self, t_s: float) -> None:
        """Wait for what did not come before the run was stopped, which happens at `t_s` where a person did it."""
        if self.recorded.stop is StopReason.CANCELLED:
            await self.until(t_s)
            self.cancel.set()
        await asyncio.Event().wait()

    def fault_of_turn(self, place: int) -> Fault | None:
        """The fault that ended the run in this turn's generation."""
        last = self.recorded.faults[-1] if self.recorded.faults else None
        ended = self.recorded.stop is StopReason.FAULT and place == len(self.turns) - 1 and self.cut_off is None
        generation = self.turns[place].generation
        whole = generation is not None and (bool(generation.calls) or generation.answer is not None)
        return last if ended and not whole else None

    def is_broken_off(self, place: int) -> bool:
        """Whether this turn's generation was stopped from outside; a whole one calls, answers or is followed."""
        generation = self.turns[place].generation
        if place < len(self.turns) - 1 or self.recorded.stop not in (StopReason.CANCELLED, StopReason.TIME_LIMIT):
            return self.cut_off is not None and generation is None
        return generation is None or not (generation.calls or generation.answer is not None)

    def answer_of(self, call_id: str) -> str | None:
        """The run's answer, for the call that gave it."""
        last = self.turns[-1]
        answered = self.recorded.stop is StopReason.ANSWERED
        if not answered or last.generation is None or last.generation.answer is not None:
            return None
        well = [
            event.observation.call_id
            for event in self.finished.values()
            if event.turn == last.index and event.observation.status is CallStatus.OK
        ]
        return self.recorded.answer if well and well[-1] == call_id else None


def _place(event: Event) -> tuple[str, int, str | None]:
    call_id = event.observation.call_id if isinstance(event, CallFinished) else getattr(event, "call_id", None)
    return event.kind, getattr(event, "turn", 0), call_id


def _is_closing(event: Event) -> bool:
    """Whether a call was answered by `closing`, after the end of the run's process."""
    return isinstance(event, CallFinished) and event.observation.text == CUT_OFF


class _RecordedLog(EpisodeLog):
    """A log whose clock is the event loop's, and whose events bear the times of the record."""

    def __init__(self, recorded: Trajectory, kept: Sequence[Event]) -> None:
        super().__init__(recorded.setting, asyncio.get_running_loop().time)
        self._kept: dict[tuple[str, int, str | None], deque[Event]] = defaultdict(deque)
        for event in kept:
            self._kept[_place(event)].append(event)

    def _add(self, happened: Event) -> None:
        waiting = self._kept.get(_place(happened))
        super()._add(_timed(happened, waiting.popleft()) if waiting else happened)


def _timed(happened: Event, recorded: Event) -> Event:
    """An event with the times of its recorded twin."""
    if isinstance(happened, CallFinished) and isinstance(recorded, CallFinished):
        seen = recorded.observation
        return replace(
            happened,
            t_s=recorded.t_s,
            observation=replace(happened.observation, started_s=seen.started_s, finished_s=seen.finished_s),
            attempts=_timed_attempts(happened.attempts, recorded.attempts),
        )
    if isinstance(happened, Generated) and isinstance(recorded, Generated):
        attempts = _timed_attempts(happened.generation.attempts, recorded.generation.attempts)
        return replace(happened, t_s=recorded.t_s, generation=replace(happened.generation, attempts=attempts))
    return replace(happened, t_s=recorded.t_s)


def _timed_attempts(made: tuple[Attempt, ...], recorded: tuple[Attempt, ...]) -> tuple[Attempt, ...]:
    if len(made) != len(recorded):
        return made
    return tuple(
        replace(one, wall_s=other.wall_s, queue_s=other.queue_s) for one, other in zip(made, recorded, strict=True)
    )


# ---- who plays it


class _RecordedBug(Exception):  # stands for whatever was raised
    """A bug that the record tells of."""


class _Astray(Exception):  # shown as a difference
    """The loop asked for what the record does not have."""


class _RecordedPolicy:
    """Says what was said, when it was said."""

    def __init__(self, script: _Script, spec: PolicySpec | None) -> None:
        setting = script.recorded.setting
        attempts = [one for turn in script.turns if turn.generation for one in turn.generation.attempts]
        plain = PolicySpec(
            name=setting.orchestrator,
            protocol=setting.protocol,
            priced_as=attempts[-1].priced_as if attempts and setting.limits.cost_usd is None else None,
        )
        self.spec, self._script = spec or plain, script

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        script, place = self._script, len(situation.turns)
        if place >= len(script.turns):
            raise _Astray(f"the record has {len(script.turns)} turns and the loop asks for another")
        turn = script.turns[place]
        generation, fault = turn.generation, script.fault_of_turn(place)
        end_s = turn.started_s if turn.generated_s is None else turn.generated_s
        if fault is None and not script.is_broken_off(place) and generation is not None:
            await script.until(end_s)
            yield generation
            return
        if generation is not None:
            for channel, text in ((Channel.REASONING, generation.reasoning), (Channel.CONTENT, generation.content)):
                if text:
                    yield Delta(channel=channel, text=text)
        if fault is None:
            await script.never(end_s)
            return
        await script.until(end_s)
        raise _raised(fault, generation.attempts if generation else ())


def _raised(fault: Fault, attempts: tuple[Attempt, ...]) -> Exception:
    """The exception that a fault came from."""
    if fault.where != ORCHESTRATOR:
        name, _, message = fault.message.partition(": ")
        named: type[_RecordedBug] = type(name, (_RecordedBug,), {})
        return named(message)
    kind = next((one for one in _below(WorldFault) if one.kind == fault.kind), WorldFault)
    return kind(fault.message, attempts) if issubclass(kind, ProviderFault) else kind(fault.message)


def _below(kind: type[WorldFault]) -> list[type[WorldFault]]:
    return [kind, *(below for direct in kind.__subclasses__() for below in _below(direct))]


class _RecordedTool:
    """Brings what was brought, when it was brought; the arguments have passed the real checks before."""

    def __init__(self, spec: ToolSpec, script: _Script, files: Mapping[str, bytes]) -> None:
        self.spec, self._script, self._files = spec, script, files
        self._waiting = self._calls()

    def _calls(self) -> dict[str, deque[str]]:
        """The ids of the recorded calls that began, by what they were asked, in order."""
        began: dict[str, deque[str]] = defaultdict(deque)
        first = self._script.recorded.setting.first_turn
        for turn in self._script.turns:
            if turn.index < first:
                continue
            for call in turn.calls:
                seen = call.observation
                if call.call.tool == self.spec.name and seen and seen.status is not CallStatus.REJECTED:
                    began[_asked(call.call.arguments)].append(call.call.id)
        return began

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        waiting = self._waiting[_asked(arguments)]
        if not waiting:
            raise _Astray(f"the record has no call of {self.spec.name} with these arguments that ran")
        call_id = waiting.popleft()
        event = self._script.finished[call_id]
        if event.observation.status is CallStatus.TIMEOUT:
            await asyncio.Event().wait()
        if event.observation.status is CallStatus.CANCELLED:
            await self._script.never(event.observation.finished_s)
        await self._script.done(call_id)
        return self._result(event)

    def _result(self, event: CallFinished) -> ToolResult:
        seen = event.observation
        return ToolResult(
            text=seen.text if seen.full is None else self._files[seen.full.sha256].decode("utf-8", "replace"),
            files=tuple(
                File(name=ref.name, media_type=ref.media_type, data=self._files[ref.sha256]) for ref in seen.artefacts
            ),
            attempts=event.attempts,
            failed=seen.status is CallStatus.ERROR,
            fault=event.fault,
            answer=self._script.answer_of(seen.call_id),
        )

    async def release(self, run_id: str) -> None:
        """Nothing is kept for a run."""


class _RecordedSituatedTool(_RecordedTool):
    """A tool that works on the episode: its repeats are none, and a call pays only the model that it chooses."""

    def spec_for(self, arguments: Mapping[str, Any]) -> ToolSpec:
        for name, schema in self.spec.parameters.get("properties", {}).items():
            choices = list(schema.get("enum", ()))
            if len(choices) == len(self.spec.models) and arguments.get(name) in choices:
                return replace(self.spec, models=(self.spec.models[choices.index(arguments[name])],))
        return self.spec

    async def call_in(self, situation: Situation, arguments: Mapping[str, Any]) -> ToolResult:
        return await self.call(arguments, run_id=situation.setting.run_id)


def _tool(spec: ToolSpec, script: _Script, files: Mapping[str, bytes]) -> _RecordedTool:
    situated = bool(spec.models) or spec.name == ASK_USER or spec.simulated
    return (_RecordedSituatedTool if situated else _RecordedTool)(spec, script, files)


def _files(recorded: Trajectory, artefacts: ArtefactStore) -> Mapping[str, bytes]:
    """Every file that the calls brought, by its hash."""
    seen = [call.observation for call in recorded.calls if call.observation]
    refs = [ref for one in seen for ref in (*one.artefacts, *([one.full] if one.full else ()))]
    return {ref.sha256: artefacts.get(ref.sha256) for ref in refs}


def _asked(arguments: Mapping[str, Any] | None) -> str:
    return to_text(dict(arguments or {}), Mapping[str, Any])


class _Hashing:
    """An artefact store that keeps nothing: it only says under which hash a file would be kept."""

    def __init__(self, artefacts: ArtefactStore) -> None:
        self._artefacts = artefacts

    def put(self, file: File) -> ArtefactRef:
        return ArtefactRef(
            sha256=hashlib.sha256(file.data).hexdigest(),
            media_type=file.media_type,
            size_bytes=len(file.data),
            name=file.name,
        )

    def get(self, sha256: str) -> bytes:
        return self._artefacts.get(sha256)


# ---- a loop that never waits


class _Still(Exception):  # never leaves this module
    """Nothing will ever happen again."""


class _Jumping(selectors.DefaultSelector):
    """Waits for nothing: where there is nothing to do until a timer is due, the clock jumps to it."""

    now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if timeout is None:
            raise _Still
        self.now_s += timeout
        return []


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now_s


def _run_without_waiting(work: Coroutine[Any, Any, T]) -> T:
    try:
        with asyncio.Runner(loop_factory=_Loop) as runner:
            return runner.run(work)
    except _Still:
        raise BadInput("the replay stands still: the loop waits for something that the record does not have") from None


# ---- where they differ


def _first_difference(recorded: Any, replayed: Any, path: str = "") -> Difference | None:
    if isinstance(recorded, dict) and isinstance(replayed, dict):
        pairs = [(f"{path}.{name}".lstrip("."), recorded.get(name), replayed.get(name)) for name in recorded | replayed]
    elif isinstance(recorded, list) and isinstance(replayed, list):
        longest = max(len(recorded), len(replayed))
        both = [[*values, *[None] * (longest - len(values))] for values in (recorded, replayed)]
        pairs = [(f"{path}[{at}]", *values) for at, values in enumerate(zip(*both, strict=True))]
    elif type(recorded) is type(replayed) and recorded == replayed:
        return None
    else:
        return Difference(path=path, recorded=recorded, replayed=replayed)
    for where, one, other in pairs:
        if (found := _first_difference(one, other, where)) is not None:
            return found
    return None
