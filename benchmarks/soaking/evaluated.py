"""An evaluation in a process that is killed: `evaluated` is run in a child, which tells of each call and of its end."""

import asyncio
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.soaking.world import PRICES, STEPS, TOOL, Echo, Steps, furnished
from orchestra_lib.evaluation.plan import Conditions
from orchestra_lib.evaluation.report import EvaluationReport
from orchestra_lib.evaluation.running import Outlook, Wanted, evaluate
from orchestra_lib.evaluation.suites import load_suite

TURNS = 5
CALL, DONE, ENDED = "call", "done", "ended"
"""What a child tells: a call was made; so many runs are done; the totals."""


def evaluated(home: Path, tasks: int, said: Connection) -> None:
    """Play what is left of the evaluation of this home, and tell of it as it goes."""
    file = home / "tasks.jsonl"
    if not file.exists():
        lines = (f'{{"question": "{TURNS} turns, task {n}", "answer": "42"}}\n' for n in range(tasks))
        file.write_text("".join(lines), "utf-8")
    said.send((ENDED, asyncio.run(_evaluated(home, file, said))))


async def _evaluated(home: Path, file: Path, said: Connection) -> Mapping[str, Any]:
    workbench = furnished(home, policy=Steps(0.02), tool=Echo(heard=lambda: said.send((CALL, 0))))
    suite = load_suite(str(file), home)

    def begins(outlook: Outlook) -> bool:
        said.send((DONE, outlook.done))
        return True

    wanted = Wanted(
        suite=suite,
        conditions=Conditions(suite=suite.name, tools=(TOOL,), prices=PRICES),
        orchestrators=(STEPS,),
        seeds=1,
        concurrency=4,
    )
    try:
        made = await evaluate(
            workbench, wanted, home / "out", begins=begins, told=lambda step: said.send((DONE, step.done))
        )
        assert made is not None
        return _totals(made)
    finally:
        await workbench.close()


def _totals(made: EvaluationReport) -> Mapping[str, Any]:
    (line,) = made.lines
    return {
        "solved": line.solved, "done": line.done, "stops": dict(line.stops), "ungraded": line.ungraded,
        **{what: line.figures[what].mean for what in ("accuracy", "cost_cents", "calls", "output_tokens")},
    }  # fmt: skip
