"""Runs belong to the server, not to a tab: one task per run, a log of frames, any number of viewers.

A finished run leaves memory; whoever asks for it later reads it back from its journal and gets
the same frames. A viewer resumes after a sequence number and neither loses nor repeats one.
"""

import asyncio
import bisect
import contextlib
import logging
import time
from collections.abc import AsyncIterator

from app import views
from orchestra_lib import codec
from orchestra_lib.errors import BadInput, OrchestraError
from orchestra_lib.event import Event, Generated, RunStarted, apply, fold
from orchestra_lib.record import record
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.workbench import Order, Workbench

MAX_RUNNING = 16
PING_S = 15.0
log = logging.getLogger(__name__)


@record
class Frame:
    """One message of a stream, ready to send. `streamed` marks text that a later frame repeats whole."""

    seq: int
    data: str
    streamed: bool = False


def frames(events: list[Event]) -> list[Frame]:
    """A stored run as the frames that a viewer of the live run got, without the streamed pieces."""
    trajectory: Trajectory | None = None
    made: list[Frame] = []
    for event in events:
        trajectory = apply(trajectory, event)
        made.append(_frame(event, trajectory))
    return made


def _frame(event: Event, trajectory: Trajectory) -> Frame:
    data = codec.dumps(views.frame(event, trajectory))
    return Frame(seq=event.seq, data=data, streamed=event.kind == "streamed")


class LiveRun:
    """A run that goes on: its record so far, its frames, and a bell for those who wait for the next."""

    def __init__(self, first: RunStarted, cancel: asyncio.Event) -> None:
        self.trajectory = Trajectory(setting=first.setting)
        self.cancel = cancel
        self.ended = False
        self.broken: str | None = None
        self._last = (first.t_s, time.monotonic())
        self._log = [_frame(first, self.trajectory)]
        self._bell = asyncio.Event()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run started, by this process's clock."""
        t_s, seen = self._last
        return t_s + (time.monotonic() - seen)

    def publish(self, event: Event) -> None:
        """Add one event and wake every viewer."""
        self.trajectory = apply(self.trajectory, event)
        self._last = (event.t_s, time.monotonic())
        if isinstance(event, Generated):
            # The whole text is in this event: pieces would only cost memory and a late viewer's time.
            self._log = [frame for frame in self._log if not frame.streamed]
        self._log.append(_frame(event, self.trajectory))
        self._ring()

    def end(self, broken: str | None = None) -> None:
        """No event follows; `broken` says why when the run could not end properly."""
        self.broken, self.ended = broken, True
        self._ring()

    async def follow(self, after: int) -> AsyncIterator[Frame | None]:
        """Frames after `after`, then the next as they come; None when nothing came for a while."""
        while True:
            bell = self._bell
            for frame in self._log[bisect.bisect_right(self._log, after, key=lambda frame: frame.seq) :]:
                after = frame.seq
                yield frame
            if bell.is_set():
                continue
            if self.ended:
                return
            try:
                await asyncio.wait_for(bell.wait(), PING_S)
            except TimeoutError:
                yield None

    def _ring(self) -> None:
        self._bell.set()
        self._bell = asyncio.Event()


class RunManager:
    """Starts, follows and stops runs of one workbench; holds only those that go on."""

    def __init__(self, workbench: Workbench) -> None:
        self._workbench = workbench
        self._live: dict[str, LiveRun] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.closing = False

    def running(self) -> list[Trajectory]:
        return [run.trajectory for run in self._live.values()]

    def live(self, run_id: str) -> LiveRun | None:
        return self._live.get(run_id)

    async def start(self, order: Order) -> str:
        """Start a run and return its id. Raises `BadInput` for an order that cannot be carried out."""
        if len(self._live) >= MAX_RUNNING:
            raise BadInput(f"{MAX_RUNNING} runs are going on; stop one or wait for one to end")
        started: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._play(order, started))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # A client that hangs up must not take the run with it.
        return await asyncio.shield(started)

    def stop(self, run_id: str) -> bool:
        """Ask a run to stop; False when it is not going on."""
        run = self._live.get(run_id)
        if run is not None:
            run.cancel.set()
        return run is not None

    def stop_all(self) -> None:
        """Ask every run to stop, and whoever reads a run of another process to read no further."""
        self.closing = True
        for run in self._live.values():
            run.cancel.set()

    def events(self, run_id: str) -> list[Event]:
        """The journalled events of a run. Raises `BadInput` when there is no such run."""
        events = self._workbench.journal.read(run_id)
        if not events:
            raise BadInput(f"run {run_id!r} has not begun yet")
        return events

    def is_written(self, run_id: str) -> bool:
        """Whether some process, such as a command line, is still writing this run."""
        return self._workbench.journal.is_live(run_id)

    def trajectory(self, run_id: str) -> Trajectory:
        """A run as far as it is known, going on or stored. Raises `BadInput` when there is none."""
        live = self._live.get(run_id)
        return live.trajectory if live else fold(self.events(run_id))

    async def close(self, grace_s: float = 5.0) -> None:
        """Stop what runs and wait a moment, so that every record ends properly."""
        self.stop_all()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=grace_s)
        for task in set(self._tasks):
            task.cancel()

    async def _play(self, order: Order, started: "asyncio.Future[str]") -> None:
        cancel = asyncio.Event()
        run: LiveRun | None = None
        broken: str | None = None
        try:
            # Checking an order may ask whether a sandbox can be had: not on the loop that serves the pages.
            checked = await asyncio.to_thread(self._workbench.play, order, cancel=cancel)
            async with contextlib.aclosing(checked) as events:
                async for event in events:
                    if isinstance(event, RunStarted):
                        run = self._live[event.setting.run_id] = LiveRun(event, cancel)
                        started.set_result(event.setting.run_id)
                    else:
                        assert run is not None
                        run.publish(event)
            assert started.done(), "a run begins with run_started"
        except Exception as error:
            broken = _words(error)
            if not started.done():
                started.set_exception(error)
        finally:
            if run is not None:
                del self._live[run.trajectory.id]
                run.end(broken)


def _words(error: Exception) -> str:
    if isinstance(error, OrchestraError):
        return str(error)
    log.exception("a run broke")
    return f"the workbench itself failed ({type(error).__name__}); its terminal says where"
