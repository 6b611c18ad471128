"""Who gets in: whoever has the key, and on loopback only under a name of this machine.

A page of another site can rebind its own name to 127.0.0.1 and so reach a server here; the Host header still bears
that name.
"""

import hashlib
import hmac
import socket

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from orchestra_lib.errors import BadInput
from orchestra_lib.hosts import LOOPBACK, hostname
from orchestra_lib.server.shapes import error_response

SHORTEST_KEY = 8


class Door:
    """ASGI middleware around everything that is served. The key is kept as a digest and compared in constant time."""

    def __init__(self, app: ASGIApp, key: str, host: str) -> None:
        if len(key) < SHORTEST_KEY:
            raise BadInput(f"the key has {len(key)} characters; give it at least {SHORTEST_KEY}")
        self.app, self._secret, self._loopback_only = app, _digest(key), host in LOOPBACK

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._loopback_only and hostname(host) not in LOOPBACK:
            words = (
                f"this server answers to localhost only, not to {host[:100]!r}; start it with --host to serve others"
            )
            await error_response(words, status=403, code="wrong_host")(scope, receive, send)
            return
        given = headers.get("authorization", "").partition("Bearer ")[2].strip()
        if not hmac.compare_digest(_digest(given), self._secret):
            words = "wrong or missing key; send the one that the server was started with as `Authorization: Bearer KEY`"
            refusal = error_response(words, status=401, code="invalid_api_key", headers={"www-authenticate": "Bearer"})
            await refusal(scope, receive, send)
            return
        await self.app(scope, receive, send)


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def check_free(host: str, port: int) -> None:
    """Raises `BadInput` when nothing can listen there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise BadInput(
                f"cannot listen on {host}:{port} ({error.strerror}); choose another with --port, or stop what uses it"
            ) from None
