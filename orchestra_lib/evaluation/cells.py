"""An evaluation cell by cell, for comparisons that a report does not make: across conditions, and by reward."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from orchestra_lib.evaluation.facts import last_of, runs_of
from orchestra_lib.evaluation.intervals import Array
from orchestra_lib.evaluation.plan import Plan
from orchestra_lib.evaluation.report import EvaluationReport, Grid, grid_of
from orchestra_lib.evaluation.running import Wanted
from orchestra_lib.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """The last run of every cell by orchestrator, a row a task and a column a seed."""

    report: EvaluationReport
    grids: Mapping[str, Grid]


def cells_of(store: Store, wanted: Wanted, report: EvaluationReport) -> Cells:
    """The stored runs of an evaluation that has been reported on."""
    last = last_of(runs_of(store, Plan(id=report.id, conditions=report.conditions)))
    grids = {name: grid_of(name, wanted.suite.items, wanted.all_seeds, last) for name in wanted.orchestrators}
    return Cells(report=report, grids=grids)


def by_task(grids: Mapping[str, Grid]) -> dict[str, list[str]]:
    """The ids of the runs of each task and seed, in whatever grid they are."""
    groups: dict[str, list[str]] = {}
    for grid in grids.values():
        for task, row in enumerate(grid):
            for seed, run in enumerate(row):
                if run is not None:
                    groups.setdefault(f"{task}/{seed}", []).append(run.run_id)
    return groups


def values_by_run(grid: Grid, values: Mapping[str, float | None]) -> Array:
    """A value of each run by its id, NaN where there is none, as `values_of` gives those of one run."""
    rows = [[values.get(one.run_id) if one is not None and one.ended else None for one in row] for row in grid]
    return np.array(rows, dtype=np.float64)
