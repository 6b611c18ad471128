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
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import rivals
from benchmarks.rollout_batch import ECHO, QUESTION, Batch, at_once_of
from benchmarks.scripted_server import CALLS

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

    return at_once_of(roll)


CONTESTANTS = {
    "bare": Contestant("openai", rivals.bare),
    "bare streaming": Contestant("openai", rivals.bare_streaming),
    "ours": Contestant("openai", _ours),
    "ours crowd": Contestant("openai", _ours_crowd),
    "ours alone": Contestant("openai", _ours_alone),
    "openai-agents": Contestant("openai-agents", rivals.openai_agents),
    "pydantic-ai": Contestant("pydantic-ai-slim", rivals.pydantic_ai),
    "inspect_ai": Contestant("inspect-ai", rivals.inspect_ai),
    "smolagents": Contestant("smolagents", rivals.smolagents),
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
