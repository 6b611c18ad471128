"""The server of `benchmarks.serve`, in a process of its own: orchestrators that play scripts, and no model.

python -m benchmarks.served_scripts        # prints its address and key, and serves until it is ended
python -m benchmarks.served_scripts --bare # beside it: a fixed answer of the same size and nothing else
"""

import argparse
import socket
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from orchestra_lib.model.weights import WeightsStatus
from orchestra_lib.policy.scripted import Move, Scripted
from orchestra_lib.protocols import Policy
from orchestra_lib.roster import Roster
from orchestra_lib.server import shapes
from orchestra_lib.server.application import Terms, create_server
from orchestra_lib.server.shapes import Head, Message
from orchestra_lib.workbench import Order, Workbench

KEY = "benchmark-key"
ANSWER = "The answer is forty-two, and this sentence stands for an explanation of it. " * 4
SCRIPTS: dict[str, Sequence[Move]] = {
    "answer": (ANSWER,),
    "caller": ((("look", {"at": "it"}),), ANSWER),
    "turns": (*(((("local_search", {"query": f"capital of France {n}"}),)) for n in range(4)), ANSWER),
}
"""One turn; one call of the caller's tool and an answer; four searches in the local index and an answer."""


class ScriptedRoster(Roster):
    """The roster of a home, with these scripts in place of its orchestrators."""

    def orchestrator(self, name: str) -> Policy:
        return Scripted(SCRIPTS[name], name=name)

    async def prepare(self, on_progress: Callable[[WeightsStatus], None] | None = None) -> None:
        """Nothing is fetched."""


def ours(home: Path) -> ASGIApp:
    """The whole server over an empty home."""
    workbench = Workbench(home, roster=ScriptedRoster(home, {}))
    orders = {name: Order(orchestrator=name, tools=("local_search",)) for name in SCRIPTS}
    return create_server(workbench, orders, Terms(key=KEY, at_once=64))


def bare() -> ASGIApp:
    """What HTTP and JSON cost by themselves: reads the body and sends one fixed completion."""
    said = Message(content=ANSWER, calls=(), finish="stop")
    data = shapes.completion(Head(id="chatcmpl-1", created=1, model="answer"), said, None, {})

    async def complete(request: Request) -> Response:
        await request.json()
        return shapes.json_response(data)

    return Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--bare", action="store_true")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as home, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", flush=True)
        served = bare() if chosen.bare else ours(Path(home))
        uvicorn.Server(uvicorn.Config(served, log_level="error", timeout_graceful_shutdown=1)).run([listening])


if __name__ == "__main__":
    main()
