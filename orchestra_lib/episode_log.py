"""The log of an episode under way: numbers events, folds them, and hands them on as they happen."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from typing import Any

from orchestra_lib.billing import Charge, Spent, charges, spent
from orchestra_lib.event import CallFinished, Event, Generated, apply
from orchestra_lib.trajectory import Setting, Trajectory


class EpisodeLog:
    """Events with sequence numbers and seconds since the start by `clock`; `trajectory` is their fold so far."""

    def __init__(self, setting: Setting, clock: Callable[[], float]) -> None:
        self.trajectory = Trajectory(setting=setting)
        self._clock, self._start, self._seq = clock, clock(), 0
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
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
        self._events.put_nowait(happened)

    def close(self) -> None:
        """No event follows."""
        self._events.put_nowait(None)

    async def follow(self) -> AsyncGenerator[Event, None]:
        """Events as they come, until the log is closed; for one reader."""
        while (happened := await self._events.get()) is not None:
            yield happened
