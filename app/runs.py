"""Runs belong to the server, not to a tab: one task per run, a log of frames, any number of viewers.

At most `MAX_RUNNING` go on at once; the others wait in a queue. A finished run leaves memory; whoever
asks for it later reads it back from its journal and gets the same frames. A viewer resumes after a
sequence number and neither loses nor repeats one.
"""

import asyncio
import contextlib
import logging

from app.liverun import LiveRun
from app.queue import MAX_QUEUED, Queue, Ticket
from orchestra_lib.errors import BadInput, NewerSchema, OrchestraError
from orchestra_lib.event import Event, RunFinished, RunStarted, fold
from orchestra_lib.store.journal import Stamp
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.unfolding import unfold
from orchestra_lib.workbench import Order, Workbench, new_run_id

MAX_RUNNING = 16
_AT_FIRST = 200
"""Events that a viewer of a stored run gets before the rest is read: more than fill a screen."""
log = logging.getLogger(__name__)


class RunManager:
    """Starts, follows and stops runs of one workbench; holds only those that go on."""

    def __init__(self, workbench: Workbench) -> None:
        self._workbench = workbench
        self._live: dict[str, LiveRun] = {}
        self._tasks: dict[asyncio.Task[None], Ticket] = {}
        self.queue = Queue()
        self.closing = False

    def running(self) -> list[Trajectory]:
        return [run.trajectory for run in self._live.values()]

    def live(self, run_id: str) -> LiveRun | None:
        return self._live.get(run_id)

    async def start(self, order: Order) -> str:
        """Start a run, or queue it while others go on, and return its id.

        Raises `BadInput` for an order that cannot be carried out, at once also when it would have to wait.
        """
        if self.closing:
            raise BadInput("the workbench is stopping; start it again first")
        if len(self._tasks) < MAX_RUNNING:
            ticket = Ticket(new_run_id(), order)
            self._launch(ticket)
            # A client that hangs up must not take the run with it.
            if (why := await ticket.settled()) is not None:
                raise why
            return ticket.run_id
        if len(self.queue) >= MAX_QUEUED:
            raise BadInput(f"{MAX_QUEUED:,} runs are waiting already; cancel some or wait")
        await asyncio.to_thread(self._workbench.play, order)  # checked now, made anew when its turn comes
        ticket = Ticket(new_run_id(), order)
        self.queue.add(ticket)
        self._fill()  # a place may have come free while the order was checked
        return ticket.run_id

    def stop(self, run_id: str) -> bool:
        """Ask a run to stop, or take it out of the queue; False when it neither goes on nor waits."""
        if self.queue.drop(run_id, BadInput(f"run {run_id} was cancelled before it began; nothing was spent")):
            return True
        ticket = next((one for one in self._tasks.values() if one.run_id == run_id), None)
        if ticket is not None:
            ticket.cancel.set()
        return ticket is not None

    def stop_all(self) -> list[Ticket]:
        """Ask every run to stop, and whoever reads a run of another process to read no further.

        Returns those that waited and now never begin.
        """
        self.closing = True
        dropped = self.queue.first(len(self.queue))
        for waiting in dropped:
            why = BadInput(f"run {waiting.run_id} had not begun when the workbench was stopped; run it again")
            self.queue.drop(waiting.run_id, why)
        for ticket in self._tasks.values():
            ticket.cancel.set()
        return dropped

    def events(self, run_id: str) -> list[Event]:
        """The kept events of a run, also of one that was imported without a journal.

        Raises `BadInput` when there is no such run.
        """
        kept = self._kept(run_id)
        return unfold(kept) if isinstance(kept, Trajectory) else kept

    def beginning(self, run_id: str) -> list[Event]:
        """The first of those events, for whoever wants to see something at once. Raises as `events`."""
        try:
            kept = self._workbench.journal.beginning(run_id, _AT_FIRST)
        except NewerSchema:
            raise
        except BadInput:
            kept = []
        at_end = any(isinstance(event, RunFinished) for event in kept)  # grades may follow the last of them
        return self.events(run_id) if not kept or (at_end and len(kept) == _AT_FIRST) else kept

    def is_written(self, run_id: str) -> bool:
        """Whether some process, such as a command line, is still writing this run."""
        try:
            return self._workbench.journal.is_live(run_id)
        except BadInput:  # it has no journal
            return False

    def stamp(self, run_id: str) -> Stamp | None:
        """What changes whenever the journal of a run does; None for one without. Raises `BadInput` for no run's id."""
        return self._workbench.journal.stamp(run_id)

    def trajectory(self, run_id: str) -> Trajectory:
        """A run as far as it is known, going on or stored. Raises `BadInput` when there is none."""
        if (live := self._live.get(run_id)) is not None:
            return live.trajectory
        kept = self._kept(run_id)
        return kept if isinstance(kept, Trajectory) else fold(kept)

    def _kept(self, run_id: str) -> list[Event] | Trajectory:
        """The journal of a run; of one without, what the store has."""
        if (place := self.queue.place(run_id)) is not None:
            raise BadInput(f"run {run_id} waits in the queue at place {place}; nothing of it is there yet")
        if (why := self.queue.why_never(run_id)) is not None:
            raise BadInput(why)
        try:
            events = self._workbench.journal.read(run_id)
        except NewerSchema:
            raise
        except BadInput:
            return self._workbench.store.get(run_id)  # imported without a journal, or nowhere
        if not events:
            raise BadInput(f"run {run_id!r} has not begun yet")
        return events

    async def close(self, grace_s: float = 5.0) -> None:
        """Stop what runs and wait a moment, so that every record ends properly."""
        self.stop_all()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=grace_s)
        for task in set(self._tasks):
            task.cancel()

    def _launch(self, ticket: Ticket) -> None:
        task = asyncio.create_task(self._play(ticket))
        self._tasks[task] = ticket
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        self._fill()

    def _fill(self) -> None:
        """Give free places to those who wait."""
        while not self.closing and len(self._tasks) < MAX_RUNNING and (ticket := self.queue.take()) is not None:
            self._launch(ticket)

    async def _play(self, ticket: Ticket) -> None:
        run: LiveRun | None = None
        broken: str | None = None
        try:
            # Checking an order may ask whether a sandbox can be had: not on the loop that serves the pages.
            checked = await asyncio.to_thread(
                self._workbench.play, ticket.order, run_id=ticket.run_id, cancel=ticket.cancel
            )
            async with contextlib.aclosing(checked) as events:
                async for event in events:
                    if isinstance(event, RunStarted):
                        run = self._live[ticket.run_id] = LiveRun(event, ticket.cancel)
                        ticket.begin(run)
                    else:
                        assert run is not None
                        run.publish(event)
        except Exception as error:
            broken = _words(error)
            if run is None:
                self.queue.remember(ticket.run_id, error)
                ticket.refuse(error)
        finally:
            ticket.refuse(BadInput("the run was cut off before it began"))
            if run is not None:
                del self._live[ticket.run_id]
                run.end(broken)


def _words(error: Exception) -> str:
    if isinstance(error, OrchestraError):
        return str(error)
    log.exception("a run broke")
    return f"the workbench itself failed ({type(error).__name__}); its terminal says where"
