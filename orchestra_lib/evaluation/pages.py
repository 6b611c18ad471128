"""The report of a study as files to share: Markdown, and one HTML page that needs nothing beside itself.

What models, endpoints and files are called was written by others: it is escaped, and the page runs no script.
"""

import re
from collections.abc import Sequence
from html import escape

from orchestra_lib.evaluation.joint import StudyReport
from orchestra_lib.evaluation.sheets import Sheet, joint_sheet, part_sheets, published_sheets

MARKDOWN, HTML = "report.md", "report.html"
_PUBLISHED = (
    "Other models on other tasks, as published: for comparison by eye. They enter no mean, test or interval above."
)
_MARKS = re.compile(r"([\\`*_\[\]<>|~])")
_STYLE = """
:root{color-scheme:light dark;--bg:#f4f5f8;--panel:#fff;--line:#dfe2e9;--ink:#131722;--mut:#5a6376;
--pub:#fdf1d8;--publine:#8a5300}
@media (prefers-color-scheme:dark){:root{--bg:#0d1017;--panel:#141923;--line:#262e3c;--ink:#e9ecf3;--mut:#98a2b5;
--pub:#35290e;--publine:#f0c05a}}
body{margin:0 auto;max-width:1200px;padding:24px;background:var(--bg);color:var(--ink);
font:14px/1.5 system-ui,sans-serif}
h1{font-size:20px}h2{font-size:16px;margin:32px 0 8px}h3{font-size:14px;margin:16px 0 4px}
.scroll{overflow-x:auto}table{border-collapse:collapse;background:var(--panel);font-variant-numeric:tabular-nums}
th,td{border:1px solid var(--line);padding:4px 10px;text-align:left;white-space:nowrap}
th{color:var(--mut);font-weight:600}
p,li{color:var(--mut);max-width:80ch}code{overflow-wrap:anywhere}
.published{border:1px dashed var(--publine);background:var(--pub);padding:4px 16px 16px;margin-top:32px}
"""


def markdown(report: StudyReport) -> str:
    """The report as Markdown."""
    lines = [f"# Evaluation: {_plain(report.table)}", "", *_head(report)]
    lines += _md(joint_sheet(report), "##")
    for part in report.parts:
        lines += [
            "",
            f"## {_plain(_title(part.report.suite, part.variant))}",
            "",
            _plain(_source(report, part.report.id)),
        ]
        for sheet in part_sheets(part.report):
            lines += _md(sheet, "###")
        lines += ["", *(f"- {_plain(note)}" for note in part.report.notes)]
    if report.published is not None:
        lines += [
            "",
            "## As published, not measured here",
            "",
            f"> {_PUBLISHED} Source: {_plain(report.published.source)}.",
        ]
        lines += [f"> {_plain(note)}." for note in report.published.notes]
        for sheet in published_sheets(report.published):
            lines += _md(sheet, "###")
    return "\n".join(lines).rstrip() + "\n"


def _head(report: StudyReport) -> list[str]:
    return [f"- {_plain(line)}" for line in _facts(report)] + [f"- `{report.command.replace('`', ' ')}`"]


def _facts(report: StudyReport) -> list[str]:
    spent = f"spent ${report.spent_usd:.4f}" + ("" if report.budget_usd is None else f" of ${report.budget_usd:g}")
    whole = "every run is done" if report.complete else "some runs are not done: the same command goes on"
    return [f"{report.made_at:%Y-%m-%d %H:%M} UTC, {report.machine}", f"{whole}; {spent}"]


def _source(report: StudyReport, part_id: str) -> str:
    (one,) = [part.report for part in report.parts if part.report.id == part_id]
    given = one.conditions
    left_out = "".join(f", {count:,} left out: {why}" for why, count in one.left_out.items())
    tools = "all that are on" if given.tools is None else ", ".join(given.tools)
    judge = "" if given.judge is None else f", judge {given.judge} where no check decides"
    return (
        f"{one.tasks:,} of {one.tasks_of_suite:,} tasks ({one.source}){left_out}; "
        f"seeds {', '.join(map(str, one.seeds))}; tools {tools}; protocol {given.protocol}; prices {given.prices}; "
        f"{given.limits.max_turns} turns at most{judge}; runs tagged {one.id}."
    )


def _title(suite: str, variant: str) -> str:
    return f"{suite}{f', {variant}' if variant else ''}"


def _md(sheet: Sheet, level: str) -> list[str]:
    rows = [sheet.head, ("---",) * len(sheet.head)]
    lines = ["", f"{level} {_plain(sheet.title)}", ""]
    lines += [
        "| " + " | ".join(cell if row is rows[1] else _plain(cell) for cell in row) + " |"
        for row in (*rows, *sheet.rows)
    ]
    return [*lines, *([""] if sheet.notes else []), *(f"- {_plain(note)}" for note in sheet.notes)]


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def html(report: StudyReport) -> str:
    """The report as one page."""
    parts = [
        f"<h1>Evaluation: {escape(report.table)}</h1>",
        _list(_facts(report)),
        f"<p><code>{escape(report.command)}</code></p>",
    ]
    parts.append(_html(joint_sheet(report), "h2"))
    for part in report.parts:
        parts += [
            f"<h2>{escape(_title(part.report.suite, part.variant))}</h2>",
            f"<p>{escape(_source(report, part.report.id))}</p>",
        ]
        parts += [_html(sheet, "h3") for sheet in part_sheets(part.report)]
        parts.append(_list(part.report.notes))
    if report.published is not None:
        told = [f"Source: {report.published.source}", *report.published.notes]
        parts += [
            '<section class="published"><h2>As published, not measured here</h2>',
            f"<p>{escape(_PUBLISHED)}</p>",
            _list(told),
        ]
        parts += [_html(sheet, "h3") for sheet in published_sheets(report.published)]
        parts.append("</section>")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>Evaluation: {escape(report.table)}'
        f"</title><style>{_STYLE}</style></head>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def _html(sheet: Sheet, level: str) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in sheet.head)
    rows = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in sheet.rows)
    return (
        f'<{level}>{escape(sheet.title)}</{level}><div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>'
        f"{rows}</tbody></table></div>{_list(sheet.notes)}"
    )


def _list(lines: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>" if lines else ""
