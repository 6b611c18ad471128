"""Putting finished runs into the query store: those that end together go in together.

A transaction costs more than a run's rows, and of hundreds of runs at once many end in the same moment. Where several
went in together more are about to end, and the next transaction gathers them for a moment.
"""

import asyncio

from orchestra_lib.store.store import Store
from orchestra_lib.trajectory import Trajectory

_GATHER_S = 0.05
"""So long after a transaction of several runs the next one begins at the earliest."""
_Waiting = tuple[Trajectory, "asyncio.Future[None]"]


class Shelf:
    """The way into one store for event loops; one transaction at a time, with all that have come meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[_Waiting] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._busy = False
        self._task: asyncio.Task[None] | None = None  # held, for a loop holds its tasks weakly

    async def put(self, trajectory: Trajectory) -> None:
        """Store a run, in place of an earlier one with its id. Raises `StoreFault`."""
        loop = asyncio.get_running_loop()
        stored: asyncio.Future[None] = loop.create_future()
        self._waiting.append((trajectory, stored))
        if not self._busy or self._loop is not loop:
            self._loop, self._busy = loop, True
            self._next(loop)
        await stored

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is loop:
            self._busy = bool(self._waiting)
            self._task = loop.create_task(self._work(loop)) if self._waiting else None

    async def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        batch, self._waiting = self._waiting, []
        fault: Exception | None = None
        try:
            await asyncio.to_thread(self._store.add_many, [one for one, _ in batch])
        except Exception as error:  # whatever it is, it belongs to those who wait
            fault = error
        finally:  # by a timer, for a sleep would end with the tasks of a loop that is torn down
            loop.call_later(_GATHER_S if len(batch) > 1 else 0.0, self._next, loop)
        for _, stored in batch:
            if stored.done():  # whoever waited has gone
                continue
            stored.set_result(None) if fault is None else stored.set_exception(fault)
