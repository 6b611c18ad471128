"""What `orchestra doctor` finds: servers that read calls and servers that do not, short disks, lost work, keys."""

import asyncio
import json
from types import SimpleNamespace

import pytest
from test_openai_compatible import chunk, http, serving, sse, usage

from orchestra_lib.checkup import machine as of_machine
from orchestra_lib.checkup.cluster import ray_at
from orchestra_lib.checkup.finding import State, warn
from orchestra_lib.checkup.machine import machine
from orchestra_lib.checkup.servers import servers
from orchestra_lib.errors import BadInput
from orchestra_lib.model.endpoints import Endpoints
from orchestra_lib.store.worker_folders import WORKERS

SECRET = "sk-do-not-print-me-4711"
LISTED = http(200, json.dumps({"data": [{"id": "qwen", "max_model_len": 4096}]}).encode())
VERSION = http(200, b'{"version": "0.31.0"}')
CALL = {"index": 0, "id": "c", "type": "function", "function": {"name": "say", "arguments": '{"word": "ready"}'}}
CALLS = sse(chunk(tool_calls=[CALL]), chunk("tool_calls"), usage(90, 12))
SAYS = sse(chunk(content="Ready!"), chunk("stop"), usage(90, 3))
WRITES = sse(chunk(content='<tool_call>{"name": "say", "arguments": {}}</tool_call>'), chunk("stop"), usage(90, 9))
OFF = http(400, b'{"message": "\\"auto\\" tool choice requires --enable-auto-tool-choice and --tool-call-parser"}')
SHORT = '[endpoints."vllm/served"]\ncontext = 4096\nmax_output = 300\n'


def found(home, *replies, own=SHORT, named=(), **options):
    """What is said of a vLLM that gives these replies after those about itself, by what was looked at."""
    (home / "endpoints.toml").write_text(own, "utf-8")

    async def go():
        async with serving(LISTED, LISTED, VERSION, *replies) as server:
            environ = {"VLLM_BASE_URL": server.url, "VLLM_API_KEY": SECRET, "OLLAMA_BASE_URL": "http://127.0.0.1:9"}
            endpoints = Endpoints.load(home, environ)
            said = [one async for one in servers(endpoints, named, **options)]
            return {one.what: one for one in said}, [body for body in server.asked if body]

    said, asked = asyncio.run(go())
    assert SECRET not in str(said)
    return said, asked


def test_a_server_in_order_is_ok_on_every_line(tmp_path):
    said, asked = found(tmp_path, CALLS)
    ours = [one for what, one in said.items() if what.endswith("vllm/served")]
    assert [one.state for one in ours] == [State.OK] * 4
    assert "vLLM 0.31.0" in said["server vllm/served"].found
    assert said["context vllm/served"].found == "4,096 tokens"
    assert "usage reported" in said["reply vllm/served"].found
    assert [one.get("tool_choice", "auto") for one in asked] == ["auto"], "forced calls need no parser and show none"


@pytest.mark.parametrize(
    "replies, state, words, remedy",
    [
        ((OFF,), State.FAIL, "its parser of calls is off", "--enable-auto-tool-choice --tool-call-parser"),
        ((WRITES,), State.WARN, "written out as text and not read", "--tool-call-parser"),
        ((SAYS, CALLS), State.WARN, "calls when it has to; left free it said 'Ready!'", "must_begin_with_call = true"),
        ((SAYS, SAYS), State.WARN, "called no tool, but said 'Ready!'", "trained to call"),
    ],
)
def test_calls_that_are_not_read_have_a_remedy(tmp_path, replies, state, words, remedy):
    one = found(tmp_path, *replies)[0]["tool calls vllm/served"]
    assert one.state is state
    assert words in one.found
    assert remedy in one.remedy


def test_a_context_that_the_server_does_not_hold_fails(tmp_path):
    one = found(tmp_path, CALLS, own="")[0]["context vllm/served"]
    assert one.state is State.FAIL
    assert "holds 4,096 tokens, the catalogue counts on 32,768" in one.found
    assert "--max-model-len 32768" in one.remedy


def test_without_calls_nothing_is_generated_and_servers_that_are_off_are_told_once(tmp_path):
    said, asked = found(tmp_path, calls=False)
    assert asked == []
    assert [what for what in said if "ollama" in what] == ["server ollama/qwen3-8b"]
    assert said["server ollama/qwen3-8b"].state is State.WARN
    assert "ollama serve" in said["server ollama/qwen3-8b"].remedy


def test_one_that_was_named_has_to_work(tmp_path):
    said, _ = found(tmp_path, calls=False, named=["openai/gpt-6.1-sol"])
    assert said["server openai/gpt-6.1-sol"].state is State.FAIL
    assert "OPENAI_API_KEY" in said["server openai/gpt-6.1-sol"].found
    with pytest.raises(BadInput, match="there is no endpoint 'nobody'"):
        found(tmp_path, named=["nobody"])


def test_of_keys_only_names_are_told(tmp_path):
    said = {one.what: one for one in machine(tmp_path, {"OPENAI_API_KEY": SECRET})}
    assert said["keys"].found.startswith("set: OPENAI_API_KEY; not set: ")
    assert SECRET not in str(said)
    assert all(said[what].state is State.OK for what in ("python", "home", "store", "prices", "sandbox"))


def test_a_full_disk_a_lost_journal_and_left_work_are_told(tmp_path, monkeypatch):
    usage_of = SimpleNamespace(free=5 * 10**8)
    monkeypatch.setattr(of_machine.shutil, "disk_usage", lambda folder: usage_of)
    for folder, name in (("journals", "bad"), (f"{WORKERS}/aa-1/journals", "left")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / f"{name}.jsonl").write_text("no json\n", "utf-8")
    said = {one.what: one for one in machine(tmp_path, {})}
    assert (said["disk"].state, said["disk"].found) == (State.FAIL, "0.5 GB free")
    assert said["store"].state is State.WARN
    assert "1 journals cannot be read, such as bad" in said["store"].found
    assert "1 folders of workers hold 1 runs" in said["workers"].found


def test_a_cluster_that_is_not_there_fails():
    one = ray_at("127.0.0.1:1")
    assert (one.state, "nobody answers at --ray-address 127.0.0.1:1" in one.found) == (State.FAIL, True)


def test_reasons_are_parted_from_remedies():
    assert (warn("x", "it is off; turn it on").found, warn("x", "it is off; turn it on").remedy) == (
        "it is off", "turn it on",
    )  # fmt: skip
    assert warn("x", "off (a: 1; b: 2)").remedy is None
