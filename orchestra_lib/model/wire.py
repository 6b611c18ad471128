"""The HTTP client under every endpoint, with a bound on what a server can make us hold in memory."""

from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx2
import openai

from orchestra_lib.model.reply import BrokenStream

MAX_HELD_BYTES = 4 << 20
"""The longest line of a stream, and the longest error page."""
_LOCAL = ("127.0.0.1", "localhost", "::1")


def client(base_url: str, timeout: openai.Timeout) -> httpx2.AsyncClient:
    """A client for one request. What runs on this machine is never asked for through a proxy."""
    return openai.DefaultAsyncHttpx2Client(
        trust_env=urlsplit(base_url).hostname not in _LOCAL,
        timeout=timeout,
        event_hooks={"response": [_bound]},
    )


async def _bound(response: httpx2.Response) -> None:
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream, lines=response.is_success)


class _Bounded(httpx2.AsyncByteStream):
    """Passes bytes on until too many come without a line end, or at all when `lines` is False."""

    def __init__(self, stream: httpx2.AsyncByteStream, *, lines: bool) -> None:
        self._stream = stream
        self._lines = lines

    async def __aiter__(self) -> AsyncIterator[bytes]:
        held = 0
        async for chunk in self._stream:
            end = chunk.rfind(b"\n") if self._lines else -1
            held = held + len(chunk) if end < 0 else len(chunk) - end
            if held > MAX_HELD_BYTES:
                raise BrokenStream(f"it sent {MAX_HELD_BYTES >> 20} MB without a line end")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
