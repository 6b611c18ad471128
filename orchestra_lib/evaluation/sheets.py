"""Reports as sheets of plain words, which the terminal, Markdown and HTML show alike."""

from collections.abc import Sequence
from itertools import groupby

from orchestra_lib.evaluation.intervals import Difference, Figure
from orchestra_lib.evaluation.joint import PERCENT, StudyReport
from orchestra_lib.evaluation.report import PAIRED, EvaluationReport, Line
from orchestra_lib.paper_tables import PaperTable
from orchestra_lib.record import record

UNKNOWN = "—"
_SHOWN = 60


@record
class Sheet:
    """One table. `published` ones hold figures of the paper, and none of one's own."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    published: bool = False


def joint_sheet(report: StudyReport) -> Sheet:
    """The table over all suites, a row for each orchestrator under each variant."""
    varied = any(row.variant for row in report.rows)
    head = (
        "orchestrator",
        *(["variant"] if varied else []),
        *(f"{one.name} {one.unit}".strip() for one in report.columns),
        "runs",
    )
    rows = []
    for row in report.rows:
        units = [column.unit for column in report.columns]
        cells = [said(one, percent=unit == PERCENT) for one, unit in zip(row.figures, units, strict=True)]
        first = (_named(row.orchestrator, simulated=row.simulated), *([row.variant] if varied else []))
        rows.append((*first, *cells, f"{row.done}/{row.runs}"))
    title = f"Table {report.table}: {report.shows}"
    return Sheet(title=title, head=head, rows=tuple(rows), notes=_reading(report))


def _reading(report: StudyReport) -> tuple[str, ...]:
    notes = ["intervals of 95 %, by bootstrap over tasks"]
    if len({part.report.suite for part in report.parts}) > 1:
        notes.append("cost, latency and calls are means over suites, each counting alike")
    if report.base is not None:
        notes.append(
            f"adherence beside {report.base} on the same tasks, seeds and preferences: bounded is our metric, from 0 "
            "to 1, and 0.5 where a solved run does as the base does; published is appendix L of the paper, of one task"
        )
    if any(row.simulated for row in report.rows):
        notes.append("simulated: experts that answer from stated profiles, of which all figures of the row are")
    if any(row.nominal for row in report.rows):
        notes.append("costs are of a nominal price table, nobody is billed them")
    return tuple(notes)


def published_sheets(table: PaperTable) -> list[Sheet]:
    """The figures of the paper, a sheet for each group."""
    sheets = []
    for group, rows in groupby(table.rows, key=lambda row: row.group):
        sheets.append(
            Sheet(
                title=f"Published, {group}", head=("orchestrator", *table.columns), published=True,
                rows=tuple(
                    (row.orchestrator, *(_published(one, table) for one in row.values))
                    for row in rows
                ),
            )
        )  # fmt: skip
    return sheets


def _published(value: float | None, table: PaperTable) -> str:
    """A figure as it was printed, to one digit after the point, or about what a plot shows."""
    if value is None:
        return UNKNOWN
    return f"≈ {value:g}" if table.approximate else f"{value:.1f}"


def part_sheets(report: EvaluationReport) -> list[Sheet]:
    """One suite: a line for each orchestrator, the spread over seeds, the paired tests."""
    head: tuple[str, ...] = (
        "orchestrator", "accuracy", "ungraded", "cost ¢", "unknown", "minutes", "unknown", "tokens in", "tokens out",
        "calls", "faults", "runs", "stops",
    )  # fmt: skip
    sheets = [Sheet(title=f"{report.suite}: {report.tasks:,} tasks", head=head, rows=tuple(map(_row, report.lines)))]
    sheets.append(_ends(report))
    if len(report.seeds) > 1:
        head = ("spread over seeds", "accuracy sd (least to most)", "cost ¢ sd", "minutes sd", "tasks undecided")
        sheets.append(Sheet(title="From seed to seed", head=head, rows=tuple(map(_spread_row, report.lines))))
    if report.pairs:
        rows = tuple(
            (f"{pair.a} - {pair.b}", *(_difference(pair.differences[what], what) for what in PAIRED))
            for pair in report.pairs
        )
        notes = ("p by sign flips over tasks (McNemar's exact test with one seed), after Holm",)
        head = ("paired, same tasks", "accuracy", "cost ¢", "minutes")
        sheets.append(Sheet(title="Two by two", head=head, rows=rows, notes=notes))
    return sheets


def said(one: Figure, *, percent: bool = False) -> str:
    """A figure with its interval."""
    if one.mean is None:
        return UNKNOWN
    words = _percent if percent else number
    return words(one.mean) + ("" if one.low is None or one.high is None else f" [{words(one.low)}, {words(one.high)}]")


def number(value: float | None) -> str:
    """Three figures, or none after the point of what is large."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _named(name: str, *, simulated: bool) -> str:
    return f"{name[:_SHOWN]}{' (simulated)' if simulated else ''}"


def _row(line: Line) -> tuple[str, ...]:
    figures = line.figures
    return (
        _named(line.orchestrator, simulated=line.simulated),
        said(figures["accuracy"], percent=True), str(line.ungraded),
        said(figures["cost_cents"]), str(figures["cost_cents"].unknown),
        said(figures["latency_min"]), str(figures["latency_min"].unknown),
        said(figures["input_tokens"]), said(figures["output_tokens"]), said(figures["calls"]),
        str(line.faults), f"{line.done}/{line.runs}",
        ", ".join(f"{name} {count}" for name, count in line.stops.items()),
    )  # fmt: skip


def _ends(report: EvaluationReport) -> Sheet:
    """How runs ended, as shares with their intervals."""
    kinds = dict.fromkeys(kind for line in report.lines for kind in line.rates)
    rows = tuple(
        (line.orchestrator[:_SHOWN], *(_rate(line.rates.get(kind)) for kind in kinds)) for line in report.lines
    )
    return Sheet(title="How runs ended", head=("of the runs that ended", *kinds), rows=rows)


def _rate(one: Figure | None) -> str:
    return _percent(0.0) if one is None else said(one, percent=True)


def _spread_row(line: Line) -> tuple[str, ...]:
    spreads = [line.figures[name].spread for name in PAIRED]
    accuracy = spreads[0]
    shown = UNKNOWN if accuracy is None else f"{accuracy.sd:.1%} ({accuracy.least:.1%} to {accuracy.most:.1%})"
    others: Sequence[str] = [UNKNOWN if one is None else number(one.sd) for one in spreads[1:]]
    return (line.orchestrator[:_SHOWN], shown, *others, str(line.undecided))


def _difference(one: Difference, what: str) -> str:
    if one.mean is None:
        return UNKNOWN
    words = _percent if what == "accuracy" else number
    sides = "" if one.low is None or one.high is None else f" [{words(one.low)}, {words(one.high)}]"
    return f"{words(one.mean)}{sides} p {one.p_holm:.2g} of {one.tasks}"


def _percent(value: float) -> str:
    return f"{value:.1%}"
