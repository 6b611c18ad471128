"""The door of a provider: how many requests it gets at once and a minute, shared by all models behind it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from weakref import WeakKeyDictionary

from aiolimiter import AsyncLimiter


class Gate:
    """Lets `at_once` requests through at the same time and `per_minute` begin within a minute; None is no limit.

    One gate serves any number of event loops; each counts for itself.
    """

    def __init__(self, *, at_once: int | None = None, per_minute: float | None = None) -> None:
        self._at_once, self._per_minute = at_once, per_minute
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Line] = WeakKeyDictionary()
        self._closed_until = 0.0

    @asynccontextmanager
    async def place(self) -> AsyncIterator[float]:
        """A place for one request, held while the context lasts; gives the seconds waited for it."""
        asked = time.monotonic()
        line = self._lines.setdefault(asyncio.get_running_loop(), _Line(self._at_once, self._per_minute))
        async with line.places or nullcontext():
            await asyncio.sleep(max(0.0, self._closed_until - time.monotonic()))
            if line.limiter is not None:
                await line.limiter.acquire()
            yield time.monotonic() - asked

    def close_for(self, seconds: float) -> None:
        """Let nothing new through for so long: the provider said that it has too much to do."""
        self._closed_until = max(self._closed_until, time.monotonic() + seconds)


class _Line:
    def __init__(self, at_once: int | None, per_minute: float | None) -> None:
        self.places = asyncio.Semaphore(at_once) if at_once else None
        # One after another and not a minute's worth at once, so that no minute holds more than it may.
        self.limiter = AsyncLimiter(1, 60 / per_minute) if per_minute else None
