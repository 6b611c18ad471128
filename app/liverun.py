"""A run that goes on, as numbered frames that any number of viewers follow at their own pace."""

import asyncio
import bisect
import time
from collections.abc import AsyncIterator, Iterator

from app import views
from orchestra_lib import codec
from orchestra_lib.event import Event, Generated, RunStarted, apply
from orchestra_lib.record import record
from orchestra_lib.trajectory import Trajectory

PING_S = 15.0


@record
class Frame:
    """One message of a stream, ready to send. `streamed` marks text that a later frame repeats whole."""

    seq: int
    data: str
    streamed: bool = False


def frames(events: list[Event], after: int = 0) -> Iterator[Frame]:
    """A stored run as the frames with a number above `after` that a viewer of the live run got, without streamed text.

    The bills on the way are left out, since they come all at once: the first has one and the last.
    """
    trajectory: Trajectory | None = None
    for event in events:
        trajectory = apply(trajectory, event)
        if event.seq > after:
            yield _frame(event, trajectory, billed=event is events[0] or event is events[-1])


def _frame(event: Event, trajectory: Trajectory, *, billed: bool | None = None) -> Frame:
    data = codec.dumps(views.frame(event, trajectory, billed=billed))
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
