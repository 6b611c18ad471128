"""How long an evaluation takes beside the waits for its model that cannot be avoided.

    python -m benchmarks.evaluate --json
    python -m benchmarks.evaluate --quick

A scripted model that takes 200 ms for a reply conducts 1,000 tasks of five turns, four tool calls and an answer, 256
at once, by `evaluate`, as `orchestra eval` does it: every run is checked, journalled with a flush to the disk after
each turn, graded, stored and tagged, and the report is made at the end. The ideal time is that of the waits alone:
the turns of as many waves of runs as it takes. Wall time needs a quiet machine; the CPU time of the whole process,
all threads, is told beside it: more of it than the ideal time cannot fit into that on one core.
"""

import asyncio
import json
import math
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.claims import Claim, Rival, claim, note, parser, show
from orchestra_lib.chat import CallStyle
from orchestra_lib.evaluation.plan import Conditions
from orchestra_lib.evaluation.report import EvaluationReport
from orchestra_lib.evaluation.running import Wanted, evaluate
from orchestra_lib.evaluation.suites import load_suite
from orchestra_lib.generation import ChatRequest, Completion, RawCall
from orchestra_lib.orchestrators import Offer
from orchestra_lib.play import expect_crowd
from orchestra_lib.policy.chat_model import ChatPolicy
from orchestra_lib.pricing import Attempt, Usage
from orchestra_lib.protocols import Policy, PolicySpec, ToolResult
from orchestra_lib.tool import ToolSpec
from orchestra_lib.workbench import Workbench

LATENCY_S = 0.2
TURNS = 5
NAME = "scripted"


class Sleeper:
    """A model that waits, calls `echo` four times and then gives the answer."""

    name = NAME

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Completion, None]:
        await asyncio.sleep(LATENCY_S)
        done = sum(message["role"] == "tool" for message in request.messages)
        calls = (RawCall(id="", name="echo", arguments_text=json.dumps({"x": str(done)})),) if done < TURNS - 1 else ()
        attempt = Attempt(priced_as=NAME, usage=Usage(input_tokens=100, output_tokens=20), wall_s=LATENCY_S)
        yield Completion(content="" if calls else "42", calls=calls, finish_reason="stop", attempts=(attempt,))


class Scripted:
    """The orchestrator over it, among those of a roster."""

    def offers(self) -> Sequence[Offer]:
        return (Offer(name=NAME, title="Scripted", note="waits and follows a script"),)

    def policy(self, name: str) -> Policy:
        spec = PolicySpec(name=NAME, priced_as=NAME, max_input_tokens=4000, max_output_tokens=1000)
        return ChatPolicy(spec, Sleeper(), style=CallStyle.NATIVE)


class Echo:
    spec = ToolSpec(
        name="echo",
        title="Echo",
        description="Says a word again.",
        parameters={"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]},
    )

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        return ToolResult(text=arguments["x"])

    async def release(self, run_id: str) -> None:
        return None


async def _evaluated(home: Path, tasks: int, at_once: int) -> tuple[EvaluationReport, float, float]:
    """The report, wall seconds and CPU seconds, once everything has been warmed by one task."""
    file = home / "tasks.jsonl"
    file.write_text("".join(f'{{"question": "Say {n} again.", "answer": "42"}}\n' for n in range(tasks + 1)), "utf-8")
    workbench = Workbench(home)
    workbench.roster.others.append(Scripted())
    workbench.roster.add(Echo())
    suite = load_suite(str(file), home)

    async def all_of(first: int, last: int) -> EvaluationReport:
        wanted = Wanted(
            suite=type(suite)(
                name=suite.name, source=suite.source, items=suite.items[first:last], whole=suite.whole, left_out={}
            ),
            conditions=Conditions(suite=suite.name, tools=("echo",)),
            orchestrators=(NAME,),
            seeds=1,
            concurrency=at_once,
        )
        made = await evaluate(workbench, wanted, home / "out", begins=lambda outlook: True, told=lambda step: None)
        assert made is not None
        return made

    try:
        await all_of(tasks, tasks + 1)
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        made = await all_of(0, tasks)
        return made, time.perf_counter() - wall_s, time.process_time() - cpu_s
    finally:
        await workbench.close()


def main() -> None:
    chosen = parser(__doc__).parse_args()
    tasks, at_once = (20, 10) if chosen.quick else (1000, 256)
    expect_crowd()
    with tempfile.TemporaryDirectory() as folder:
        made, wall_s, cpu_s = uvloop.run(_evaluated(Path(folder), tasks, at_once))
    (line,) = made.lines
    assert line.solved == tasks, line
    note(f"{tasks:,} tasks: {wall_s:.2f} s, CPU {cpu_s:.2f} s, {1000 * cpu_s / tasks / TURNS:.2f} ms a turn")
    show(list(_claims(tasks, at_once, wall_s, cpu_s)), as_json=chosen.json)


def _claims(tasks: int, at_once: int, wall_s: float, cpu_s: float) -> Sequence[Claim]:
    ideal = Rival(name="the waits alone", value=math.ceil(tasks / at_once) * TURNS * LATENCY_S)
    what = f"{tasks:,} tasks of {TURNS} turns, {at_once} at once"
    return (
        claim(what, wall_s, "s", rival=ideal, ratio_at_most=1.3),
        claim(f"{what}: CPU of the process", cpu_s, "s", rival=ideal),
        claim(f"{what}: CPU of a turn", 1000 * cpu_s / tasks / TURNS, "ms"),
    )


if __name__ == "__main__":
    main()
