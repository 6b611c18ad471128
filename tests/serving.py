"""A server over HTTP whose orchestrators play scripts: real loop, journal and store, no model."""

import socket
import threading
import time
from contextlib import contextmanager

import httpx2
import openai
import uvicorn
from scripted_workbench import BIG, ScriptedRoster, attempt

from orchestra_lib.errors import ProviderFault
from orchestra_lib.generation import Generation
from orchestra_lib.orchestrators import Offer
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.server.application import Terms, create_server, orders_of
from orchestra_lib.tool import ToolCall
from orchestra_lib.workbench import Order, Workbench

KEY = "a-key-of-the-tests"
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def paid(turn, *calls, answer=None, reasoning="Let me see."):
    """A turn of an orchestrator whose model took 100 tokens in and 10 out."""
    made = tuple(ToolCall.of(f"call_{turn}_{n}", tool, args) for n, (tool, args) in enumerate(calls, start=1))
    return Generation(
        raw_text=answer or "", reasoning=reasoning, content=answer or "", calls=made, answer=answer,
        attempts=(attempt(BIG, 100, 10, 0.01),),
    )  # fmt: skip


PARIS, ROME = ("weather", {"city": "Paris"}), ("weather", {"city": "Rome"})
SCRIPTS = {
    "brief": ["Forty-two."],
    "billed": [paid(1, ("local_search", {"text": "x"})), paid(2, answer="It is so.")],
    "traveller": [
        [("local_search", {"text": "Where?"}), PARIS],
        [PARIS, ROME],
        "It rains in both.",
        "Then stay at home.",
    ],
    "waiting": [[("code_interpreter", {"text": "slow"})], "Never."],
    "broken": [ProviderFault("the endpoint refused the connection")],
    "buggy": [ZeroDivisionError("a bug")],
    "endless": [[("local_search", {"text": str(n)})] for n in range(60)],
    "misled": [[("weather", {"town": "Paris"})], "No weather."],
}


class ServedRoster(ScriptedRoster):
    """The scripted roster with these scripts as orchestrators."""

    def __init__(self, scripts=None):
        super().__init__(0.0)
        self.scripts = SCRIPTS | (scripts or {})

    def orchestrators(self):
        return tuple(Offer(name=name, title=name, note="plays a script") for name in self.scripts)

    def orchestrator(self, name):
        script = self.scripts[name]
        return script if hasattr(script, "act") else Scripted(script, name=name)


class House:
    """A server that runs, its address, and the workbench behind it."""

    def __init__(self, workbench, port):
        self.workbench, self.port = workbench, port
        self.url = f"http://127.0.0.1:{port}"
        self.clients = []

    def client(self, **options):
        """An `openai` client, closed with the server."""
        self.clients.append(
            openai.OpenAI(**{"base_url": f"{self.url}/v1", "api_key": KEY, "max_retries": 0, **options})
        )
        return self.clients[-1]

    def post(self, body, **headers):
        sent = {"authorization": f"Bearer {KEY}", **headers}
        return httpx2.post(f"{self.url}/v1/chat/completions", json=body, headers=sent, timeout=30, trust_env=False)

    def runs(self):
        return [self.workbench.store.get(entry.id) for entry in self.workbench.store.list()]

    def run_of(self, response):
        """The stored run behind a response, once its record is closed."""
        return self.stored(response.model_extra["orchestra"]["run_id"])

    def stored(self, run_id):
        eventually(lambda: self.workbench.store.get(run_id).stop is not None)
        return self.workbench.store.get(run_id)


def eventually(holds, patience_s=20.0):
    """Wait until it holds; what it waits for happens in another thread."""
    until = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < until, "it did not come to hold"
        time.sleep(0.02)


@contextmanager
def serving(home, *, scripts=None, roster=None, order=None, mcp=False, **terms):
    """A server on a free port, in a thread of this process."""
    workbench = Workbench(home, roster=roster or ServedRoster(scripts))
    orders = orders_of(workbench, list(workbench.roster.scripts), order or Order())
    server = create_server(workbench, orders, Terms(**{"key": KEY, **terms}), mcp=mcp)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        running = uvicorn.Server(uvicorn.Config(server, log_level="warning", timeout_graceful_shutdown=2))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not running.started:
            time.sleep(0.01)
        house = House(workbench, listening.getsockname()[1])
        try:
            yield house
        finally:
            for client in house.clients:
                client.close()
            running.should_exit = True
            thread.join(20)
