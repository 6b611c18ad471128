"""Putting finished runs into the query store: those that end together go in together.

A transaction costs more than a run's rows, and of hundreds of runs at once many end in the same moment.
"""

import asyncio

from orchestra_lib.store.store import Store
from orchestra_lib.trajectory import Trajectory

_Waiting = tuple[Trajectory, "asyncio.Future[None]"]


class Shelf:
    """The way into one store for event loops; one transaction at a time, with all that have come meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[_Waiting] = []
        self._at_work: asyncio.Task[None] | None = None

    async def put(self, trajectory: Trajectory) -> None:
        """Store a run, in place of an earlier one with its id. Raises `StoreFault`."""
        loop = asyncio.get_running_loop()
        stored: asyncio.Future[None] = loop.create_future()
        self._waiting.append((trajectory, stored))
        if self._at_work is None or self._at_work.done() or self._at_work.get_loop() is not loop:
            self._at_work = loop.create_task(self._work())
        await stored

    async def _work(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            fault: Exception | None = None
            try:
                await asyncio.to_thread(self._store.add_many, [one for one, _ in batch])
            except Exception as error:  # whatever it is, it belongs to those who wait
                fault = error
            for _, stored in batch:
                if stored.done():  # whoever waited has gone
                    continue
                stored.set_result(None) if fault is None else stored.set_exception(fault)
