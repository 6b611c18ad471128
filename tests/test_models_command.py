"""`orchestra models`: what is listed, what is told before a download, and trying an endpoint out."""

import json
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from orchestra_lib.cli import main

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
[endpoints."lab/helper"]
model = "solver-7b"
title = "Helper"
family = "f"
kind = "maths"
context = 4096
max_output = 512
orchestrator = false
tool = true
"""
USAGE = {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 7}}


def said(asked):
    """The reply of a model that calls the first tool once and then answers."""
    messages, tools = asked["messages"], asked.get("tools")
    if not tools or messages[-1]["role"] == "tool":
        return {"content": "Forty-two."}, "stop"
    function = tools[0]["function"]
    arguments = json.dumps(dict.fromkeys(function["parameters"]["properties"], "ready"))
    return {
        "tool_calls": [{"index": 0, "id": "c", "function": {"name": function["name"], "arguments": arguments}}]
    }, "?"


class Handler(BaseHTTPRequestHandler):
    """A server with one model."""

    def do_GET(self):
        self.reply("application/json", json.dumps({"data": [{"id": "solver-7b"}]}))

    def do_POST(self):
        delta, finish = said(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}, USAGE]
        self.reply(
            "text/event-stream", "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        )

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


def test_one_endpoint_conducts_and_another_is_its_tool(models, tmp_path, monkeypatch, capsys):
    arguments = ("run", "What is the answer?", "--orchestrator", "lab/solver", "--tools", "lab-helper", "--json")
    monkeypatch.setattr(sys, "argv", ["orchestra", *arguments])
    with lab(tmp_path), pytest.raises(SystemExit) as ended:
        main()
    run = json.loads(capsys.readouterr().out)
    (call,) = run["calls"]
    assert (ended.value.code or 0, run["answer"], run["status"]) == (0, "Forty-two.", "answered")
    assert (call["tool"], call["status"]) == ("lab-helper", "ok")
    assert (run["cost_usd"], run["input_tokens"], run["output_tokens"]) == (None, 120, 21)  # no table prices it
