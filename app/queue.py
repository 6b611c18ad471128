"""Runs that wait for a place: in the order they were asked for, each told where it stands."""

import asyncio
from collections.abc import AsyncIterator
from itertools import islice

from app.liverun import LiveRun
from orchestra_lib.workbench import Order

MAX_QUEUED = 10_000
PING_S = 15.0
_PACE_S = 0.25
"""A long queue moves often; nobody reads a place faster than this."""
_REMEMBERED = 1000


class Ticket:
    """One run that was asked for: its order, and whether it has begun, or why it never will."""

    def __init__(self, run_id: str, order: Order) -> None:
        self.run_id, self.order = run_id, order
        self.cancel = asyncio.Event()
        self.run: LiveRun | None = None
        self._settled: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

    def begin(self, run: LiveRun) -> None:
        """Its first event is there."""
        self.run = run
        self._settled.set_result(None)

    def refuse(self, why: Exception) -> None:
        """It will never begin; nothing when it has."""
        if not self._settled.done():
            self._settled.set_result(why)

    async def settled(self) -> Exception | None:
        """Waits until the run begins (None) or it is certain that it will not (why)."""
        # A listener that goes away must not take the future with it.
        return await asyncio.shield(self._settled)


class Queue:
    """Tickets that wait, first come first served."""

    def __init__(self) -> None:
        self._tickets: dict[str, Ticket] = {}
        self._never: dict[str, str] = {}
        self._bell = asyncio.Event()

    def __len__(self) -> int:
        return len(self._tickets)

    def add(self, ticket: Ticket) -> None:
        self._tickets[ticket.run_id] = ticket

    def find(self, run_id: str) -> Ticket | None:
        return self._tickets.get(run_id)

    def place(self, run_id: str) -> int | None:
        """Its place, from 1; None when it does not wait."""
        return next((place for place, name in enumerate(self._tickets, start=1) if name == run_id), None)

    def first(self, count: int) -> list[Ticket]:
        return list(islice(self._tickets.values(), count))

    def take(self) -> Ticket | None:
        """The next one, no longer waiting."""
        run_id = next(iter(self._tickets), None)
        return None if run_id is None else self._leave(run_id)

    def drop(self, run_id: str, why: Exception) -> bool:
        """Take one out for good; False when it does not wait here."""
        if run_id not in self._tickets:
            return False
        self.remember(run_id, why)
        self._leave(run_id).refuse(why)
        return True

    def remember(self, run_id: str, why: Exception) -> None:
        """Keep the reason why a run never began, for whoever asks for it later."""
        self._never[run_id] = str(why)
        while len(self._never) > _REMEMBERED:
            del self._never[next(iter(self._never))]

    def why_never(self, run_id: str) -> str | None:
        return self._never.get(run_id)

    async def places(self, ticket: Ticket) -> AsyncIterator[int | None]:
        """Its place now and whenever it changes, until it leaves; None when nothing changed for a while."""
        told: int | None = None
        while (place := self.place(ticket.run_id)) is not None:
            bell = self._bell
            if place != told:
                told = place
                yield place
            try:
                await asyncio.wait_for(bell.wait(), PING_S)
                await asyncio.sleep(_PACE_S)
            except TimeoutError:
                yield None

    def _leave(self, run_id: str) -> Ticket:
        ticket = self._tickets.pop(run_id)
        self._bell.set()
        self._bell = asyncio.Event()
        return ticket
