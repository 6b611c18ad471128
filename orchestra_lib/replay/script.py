"""What a record says of the moments of its run: when things came back, what broke off, what stopped it from outside."""

import asyncio
from collections.abc import Mapping, Sequence

from orchestra_lib.errors import Fault
from orchestra_lib.event import CUT_OFF, CallFinished, Event, RunFinished, TurnFinished
from orchestra_lib.tool import CallStatus
from orchestra_lib.trajectory import StopReason, Trajectory

_TICK_S = 1e-7
"""Less than a record's clock tells apart: keeps what happened at the same moment in its order."""


class Astray(Exception):  # shown as a difference
    """The loop asked for what the record does not have."""


class Script:
    """When the recorded things happened, and what made the run stop from outside."""

    def __init__(self, kept: Sequence[Event], recorded: Trajectory, cancel: asyncio.Event) -> None:
        self.recorded, self.cancel = recorded, cancel
        self.turns = recorded.turns
        end = kept[-1]
        assert isinstance(end, RunFinished)
        interrupted = end.fault is not None and (end.fault.where, end.fault.kind) == ("run", "interrupted")
        self.cut_off = end if interrupted else None
        self.finished: Mapping[str, CallFinished] = {
            event.observation.call_id: event for event in kept if isinstance(event, CallFinished)
        }
        self._due_s: dict[str, float] = {}
        last_s = 0.0
        for call_id, event in self.finished.items():
            last_s = self._due_s[call_id] = max(event.observation.finished_s, last_s + _TICK_S)
        # Closing a run ends its open turn too, at the same moment: that one is made anew.
        own = [event for event in kept[:-1] if not _is_closing(event)]
        self._last_own = own[-2] if isinstance(own[-1], TurnFinished) else own[-1]

    def is_cut_off(self, event: Event) -> bool:
        """Whether the run's process ended right after this event."""
        return self.cut_off is not None and place_of(event) == place_of(self._last_own)

    async def until(self, t_s: float) -> None:
        """Wait for a moment of the recorded run."""
        await asyncio.sleep(t_s - asyncio.get_running_loop().time())

    async def done(self, call_id: str) -> CallFinished:
        """Wait for the moment at which a call came back."""
        await self.until(self._due_s[call_id])
        return self.finished[call_id]

    async def never(self, t_s: float) -> None:
        """Wait for what did not come before the run was stopped, which happens at `t_s` where a person did it."""
        if self.recorded.stop is StopReason.CANCELLED:
            await self.until(t_s)
            self.cancel.set()
        await asyncio.Event().wait()

    def fault_of_turn(self, place: int) -> Fault | None:
        """The fault that ended the run in this turn's generation."""
        last = self.recorded.faults[-1] if self.recorded.faults else None
        ended = self.recorded.stop is StopReason.FAULT and place == len(self.turns) - 1 and self.cut_off is None
        generation = self.turns[place].generation
        whole = generation is not None and (bool(generation.calls) or generation.answer is not None)
        return last if ended and not whole else None

    def is_broken_off(self, place: int) -> bool:
        """Whether this turn's generation was stopped from outside; a whole one calls, answers or is followed."""
        generation = self.turns[place].generation
        if place < len(self.turns) - 1 or self.recorded.stop not in (StopReason.CANCELLED, StopReason.TIME_LIMIT):
            return self.cut_off is not None and generation is None
        return generation is None or not (generation.calls or generation.answer is not None)

    def answer_of(self, call_id: str) -> str | None:
        """The run's answer, for the call that gave it."""
        last = self.turns[-1]
        answered = self.recorded.stop is StopReason.ANSWERED
        if not answered or last.generation is None or last.generation.answer is not None:
            return None
        well = [
            event.observation.call_id
            for event in self.finished.values()
            if event.turn == last.index and event.observation.status is CallStatus.OK
        ]
        return self.recorded.answer if well and well[-1] == call_id else None


def place_of(event: Event) -> tuple[str, int, str | None]:
    """What tells an event from the others of its run: its kind, its turn and its call."""
    call_id = event.observation.call_id if isinstance(event, CallFinished) else getattr(event, "call_id", None)
    return event.kind, getattr(event, "turn", 0), call_id


def _is_closing(event: Event) -> bool:
    """Whether a call was answered by `closing`, after the end of the run's process."""
    return isinstance(event, CallFinished) and event.observation.text == CUT_OFF
