"""Whose intelligence it is: what each tool is worth to an orchestrator, by playing every task again without it.

The counterfactual is the whole run: without a tool the orchestrator chooses anew among the others. So is the question
whether a cheap set of tools would have done: every set of cheap tools plays every task. Simulated experts draw the same
lots by seed, task and call, whoever else is on offer; with experts that sample anew each run has its own chance, and a
task counts as solved by a cheap set when any one of them came to solve it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from orchestra_lib.calibration import Share, share
from orchestra_lib.errors import BadInput
from orchestra_lib.evaluation.cells import Cells, by_task, cells_of, values_by_run
from orchestra_lib.evaluation.facts import Facts
from orchestra_lib.evaluation.intervals import Array, Difference, adjusted, difference
from orchestra_lib.evaluation.report import MEASURES, PAIRED, Grid, values_of
from orchestra_lib.evaluation.running import Wanted, place
from orchestra_lib.evaluation.study import Part, Played, Study
from orchestra_lib.evaluation.worth import called_in, worths
from orchestra_lib.policy.baseline import typical_usd
from orchestra_lib.pricing import PriceTable
from orchestra_lib.record import record
from orchestra_lib.store.store import Store
from orchestra_lib.tool import ToolSpec

ALL = "all tools"
MOST_CHEAP = 5
"""Of more cheap tools there would be too many sets."""
CHEAP = 0.5
"""A tool counts as cheap when a typical call costs at most this share of one of the dearest tool."""
REWARD = "reward"
WORTH = (*PAIRED, REWARD)
"""What a tool is worth in: shares, US cents and minutes a task, and the preference reward."""


@record
class ToolCredit:
    """What an orchestrator comes to with all tools less what it comes to without `tool`, on the same tasks and seeds.

    `called` is the share of its runs that called the tool while it was there. `lost` are pairs of runs, with and
    without the tool, of which only the first solved the task, `won` those of which only the second did.
    """

    orchestrator: str
    tool: str
    called: Share
    differences: Mapping[str, Difference]
    lost: tuple[tuple[str, str], ...]
    won: tuple[tuple[str, str], ...]


@record
class Irreducible:
    """Of the runs that solved their task with all tools, the share of which no set of `cheap` tools did.

    `unknown` are solved runs of which some cheap set was not graded or not played, and no other one solved the task;
    they are in no share. `runs` are the solved runs that needed more.
    """

    orchestrator: str
    solved: int
    share: Share
    unknown: int
    runs: tuple[str, ...]


@record
class CreditReport:
    """The credit of every tool. `sets` are the tools of each set by its name, `evaluations` what its runs are tagged
    with."""

    suite: str
    tasks: int
    seeds: tuple[int, ...]
    tools: tuple[str, ...]
    cheap: tuple[str, ...]
    sets: Mapping[str, tuple[str, ...]]
    evaluations: Mapping[str, str]
    credits: tuple[ToolCredit, ...]
    irreducible: tuple[Irreducible, ...]
    complete: bool
    simulated: bool
    nominal: bool
    spent_usd: float


def cheap_of(specs: Mapping[str, ToolSpec], prices: PriceTable) -> tuple[str, ...]:
    """The names of the tools whose typical call costs at most `CHEAP` of the dearest's; one without a price is dear."""
    costs = {name: typical_usd(spec, prices) for name, spec in specs.items()}
    known = [cost for cost in costs.values() if cost is not None]
    most = CHEAP * max(known, default=0.0)
    return tuple(name for name, cost in costs.items() if cost is not None and cost <= most)


def sets_of(tools: Sequence[str], cheap: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The sets to play by their names: all, all but one, and every set of cheap tools. Raises `BadInput`."""
    if len(set(tools)) < 2:
        raise BadInput(f"{len(set(tools))} tool: credit compares with and without; name two or more with --tools")
    if unknown := [name for name in cheap if name not in tools]:
        raise BadInput(f"--cheap {unknown[0]} is none of the tools {', '.join(tools)}")
    if len(cheap) > MOST_CHEAP:
        raise BadInput(
            f"{len(cheap)} cheap tools make {2 ** len(cheap) - 1} sets; name {MOST_CHEAP} at most with --cheap"
        )
    sets = {ALL: tuple(tools)}
    sets |= {f"without {left}": tuple(name for name in tools if name != left) for left in tools}
    for size in range(1, len(cheap) + 1):
        for members in combinations([name for name in tools if name in cheap], size):
            if members not in sets.values():
                sets[f"only {' + '.join(members)}"] = members
    return sets


def plan_credit(wanted: Wanted, sets: Mapping[str, tuple[str, ...]], *, home: Path, out: Path | None) -> Study:
    """An evaluation for each set, where `orchestra eval` with these tools would lie, or all in the folder `out`."""
    parts = []
    for label, tools in sets.items():
        one = replace(wanted, conditions=replace(wanted.conditions, tools=tools))
        folder = place(home, one) if out is None else out / place(home, one).name
        parts.append(Part(label=label, wanted=one, folder=folder))
    return Study(table=None, parts=tuple(parts))


def credit_report(
    store: Store, study: Study, played: Sequence[Played], sets: Mapping[str, tuple[str, ...]], cheap: Sequence[str],
    names: Mapping[str, str],
) -> CreditReport:  # fmt: skip
    """The report of what is stored; `names` gives the name under which a tool of `sets` is called."""
    cells = {one.part.label: cells_of(store, one.part.wanted, one.report) for one in played}
    whole, reports = cells[ALL], [one.report for one in played]
    orchestrators = study.parts[0].wanted.orchestrators
    credits = [one for name in orchestrators for one in _credits(store, cells, name, sets[ALL], names)]
    sure = adjusted([one.differences for one in credits])
    lines = [line for report in reports for line in report.lines]
    return CreditReport(
        suite=whole.report.suite, tasks=whole.report.tasks, seeds=whole.report.seeds, tools=sets[ALL],
        cheap=tuple(cheap), sets=sets, evaluations={label: one.report.id for label, one in cells.items()},
        credits=tuple(replace(one, differences=each) for one, each in zip(credits, sure, strict=True)),
        irreducible=tuple(_irreducible(cells, name, sets, cheap) for name in orchestrators) if cheap else (),
        complete=all(report.complete for report in reports), simulated=any(line.simulated for line in lines),
        nominal=any(line.nominal for line in lines), spent_usd=sum(report.spent_usd for report in reports),
    )  # fmt: skip


def _credits(
    store: Store, cells: Mapping[str, Cells], orchestrator: str, tools: Sequence[str], names: Mapping[str, str]
) -> list[ToolCredit]:
    """Every tool of one orchestrator; a task's runs with all tools and without each are the group of its reward."""
    grids = {label: cells[label].grids[orchestrator] for label in (ALL, *map(_without, tools))}
    worth = worths(store, by_task(grids), cells[ALL].report.conditions.preference)
    values = {label: _values(grid, worth) for label, grid in grids.items()}
    called = called_in(store, [run.run_id for run in _cells(grids[ALL]) if run is not None and run.ended])
    found = []
    for tool in tools:
        without = grids[_without(tool)]
        pairs = [(a, b) for a, b in zip(_cells(grids[ALL]), _cells(without), strict=True) if a and b]
        found.append(
            ToolCredit(
                orchestrator=orchestrator,
                tool=tool,
                called=share(sum(names[tool] in used for used in called.values()), len(called)),
                differences={what: difference(values[ALL][what], values[_without(tool)][what]) for what in WORTH},
                lost=tuple((a.run_id, b.run_id) for a, b in pairs if a.outcome is True and b.outcome is False),
                won=tuple((a.run_id, b.run_id) for a, b in pairs if a.outcome is False and b.outcome is True),
            )
        )
    return found


def _irreducible(
    cells: Mapping[str, Cells], orchestrator: str, sets: Mapping[str, tuple[str, ...]], cheap: Sequence[str]
) -> Irreducible:
    labels = [label for label, members in sets.items() if set(members) <= set(cheap)]
    others = [_cells(cells[label].grids[orchestrator]) for label in labels]
    needed: list[str] = []
    known = unknown = solved = 0
    for at, run in enumerate(_cells(cells[ALL].grids[orchestrator])):
        if run is None or not run.ended or run.outcome is not True:
            continue
        solved += 1
        outcomes = [one.outcome if (one := cell[at]) is not None and one.ended else None for cell in others]
        if any(outcomes):
            known += 1
        elif None in outcomes:
            unknown += 1
        else:
            known += 1
            needed.append(run.run_id)
    return Irreducible(
        orchestrator=orchestrator, solved=solved, share=share(len(needed), known), unknown=unknown, runs=tuple(needed)
    )


def _without(tool: str) -> str:
    return f"without {tool}"


def _values(grid: Grid, worth: Mapping[str, float | None]) -> dict[str, Array]:
    return {**{what: values_of(grid, MEASURES[what]) for what in PAIRED}, REWARD: values_by_run(grid, worth)}


def _cells(grid: Grid) -> list[Facts | None]:
    return [one for row in grid for one in row]
