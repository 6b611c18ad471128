"""`orchestra models`: what is listed, what is told before a download, and trying an endpoint out."""

import json
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from orchestra_lib.cli import main

CALL = {"index": 0, "id": "c", "function": {"name": "say", "arguments": '{"word": "ready"}'}}
CHUNKS = [
    {"choices": [{"index": 0, "delta": {"tool_calls": [CALL]}, "finish_reason": "tool_calls"}]},
    {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 7}},
]
OWN = """
[providers.lab]
title = "Lab"
base_url = "%s"
source = "us"
local = true
[endpoints."lab/solver"]
model = "*"
title = "Solver"
family = "f"
kind = "maths"
context = 4096
max_output = 512
"""


class Handler(BaseHTTPRequestHandler):
    """A server with one model that calls a tool."""

    def do_GET(self):
        self.reply("application/json", json.dumps({"data": [{"id": "solver-7b"}]}))

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        lines = [*(f"data: {json.dumps(chunk)}\n\n" for chunk in CHUNKS), "data: [DONE]\n\n"]
        self.reply("text/event-stream", "".join(lines))

    def reply(self, kind, text):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


@contextmanager
def lab(home):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    (home / "endpoints.toml").write_text(OWN % f"http://127.0.0.1:{server.server_port}/v1")
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def models(tmp_path, monkeypatch, capsys):
    """Call `orchestra models` in this process: (exit code, stdout, stderr)."""
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["orchestra", "models", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return (ended.value.code or 0, *capsys.readouterr())

    return call


def test_the_list_has_every_endpoint_with_its_address_and_why_it_is_off(models, tmp_path):
    with lab(tmp_path):
        code, out, _ = models("list", "--json")
    told = {endpoint["name"]: endpoint for endpoint in json.loads(out)["endpoints"]}
    assert (code, told["lab/solver"]["off"]) == (0, None)
    assert told["lab/solver"]["address"].startswith("http://127.0.0.1:")
    assert "OPENAI_API_KEY" in told["openai/gpt-6-luna"]["off"]
    offered = {offer["name"]: offer for offer in json.loads(out)["orchestrators"]}
    assert offered["lab/solver"]["title"] == "Solver (lab)"
    assert "orchestra models fetch Qwen3-8B" in offered["local/Qwen3-8B"]["off"]


def test_a_try_out_tells_what_came_back(models, tmp_path):
    with lab(tmp_path):
        code, out, _ = models("test", "lab/solver", "--json")
    trial = json.loads(out)
    assert (code, trial["native_call"], trial["usage"], trial["tries"]) == (0, True, True, 1)
    assert trial["text"].startswith("say(")
    assert 0 < trial["first_s"] <= trial["total_s"]


@pytest.mark.parametrize(
    "arguments, says",
    [
        (("test",), "name the endpoint"),
        (("test", "lab/nobody"), "there is no endpoint 'lab/nobody'"),
        (("test", "openai/gpt-6-luna"), "set OPENAI_API_KEY"),
        (("fetch", "Qwen3-9B"), "unknown weights"),
    ],
)
def test_what_cannot_be_done_is_one_line_with_a_remedy(models, arguments, says):
    code, _, err = models(*arguments)
    assert (code, err.count("\n")) == (2, 1)
    assert says in err


def test_size_memory_and_licence_are_told_before_a_big_download_which_wants_a_yes(models):
    code, _, err = models("fetch", "Nemotron-Orchestrator-8B")
    assert code == 2
    assert "5,028 MB, about 6.5 GB of memory" in err
    assert "research and development only" in err
    assert "5.0 GB; add --yes" in err


def test_without_a_hub_a_fetch_says_where_to_put_the_file(models):
    code, _, err = models("fetch", "Qwen3-4B", "--yes")
    assert code == 1
    assert "put Qwen3-4B-Q4_K_M.gguf into" in err
