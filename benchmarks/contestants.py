"""Who runs in `engine.py`: the same rollouts by our engine, the bare client and the frameworks that are installed.

A contestant runs alone in a fresh process and prints one JSON object: CPU and wall seconds of its rollouts after
one to warm up, CPU seconds of its imports, resident memory. Imports stay inside the functions, so that any
interpreter that has a framework can run it: `PYTHON -m benchmarks.contestants smolagents URL ...`.
"""

import argparse
import asyncio
import contextlib
import gc
import importlib.metadata
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.scripted_server import CALLS

QUESTION = "Say the words again, one after another, and then answer."
ECHO: Any = {
    "type": "function",
    "function": {
        "name": "echo",
        "description": "Says a word again.",
        "parameters": {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]},
    },
}
Batch = Callable[[int, int], None]
"""Plays so many rollouts, so many at once."""
LATENCY_S = 0.2
"""How long the slow model takes for a reply."""


@dataclass(frozen=True)
class Contestant:
    """A way to run rollouts; `package` is what must be installed for it, `url` and a folder are handed to it."""

    package: str
    begin: Callable[[str, Path], Batch]


@dataclass(frozen=True)
class Run:
    """What one run took. `before_mb` is resident memory ahead of the rollouts, `peaks_mb` the most after each batch."""

    cpu_s: float
    wall_s: float
    import_cpu_s: float
    before_mb: float
    peaks_mb: list[float]


def version(name: str, python: str = sys.executable) -> str | None:
    """The version of a contestant's package in an interpreter; None when it is not there."""
    package = CONTESTANTS[name].package
    if python == sys.executable:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(package)
        return None
    ask = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.run([python, "-c", ask], capture_output=True, text=True).stdout.strip() or None


def _at_once(roll: Callable[[int], Awaitable[object]]) -> Batch:
    """A batch out of one async rollout; all batches share one event loop, as a program's do."""
    runner = asyncio.Runner()
    count = 0

    async def all_of(rollouts: int, at_once: int) -> None:
        nonlocal count
        places = asyncio.Semaphore(at_once)

        async def one(number: int) -> None:
            async with places:
                await roll(number)

        first, count = count, count + rollouts
        async with asyncio.TaskGroup() as group:
            for number in range(first, first + rollouts):
                group.create_task(one(number))

    return lambda rollouts, at_once: runner.run(all_of(rollouts, at_once))


def _bare(url: str, folder: Path) -> Batch:
    """The loop that anyone writes first: one `openai` client, whole replies, nothing kept."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)

    async def roll(number: int) -> None:
        messages: list[Any] = [{"role": "user", "content": QUESTION}]
        while True:
            reply = await client.chat.completions.create(model="scripted", messages=messages, tools=[ECHO])
            message = reply.choices[0].message
            if not message.tool_calls:
                return
            messages.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls:
                assert call.type == "function"
                messages.append(_echoed(call.id, call.function.arguments))

    return _at_once(roll)


def _bare_streaming(url: str, folder: Path) -> Batch:
    """The same loop with streamed replies, as ours has them."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)

    async def roll(number: int) -> None:
        messages: list[Any] = [{"role": "user", "content": QUESTION}]
        while True:
            stream = await client.chat.completions.create(
                model="scripted",
                messages=messages,
                tools=[ECHO],
                stream=True,
                stream_options={"include_usage": True},
            )
            call_id = name = arguments = ""
            async for chunk in stream:
                for choice in chunk.choices:
                    for call in choice.delta.tool_calls or ():
                        assert call.function
                        call_id, name = call_id or call.id or "", name or call.function.name or ""
                        arguments += call.function.arguments or ""
            if not name:
                return
            made = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            messages += ({"role": "assistant", "tool_calls": [made]}, _echoed(call_id, arguments))

    return _at_once(roll)


def _echoed(call_id: str, arguments: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": json.loads(arguments)["x"]}


def _ours(url: str, folder: Path) -> Batch:
    """The whole engine: the loop, its limits and bill, streaming, every event in a durable journal."""
    from orchestra_lib.model.openai_compatible import OpenAICompatible

    return _engine(OpenAICompatible("scripted", url, "scripted", api_key="none"), folder)


def _ours_crowd(url: str, folder: Path) -> Batch:
    """The same in a program that expects many episodes at once, as the command line does."""
    from orchestra_lib.play import expect_crowd

    expect_crowd()
    return _ours(url, folder)


def _ours_alone(url: str, folder: Path) -> Batch:
    """The whole engine in a crowd but for HTTP: the model is a sleep of 200 ms in this process."""
    from orchestra_lib.generation import Completion, RawCall
    from orchestra_lib.play import expect_crowd
    from orchestra_lib.pricing import Attempt, Usage

    class Sleeper:
        name = "scripted"

        async def stream(self, request: Any) -> Any:
            await asyncio.sleep(LATENCY_S)
            done = sum(message["role"] == "tool" for message in request.messages)
            calls = (RawCall(id="", name="echo", arguments_text=json.dumps({"x": str(done)})),) if done < CALLS else ()
            usage = Usage(input_tokens=100, output_tokens=20)
            attempts = (Attempt(priced_as=self.name, usage=usage, wall_s=LATENCY_S),)
            yield Completion(content="" if calls else "42", calls=calls, finish_reason="stop", attempts=attempts)

    expect_crowd()
    return _engine(Sleeper(), folder)


def _engine(model: Any, folder: Path) -> Batch:
    from orchestra_lib.chat import CallStyle
    from orchestra_lib.limits import Limits
    from orchestra_lib.play import play
    from orchestra_lib.policy.chat_model import ChatPolicy
    from orchestra_lib.preference import Preference
    from orchestra_lib.pricing import Price, PriceTable
    from orchestra_lib.protocols import PolicySpec, ToolResult
    from orchestra_lib.store.artefacts import Artefacts
    from orchestra_lib.store.journal import Journal
    from orchestra_lib.task import Task
    from orchestra_lib.tool import ToolSpec
    from orchestra_lib.trajectory import Setting

    class Echo:
        spec = ToolSpec(title="Echo", **ECHO["function"])  # its keys are the spec's

        async def call(self, arguments: Any, *, run_id: str) -> ToolResult:
            return ToolResult(text=arguments["x"])

        async def release(self, run_id: str) -> None:
            pass

    price = Price(input_usd_per_mtok=1.0, output_usd_per_mtok=2.0, source="made up")
    prices = PriceTable(
        name="made up",
        dated=datetime(2026, 1, 1, tzinfo=UTC).date(),
        source="made up",
        prices={"scripted": price, "echo": Price(call_usd=0.001, source="made up")},
    )
    spec = PolicySpec(name="scripted", priced_as="scripted", max_input_tokens=4000, max_output_tokens=1000)
    policy = ChatPolicy(spec, model, style=CallStyle.NATIVE)
    tool, journal, artefacts = Echo(), Journal(folder), Artefacts(folder)

    async def roll(number: int) -> None:
        setting = Setting(
            run_id=f"run-{number}",
            started_at=datetime.now(UTC),
            task=Task(text=QUESTION),
            orchestrator="scripted",
            protocol="chat",
            preference=Preference(),
            sentence="",
            tools=(tool.spec,),
            prices=prices,
            limits=Limits(cost_usd=100.0, max_turns=50),
        )
        with journal.open(setting.run_id) as writer:
            async for event in play(setting, policy, (tool,), artefacts=artefacts):
                await writer.keep(event)
        assert event.kind == "run_finished", event
        assert event.answer == "42", event

    return _at_once(roll)


def _openai_agents(url: str, folder: Path) -> Batch:
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)

    @function_tool
    def echo(x: str) -> str:
        """Says a word again."""
        return x

    model = OpenAIChatCompletionsModel(model="scripted", openai_client=AsyncOpenAI(base_url=url, api_key="none"))
    agent = Agent(name="a", instructions=QUESTION, tools=[echo], model=model)
    return _at_once(lambda number: Runner.run(agent, QUESTION, max_turns=50))


def _pydantic_ai(url: str, folder: Path) -> Batch:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    agent = Agent(OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=url, api_key="none")))

    @agent.tool_plain
    def echo(x: str) -> str:
        """Says a word again."""
        return x

    return _at_once(lambda number: agent.run(QUESTION))


def _inspect_ai(url: str, folder: Path) -> Batch:
    """With its log, which is what it keeps."""
    os.environ |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": url, "INSPECT_LOG_DIR": str(folder)}
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import includes
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import tool

    @tool
    def echo() -> Any:
        async def execute(x: str) -> str:
            """Says a word again.

            Args:
                x: the word
            """
            return x

        return execute

    def batch(rollouts: int, at_once: int) -> None:
        samples = [Sample(input=QUESTION, target="42") for _ in range(rollouts)]
        task = Task(dataset=samples, solver=[use_tools(echo()), generate()], scorer=includes())
        (log,) = eval(
            task,
            model="openai/scripted",
            display="none",
            max_samples=at_once,
            max_connections=at_once,
            log_level="error",
            model_args={"responses_api": False},
        )
        assert log.status == "success", log.error

    return batch


def _smolagents(url: str, folder: Path) -> Batch:
    """In threads, since its agents are not async."""
    from smolagents import OpenAIServerModel, ToolCallingAgent, tool

    @tool
    def echo(x: str) -> str:
        """Says a word again.

        Args:
            x: the word
        """
        return x

    def roll(number: int) -> None:
        model = OpenAIServerModel(model_id="scripted", api_base=url, api_key="none")
        ToolCallingAgent(tools=[echo], model=model, max_steps=30, verbosity_level=0).run(QUESTION)

    def batch(rollouts: int, at_once: int) -> None:
        with ThreadPoolExecutor(at_once) as threads:
            list(threads.map(roll, range(rollouts)))

    return batch


CONTESTANTS = {
    "bare": Contestant("openai", _bare),
    "bare streaming": Contestant("openai", _bare_streaming),
    "ours": Contestant("openai", _ours),
    "ours crowd": Contestant("openai", _ours_crowd),
    "ours alone": Contestant("openai", _ours_alone),
    "openai-agents": Contestant("openai-agents", _openai_agents),
    "pydantic-ai": Contestant("pydantic-ai-slim", _pydantic_ai),
    "inspect_ai": Contestant("inspect-ai", _inspect_ai),
    "smolagents": Contestant("smolagents", _smolagents),
}


def measure(begin: Callable[[str, Path], Batch], url: str, rollouts: int, at_once: int, batches: int = 1) -> Run:
    """One run in this process; CPU and wall are those of the first batch."""
    started = time.process_time()
    with tempfile.TemporaryDirectory(prefix="orchestra-bench-") as folder:
        batch = begin(url, Path(folder))
        imported = time.process_time() - started
        batch(1, 1)
        gc.collect()
        before, cpu, wall = _resident_mb(), time.process_time(), time.perf_counter()
        batch(rollouts, at_once)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        peaks = [_peak_mb()]
        for _ in range(batches - 1):
            gc.collect()  # Python lets garbage of a quarter of what lives pile up: what is asked is what a batch leaves
            batch(rollouts, at_once)
            peaks.append(_peak_mb())
    return Run(cpu_s=cpu, wall_s=wall, import_cpu_s=imported, before_mb=before, peaks_mb=peaks)


def run(name: str, url: str, rollouts: int, at_once: int, *, batches: int = 1, python: str = sys.executable) -> Run:
    """One run in a fresh process of an interpreter."""
    sizes = [str(rollouts), str(at_once), str(batches)]
    command = [python, "-m", "benchmarks.contestants", name, url, *sizes]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-2000:]}")
    return Run(**json.loads(done.stdout.splitlines()[-1]))


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("name", choices=CONTESTANTS)
    options.add_argument("url")
    options.add_argument("sizes", type=int, nargs=3, metavar="ROLLOUTS AT_ONCE BATCHES")
    chosen = options.parse_args()
    found = measure(CONTESTANTS[chosen.name].begin, chosen.url, *chosen.sizes)
    sys.stdout.write(json.dumps(asdict(found)) + "\n")


if __name__ == "__main__":
    _main()
