"""Who is logged in: tokens by their hash, for a while, and the streams that go out to each."""

import asyncio
import hashlib
import secrets
from collections import defaultdict
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

STAY_S = 12 * 3600.0
_MAX_SESSIONS = 1000


class Sessions:
    """Logins that last `STAY_S`. An event stream or socket goes on no longer than its login. `clock` counts seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: dict[bytes, float] = {}
        self._streams: defaultdict[bytes, set[asyncio.Future[None]]] = defaultdict(set)

    def begin(self) -> str:
        """A new login; returns its token. The oldest goes where there are too many."""
        now = self._clock()
        for key in [key for key, until in self._until.items() if until <= now]:
            self._end(key)
        while len(self._until) >= _MAX_SESSIONS:
            self._end(next(iter(self._until)))
        token = secrets.token_urlsafe(32)
        self._until[digest(token)] = now + STAY_S
        return token

    def knows(self, token: str) -> bool:
        """Whether this is the token of a login that lasts."""
        # Looked up by its hash: how long that takes says nothing of the token.
        return bool(token) and self._left(digest(token)) > 0

    def end(self, token: str) -> None:
        """No request comes in by this token, and what streams to it is cut."""
        self._end(digest(token))

    async def serve(self, token: str, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the app answer. What it answers at once goes out whole; a stream only while the login lasts."""
        key, streams = digest(token), scope["type"] == "websocket"

        async def passed(message: Message) -> None:
            nonlocal streams
            await send(message)
            if _begins_stream(message):
                streams = True
                self._watch(key, serving)

        serving = asyncio.ensure_future(app(scope, receive, passed))
        if streams:
            self._watch(key, serving)
        try:
            await asyncio.wait({serving}, timeout=max(0.0, self._left(key)))
            if streams:
                serving.cancel()
            await asyncio.wait({serving})
        finally:
            serving.cancel()
            self._streams[key].discard(serving)
            if not self._streams[key]:
                del self._streams[key]
        if not serving.cancelled():
            serving.result()
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await send({"type": "http.response.body", "body": b""})

    def _watch(self, key: bytes, serving: asyncio.Future[None]) -> None:
        self._streams[key].add(serving)
        if self._left(key) <= 0:  # it ended before the stream began
            serving.cancel()

    def _left(self, key: bytes) -> float:
        now = self._clock()
        return self._until.get(key, now) - now

    def _end(self, key: bytes) -> None:
        self._until.pop(key, None)
        for stream in self._streams.pop(key, ()):
            stream.cancel()


def _begins_stream(message: Message) -> bool:
    if message["type"] != "http.response.start":
        return False
    return Headers(raw=message["headers"]).get("content-type", "").startswith("text/event-stream")


def digest(text: str) -> bytes:
    """The hash by which a secret is kept and compared."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()
