"""How far something long is, in a terminal: a download, or the same done to many things."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from orchestra_lib.cli.terminal import note
from orchestra_lib.errors import BadInput
from orchestra_lib.model.weights import WeightsStatus

T = TypeVar("T")
R = TypeVar("R")
_STEPS = 100
"""Of more things than this, progress is told so often and not for each."""


class WeightsProgress:
    """Bytes, rate and time left on one line of the terminal, or a line every tenth where there is none."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, status: WeightsStatus) -> None:
        rate = f" · {status.rate_bps / 1e6:.1f} MB/s" if status.rate_bps else ""
        left = f" · {status.eta_s:.0f} s left" if status.eta_s is not None else ""
        words = f"{status.name}: {status.state} {status.done_bytes / 1e6:,.0f} of {status.total_bytes / 1e6:,.0f} MB"
        if sys.stderr.isatty():
            end = "\n" if status.state in ("ready", "failed") else ""
            print(f"\r\033[K{words}{rate}{left}", end=end, file=sys.stderr, flush=True)
            return
        tenth = f"{status.name} {status.state} {10 * status.done_bytes // max(status.total_bytes, 1)}"
        if tenth != self._last:
            self._last = tenth
            note(words + rate + left)


async def in_turn(todo: Sequence[T], one: Callable[[T], Awaitable[R]], jobs: int, words: Callable[[R], str]) -> list[R]:
    """Do all of it, so many at once, and tell how far it is. The first error ends it; what is done stays done."""
    gate, done, step = asyncio.Semaphore(jobs), 0, max(1, len(todo) // _STEPS)

    async def held(item: T) -> R:
        nonlocal done
        async with gate:
            result = await one(item)
        done += 1
        if done % step == 0 or done == len(todo):
            note(f"{done}/{len(todo)}  {words(result)}")
        return result

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(held(item)) for item in todo]
    except* BadInput as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]
