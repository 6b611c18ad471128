"""Where the report of a study is kept: beside its runs when it has one part, else in a folder of its own."""

from pathlib import Path

from orchestra_lib.codec import fingerprint, to_data
from orchestra_lib.evaluation.joint import StudyReport
from orchestra_lib.evaluation.pages import HTML, MARKDOWN, html, markdown
from orchestra_lib.evaluation.plan import REPORT, write_whole
from orchestra_lib.evaluation.running import FOLDER
from orchestra_lib.evaluation.study import Study
from orchestra_lib.json_writing import spoken

STUDY = "study.json"
"""The report of a study in the folder of its only part, whose own report is there too."""


def keep_study(home: Path, study: Study, report: StudyReport, out: Path | None = None) -> Path:
    """Write the report as JSON, Markdown and HTML, each whole or not at all. Raises `StoreFault`."""
    folder = _folder(home, study, out)
    if len(study.parts) > 1 or study.table is not None:
        file = folder / (STUDY if folder == study.parts[0].folder else REPORT)
        write_whole(file, spoken(to_data(report), indent=2))
    write_whole(folder / MARKDOWN, markdown(report))
    write_whole(folder / HTML, html(report))
    return folder


def _folder(home: Path, study: Study, out: Path | None) -> Path:
    if out is not None:
        return out
    if len(study.parts) == 1 and study.table is None:
        return study.parts[0].folder
    mark = fingerprint([study.table, study.base, *(part.folder.name for part in study.parts)])[:8]
    return home / FOLDER / f"{study.table or 'suites'}-{mark}"
