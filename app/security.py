"""What keeps other sites away from a workbench on this machine, and scripts away from its pages.

A page of another site can send requests to 127.0.0.1, and can rebind its own name to it. So a
server on loopback answers to loopback names only, a changing request must come from our own
pages, and each HTML page runs the scripts that we sent with it and no other: the policy lists
their hashes, because Gradio writes its configuration into an inline script.

Gradio's own routes take uploads, fetch addresses and hand out files; no page of ours asks for any, so they are closed.
What it does hand out, scripts and styles of its own, has short names: it breaks at one that no disk can hold.
"""

import base64
import hashlib
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orchestra_lib.hosts import LOOPBACK, hostname

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_CLOSED = re.compile(r"/((gradio_api|monitoring|openapi\.json|custom_component|run-history)(/|$)|pwa_icon/)")
_FILES = ("/static/", "/assets/", "/svelte/")
_LONGEST = 255
"""Bytes of an address of Gradio's files: as many as the name of one file may have on most disks."""
_NOTHING = JSONResponse({"error": "there is nothing here; see /api/docs"}, 404)
_INLINE_SCRIPT = re.compile(rb"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL | re.IGNORECASE)


class Guard:
    """ASGI middleware: host names, origins, and the headers of every answer."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app = app
        self._loopback_only = host in LOOPBACK

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no sockets here, and one would not be kept to its own site
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        if _CLOSED.match(scope["path"]):
            await _NOTHING(scope, receive, send)
            return
        refusal = self._refusal(scope["method"], Headers(scope=scope))
        if refusal:
            await JSONResponse({"error": refusal}, 403)(scope, receive, send)
            return
        if scope["path"].startswith(_FILES) and len(scope["path"].encode("utf-8", "replace")) > _LONGEST:
            await _NOTHING(scope, receive, send)
            return
        await self._app(_plain_pages(scope), receive, _Headed(send))

    def _refusal(self, method: str, headers: Headers) -> str | None:
        host = headers.get("host", "")
        if self._loopback_only and hostname(host) not in LOOPBACK:
            return f"this workbench answers to localhost only, not to {host!r}; start it with --host to serve others"
        own = headers.get("sec-fetch-site", "same-origin") in {"same-origin", "none"}
        if method in _SAFE_METHODS:
            # Another site may lead here; it may not have its page ask, not even for what it then cannot read.
            led = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
            return None if own or led else "a page of another site cannot ask for anything here; open it by itself"
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            return f"a request from {origin!r} cannot change anything here; use the workbench's own pages"
        if not own:
            return "a request from another site cannot change anything here; use the workbench's own pages"
        return None


def _plain_pages(scope: Scope) -> Scope:
    """A page is asked for uncompressed: its scripts are hashed on the way out."""
    headers = Headers(scope=scope)
    if "text/html" not in headers.get("accept", ""):
        return scope
    return {**scope, "headers": [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]}


def content_policy(page: bytes) -> str:
    """The Content-Security-Policy of an HTML page: nothing from elsewhere, no script that we did not write in it.

    `unsafe-eval` stays because Gradio compiles its component templates with `new Function`.
    """
    hashes = (base64.b64encode(hashlib.sha256(body).digest()).decode() for body in _INLINE_SCRIPT.findall(page))
    scripts = " ".join(f"'sha256-{value}'" for value in dict.fromkeys(hashes))
    return (
        f"default-src 'self'; script-src 'self' 'unsafe-eval' {scripts}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'self'; "
        "form-action 'self'; frame-ancestors 'none'"
    )


class _Headed:
    """Adds headers to an answer; holds an HTML page back until it is whole, and only that."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._page = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message["headers"])
            for name in [name for name in headers if name.startswith("access-control-")]:
                del headers[name]  # Gradio lets pages of other ports of this machine read its own
            headers.setdefault("x-content-type-options", "nosniff")
            headers.setdefault("referrer-policy", "no-referrer")
            headers.setdefault("x-frame-options", "DENY")
            headers.setdefault("cross-origin-resource-policy", "same-origin")
            if headers.get("content-type", "").startswith("text/html"):
                self._start = message
                return
        elif self._start is not None:
            self._page += message.get("body", b"")
            if message.get("more_body"):
                return
            headers = MutableHeaders(raw=self._start["headers"])
            headers["content-security-policy"] = content_policy(self._page)
            await self._send(self._start)
            message = {**message, "body": self._page}
            self._start = None
        await self._send(message)
