"""The report of a study: one table over all its suites and variants, the reports of its parts, the published figures.

Published figures are of other models on other tasks. They stand in a block of their own and enter no figure here.
"""

import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

import numpy as np

from orchestra_lib.errors import BadInput
from orchestra_lib.evaluation.facts import calls_of, last_of, offered_in, runs_of
from orchestra_lib.evaluation.intervals import Array, Figure, figure, mean_of_suites
from orchestra_lib.evaluation.plan import Plan
from orchestra_lib.evaluation.report import MEASURES, EvaluationReport, Grid, Value, grid_of, values_of
from orchestra_lib.evaluation.study import Played, Study
from orchestra_lib.evaluation.tables import ADHERENCE, CALLS, MAIN, TABLES, TURNS
from orchestra_lib.following import following
from orchestra_lib.paper_tables import PaperTable, paper_table
from orchestra_lib.record import record
from orchestra_lib.store.store import Store

PERCENT, CENTS, MINUTES, NUMBER = "%", "¢", "min", ""


@record
class Column:
    """What stands in a column, and its unit: `%` of shares from 0 to 1, `¢`, `min`, or nothing."""

    name: str
    unit: str = NUMBER


@record
class JointRow:
    """One orchestrator under one variant: a figure for each column, over `done` of `runs` runs."""

    orchestrator: str
    variant: str
    figures: tuple[Figure, ...]
    done: int
    runs: int
    simulated: bool
    nominal: bool


@record
class PartReport:
    """The report of one suite under one variant."""

    variant: str
    report: EvaluationReport


@record
class StudyReport:
    """All that a study came to. `base` is the orchestrator that adherence was measured beside."""

    table: str
    shows: str
    made_at: datetime
    machine: str
    command: str
    columns: tuple[Column, ...]
    rows: tuple[JointRow, ...]
    base: str | None
    parts: tuple[PartReport, ...]
    published: PaperTable | None
    budget_usd: float | None
    spent_usd: float
    complete: bool


@record
class _Piece:
    """One suite of a variant: its runs for each orchestrator, and where they are stored."""

    suite: str
    plan: Plan
    grids: Mapping[str, Grid]


def joint(store: Store, study: Study, played: Sequence[Played], *, now: datetime, command: str) -> StudyReport:
    """The report of what is stored now. Raises `StoreFault`."""
    by_variant: dict[str, list[_Piece]] = {}
    for one in played:
        by_variant.setdefault(one.part.label, []).append(_piece(store, one))
    shown = _SHOWN.get(study.table or MAIN, _accuracies)
    columns: tuple[Column, ...] = ()
    rows = []
    for label, pieces in by_variant.items():
        sheet = shown(store, study, pieces, [piece for all_of in by_variant.values() for piece in all_of])
        columns = tuple(column for column, _ in sheet)
        for name in study.parts[0].wanted.orchestrators:
            runs = [run for piece in pieces for row in piece.grids[name] for run in row]
            known = [run for run in runs if run is not None]
            rows.append(
                JointRow(
                    orchestrator=name, variant=label, figures=tuple(value(name) for _, value in sheet), runs=len(runs),
                    done=sum(run.ended for run in known), simulated=any(run.simulated for run in known),
                    nominal=any(run.nominal for run in known),
                )
            )  # fmt: skip
    return StudyReport(
        table=study.table or MAIN, shows=TABLES[study.table or MAIN], made_at=now, machine=machine(), command=command,
        columns=columns, rows=tuple(rows), base=study.base,
        parts=tuple(PartReport(variant=one.part.label, report=one.report) for one in played),
        published=None if study.table is None else paper_table(study.table), budget_usd=study.budget_usd,
        spent_usd=sum(one.report.spent_usd for one in played), complete=all(one.report.complete for one in played),
    )  # fmt: skip


def machine() -> str:
    """The machine that this runs on, in a few words."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"


def _piece(store: Store, one: Played) -> _Piece:
    plan = Plan(id=one.report.id, conditions=one.report.conditions)
    wanted, last = one.part.wanted, last_of(runs_of(store, plan))
    grids = {name: grid_of(name, wanted.suite.items, wanted.all_seeds, last) for name in wanted.orchestrators}
    return _Piece(suite=wanted.suite.name, plan=plan, grids=grids)


Sheet = list[tuple[Column, Callable[[str], Figure]]]
"""Columns, and for each what stands there for an orchestrator."""


def _done(pieces: Iterable[_Piece], name: str) -> int:
    return sum(run is not None and run.ended for piece in pieces for row in piece.grids[name] for run in row)


def _accuracies(store: Store, study: Study, pieces: Sequence[_Piece], everywhere: Sequence[_Piece]) -> Sheet:
    """Accuracy in each suite; cost and latency as means over suites."""
    sheet: Sheet = [(Column(name=piece.suite, unit=PERCENT), _accuracy(piece)) for piece in pieces]
    return [*sheet, _over(pieces, "cost", CENTS, "cost_cents"), _over(pieces, "latency", MINUTES, "latency_min")]


def _by_turns(store: Store, study: Study, pieces: Sequence[_Piece], everywhere: Sequence[_Piece]) -> Sheet:
    return [*_accuracies(store, study, pieces, everywhere), _over(pieces, "turns taken", NUMBER, "turns")]


def _accuracy(piece: _Piece) -> Callable[[str], Figure]:
    return lambda name: figure(values_of(piece.grids[name], MEASURES["accuracy"]), _done([piece], name), shares=True)


def _over(pieces: Sequence[_Piece], words: str, unit: str, measure: str) -> tuple[Column, Callable[[str], Figure]]:
    def value(name: str) -> Figure:
        values = [values_of(piece.grids[name], MEASURES[measure]) for piece in pieces]
        return mean_of_suites(values, _done(pieces, name))

    return Column(name=words, unit=unit), value


def _calls(store: Store, study: Study, pieces: Sequence[_Piece], everywhere: Sequence[_Piece]) -> Sheet:
    """Calls of a task for each tool that anybody could call."""
    counted = {piece.plan.id: calls_of(store, piece.plan) for piece in pieces}
    offered = dict.fromkeys(model for piece in everywhere for model in offered_in(store, piece.plan))

    def of(model: str) -> Callable[[str], Figure]:
        def value(name: str) -> Figure:
            values = [values_of(piece.grids[name], _counting(counted[piece.plan.id], model)) for piece in pieces]
            return mean_of_suites(values, _done(pieces, name))

        return value

    return [(Column(name=model), of(model)) for model in offered]


def _counting(counted: Mapping[str, Mapping[str, int]], model: str) -> Value:
    """How often a run called somebody; one that is not counted called nobody."""
    return lambda run: float(counted.get(run.run_id, {}).get(model, 0))


def _adherences(store: Store, study: Study, pieces: Sequence[_Piece], everywhere: Sequence[_Piece]) -> Sheet:
    """Both metrics of adherence in each suite, beside the base's runs of the same tasks, seeds and preference."""
    assert study.base is not None
    sheet: Sheet = []
    for piece in pieces:
        scored = {name: _followed(store, piece, name, study.base) for name in piece.grids}
        for at, words in enumerate(("bounded", "published")):
            sheet.append((Column(name=f"{piece.suite}: {words}"), _score(piece, scored, at)))
    accuracies = _accuracies(store, study, pieces, everywhere)
    return [*sheet, *accuracies]


def _score(piece: _Piece, scored: Mapping[str, Sequence[Array]], at: int) -> Callable[[str], Figure]:
    return lambda name: figure(scored[name][at], _done([piece], name))


def _followed(store: Store, piece: _Piece, name: str, base: str) -> tuple[Array, Array]:
    """The bounded and the published score of every run, NaN where it or its base did not count."""
    own, others = piece.grids[name], piece.grids[base]
    scores = np.full((2, len(own), len(own[0])), np.nan)
    for task, row in enumerate(own):
        for seed, run in enumerate(row):
            beside = others[task][seed]
            if run is not None and beside is not None and run.ended and beside.ended:
                try:
                    (one,) = following(
                        [store.get(run.run_id)], [store.get(beside.run_id)], preference=piece.plan.conditions.preference
                    ).rows
                except BadInput:  # a cost that nobody knows: no score, and not 0
                    continue
                if one.bounded is not None and one.published is not None:
                    scores[:, task, seed] = one.bounded, one.published
    return scores[0], scores[1]


_SHOWN = {TURNS: _by_turns, CALLS: _calls, ADHERENCE: _adherences}
