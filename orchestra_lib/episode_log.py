"""The log of an episode under way: numbers events, folds them, and hands them on as they happen."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from typing import Any

from orchestra_lib.billing import Charge, Spent, charges, spent
from orchestra_lib.event import CallFinished, Event, Generated, RunFinished, RunStarted, TurnFinished, apply
from orchestra_lib.trajectory import Setting, Trajectory

_STEP_ENDS = (RunStarted, TurnFinished, RunFinished)
"""What ends a step of an episode: its beginning, a turn, all of it. What follows at once comes with it."""


class EpisodeLog:
    """Events with sequence numbers and seconds since the start by `clock`; `trajectory` is their fold so far."""

    def __init__(self, setting: Setting, clock: Callable[[], float]) -> None:
        self.trajectory = Trajectory(setting=setting)
        self._clock, self._start, self._seq = clock, clock(), 0
        self._events: deque[Event] = deque()
        self._news, self._closed = asyncio.Event(), False
        self._step: asyncio.Future[None] | None = None
        self._charged: list[Charge] = []
        self._spent: Spent | None = None

    def begin(self) -> None:
        """Count seconds from now on, and not from when this was made."""
        self._start = self._clock()

    def now(self) -> float:
        """Seconds since the start."""
        return round(self._clock() - self._start, 6)

    def spent(self) -> Spent:
        """The totals of the bill so far; asked for several times a turn, each attempt is priced once."""
        if self._spent is None:
            self._spent = spent(self._charged)
        return self._spent

    def emit(self, kind: type[Any], **fields: Any) -> None:
        """Add an event of this kind."""
        self._add(kind(seq=self._seq + 1, t_s=self.now(), **fields))

    def copy(self, history: Sequence[Event]) -> None:
        """Add what happened before the run branched off, with its own times; the clock goes on from its end."""
        for happened in history:
            self._add(replace(happened, seq=self._seq + 1))
        if history:
            self._start = self._clock() - history[-1].t_s

    def _add(self, happened: Event) -> None:
        self._seq = happened.seq
        self.trajectory = apply(self.trajectory, happened)
        if isinstance(happened, Generated | CallFinished):
            attempts = happened.attempts if isinstance(happened, CallFinished) else happened.generation.attempts
            self._charged += charges(attempts, self.trajectory.setting.prices)
            self._spent = None
        self._events.append(happened)
        self._news.set()
        if isinstance(happened, _STEP_ENDS):
            self._end_step()

    def close(self) -> None:
        """No event follows."""
        self._closed = True
        self._news.set()
        self._end_step()

    def _end_step(self) -> None:
        if self._step is not None and not self._step.done():
            self._step.set_result(None)

    async def follow(self) -> AsyncGenerator[Event, None]:
        """Events as they come, until the log is closed; for one reader."""
        while True:
            while self._events:
                yield self._events.popleft()
            if self._closed:
                return
            self._news.clear()
            await self._news.wait()

    async def step(self, since: Event, within_s: float) -> None:
        """Wait until the step that this event belongs to is over, so long at most: what it brought is at hand then."""
        if self._closed or any(isinstance(one, _STEP_ENDS) for one in (since, *self._events)):
            return
        loop = asyncio.get_running_loop()
        self._step = loop.create_future()
        timer = loop.call_later(within_s, self._end_step)
        try:
            await self._step
        finally:
            timer.cancel()

    def at_hand(self, *, end: bool = False) -> tuple[Event, ...]:
        """What has happened by now and `follow` has not told: whoever takes it hears of it here, and not there.

        Without `end` the end of the run comes by itself: a reader that leaves before it leaves a run that has not
        ended.
        """
        taken = list[Event]()
        while self._events and (end or not isinstance(self._events[0], RunFinished)):
            taken.append(self._events.popleft())
        return tuple(taken)
