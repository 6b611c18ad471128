"""One run on behalf of a caller: it is heard until it hands over calls of the caller's tools, or ends."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing

from orchestra_lib import event as ev
from orchestra_lib.event import Event, apply
from orchestra_lib.generation import Channel
from orchestra_lib.record import record
from orchestra_lib.serving.errands import Errands
from orchestra_lib.tool import ToolCall
from orchestra_lib.trajectory import Trajectory


@record
class Thought:
    """A piece of the orchestrator's reasoning, as it comes."""

    text: str


@record
class Working:
    """Tools of ours are called in this turn, by name."""

    turn: int
    tools: tuple[str, ...]


@record
class Handed:
    """Calls that the caller has to make, each under its id in the run; `content` is what was said with them."""

    content: str
    calls: tuple[ToolCall, ...]


@record
class Ended:
    """The run is over and its record is kept. `content` is its answer, in the form that was asked for."""

    trajectory: Trajectory
    content: str | None = None


Part = Thought | Working | Handed | Ended


class Served:
    """A run under way. `owners` are the names of its caller's tools; with `one_call` they are handed over one by one.

    It goes on by itself, heard or not. `cancel` stops it within a second, and what it was is kept.
    """

    def __init__(
        self,
        run_id: str,
        events: AsyncGenerator[Event, None],
        errands: Errands,
        owners: frozenset[str],
        cancel: asyncio.Event,
        *,
        one_call: bool = False,
    ) -> None:
        self.run_id, self.cancel = run_id, cancel
        self.trajectory: Trajectory | None = None
        self.reported = (0, 0)
        """Tokens in and out that earlier responses of this run have told of."""
        self._errands, self._owners, self._one_call = errands, owners, one_call
        self._open: dict[str, ToolCall] = {}
        self._started: set[str] = set()
        self._answered: set[str] = set()
        self._heard: asyncio.Queue[Event | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._follow(events))

    @property
    def kept(self) -> Trajectory:
        """The run as far as it was heard, which is at least its beginning."""
        assert self.trajectory is not None
        return self.trajectory

    async def _follow(self, events: AsyncGenerator[Event, None]) -> None:
        try:
            async with aclosing(events):
                async for event in events:
                    self._heard.put_nowait(event)
        finally:
            self._heard.put_nowait(None)

    async def parts(self) -> AsyncGenerator[Part, None]:
        """What happens until calls are handed over or the run ends. A bug in the run is raised."""
        while (event := await self._heard.get()) is not None:
            self.trajectory = apply(self.trajectory, event)
            match event:
                case ev.Streamed(channel=Channel.REASONING, text=text):
                    yield Thought(text=text)
                case ev.Generated() if event.turn > self.trajectory.setting.given_turns:
                    self._open = {call.id: call for call in event.generation.calls}
                    if ours := tuple(call.tool for call in self._open.values() if call.tool not in self._owners):
                        yield Working(turn=event.turn, tools=ours)
                case ev.CallStarted(call_id=call_id):
                    self._started.add(call_id)
                case ev.CallFinished(observation=seen):
                    self._open.pop(seen.call_id, None)
            if isinstance(event, ev.CallStarted | ev.CallFinished) and (due := self._due()):
                yield Handed(content=self._said(), calls=due)
                return
        await self._task
        yield Ended(trajectory=self.kept, content=self.kept.answer)

    def _due(self) -> tuple[ToolCall, ...]:
        """The calls to hand over now: none while another one of this turn is still under way."""
        calls = tuple(self._open.values())
        if any(
            call.tool not in self._owners or call.id not in self._started or call.id in self._answered for call in calls
        ):
            return ()
        return calls[:1] if self._one_call else calls

    def _said(self) -> str:
        generation = self.kept.turns[-1].generation
        return generation.content if generation else ""

    def answer(self, results: Mapping[str, str]) -> None:
        """Give the results of calls that were handed over, by their ids in the run."""
        for call_id, text in results.items():
            self._answered.add(call_id)
            self._errands.answer(self._open[call_id], text)

    def when_over(self, tell: Callable[[], object]) -> None:
        """Have something done once the run's record is closed."""
        self._task.add_done_callback(lambda _: tell())

    async def stop(self) -> None:
        """Stop the run and wait until its record is kept."""
        self.cancel.set()
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.exception()  # a bug is in its record, and nobody listens any more
