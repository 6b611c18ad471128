"""What the Evaluation page shows of stored reports: sheets of plain words, and where each figure leads."""

import shlex
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any
from urllib.parse import urlencode

from orchestra_lib.codec import from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.evaluation.intervals import Difference, Figure, Spread
from orchestra_lib.evaluation.joint import PERCENT, JointRow, StudyReport
from orchestra_lib.evaluation.report import EvaluationReport
from orchestra_lib.evaluation.sheets import Sheet, joint_sheet, part_sheets, published_sheets
from orchestra_lib.record import record

READING = "intervals of 95 %, by bootstrap over tasks"
"""What a figure's brackets are, said once a report."""


@record
class Found:
    """A stored report by its folder; a single suite has no study."""

    name: str
    study: StudyReport | None
    parts: tuple[tuple[str, EvaluationReport], ...]


def read(name: str, data: Mapping[str, Any]) -> Found:
    """A report as it lies in its file. Raises `BadInput` where another version wrote it."""
    try:
        if "parts" in data:
            study = from_data(data, StudyReport, where=name)
            return Found(name=name, study=study, parts=tuple((one.variant, one.report) for one in study.parts))
        report = from_data(data, EvaluationReport, where=name)
        return Found(name=name, study=None, parts=(("", report),))
    except BadInput:
        raise BadInput(
            f"the report {name!r} was written by another version of the workbench and cannot be shown; its runs are "
            f"kept, and {_remedy(data)} writes it anew without playing any"
        ) from None


def _remedy(data: Mapping[str, Any]) -> str:
    """The command that made a report, as far as the report tells."""
    if isinstance(command := data.get("command"), str) and command:
        return f"`{command}`"
    suite, lines = data.get("suite"), data.get("lines")
    if not isinstance(suite, str) or not isinstance(lines, list):
        return "the command that made it"
    names = [line["orchestrator"] for line in lines if isinstance(line, Mapping) and "orchestrator" in line]
    words = shlex.join(
        ["orchestra", "eval", suite, *(part for name in names for part in ("--orchestrator", str(name)))]
    )
    return f"`{words}`, with the other options that it had,"


def summary(found: Found) -> dict[str, Any]:
    """One line of the list."""
    suites = list(dict.fromkeys(report.suite for _, report in found.parts))
    reports = [report for _, report in found.parts]
    return {
        "name": found.name,
        "table": None if found.study is None else found.study.table,
        "suites": suites,
        "orchestrators": [line.orchestrator for line in reports[0].lines],
        "tasks": sum({report.suite: report.tasks for report in reports}.values()),
        "done": sum(line.done for report in reports for line in report.lines),
        "runs": sum(line.runs for report in reports for line in report.lines),
        "complete": all(report.complete for report in reports),
        "simulated": any(line.simulated for report in reports for line in report.lines),
    }


def view(found: Found) -> dict[str, Any]:
    """One report: its own sheets, each figure with the runs behind it, and the published ones apart."""
    own = [] if found.study is None else [{"title": "", "sheets": [_joint(found.study)], "notes": []}]
    for variant, report in found.parts:
        title = f"{report.suite}{f', {variant}' if variant else ''}"
        read = [] if found.study is not None else [READING]  # the sheet over all suites says it itself
        own.append({"title": title, "sheets": _part(report), "notes": [*read, *_once(report)]})
    published = None if found.study is None else found.study.published
    return {
        **summary(found),
        "command": None if found.study is None else found.study.command,
        "machine": None if found.study is None else found.study.machine,
        "blocks": own,
        "published": None
        if published is None
        else {
            "source": published.source,
            "notes": list(published.notes),
            "sheets": [_plain(sheet) for sheet in published_sheets(published)],
        },
    }


def _joint(study: StudyReport) -> dict[str, Any]:
    sheet = joint_sheet(study)
    lead = len(sheet.head) - len(study.columns) - 1
    rows = [
        [
            *({"text": text} for text in row[:lead]),
            *({"text": text, **_leads(study, of, at), **_drawn(study, of, at)} for at, text in enumerate(row[lead:-1])),
            {"text": row[-1]},
        ]
        for row, of in zip(sheet.rows, study.rows, strict=True)
    ]
    return {**_plain(sheet), "rows": rows}


def _behind(study: StudyReport, row: JointRow, at: int) -> Sequence[EvaluationReport]:
    """The reports that a figure is from: that of its suite, or of each suite that it is a mean over."""
    parts = [one.report for one in study.parts if one.variant == row.variant]
    name = study.columns[at].name.partition(": ")[0]
    return [one for one in parts if len(parts) == 1 or one.suite in (name, study.columns[at].name)] or parts


def _leads(study: StudyReport, row: JointRow, at: int) -> dict[str, Any]:
    """The runs behind a figure, suite by suite."""
    of = _behind(study, row, at)
    if len(of) == 1:
        return {"href": _runs(of[0], row.orchestrator)}
    return {"links": [{"text": one.suite, "href": _runs(one, row.orchestrator)} for one in of]}


def _drawn(study: StudyReport, row: JointRow, at: int) -> dict[str, Any]:
    """A share as numbers, with its interval to draw."""
    if study.columns[at].unit != PERCENT or row.figures[at].mean is None:
        return {}
    return {**_share(row.figures[at], sum(one.tasks for one in _behind(study, row, at))), "drawn": True}


def _share(one: Figure | Difference | None, tasks: int) -> dict[str, Any]:
    """A share of so many tasks, or a difference of two, as numbers: how finely a page says it is the page's to choose.

    What no run came to is in no report, and a true 0. A sheet has words, for a terminal and files.
    """
    if one is None:
        return {"share": {"mean": 0.0, "low": None, "high": None, "tasks": tasks}}
    return {} if one.mean is None else {"share": {"mean": one.mean, "low": one.low, "high": one.high, "tasks": tasks}}


def _spread(one: Spread | None, tasks: int) -> dict[str, Any]:
    """How a share differs from seed to seed, as numbers."""
    return {} if one is None else {"spread": {"sd": one.sd, "least": one.least, "most": one.most, "tasks": tasks}}


def _part(report: EvaluationReport) -> list[dict[str, Any]]:
    lines, ends, *others = part_sheets(report)
    kinds, tasks = ends.head[1:], report.tasks
    made = [
        _linked(report, lines, [[_share(line.figures["accuracy"], tasks)] for line in report.lines]),
        _linked(report, ends, [[_share(line.rates.get(kind), tasks) for kind in kinds] for line in report.lines]),
    ]
    if len(report.seeds) > 1:
        spreads = [[_spread(line.figures["accuracy"].spread, tasks)] for line in report.lines]
        made.append(_linked(report, others.pop(0), spreads))
    return [*made, *(_paired(report, sheet) for sheet in others)]


def _once(report: EvaluationReport) -> list[str]:
    """The notes, what is said of several orchestrators once with all their names."""
    names = {line.orchestrator for line in report.lines}
    said: dict[str, list[str]] = {}
    for note in report.notes:
        name = next((one for one in names if note.startswith(f"{one}: ")), None)
        said.setdefault(note if name is None else note.removeprefix(f"{name}: "), []).extend([name] if name else [])
    return [f"{', '.join(of)}: {words}" if of else words for words, of in said.items()]


def _linked(report: EvaluationReport, sheet: Sheet, numbers: Sequence[Sequence[dict[str, Any]]]) -> dict[str, Any]:
    """A sheet with a line's figures in each row, which lead to its runs; the first of them also as numbers."""
    rows = [
        [
            {"text": row[0]},
            *(
                {"text": text, "href": _runs(report, line.orchestrator), **(also or {})}
                for text, also in zip_longest(row[1:], given)
            ),
        ]
        for row, line, given in zip(sheet.rows, report.lines, numbers, strict=True)
    ]
    return {**_plain(sheet), "rows": rows}


def _paired(report: EvaluationReport, sheet: Sheet) -> dict[str, Any]:
    """The sheet of pairs: each name leads to its runs, and what stands behind a difference of shares is kept."""
    rows = []
    for row, pair in zip(sheet.rows, report.pairs, strict=True):
        names = [{"text": name, "href": _runs(report, name)} for name in (pair.a, pair.b)]
        apart, (accuracy, *others) = pair.differences["accuracy"], row[1:]
        _, sign, test = accuracy.partition(" p ")
        told = {"text": accuracy, "apart": True, "after": f"{sign}{test}".strip(), **_share(apart, apart.tasks)}
        rows.append([{"less": names}, told, *({"text": text} for text in others)])
    return {**_plain(sheet), "rows": rows}


def _runs(report: EvaluationReport, orchestrator: str) -> str:
    return f"/trajectories?{urlencode({'tag': report.id, 'orchestrator': orchestrator})}"


def _plain(sheet: Sheet) -> dict[str, Any]:
    rows: Sequence[Sequence[dict[str, str]]] = [[{"text": text} for text in row] for row in sheet.rows]
    return {"title": sheet.title, "head": list(sheet.head), "rows": rows, "notes": list(sheet.notes)}
