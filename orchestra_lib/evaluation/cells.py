"""An evaluation cell by cell, for comparisons that a report does not make: across conditions, and by reward."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orchestra_lib.evaluation.conducting import Step
from orchestra_lib.evaluation.facts import Facts, last_of, runs_of
from orchestra_lib.evaluation.intervals import Array
from orchestra_lib.evaluation.plan import Plan
from orchestra_lib.evaluation.report import EvaluationReport, Grid, grid_of
from orchestra_lib.evaluation.running import Outlook, Wanted, evaluate
from orchestra_lib.workbench import Workbench


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """The last run of every cell by orchestrator, a row a task and a column a seed."""

    plan: Plan
    report: EvaluationReport
    grids: Mapping[str, Grid]


async def play_cells(
    workbench: Workbench,
    wanted: Wanted,
    folder: Path,
    *,
    told: Callable[[Step], None],
    begins: Callable[[Outlook], bool] = lambda outlook: True,
    cancel: asyncio.Event | None = None,
) -> Cells | None:
    """`evaluate`, and then every run; None when `begins` says not to begin. Raises what `evaluate` raises."""
    plans: list[Plan] = []

    def begin(outlook: Outlook) -> bool:
        plans.append(outlook.plan)
        return begins(outlook)

    report = await evaluate(workbench, wanted, folder, begins=begin, told=told, cancel=cancel)
    if report is None:
        return None
    last = last_of(runs_of(workbench.store, plans[0]))
    grids = {name: grid_of(name, wanted.suite.items, wanted.all_seeds, last) for name in wanted.orchestrators}
    return Cells(plan=plans[0], report=report, grids=grids)


def values_by_run(grid: Grid, values: Mapping[str, float | None]) -> Array:
    """A value of each run by its id, NaN where there is none, as `values_of` gives those of one run."""
    rows = [[_known(one, values) for one in row] for row in grid]
    return np.array(rows, dtype=np.float64)


def _known(one: Facts | None, values: Mapping[str, float | None]) -> float | None:
    return None if one is None or not one.ended else values.get(one.run_id)
