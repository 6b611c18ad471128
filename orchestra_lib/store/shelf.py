"""Putting finished runs into the query store: those that end together go in together.

A transaction costs more than a run's rows, and of hundreds of runs at once many end in the same moment. Where several
went in together more are about to end, and the next transaction gathers them for a moment. Their journals hold them
already: whoever plays many need not wait for their rows, and asks at the end whether all are there.
"""

import asyncio
from collections import deque
from collections.abc import Sequence

from orchestra_lib.store.store import Store
from orchestra_lib.trajectory import Trajectory

_GATHER_S, _LEISURE_S = 0.05, 1.0
"""So long after a transaction of several runs the next one begins, where somebody waits for it and where nobody."""
_LEFT = 1_000
"""So many runs at most are left without anyone waiting for them: their trajectories fill memory until then."""
_Waiting = tuple[Trajectory, "asyncio.Future[None]"]


class Shelf:
    """The way into one store for event loops; one transaction at a time, with all that have come meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[_Waiting] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._busy = False
        self._task: asyncio.Task[None] | None = None  # held, for a loop holds its tasks weakly
        self._timer: asyncio.Handle | None = None  # uvloop's of a time that has come does not tell when that is
        self._due_s = 0.0
        self._within_s, self._ended_s = _LEISURE_S, 0.0
        self._left: deque[asyncio.Future[None]] = deque()

    async def put(self, trajectory: Trajectory) -> None:
        """Store a run, in place of an earlier one with its id. Raises `StoreFault`."""
        stored = self._begin(trajectory)
        self._hurry(_GATHER_S)
        await stored

    async def leave(self, trajectory: Trajectory) -> None:
        """`put` without waiting for it; `settled` does, and so does this once too many have been left.

        Raises the `StoreFault` of one that was left before.
        """
        while self._left and _is_well(self._left[0]):
            self._left.popleft()  # they are stored in their order
        self._left.append(self._begin(trajectory))
        if self._left[0].done() or len(self._left) > _LEFT:
            await self.settled()

    async def settled(self) -> None:
        """Wait for all that this loop has left. Raises the `StoreFault` of one of them."""
        loop = asyncio.get_running_loop()
        left = {one for one in self._left if one.get_loop() is loop}
        if left:
            self._hurry(0.0)
            await asyncio.wait(left)
        self._left = deque(one for one in self._left if one not in left)
        faults = [fault for one in left if (fault := one.exception()) is not None]
        if faults:
            raise faults[0]

    def _begin(self, trajectory: Trajectory) -> "asyncio.Future[None]":
        loop = asyncio.get_running_loop()
        stored: asyncio.Future[None] = loop.create_future()
        self._waiting.append((trajectory, stored))
        if not self._busy or self._loop is not loop:
            self._loop, self._busy = loop, True
            self._next(loop)
        return stored

    def _hurry(self, within_s: float) -> None:
        """Have the next transaction begin so soon after the last one: somebody waits for it."""
        self._within_s = min(self._within_s, within_s)
        if self._timer is not None and self._loop is not None:
            due = max(self._loop.time(), self._ended_s + within_s)
            if due < self._due_s:
                self._timer.cancel()
                self._due_s, self._timer = due, self._loop.call_at(due, self._next, self._loop)

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is loop:
            self._timer = None
            self._busy = bool(self._waiting)
            self._task = loop.create_task(self._work(loop)) if self._waiting else None

    async def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        batch, self._waiting, self._within_s = self._waiting, [], _LEISURE_S
        faults: Sequence[Exception | None]
        try:
            faults = await asyncio.to_thread(self._faults, [one for one, _ in batch])
        except Exception as error:  # there are no threads any more
            faults = [error] * len(batch)
        finally:  # by a timer, for a sleep would end with the tasks of a loop that is torn down
            if self._loop is loop:
                self._ended_s = loop.time()
                self._due_s = self._ended_s + (self._within_s if len(batch) > 1 else 0.0)
                self._timer = loop.call_at(self._due_s, self._next, loop)
        for (_, stored), fault in zip(batch, faults, strict=True):
            if stored.done():  # whoever waited has gone
                continue
            stored.set_result(None) if fault is None else stored.set_exception(fault)

    def _faults(self, runs: Sequence[Trajectory]) -> Sequence[Exception | None]:
        """Store them, and say what kept each from it: where all together fail, each is tried alone."""
        try:
            self._store.add_many(runs)
        except Exception as error:  # whatever it is, it belongs to those who wait
            return [error] if len(runs) == 1 else [self._faults([one])[0] for one in runs]
        return [None] * len(runs)


def _is_well(stored: "asyncio.Future[None]") -> bool:
    return stored.done() and stored.exception() is None
