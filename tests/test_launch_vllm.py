"""The files that start vLLM: what they would start, what they refuse, and that experts end together."""

import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from orchestra_lib.model.endpoint import Catalogue, EndpointKind

ROOT = Path(__file__).resolve().parent.parent
ONE, MANY = ROOT / "launch" / "vllm_orchestrator.sh", ROOT / "launch" / "vllm_experts.sh"
EXPERTS = ("Qwen/Qwen3-32B:2", "Qwen/Qwen2.5-Math-72B-Instruct:4", "meta-llama/Llama-3.3-70B-Instruct:4:llama3_json")


def launch(script, *arguments, **environ):
    environment = {"PATH": os.environ["PATH"], **environ}
    return subprocess.run([script, *arguments], capture_output=True, text=True, env=environment, timeout=30)


def flags(command):
    words = shlex.split(command)
    return {word: following for word, following in zip(words, [*words[1:], ""], strict=True) if word.startswith("--")}


def test_one_model_is_served_with_its_parser_and_its_copies():
    done = launch(ONE, "--max-num-seqs", "64", DRY_RUN="1", MODEL="Qwen/Qwen3-8B", TENSOR="2", DATA="4")
    asked = flags(done.stdout)
    assert (asked["--model"], asked["--tensor-parallel-size"], asked["--data-parallel-size"]) == (
        "Qwen/Qwen3-8B",
        "2",
        "4",
    )
    assert (asked["--tool-call-parser"], asked["--max-model-len"]) == ("hermes", "40960")
    assert (asked["--host"], asked["--max-num-seqs"]) == ("127.0.0.1", "64")


def test_others_are_let_in_with_a_key_alone_and_it_is_on_no_command_line():
    refused = launch(ONE, DRY_RUN="1", HOST="0.0.0.0")
    assert (refused.returncode, "put a key into VLLM_API_KEY" in refused.stderr) == (2, True)
    done = launch(ONE, DRY_RUN="1", HOST="0.0.0.0", VLLM_API_KEY="sk-not-shown")
    assert done.returncode == 0
    assert "sk-not-shown" not in done.stdout + done.stderr


def test_experts_get_ports_and_gpus_of_their_own_and_the_workbench_reads_what_is_printed(tmp_path):
    done = launch(MANY, *EXPERTS, DRY_RUN="1", ADDRESS="node1")
    assert done.returncode == 0, done.stderr
    commands = sorted(map(flags, done.stderr.splitlines()), key=lambda one: one["--port"])
    assert [one["--port"] for one in commands] == ["8001", "8002", "8003"]
    assert [one["--tensor-parallel-size"] for one in commands] == ["2", "4", "4"]
    assert [one["--tool-call-parser"] for one in commands] == ["hermes", "hermes", "llama3_json"]
    (tmp_path / "endpoints.toml").write_text(done.stdout, "utf-8")
    catalogue = Catalogue.load(tmp_path)
    served = [one for one in catalogue.endpoints.values() if one.model in {name.split(":")[0] for name in EXPERTS}]
    ours = [one for one in served if catalogue.providers[one.provider].base_url.startswith("http://node1:")]
    assert [(one.tool, one.context) for one in ours] == [(True, 32768)] * 3
    assert {one.kind for one in ours} == {EndpointKind.GENERALIST, EndpointKind.MATHS}


@pytest.mark.parametrize("bad", ["Qwen/Qwen3-32B", "Qwen/Qwen3-32B:none", "Qwen/Qwen3-32B:0"])
def test_an_expert_without_gpus_is_refused(bad):
    done = launch(MANY, bad, DRY_RUN="1")
    assert (done.returncode, "write MODEL:GPUS[:PARSER]" in done.stderr) == (2, True)


@pytest.mark.parametrize("end", ["one of them", "the whole"])
def test_experts_end_together(tmp_path, end):
    """Programs that only wait stand where vLLM would: it is the shell's part that is tested."""
    waits = tmp_path / "python"
    waits.write_text(f'#!/bin/sh\necho "$$ $CUDA_VISIBLE_DEVICES" >> {tmp_path}/pids\nexec sleep 60\n', "utf-8")
    waits.chmod(0o755)
    environment = {"PATH": os.environ["PATH"], "VLLM_PYTHON": str(waits)}
    started = subprocess.Popen([MANY, *EXPERTS], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    file = tmp_path / "pids"
    while not file.exists() or len(file.read_text("utf-8").splitlines()) < 3:
        time.sleep(0.02)
    rows = [line.split() for line in file.read_text("utf-8").splitlines()]
    assert {gpus for _, gpus in rows} == {"0,1", "2,3,4,5", "6,7,8,9"}
    os.kill(int(rows[0][0]) if end == "one of them" else started.pid, signal.SIGTERM)
    assert started.wait(20) == 143
    gone = [pid for pid, _ in rows if not Path("/proc", pid).exists()]
    deadline = time.monotonic() + 20
    while len(gone) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
        gone = [pid for pid, _ in rows if not Path("/proc", pid).exists()]
    assert len(gone) == 3
