"""A connection to one MCP server: opened when first needed, shared by all runs of an event loop, opened anew once dead.

The library's sessions belong to the task that entered them; so a task of its own keeps each.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from orchestra_lib.errors import ServerFault, first_line
from orchestra_lib.hosts import LOOPBACK
from orchestra_lib.toolkit.mcp.entry import ServerEntry

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult, Tool

CONNECT_S = 30.0
MAX_ANSWER = 4 << 20
"""Bytes of one plain HTTP response at most."""
MAX_PAGES = 20
_IDLE_S = 300.0


class Session:
    """Speaks with the server of one entry. `environ` has the variables that the entry names."""

    def __init__(self, name: str, entry: ServerEntry, environ: Mapping[str, str]) -> None:
        self.name, self._entry, self._environ = name, entry, environ
        self._keepers: WeakKeyDictionary[asyncio.AbstractEventLoop, _Keeper] = WeakKeyDictionary()

    async def tools(self) -> "list[Tool]":
        """Every tool that the server lists now. Raises `ServerFault`."""
        client = await self._client()
        found: list[Tool] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await self._asked(client.list_tools(cursor=cursor, cache_mode="refresh"), CONNECT_S)
            found += page.tools
            cursor = page.next_cursor
            if cursor is None:
                return found
        raise ServerFault(f"the MCP server {self.name} lists tools without an end")

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> "CallToolResult":
        """Call a tool by the server's own name for it. Raises `ServerFault`."""
        client = await self._client()
        result: CallToolResult = await self._asked(client.call_tool(tool, dict(arguments)), self._entry.timeout_s)
        return result

    async def close(self) -> None:
        """End the connection of this event loop."""
        if keeper := self._keepers.pop(asyncio.get_running_loop(), None):
            await keeper.close()

    async def _client(self) -> "Client":
        loop = asyncio.get_running_loop()
        keeper = self._keepers.get(loop)
        if keeper is None or keeper.over:
            keeper = self._keepers[loop] = _Keeper(self.name, self._entry, self._environ)
        return await keeper.client()

    async def _asked(self, work: Any, timeout_s: float) -> Any:
        from mcp import MCPError

        keeper = self._keepers[asyncio.get_running_loop()]
        keeper.used()
        try:
            return await asyncio.wait_for(work, timeout_s)
        except TimeoutError:
            raise ServerFault(f"the MCP server {self.name} did not answer within {timeout_s:g} s") from None
        except MCPError as error:
            if keeper.over or "closed" in str(error).lower():
                await keeper.close()
                raise ServerFault(f"the MCP server {self.name} ended: {keeper.why or first_line(error)}") from None
            raise ServerFault(f"the MCP server {self.name} refused: {first_line(error)[:300]}") from None
        except Exception as error:  # the library lets through what its transports and validators raise
            await keeper.close()
            why = f"{type(error).__name__}: {first_line(error)[:300]}"
            raise ServerFault(f"the MCP server {self.name} broke off ({why})") from None


class _Keeper:
    """The task that holds one connection open until it is closed, dies, or nobody has used it for a while."""

    def __init__(self, name: str, entry: ServerEntry, environ: Mapping[str, str]) -> None:
        from orchestra_lib.toolkit.mcp.pipe import Complaint

        self._name, self._entry, self._environ = name, entry, environ
        self._complaint = Complaint()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._close, self._used = asyncio.Event(), asyncio.Event()
        self._task = asyncio.create_task(self._keep(), name=f"mcp {name}")

    @property
    def over(self) -> bool:
        return self._task.done() or self._close.is_set()

    @property
    def why(self) -> str:
        """The server's last words."""
        return self._complaint.text

    def used(self) -> None:
        self._used.set()

    async def client(self) -> "Client":
        """The open connection. Raises `ServerFault` when it does not come about."""
        try:
            return await asyncio.wait_for(asyncio.shield(self._ready), CONNECT_S)
        except TimeoutError:
            await self.close()
            raise ServerFault(
                f"the MCP server {self._name} did not greet within {CONNECT_S:g} s{self._said()}"
            ) from None

    async def close(self) -> None:
        self._close.set()
        if not self._ready.done():
            self._task.cancel()
        if self._task is not asyncio.current_task():
            await asyncio.wait({self._task}, timeout=10)

    async def _keep(self) -> None:
        from mcp import Client

        try:
            async with self._transport() as transport, Client(transport, read_timeout_seconds=None) as client:
                self._ready.set_result(client)
                while not self._close.is_set():
                    self._used.clear()
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._close.wait(), _IDLE_S)
                    if not self._used.is_set():
                        return
        except asyncio.CancelledError:
            self._fail("it was given up")
            raise
        except Exception as error:
            self._fail(_cause(error))

    def _fail(self, why: str) -> None:
        if not self._ready.done():
            self._ready.set_exception(ServerFault(f"the MCP server {self._name} cannot be used: {why}{self._said()}"))
            self._ready.exception()  # seen here, as whoever waited may have gone

    def _said(self) -> str:
        return f"; it said: {self._complaint.text}" if self._complaint.text else ""

    @contextlib.asynccontextmanager
    async def _transport(self) -> Any:
        from orchestra_lib.toolkit.mcp.pipe import clean, pipe

        entry = self._entry
        if entry.url is None:
            yield pipe(entry.command, clean(self._environ, entry.env), self._complaint)
            return
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        key = self._environ.get(entry.key_env or "", "")
        headers = {"authorization": f"Bearer {key}"} if key else {}
        outside = urlsplit(entry.url).hostname not in LOOPBACK
        timeout = httpx2.Timeout(CONNECT_S, read=entry.timeout_s)
        hooks = {"response": [_bound]}
        async with httpx2.AsyncClient(headers=headers, timeout=timeout, trust_env=outside, event_hooks=hooks) as http:
            yield streamable_http_client(entry.url, http_client=http)


async def _bound(response: Any) -> None:
    """Read a plain response here, up to a limit; the library bounds the events of a stream by itself."""
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        return
    body = b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > MAX_ANSWER:
            raise ServerFault(f"it sent an answer of over {MAX_ANSWER >> 20} MB")
    response._content = body  # what `aread` would keep, and it has no limit


def _cause(error: BaseException) -> str:
    """The first real error of a group, in a line."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return f"{first_line(error)[:300] or type(error).__name__}" if isinstance(error, Exception) else "it was stopped"
