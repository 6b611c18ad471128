"""Play one episode: the loop that the app, the command line, evaluation and training share.

A turn is one generation and the calls it made. Every call id is answered exactly once, also on
error, limit and cancel, and the record is complete however the episode ends.
"""

import asyncio
import contextlib
import difflib
import json
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from orchestra_lib import event as ev
from orchestra_lib.budget import Budget
from orchestra_lib.errors import Fault, ModelMistake, ProviderFault, WorldFault
from orchestra_lib.event import Event, apply
from orchestra_lib.generation import Generation
from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import ArtefactStore, Policy, SituatedTool, Situation, Tool, ToolResult
from orchestra_lib.tool import ArtefactRef, CallStatus, File, Observation, ToolCall
from orchestra_lib.toolkit.arguments import check
from orchestra_lib.trajectory import ORCHESTRATOR, Setting, StopReason, Trajectory

T = TypeVar("T")

OBSERVATION_CHARS = 16_000
"""What a model reads of one observation at most: the first three quarters and the last quarter."""

SAME_CALL_LIMIT = 2
"""The same call with the same arguments runs this often; further ones are refused."""

REFUSED_REPEATS_LIMIT = 3
"""So many refused repeats end the run as a loop."""

GRACE_S = 0.8
"""How long cancelled work may take to clean up before the record goes on without it."""


class _Stop(Exception):  # control flow, not an error
    """The episode ends now, for this reason."""

    def __init__(self, reason: StopReason, *, answer: str | None = None, fault: Fault | None = None) -> None:
        super().__init__(reason)
        self.reason, self.answer, self.fault = reason, answer, fault


async def play(
    setting: Setting,
    policy: Policy,
    tools: Sequence[Tool],
    *,
    artefacts: ArtefactStore,
    cancel: asyncio.Event | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncGenerator[Event, None]:
    """Yield the events of one episode until it has ended, whatever happens; `fold` makes the trajectory.

    Setting `cancel` stops what runs within a second. Raises `BadInput` before the first event when a
    USD limit meets an unknown price. A bug in the policy is raised after the record is complete.
    """
    episode = _Episode(setting, policy, tools, artefacts, cancel or asyncio.Event(), clock)
    producer = asyncio.create_task(episode.run())
    try:
        while (happened := await episode.events.get()) is not None:
            yield happened
        await producer
    finally:
        producer.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({producer}, timeout=2 * GRACE_S)


class _Episode:
    def __init__(
        self,
        setting: Setting,
        policy: Policy,
        tools: Sequence[Tool],
        artefacts: ArtefactStore,
        cancel: asyncio.Event,
        clock: Callable[[], float],
    ) -> None:
        self.setting, self.policy, self.artefacts, self.cancel, self.clock = setting, policy, artefacts, cancel, clock
        self.tools = {tool.spec.name: tool for tool in tools}
        self.budget = Budget(setting.limits, setting.prices, policy.spec, [tool.spec for tool in tools])
        self.events: asyncio.Queue[Event | None] = asyncio.Queue()
        self.trajectory = Trajectory(setting=setting)
        self.seen_calls: Counter[str] = Counter()
        self.refused_repeats = 0
        self.answer_of_tool: str | None = None
        self.started_s: dict[str, float] = {}
        self.places = asyncio.Semaphore(setting.limits.parallel_calls)
        self.streamed = ""
        self.seq = 0
        self.start = clock()

    def now(self) -> float:
        return round(self.clock() - self.start, 6)

    def emit(self, kind: type[Any], **fields: Any) -> None:
        self.seq += 1
        happened = kind(seq=self.seq, t_s=self.now(), **fields)
        self.trajectory = apply(self.trajectory, happened)
        self.events.put_nowait(happened)

    async def run(self) -> None:
        try:
            self.emit(ev.RunStarted, setting=self.setting)
            try:
                await self._turns()
            except _Stop as stop:
                ended, bug = stop, None
            except Exception as error:
                fault = Fault(where="run", kind="bug", message=f"{type(error).__name__}: {error}"[:500])
                ended, bug = _Stop(StopReason.FAULT, fault=fault), error
            self.emit(ev.RunFinished, stop=ended.reason, answer=ended.answer, fault=ended.fault)
            if bug is not None:
                raise bug
        finally:
            await self._release()
            self.events.put_nowait(None)

    async def _release(self) -> None:
        releases = [asyncio.ensure_future(tool.release(self.setting.run_id)) for tool in self.tools.values()]
        if releases:
            await asyncio.wait(releases, timeout=5)

    async def _turns(self) -> None:
        for index in range(1, self.setting.limits.max_turns + 1):
            self.budget.settle(self.trajectory.bill())
            if (reason := self.budget.exceeded()) is not None:
                raise _Stop(reason)
            self.emit(ev.TurnStarted, turn=index)
            try:
                generation = await self._generate(index)
                await self._run_calls(index, generation.calls)
            finally:
                self.emit(ev.TurnFinished, turn=index)
            answer = self.answer_of_tool if generation.answer is None else generation.answer
            if answer is not None:
                raise _Stop(StopReason.ANSWERED, answer=answer)
            if self.refused_repeats >= REFUSED_REPEATS_LIMIT:
                raise _Stop(StopReason.LOOP)
        raise _Stop(StopReason.MAX_TURNS)

    async def _generate(self, index: int) -> Generation:
        started_s = self.now()
        self.streamed = ""
        try:
            generation = await self._unless_stopped(self._stream(index))
        except WorldFault as error:
            self._break_off(index, error.attempts if isinstance(error, ProviderFault) else ())
            raise _Stop(StopReason.FAULT, fault=Fault.of(error, where=ORCHESTRATOR)) from None
        except _Stop:
            model = self.policy.spec.priced_as
            spent = () if model is None else (Attempt(priced_as=model, wall_s=self.now() - started_s, error="cut off"),)
            self._break_off(index, spent)
            raise
        self.emit(ev.Generated, turn=index, generation=generation)
        self.budget.settle(self.trajectory.bill())
        return generation

    def _break_off(self, index: int, attempts: tuple[Attempt, ...]) -> None:
        """Keep what a generation that did not end has said and cost; its cost is unknown where it was cut off."""
        if self.streamed or attempts:
            self.emit(ev.Generated, turn=index, generation=Generation(raw_text=self.streamed, attempts=attempts))

    async def _stream(self, index: int) -> Generation:
        async with contextlib.aclosing(self.policy.act(self._situation())) as parts:
            async for part in parts:
                if isinstance(part, Generation):
                    _check_ids(part.calls, self.trajectory)
                    return part
                self.streamed += part.text
                self.emit(ev.Streamed, turn=index, channel=part.channel, text=part.text)
        raise RuntimeError(f"policy {self.policy.spec.name} ended its turn without a Generation; yield exactly one")

    def _situation(self) -> Situation:
        return Situation(
            setting=self.setting,
            turns=self.trajectory.turns[:-1],
            spent_usd=self.trajectory.bill().cost_usd,
            elapsed_s=self.now(),
        )

    async def _run_calls(self, index: int, calls: Sequence[ToolCall]) -> None:
        if not calls:
            return
        answered: set[str] = set()
        words = "Not finished: the run broke off."
        try:
            await self._unless_stopped(asyncio.gather(*(self._run_call(index, call, answered) for call in calls)))
        except _Stop as stop:
            why = "cancelled by the user" if stop.reason is StopReason.CANCELLED else "the run's time is up"
            words = f"Not finished: {why}."
            raise
        finally:
            for call in calls:
                self._abandon(index, call, answered, words)

    async def _run_call(self, index: int, call: ToolCall, answered: set[str]) -> None:
        asked_s = self.now()
        try:
            tool, checked = self._admit(call)
            held_usd = self.budget.hold(tool.spec_for(checked) if isinstance(tool, SituatedTool) else tool.spec)
        except ModelMistake as mistake:
            self._answer(index, call, answered, CallStatus.REJECTED, str(mistake), asked_s)
            return
        attempts: tuple[Attempt, ...] = ()
        try:
            async with self.places:
                self.emit(ev.CallStarted, turn=index, call_id=call.id, held_usd=held_usd)
                started_s = self.started_s[call.id] = self.now()
                status, result = await self._call(tool, call, checked)
            attempts = result.attempts or (_plain_attempt(tool, started_s, self.now(), started_s - asked_s),)
            self._observe(index, call, answered, status, replace(result, attempts=attempts), started_s)
        finally:
            self.budget.release(held_usd, attempts)

    def _abandon(self, index: int, call: ToolCall, answered: set[str], words: str) -> None:
        """Answer a call that will not finish. What it cost is unknown once it had started."""
        started_s = self.started_s.get(call.id)
        now = self.now()
        attempts = () if started_s is None else (_plain_attempt(self.tools[call.tool], started_s, now, 0.0),)
        at = now if started_s is None else started_s
        self._answer(index, call, answered, CallStatus.CANCELLED, words, at, attempts=attempts)

    def _observe(
        self, index: int, call: ToolCall, answered: set[str], status: CallStatus, result: ToolResult, started_s: float
    ) -> None:
        """Keep what a finished call brought and answer it."""
        if status is CallStatus.OK and result.answer is not None:
            self.answer_of_tool = result.answer
        spec = self.tools[call.tool].spec
        text, whole = _capped(result.text, spec.observation_chars or OBSERVATION_CHARS)
        kept, fault = self._keep(call, result.files)
        full, fault_of_text = self._keep(call, whole)
        self._answer(
            index, call, answered, status, text, started_s,
            artefacts=kept, full=full[0] if full else None, attempts=result.attempts,
            fault=result.fault or fault or fault_of_text,
        )  # fmt: skip

    def _admit(self, call: ToolCall) -> tuple[Tool, Any]:
        """The tool and its checked arguments. Raises `ModelMistake` when the call cannot be run."""
        tool = self.tools.get(call.tool)
        if tool is None:
            raise ModelMistake(_unknown_tool(call.tool, list(self.tools)))
        checked = check(tool.spec, call)
        if isinstance(tool, SituatedTool):
            return tool, checked
        key = call.tool + json.dumps(checked, sort_keys=True, ensure_ascii=False)
        self.seen_calls[key] += 1
        if self.seen_calls[key] > SAME_CALL_LIMIT:
            self.refused_repeats += 1
            raise ModelMistake(
                f"Not run: {call.tool} was already called {SAME_CALL_LIMIT} times with these arguments. "
                "Change the arguments, use another tool, or answer."
            )
        return tool, checked

    async def _call(self, tool: Tool, call: ToolCall, checked: Any) -> tuple[CallStatus, ToolResult]:
        timeout_s = min(tool.spec.timeout_s, self.setting.limits.call_timeout_s)
        try:
            result = await asyncio.wait_for(self._work(tool, checked), timeout_s)
        except TimeoutError:
            return CallStatus.TIMEOUT, ToolResult(text=f"{call.tool} did not finish within {timeout_s:g} s.")
        except ModelMistake as mistake:
            unbilled = Attempt(priced_as=tool.spec.priced_as, wall_s=0.0, billed=False, error="refused by the tool")
            return CallStatus.ERROR, ToolResult(text=str(mistake), attempts=(unbilled,))
        except WorldFault as error:
            attempts = error.attempts if isinstance(error, ProviderFault) else ()
            fault = Fault.of(error, where=call.tool)
            return CallStatus.ERROR, ToolResult(text=f"{call.tool} failed: {error}", attempts=attempts, fault=fault)
        except Exception as error:  # a tool is the user's code: its bug must not end the run or its siblings
            return CallStatus.ERROR, ToolResult(text=f"{call.tool} raised {type(error).__name__}: {error}"[:2000])
        return (CallStatus.ERROR if result.failed or result.fault else CallStatus.OK), result

    def _work(self, tool: Tool, checked: Any) -> Awaitable[ToolResult]:
        if isinstance(tool, SituatedTool):
            return tool.call_in(self._situation(), checked)
        return tool.call(checked, run_id=self.setting.run_id)

    def _keep(self, call: ToolCall, files: Sequence[File]) -> tuple[tuple[ArtefactRef, ...], Fault | None]:
        try:
            return tuple(self.artefacts.put(file) for file in files), None
        except WorldFault as error:
            return (), Fault.of(error, where=call.tool)

    def _answer(
        self, index: int, call: ToolCall, answered: set[str], status: CallStatus, text: str, started_s: float,
        *, attempts: tuple[Attempt, ...] = (), fault: Fault | None = None, **kept: Any,
    ) -> None:  # fmt: skip
        """Answer a call, once: work that outlives a cancel finds its call answered already."""
        if call.id in answered:
            return
        answered.add(call.id)
        observation = Observation(
            call_id=call.id, status=status, text=text, started_s=started_s, finished_s=self.now(), **kept
        )
        self.emit(ev.CallFinished, turn=index, observation=observation, attempts=attempts, fault=fault)

    async def _unless_stopped(self, work: Awaitable[T]) -> T:
        """The result of `work`, or `_Stop` as soon as the user cancels or the time is up."""
        task = asyncio.ensure_future(work)
        cancelled = asyncio.ensure_future(self.cancel.wait())
        limit = self.setting.limits.time_s
        left = None if limit is None else max(0.0, limit - self.now())
        try:
            await asyncio.wait({task, cancelled}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if task.done() and not task.cancelled():
                return task.result()
            raise _Stop(StopReason.CANCELLED if self.cancel.is_set() else StopReason.TIME_LIMIT)
        finally:
            cancelled.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=GRACE_S)
            if task.done() and not task.cancelled():
                task.exception()  # seen here: a cancelled gather ends with an exception that nobody awaits


def _check_ids(calls: Sequence[ToolCall], trajectory: Trajectory) -> None:
    ids = [call.call.id for call in trajectory.calls] + [call.id for call in calls]
    if len(set(ids)) != len(ids):
        raise RuntimeError(
            f"call ids repeat within the run: {ids[-len(calls) :]}; a policy must give each call its own"
        )


def _unknown_tool(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=2)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"Not run: there is no tool {name[:80]!r}.{hint} The tools are: {', '.join(known)}."


def _plain_attempt(tool: Tool, started_s: float, finished_s: float, queue_s: float) -> Attempt:
    return Attempt(priced_as=tool.spec.priced_as, wall_s=finished_s - started_s, queue_s=queue_s)


def _capped(text: str, most: int) -> tuple[str, tuple[File, ...]]:
    """What the model reads, and the whole text as a file when it had to be cut."""
    if len(text) <= most:
        return text, ()
    head, tail = most * 3 // 4, most // 4
    cut = len(text) - head - tail
    data = text.encode("utf-8", "replace")
    short = f"{text[:head]}\n… {cut:,} characters left out …\n{text[-tail:]}"
    return short, (File(name="observation.txt", media_type="text/plain; charset=utf-8", data=data),)
