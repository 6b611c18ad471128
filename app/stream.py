"""A run as server-sent events: `id` is the event's number, so that a viewer can go on where it was.

Beside the run's frames there are `clock` (seconds since the start, for a viewer who comes in the
middle), `queued` (the place of a run that waits), `never` (it was taken out before it began), `broken`
(the run could not end properly) and `end` (nothing follows).
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from itertools import islice
from typing import Any

from app.liverun import Frame, LiveRun, frames
from app.queue import Ticket
from app.runs import RunManager
from orchestra_lib import codec
from orchestra_lib.event import Event, RunFinished

_PING = ": still here\n\n"
_TAIL_S = 1.0
_AT_ONCE = 200
"""So many frames of a stored run are made before they are sent."""


async def queued(runs: RunManager, ticket: Ticket, after: int) -> AsyncIterator[str]:
    """A run that waits: its place until it begins, then the run."""
    async for place in runs.queue.places(ticket):
        yield _PING if place is None else _named("queued", {"place": place, "waiting": len(runs.queue)})
    why = await ticket.settled()
    if ticket.run is None:
        yield _named("never", {"message": str(why)})
        yield _named("end", {})
        return
    async for part in live(ticket.run, after):
        yield part


async def live(run: LiveRun, after: int) -> AsyncIterator[str]:
    """A run that this process plays: what happened after `after`, then what happens."""
    yield _named("clock", {"t_s": run.elapsed_s})
    async for frame in run.follow(after):
        yield _PING if frame is None else _message(frame)
    if run.broken:
        yield _named("broken", {"message": run.broken})
    yield _named("end", {})


def _next(made: Iterator[Frame]) -> list[Frame]:
    return list(islice(made, _AT_ONCE))


async def stored(runs: RunManager, run_id: str, events: list[Event], after: int) -> AsyncIterator[str]:
    """A run from its journal, of which `events` are the beginning or all.

    While another process still writes it, the stream goes on with what it adds.
    """
    while True:
        made = frames(events, after)
        while part := await asyncio.to_thread(_next, made):
            for frame in part:
                after = frame.seq
                yield _message(frame)
        if any(isinstance(event, RunFinished) for event in events):
            break
        going_on = await asyncio.to_thread(runs.is_written, run_id)
        seen, events = len(events), await asyncio.to_thread(runs.events, run_id)
        if len(events) > seen:
            continue
        if not going_on:
            yield _named("broken", {"message": "the process that ran this ended before the run did"})
            break
        if runs.closing:
            break
        yield _PING
        await asyncio.sleep(_TAIL_S)
    yield _named("end", {})


def _message(frame: Frame) -> str:
    # JSON escapes line ends, so one data line is enough; U+2028 and friends are no line ends in a stream.
    return f"id: {frame.seq}\ndata: {frame.data}\n\n"


def _named(name: str, data: Mapping[str, Any]) -> str:
    return f"event: {name}\ndata: {codec.dumps(data)}\n\n"
