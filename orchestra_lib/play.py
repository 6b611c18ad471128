"""Play one episode: the loop that the app, the command line, evaluation and training share.

A turn is one generation and the calls it made. Every call id is answered exactly once, also on
error, limit and cancel, and the record is complete however the episode ends.
"""

import asyncio
import contextlib
import gc
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TypeVar

from orchestra_lib import event as ev
from orchestra_lib.budget import Budget
from orchestra_lib.calling import GRACE_S, Caller, ended, put_down
from orchestra_lib.episode_log import EpisodeLog
from orchestra_lib.errors import Fault, ProviderFault, WeightsFault, WorldFault
from orchestra_lib.event import Event
from orchestra_lib.generation import Channel, Generation
from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import ArtefactStore, Policy, Situation, Tool, is_prepared
from orchestra_lib.tool import ToolCall
from orchestra_lib.trajectory import ORCHESTRATOR, Setting, StopReason, Trajectory

T = TypeVar("T")

REPEATING_TURNS_LIMIT = 3
"""So many turns with refused repeats end the run as a loop: each is a hint that was read and not taken."""


def expect_crowd() -> None:
    """For a program that plays hundreds of episodes at once: have Python look for garbage less often.

    What so many episodes hold is walked through again and again, for a quarter of all CPU time; looking
    less often costs a twentieth more memory. A setting of the whole process, so a program's to make.
    """
    gc.set_threshold(20_000, 10, 10)


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
    history: Sequence[Event] = (),
    log: EpisodeLog | None = None,
) -> AsyncGenerator[Event, None]:
    """Yield the events of one episode until it has ended, whatever happens; `fold` makes the trajectory.

    `history` are the events of whole turns that this run shares with the one it branched off from: they come first,
    as they were, count for its limits and are on its bill. `log` numbers and times the events; a replay brings its own.
    Setting `cancel` stops what runs within a second. Raises `BadInput` before the first event when a
    USD limit meets an unknown price. A bug in the policy is raised after the record is complete.
    """
    log = log or EpisodeLog(setting, clock)
    episode = _Episode(setting, policy, tools, artefacts, cancel or asyncio.Event(), log, history)
    producer = asyncio.create_task(episode.run())
    try:
        async with contextlib.aclosing(log.follow()) as events:
            async for happened in events:
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
        log: EpisodeLog,
        history: Sequence[Event],
    ) -> None:
        self.setting, self.policy, self.cancel, self.log, self.history = setting, policy, cancel, log, history
        self.budget = Budget(setting.limits, setting.prices, policy.spec, [tool.spec for tool in tools])
        self.caller = Caller(setting, tools, artefacts, self.budget, log, self._situation)
        self.streamed = dict.fromkeys(Channel, "")

    async def run(self) -> None:
        """Play to the end. A bug is raised once the record is complete."""
        self.cancelled = asyncio.ensure_future(self.cancel.wait())
        try:
            if is_prepared(self.policy):
                with contextlib.suppress(WeightsFault):  # the first move meets it again, and the record has it there
                    await self.policy.prepare()
                self.log.begin()
            self.log.emit(ev.RunStarted, setting=self.setting)
            self.log.copy(self.history)
            self.caller.recall(self.log.trajectory.turns)
            try:
                await self._turns()
            except _Stop as stop:
                ended, bug = stop, None
            except Exception as error:
                fault = Fault(where="run", kind="bug", message=f"{type(error).__name__}: {error}"[:500])
                ended, bug = _Stop(StopReason.FAULT, fault=fault), error
            self.log.emit(ev.RunFinished, stop=ended.reason, answer=ended.answer, fault=ended.fault)
            if bug is not None:
                raise bug
        finally:
            self.cancelled.cancel()
            await self.caller.release()
            self.log.close()

    async def _turns(self) -> None:
        for turn in range(len(self.log.trajectory.turns) + 1, self.setting.limits.max_turns + 1):
            self.budget.settle(self.log.spent())
            if (reason := self.budget.exceeded()) is not None:
                raise _Stop(reason)
            self.log.emit(ev.TurnStarted, turn=turn)
            try:
                generation = await self._generate(turn)
                await self._call(turn, generation.calls)
            finally:
                self.log.emit(ev.TurnFinished, turn=turn)
            answer = self.caller.answer if generation.answer is None else generation.answer
            if answer is not None:
                raise _Stop(StopReason.ANSWERED, answer=answer)
            if self.caller.repeating_turns >= REPEATING_TURNS_LIMIT:
                raise _Stop(StopReason.LOOP)
        raise _Stop(StopReason.MAX_TURNS)

    async def _generate(self, turn: int) -> Generation:
        started_s = self.log.now()
        self.streamed = dict.fromkeys(Channel, "")
        try:
            generation = await self._unless_stopped(self._stream(turn))
        except WorldFault as error:
            self._break_off(turn, error.attempts if isinstance(error, ProviderFault) else ())
            raise _Stop(StopReason.FAULT, fault=Fault.of(error, where=ORCHESTRATOR)) from None
        except _Stop:
            model, wall_s = self.policy.spec.priced_as, self.log.now() - started_s
            self._break_off(turn, () if model is None else (Attempt(priced_as=model, wall_s=wall_s, error="cut off"),))
            raise
        self.log.emit(ev.Generated, turn=turn, generation=generation)
        self.budget.settle(self.log.spent())
        return generation

    def _break_off(self, turn: int, attempts: tuple[Attempt, ...]) -> None:
        """Keep what a generation that did not end has said and cost; its cost is unknown where it was cut off."""
        reasoning, content = self.streamed[Channel.REASONING], self.streamed[Channel.CONTENT]
        if reasoning or content or attempts:
            said = Generation(raw_text=reasoning + content, reasoning=reasoning, content=content, attempts=attempts)
            self.log.emit(ev.Generated, turn=turn, generation=said)

    async def _stream(self, turn: int) -> Generation:
        async with contextlib.aclosing(self.policy.act(self._situation())) as parts:
            async for part in parts:
                if isinstance(part, Generation):
                    _check_ids(part.calls, self.log.trajectory)
                    return part
                self.streamed[part.channel] += part.text
                self.log.emit(ev.Streamed, turn=turn, channel=part.channel, text=part.text)
        raise RuntimeError(f"policy {self.policy.spec.name} ended its turn without a Generation; yield exactly one")

    def _situation(self) -> Situation:
        trajectory = self.log.trajectory
        return Situation(
            setting=self.setting,
            turns=trajectory.turns[:-1],
            spent_usd=self.log.spent().cost_usd,
            elapsed_s=self.log.now(),
        )

    async def _call(self, turn: int, calls: Sequence[ToolCall]) -> None:
        if not calls:
            return
        words = "Not finished: the run broke off."
        try:
            await self._unless_stopped(self.caller.run(turn, calls))
        except _Stop as stop:
            why = "cancelled by the user" if stop.reason is StopReason.CANCELLED else "the run's time is up"
            words = f"Not finished: {why}."
            raise
        finally:
            self.caller.abandon(turn, calls, words)

    async def _unless_stopped(self, work: Awaitable[T]) -> T:
        """The result of `work`, or `_Stop` as soon as the user cancels or the time is up."""
        task = asyncio.ensure_future(work)
        limit = self.setting.limits.time_s
        left = None if limit is None else max(0.0, limit - self.log.now())
        try:
            await ended(task, left, self.cancelled)
            if task.done() and not task.cancelled():
                return task.result()
            raise _Stop(StopReason.CANCELLED if self.cancel.is_set() else StopReason.TIME_LIMIT)
        finally:
            await put_down(task)


def _check_ids(calls: Sequence[ToolCall], trajectory: Trajectory) -> None:
    ids = [call.call.id for call in trajectory.calls] + [call.id for call in calls]
    if len(set(ids)) != len(ids):
        raise RuntimeError(
            f"call ids repeat within the run: {ids[-len(calls) :]}; a policy must give each call its own"
        )
