"""Our loop against a real vLLM on this machine's CPU: the catalogue's endpoint, native calls, figures.

    make vllm-check                                   # Qwen2.5-Coder 0.5B: 1.2 GB of memory a copy, about 3 minutes
    make vllm-check ARGS=--quick                      # SmolLM2 135M: quicker; proves plumbing, never quality

The model is ours, unpacked from its GGUF file; the server runs in `.venv-vllm`, an environment of its own, with a
key of its own on a free port of 127.0.0.1. Figures depend on what else runs on the machine.
"""

import asyncio
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

from benchmarks.claims import Claim, claim, note, parser, show
from orchestra_lib.chat import CallStyle
from orchestra_lib.errors import BadInput, ContextOverflow
from orchestra_lib.event import fold
from orchestra_lib.generation import ChatRequest, Completion
from orchestra_lib.language_models import GENERALIST
from orchestra_lib.limits import Limits
from orchestra_lib.model.endpoints import Endpoints
from orchestra_lib.model.openai_compatible import OpenAICompatible
from orchestra_lib.model.trial import try_out
from orchestra_lib.model.weights import WeightsCatalog
from orchestra_lib.paths import home
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.workbench import Order, Workbench

PYTHON = Path(__file__).parents[1] / ".venv-vllm" / "bin" / "python"
CONTEXT, READY_WITHIN_S = 4096, 900.0
NAME = "vllm/served"
SMALLEST = "SmolLM2-135M-Instruct"
OWN = f"""
[endpoints."{NAME}"]
context = {CONTEXT}
max_output = 300
must_begin_with_call = true   # such small models call no tool of their own accord
"""
TASK = "What is 48213 * 977? Use the code interpreter."


def main() -> int:
    """Serve, check, print; 0 when every claim holds."""
    options = parser(__doc__)
    chosen = options.parse_args()
    weights = SMALLEST if chosen.quick else GENERALIST
    if not PYTHON.exists():
        raise SystemExit("vllm_check: there is no .venv-vllm; `make vllm-check` sets it up (3.5 GB)")
    with served(unpacked(weights), weights) as ready_s:
        claims = [claim("server ready", ready_s, "s"), *asyncio.run(check())]
    show(claims, as_json=chosen.json)
    return 0 if all(one.holds is not False for one in claims) else 1


def unpacked(name: str) -> Path:
    """The weights as a folder that vLLM reads, written once."""
    folder = home() / "cache" / "vllm" / name
    if not folder.exists():
        gguf = WeightsCatalog.load(home()).fetch(name)
        folder.parent.mkdir(parents=True, exist_ok=True)
        note(f"unpacking {gguf.name}")
        subprocess.run(
            [str(PYTHON), str(Path(__file__).with_name("gguf_as_hf.py")), str(gguf), str(folder)], check=True
        )
    return folder


@contextmanager
def served(folder: Path, name: str) -> Iterator[float]:
    """A vLLM server while the context lasts; gives the seconds until it was ready, and sets the variables for it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ |= {"VLLM_BASE_URL": f"http://127.0.0.1:{port}/v1", "VLLM_API_KEY": secrets.token_urlsafe(24)}
    quiet = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    cpu = {"VLLM_CPU_KVCACHE_SPACE": "1", "OMP_NUM_THREADS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    # The module and not the command `vllm`: the command asks for a package of another name and ends.
    command = [str(PYTHON), "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder)]
    command += ["--served-model-name", name, "--host", "127.0.0.1", "--port", str(port), "--enforce-eager"]
    command += ["--max-model-len", str(CONTEXT), "--max-num-seqs", "16", "--enable-auto-tool-choice"]
    command += ["--tool-call-parser", "hermes", "--tool-strict-level", "parameter"]
    with tempfile.TemporaryFile("w+") as log:
        started = time.monotonic()
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **quiet, **cpu})
        try:
            note(f"starting vLLM with {name}")
            wait_until_ready(process, started)
            yield time.monotonic() - started
        except BaseException:
            log.seek(0)
            note("".join(log.readlines()[-15:]))
            raise
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_until_ready(process: subprocess.Popen[bytes], started: float) -> None:
    """Until the endpoint of the catalogue is on."""
    with tempfile.TemporaryDirectory() as folder:
        while True:
            endpoints = Endpoints.load(Path(folder), os.environ)
            endpoints.look()
            if (off := endpoints.off(NAME)) is None:
                return
            if process.poll() is not None or time.monotonic() - started > READY_WITHIN_S:
                raise BadInput(f"vLLM did not start: {off}")
            time.sleep(1)


async def check() -> list[Claim]:
    """All that is claimed about the running server."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "endpoints.toml").write_text(OWN)
        endpoints = Endpoints.load(Path(folder), os.environ)
        endpoints.look()
        trial = await try_out(NAME, endpoints.model(NAME), CallStyle.NATIVE)
        note(f"try-out: {trial.text or trial.error}")
        return [
            claim("a try-out calls natively, required", float(bool(trial.native_call)), "of 1", at_least=1),
            claim("usage is reported in the stream", float(bool(trial.usage)), "of 1", at_least=1),
            claim("first word of the try-out", trial.first_s or -1.0, "s"),
            *await eight_at_once(endpoints.model(NAME)),
            *await too_long(endpoints),
            *told(await episode(Path(folder))),
        ]


async def eight_at_once(model: OpenAICompatible) -> list[Claim]:
    """Eight replies at the same time, as tokens a second of all."""

    async def one(number: int) -> int:
        words = {"role": "user", "content": f"Write {number + 3} sentences about rivers."}
        async with aclosing(model.stream(ChatRequest(messages=(words,), max_tokens=64))) as parts:
            async for part in parts:
                if isinstance(part, Completion):
                    usage = part.attempts[-1].usage
                    return (usage.output_tokens or 0) if usage else 0
        return 0

    started = time.monotonic()
    tokens = sum(await asyncio.gather(*map(one, range(8))))
    return [claim("eight replies at once", tokens / (time.monotonic() - started), "tokens/s")]


async def too_long(endpoints: Endpoints) -> list[Claim]:
    """What the server itself says to a conversation above its context is read as that."""
    words = {"role": "user", "content": "river " * (2 * CONTEXT)}
    address, key = os.environ["VLLM_BASE_URL"], os.environ["VLLM_API_KEY"]
    unchecked = OpenAICompatible("long", address, endpoints.priced_as(NAME), api_key=key)
    try:
        async with aclosing(unchecked.stream(ChatRequest(messages=(words,), max_tokens=8))) as parts:
            async for _ in parts:
                pass
    except ContextOverflow as fault:
        note(f"too long: {fault}")
        return [
            claim("a too long conversation is a context_overflow, sent", float(len(fault.attempts)), "times", at_most=1)
        ]
    return [claim("a too long conversation is a context_overflow", 0.0, "of 1", at_least=1)]


async def episode(folder: Path) -> Trajectory:
    """One run of the real loop with real tools."""
    workbench = Workbench(folder)
    try:
        workbench.roster.endpoints.look()
        order = Order(
            task=TASK, orchestrator=NAME, tools=("code_interpreter",), limits=Limits(max_turns=4, time_s=300.0)
        )
        async with aclosing(workbench.play(order)) as events:
            return fold([event async for event in events])
    finally:
        await workbench.close()


def told(trajectory: Trajectory) -> list[Claim]:
    """The run in figures."""
    bill = trajectory.bill()
    for call in trajectory.calls:
        said = call.observation.text[:200] if call.observation else "nothing"
        note(f"call {call.call.tool} {call.call.arguments_text[:200]} -> {said}")
    note(f"stop {trajectory.stop}, answer {(trajectory.answer or '')[:200]}")
    generated = [turn.generation for turn in trajectory.turns if turn.generation is not None]
    wall_s = sum(attempt.wall_s for one in generated for attempt in one.attempts)
    ran = sum(call.observation is not None and call.observation.status == "ok" for call in trajectory.calls)
    return [
        claim("episode: turns", float(len(trajectory.turns)), "turns"),
        claim("episode: calls that ran, tools native", float(ran), "calls", at_least=1),
        claim("episode: input tokens reported", float(bill.input_tokens or 0), "tokens", at_least=1),
        claim("episode: output tokens reported", float(bill.output_tokens or 0), "tokens", at_least=1),
        claim("episode: generation", (bill.output_tokens or 0) / wall_s if wall_s else 0.0, "tokens/s"),
        claim("episode: the model's own time", wall_s, "s"),
    ]


if __name__ == "__main__":
    sys.exit(main())
