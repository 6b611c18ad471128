"""The report of an evaluation: a line for each orchestrator, a test for each pair, all from the stored runs."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from orchestra_lib.evaluation.facts import Facts
from orchestra_lib.evaluation.intervals import Array, Difference, Figure, adjusted, difference, figure
from orchestra_lib.evaluation.plan import Cell, Conditions, Plan
from orchestra_lib.evaluation.suites import Item, Suite
from orchestra_lib.record import record

_CENTS, _MINUTE_S = 100.0, 60.0
Value = Callable[[Facts], float | None]
MEASURES: Mapping[str, Value] = {
    "accuracy": lambda run: None if run.outcome is None else float(run.outcome),
    "cost_cents": lambda run: None if run.cost_usd is None else run.cost_usd * _CENTS,
    "latency_min": lambda run: None if run.latency_s is None else run.latency_s / _MINUTE_S,
    "input_tokens": lambda run: run.input_tokens,
    "output_tokens": lambda run: run.output_tokens,
    "calls": lambda run: run.calls,
    "turns": lambda run: run.turns,
}
"""What is said of a run, None where it is unknown."""
PAIRED = ("accuracy", "cost_cents", "latency_min")
"""What two orchestrators are tested on."""
_MESSAGES = 3


@record
class Line:
    """One orchestrator. A run is `done` when it ended by itself; faults and cancelled runs are in no figure.

    Cost is in US cents, latency in minutes, each of one task. `solved_of_done` counts ungraded runs as not solved, the
    least that the accuracy can be. In `tool_failures` runs a call failed, timed out or was refused. `undecided` tasks
    were solved with some seeds and not with others. `rates` are shares of the runs that ended, also by a fault:
    `ungraded`, `faults`, and each of `stops`. `given_up` says why the rest was not played.
    """

    orchestrator: str
    runs: int
    done: int
    solved: int
    ungraded: int
    faults: int
    tool_failures: int
    not_played: int
    solved_of_done: float | None
    undecided: int
    figures: Mapping[str, Figure]
    rates: Mapping[str, Figure]
    stops: Mapping[str, int]
    prices: tuple[str, ...]
    simulated: bool
    nominal: bool
    fault_messages: tuple[str, ...]
    given_up: str | None = None


@record
class Pairing:
    """A beside B, on the tasks that both have done: by how much A is above B in each of `PAIRED`."""

    a: str
    b: str
    differences: Mapping[str, Difference]


@record
class EvaluationReport:
    """All that an evaluation came to. `spent_usd` counts every attempt, and unknown costs as the most they may be.

    `played_again` runs replaced ones that were cut off or met a fault. `notes` say what to know before quoting it.
    """

    id: str
    suite: str
    source: str
    tasks: int
    tasks_of_suite: int
    left_out: Mapping[str, int]
    seeds: tuple[int, ...]
    conditions: Conditions
    lines: tuple[Line, ...]
    pairs: tuple[Pairing, ...]
    budget_usd: float | None
    spent_usd: float
    played_again: int
    complete: bool
    notes: tuple[str, ...]


def report(
    plan: Plan,
    suite: Suite,
    orchestrators: Sequence[str],
    seeds: Sequence[int],
    last: Mapping[str, Facts],
    *,
    spent_usd: float,
    budget_usd: float | None = None,
    given_up: Mapping[str, str] | None = None,
    short: bool = False,
) -> EvaluationReport:
    """The report of what is stored now; `last` is the last attempt at each cell, by its key."""
    grids = {name: grid_of(name, suite.items, seeds, last) for name in orchestrators}
    lines = tuple(_line(name, grids[name], (given_up or {}).get(name)) for name in orchestrators)
    pairs = _pairs(grids)
    complete = all(line.not_played == 0 and line.faults == 0 for line in lines)
    return EvaluationReport(
        id=plan.id, suite=suite.name, source=suite.source, tasks=len(suite.items), tasks_of_suite=suite.whole,
        left_out=suite.left_out, seeds=tuple(seeds), conditions=plan.conditions, lines=lines, pairs=pairs,
        budget_usd=budget_usd, spent_usd=spent_usd, complete=complete,
        played_again=sum(one.attempt - 1 for grid in grids.values() for row in grid for one in row if one),
        notes=(*([suite.note] if suite.note else ()), *_notes(lines, grids, seeds, short=short, budget_usd=budget_usd)),
    )  # fmt: skip


Grid = Sequence[Sequence[Facts | None]]
"""A row for each task, a column for each seed; None where nothing was played."""


def grid_of(name: str, items: Iterable[Item], seeds: Sequence[int], last: Mapping[str, Facts]) -> Grid:
    """The runs of one orchestrator."""
    return [[last.get(Cell(orchestrator=name, item=item, seed=seed).key) for seed in seeds] for item in items]


def values_of(grid: Grid, value: Value) -> Array:
    """A value of every run that ended by itself, NaN for the others and where it is unknown."""
    rows = [[value(one) if one is not None and one.ended else None for one in row] for row in grid]
    return np.array(rows, dtype=np.float64)


def _line(name: str, grid: Grid, given_up: str | None) -> Line:
    played = [one for row in grid for one in row if one is not None]
    done = [one for one in played if one.ended]
    faulted = [one for one in played if one.faulted]
    solved = sum(one.outcome is True for one in done)
    words = Counter(one.fault or "no reason" for one in faulted)
    return Line(
        orchestrator=name,
        runs=sum(map(len, grid)),
        done=len(done),
        solved=solved,
        ungraded=sum(one.outcome is None for one in done),
        faults=len(faulted),
        tool_failures=sum(one.failed_calls > 0 for one in done),
        not_played=sum(map(len, grid)) - len(done) - len(faulted),
        solved_of_done=solved / len(done) if done else None,
        undecided=sum(len({one.outcome for one in row if one and one.ended} - {None}) > 1 for row in grid),
        figures={
            what: figure(values_of(grid, value), len(done), shares=what == "accuracy")
            for what, value in MEASURES.items()
        },
        rates=_rates(grid, sorted({one.status for one in (*done, *faulted)})),
        stops=dict(sorted(Counter(one.status for one in played).items())),
        prices=tuple(sorted({one.prices for one in done})),
        simulated=any(one.simulated for one in played),
        nominal=any(one.nominal for one in played),
        fault_messages=tuple(f"{count} × {text[:200]}" for text, count in words.most_common(_MESSAGES)),
        given_up=given_up,
    )


def _rates(grid: Grid, statuses: Sequence[str]) -> Mapping[str, Figure]:
    """How often runs ended in what way, of those that ended at all."""
    over = sum(one is not None and (one.ended or one.faulted) for row in grid for one in row)

    def rate(holds: Callable[[Facts], bool]) -> Figure:
        rows = [
            [float(holds(one)) if one is not None and (one.ended or one.faulted) else None for one in row]
            for row in grid
        ]  # fmt: skip
        return figure(np.array(rows, dtype=np.float64), over, shares=True)

    return {
        "ungraded": rate(lambda one: one.outcome is None and not one.faulted),
        "faults": rate(lambda one: one.faulted),
        **{status: rate(lambda one, status=status: one.status == status) for status in statuses},  # type: ignore[misc]  # its default is a string
    }


def _pairs(grids: Mapping[str, Grid]) -> tuple[Pairing, ...]:
    values = {name: {what: values_of(grid, MEASURES[what]) for what in PAIRED} for name, grid in grids.items()}
    found = [
        Pairing(a=a, b=b, differences={what: difference(values[a][what], values[b][what]) for what in PAIRED})
        for a, b in combinations(grids, 2)
    ]
    return tuple(
        replace(pair, differences=sure)
        for pair, sure in zip(found, adjusted([pair.differences for pair in found]), strict=True)
    )


def _notes(
    lines: Sequence[Line], grids: Mapping[str, Grid], seeds: Sequence[int], *, short: bool, budget_usd: float | None
) -> Iterable[str]:
    left = sum(line.not_played for line in lines)
    if short:
        yield f"the budget of ${budget_usd:g} ended it, {left} runs were not played; raise it and ask again"
    elif left:
        yield f"{left} runs were not played yet; the same command goes on"
    for line in lines:
        if line.given_up is not None:
            yield f"{line.orchestrator} was given up after faults in a row: {line.given_up}"
        if line.tool_failures:
            yield f"{line.orchestrator}: calls failed or were refused in {line.tool_failures} of {line.done} runs"
        if line.simulated:
            yield f"{line.orchestrator}: simulated experts were on offer; its figures are simulated"
        if line.nominal:
            yield f"{line.orchestrator}: costs are of a nominal price table, nobody is billed them"
        if len(seeds) > 1 and _never_differs(grids[line.orchestrator]):
            yield f"{line.orchestrator}: every seed came to the same, so it does not sample and its spread says nothing"
        if len(line.prices) > 1:
            yield f"{line.orchestrator}: priced by {' and '.join(line.prices)}, which changed meanwhile"


def _never_differs(grid: Grid) -> bool:
    rows = [[(one.outcome, one.calls, one.output_tokens) for one in row if one and one.ended] for row in grid]
    return any(len(row) > 1 for row in rows) and all(len(set(row)) <= 1 for row in rows)
