"""The HTTP client under every endpoint: kept connections, and a bound on what a server can make us hold in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import httpx2

from orchestra_lib.model.reply import BrokenStream

if TYPE_CHECKING:
    import openai

MAX_HELD_BYTES = 4 << 20
"""The longest line of a stream, and the longest error page."""
IDLE_S = 30.0
"""Connections are kept for the next request so long."""
_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=IDLE_S)
_CROWD = 32
"""Requests at once through one client; each looks at every connection of it, so that a thousand crawl."""
_LOCAL = ("127.0.0.1", "localhost", "::1")


@asynccontextmanager
async def client(base_url: str) -> AsyncIterator["openai.AsyncOpenAI"]:
    """A client of this event loop, for one request. What runs on this machine is never asked for through a proxy."""
    endpoints = _of_loops.setdefault(asyncio.get_running_loop(), {})
    if base_url not in endpoints:
        endpoints[base_url] = _Clients(base_url, lambda: endpoints.pop(base_url))
    with endpoints[base_url].lent() as lent:
        yield lent


def is_local(url: str) -> bool:
    """True for what runs on this machine."""
    return urlsplit(url).hostname in _LOCAL


def headers(base_url: str, key: str | None) -> dict[str, str]:
    """Who asks, with a placeholder for a server that needs no key; and what becomes of the connection.

    Without TLS another one is cheap, so none is kept: llama.cpp's server ends kept connections without a
    word, also with a request on the way.
    """
    kept = {} if urlsplit(base_url).scheme == "https" else {"connection": "close"}
    return {"authorization": f"Bearer {key or 'none'}", **kept}


class _Clients:
    """The clients of one endpoint, closed once nobody has used them for a while or when their event loop ends.

    Connections belong to an event loop, and setting up a client (its certificates) costs more than a request.
    The key is none of a client: it comes with each request.
    """

    def __init__(self, base_url: str, forget: Callable[[], object]) -> None:
        self._base_url = base_url
        self._certificates = httpx2.create_ssl_context()
        self._users: dict[openai.AsyncOpenAI, int] = {}
        self._used = asyncio.Event()
        # `asyncio.run` cancels what still runs at its end: that is when this task closes the connections.
        self._keeper = asyncio.create_task(self._keep(forget))

    @contextmanager
    def lent(self) -> Iterator["openai.AsyncOpenAI"]:
        """The first client with a place."""
        client = next((one for one, users in self._users.items() if users < _CROWD), None) or self._new()
        self._users[client] = self._users.get(client, 0) + 1
        try:
            yield client
        finally:
            self._users[client] -= 1
            self._used.set()

    def _new(self) -> "openai.AsyncOpenAI":
        import openai

        http = openai.DefaultAsyncHttpx2Client(
            trust_env=not is_local(self._base_url),
            verify=self._certificates,
            limits=_LIMITS,
            event_hooks={"response": [_bound]},
        )
        return openai.AsyncOpenAI(base_url=self._base_url, api_key="none", max_retries=0, http_client=http)

    async def _keep(self, forget: Callable[[], object]) -> None:
        try:
            while any(self._users.values()) or self._used.is_set():
                self._used.clear()
                await asyncio.sleep(IDLE_S)
        finally:
            forget()
            for client in self._users:
                await client.close()


_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Clients]] = WeakKeyDictionary()


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
