"""The server put together, and served until it is interrupted."""

import asyncio
import contextlib
import logging
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from orchestra_lib.hosts import LOOPBACK
from orchestra_lib.model.weights import WeightsStatus
from orchestra_lib.record import record
from orchestra_lib.server.completions import Completions
from orchestra_lib.server.door import Door, check_free
from orchestra_lib.server.shapes import error_response
from orchestra_lib.serving.desk import Desk
from orchestra_lib.serving.waiting import MOST, WAIT_S, WaitingRoom
from orchestra_lib.workbench import Order, Workbench

_log = logging.getLogger(__name__)
Progress = Callable[[WeightsStatus], None] | None


@record
class Terms:
    """How a server serves. `wait_s` and `waiting` bound the runs that wait for results of their callers' tools."""

    key: str
    host: str = "127.0.0.1"
    at_once: int = 16
    wait_s: float = WAIT_S
    waiting: int = MOST


def orders_of(workbench: Workbench, orchestrators: Sequence[str], order: Order) -> dict[str, Order]:
    """The orders that a server stands for, by the names of its models. Raises `BadInput` for one that cannot be."""
    orders = {name: replace(order, orchestrator=name) for name in orchestrators}
    for one in orders.values():
        workbench.setting(replace(one, task="What can be served?"))
    return orders


def create_server(
    workbench: Workbench, orders: dict[str, Order], terms: Terms, *, mcp: bool = False, on_progress: Progress = None
) -> Door:
    """The server as an ASGI application, with `mcp` an MCP server at /mcp beside. It closes the workbench at its end.

    Raises `BadInput` for a short key.
    """
    desk = Desk(workbench, orders, WaitingRoom(terms.wait_s, terms.waiting))
    routes: list[BaseRoute] = [*Completions(desk, terms.at_once, time.time()).routes]
    tools = None
    if mcp:
        from mcp.server.transport_security import TransportSecuritySettings

        from orchestra_lib.server.mcp_tools import mcp_server

        tools = mcp_server(workbench, orders, terms.at_once)
        # The door has looked at the Host header by then.
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        routes = [*routes, *tools.streamable_http_app(stateless_http=True, transport_security=security).routes]

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        background = asyncio.create_task(workbench.start_background(on_progress))
        async with tools.session_manager.run() if tools else contextlib.nullcontext():
            yield
        background.cancel()
        await asyncio.wait({background}, timeout=2)
        await desk.close()
        await workbench.close()

    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={404: _unknown, 405: _unknown, Exception: _bug},
    )
    app.state.desk = desk
    return Door(app, terms.key, terms.host)


async def speak_mcp(workbench: Workbench, orders: dict[str, Order]) -> None:
    """Be an MCP server over stdin and stdout until the other side closes them. No weights are fetched for it."""
    from orchestra_lib.server.mcp_tools import mcp_server

    try:
        await mcp_server(workbench, orders).run_stdio_async()
    finally:
        await workbench.close()


async def _unknown(request: Request, _error: Exception) -> Response:
    path = request.url.path[:100]
    words = f"there is no {request.method} {path} here; there are /v1/chat/completions and /v1/models"
    if path.startswith("/v1/responses"):
        words = f"the Responses API ({path}) is not served; have your client use chat completions, /v1/chat/completions"
    return error_response(words, status=404, code="unknown_url")


async def _bug(request: Request, error: Exception) -> Response:
    _log.error("a bug in %s: %s: %s", request.url.path, type(error).__name__, error)
    return error_response("a bug of the server's own; its log and the run's record have more", status=500)


def serve(server: Door, terms: Terms, port: int, models: Sequence[str]) -> None:
    """Serve until interrupted. Raises `BadInput` when the port is taken."""
    check_free(terms.host, port)
    shown = "127.0.0.1" if terms.host in LOOPBACK else terms.host
    names = ", ".join(models)
    print(
        f"OpenAI-compatible: http://{shown}:{port}/v1   models: {names}   (Ctrl+C stops it)",
        file=sys.stderr,
        flush=True,
    )
    config = uvicorn.Config(server, host=terms.host, port=port, log_level="warning", timeout_graceful_shutdown=3)
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn has stopped in order, and raises it again to say why
        _Server(config).run()


class _Server(uvicorn.Server):
    """Stops the runs before it waits for those who listen to them, or it would wait in vain."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.config.app.app.state.desk.stop_all()  # type: ignore[union-attr]  # the server that `create_server` made
        super().handle_exit(sig, frame)
