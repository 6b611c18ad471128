"""A scripted workbench with endpoints, weights that take a moment, and a tool whose arguments are of every kind."""

import json
import threading
import time
from collections.abc import Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

from fastapi import FastAPI
from fastapi.testclient import TestClient
from scripted_workbench import HOSTILE, ScriptedRoster, spec

from app import api, tools_api
from app.runs import RunManager
from orchestra_lib.errors import BadInput
from orchestra_lib.model.endpoints import Endpoints
from orchestra_lib.model.weights import WeightsStatus
from orchestra_lib.orchestrators import Offer
from orchestra_lib.players import tools_of
from orchestra_lib.protocols import ToolResult
from orchestra_lib.tool import ToolKind, ToolSpec
from orchestra_lib.toolkit.mcp.servers import McpServers
from orchestra_lib.workbench import Workbench

EVERY_KIND = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "Any words."},
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "share": {"type": "number"},
        "deep": {"type": "boolean"},
        "unit": {"enum": ["metre", "mile"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "more": {"type": "object"},
    },
    "required": ["text", "unit"],
    "additionalProperties": False,
}


class Options:
    """Says what it was given; hostile when asked to be."""

    spec = ToolSpec(
        name="options", title="Options", description=f"Takes all kinds. {HOSTILE}", parameters=EVERY_KIND,
        kind=ToolKind.DOMAIN,
    )  # fmt: skip

    async def call(self, arguments: Mapping, *, run_id: str) -> ToolResult:
        return ToolResult(text=HOSTILE if arguments["text"] == "hostile" else json.dumps(arguments, sort_keys=True))

    async def release(self, run_id: str) -> None:
        return None


class SlowWeights:
    """A catalogue with one file; fetching takes `takes_s`."""

    names = ("Qwen2.5-Coder-0.5B-Instruct",)

    def __init__(self, takes_s: float) -> None:
        self._takes_s, self._began = takes_s, None

    def get(self, name):
        if name not in self.names:
            raise BadInput(f"unknown weights {name!r}; there are {self.names[0]}")
        return SimpleNamespace(title="Tiny, 4 bit", licence="Apache-2.0", memory_bytes=800_000_000)

    def status(self, name):
        if self._began is None:
            return WeightsStatus(name=name, state="absent", done_bytes=0, total_bytes=491_000_000)
        done = min(1.0, (time.monotonic() - self._began) / self._takes_s)
        state = "ready" if done == 1.0 else "fetching"
        return WeightsStatus(name=name, state=state, done_bytes=int(491e6 * done), total_bytes=491_000_000)

    def begin(self):
        self._began = time.monotonic()


class SlowModels:
    """The embedded models of these weights."""

    def __init__(self, takes_s: float) -> None:
        self.weights = SlowWeights(takes_s)

    def statuses(self):
        return ()

    def names(self):
        return (("fair", None),)  # the judge of the scripted roster

    def fetch_one(self, name):
        self.weights.get(name)
        self.weights.begin()


class ToolRoster(ScriptedRoster):
    """The scripted roster as Tools & prices needs it."""

    def __init__(self, home, environ=None, *, fetch_s: float = 1.5) -> None:
        super().__init__(0.0)
        self._home, self._environ = home, environ or {}
        self._tools["options"] = Options()
        self.endpoints = Endpoints.load(home, self._environ)
        self.mcp = McpServers(home, self._environ)
        self.models = SlowModels(fetch_s)

    def reload_endpoints(self):
        self.endpoints = Endpoints.load(self._home, self._environ)

    def orchestrators(self):
        return (
            *super().orchestrators(),
            *(
                Offer(name=one.name, title=one.title, note="an endpoint", off=self.endpoints.off(one.name))
                for one in self.endpoints
                if one.orchestrator
            ),
        )

    def tools(self):
        behind = tools_of(self.endpoints).values()
        sim = spec("sim", "Simulated expert", ToolKind.SPECIALIST, 0.9)
        more = (*behind, *self.mcp.tools().values())
        return (*super().tools(), (sim, "no profile is loaded"), *((tool.spec, off()) for tool, off in more))


class Lab(BaseHTTPRequestHandler):
    """A server with one model that calls the first tool it is offered."""

    def do_GET(self):
        self._reply("application/json", json.dumps({"data": [{"id": "solver-7b"}]}))

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        call = {"name": asked["tools"][0]["function"]["name"], "arguments": '{"word": "ready"}'}
        delta = {"tool_calls": [{"index": 0, "id": "c", "function": call}]}
        chunks = [
            {"choices": [{"index": 0, "delta": delta, "finish_reason": "tool_calls"}]},
            {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 7}},
        ]
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        self._reply("text/event-stream", "".join([*lines, "data: [DONE]\n\n"]))

    def _reply(self, kind, text):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        return None


@contextmanager
def lab():
    """The address of such a server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Lab)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()


@contextmanager
def tools_client(home, **options):
    """The API of Tools & prices over a workbench with these tools, whose folder `client.home` is."""
    workbench = Workbench(home, roster=ToolRoster(home, **options))
    app = FastAPI()
    api.install(app, workbench, RunManager(workbench))
    app.include_router(tools_api.router(workbench), prefix="/api")
    with TestClient(app, raise_server_exceptions=False) as client:
        client.home = home
        yield client
    workbench.store.close()
