"""This machine: models and their weights, the search index, and whether everything works."""

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from orchestra_lib.cli.options import Json
from orchestra_lib.cli.terminal import note, print_json, print_table
from orchestra_lib.codec import to_data
from orchestra_lib.errors import OrchestraError
from orchestra_lib.paths import home
from orchestra_lib.pricelist import load_tables
from orchestra_lib.record import record
from orchestra_lib.roster import Roster
from orchestra_lib.store.store import Store
from orchestra_lib.toolkit.local_search import index_paths


def index(
    paths: Annotated[list[Path], typer.Argument(help="Folders, text files, or JSONL with title and text.")],
    json: Json = False,
) -> None:
    """Index folders or files for local_search, beside what ships."""
    report = index_paths(paths, home())
    if json:
        print_json(to_data(report))
        return
    print(f"{report.passages:,} passages from {report.files:,} files")
    for reason, count in report.skipped.items():
        note(f"left out {count:,} files: {reason}")
    for row in report.bad_rows:
        note(row)
    for path in report.gone:
        note(f"no longer there: {path}")


_NEEDED = ("code_interpreter", "local_search")
"""Without these the offline default cannot work; without weights, keys and a web it can."""


@record
class Check:
    """One thing that was looked at. `ok` None: not there, and not needed for the offline default."""

    what: str
    ok: bool | None
    found: str


def doctor(json: Json = False) -> None:
    """Check this machine; exit code 1 when the offline default cannot work."""
    checks = list(_checks(home()))
    if json:
        print_json([to_data(check) for check in checks])
    else:
        words = {True: "ok", False: "broken", None: "off"}
        print_table(("check", "state", "found"), [(check.what, words[check.ok], check.found) for check in checks])
    if any(check.ok is False for check in checks):
        raise typer.Exit(1)


def _checks(folder: Path) -> Iterator[Check]:
    yield Check(what="python", ok=sys.version_info >= (3, 11), found=platform.python_version())
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    yield Check(what="home", ok=os.access(folder, os.W_OK), found=f"{folder}, {free / 1e9:,.0f} GB free")
    yield _try("store", lambda: _store_words(folder))
    yield _try("prices", lambda: ", ".join(f"{t.name} ({t.dated})" for t in load_tables(folder).values()))
    roster = Roster(folder)
    roster.endpoints.look()
    for spec, off in roster.tools():
        missing = False if spec.name in _NEEDED else None
        yield Check(what=f"tool {spec.name}", ok=missing if off else True, found=off or spec.title)
    for offer in roster.orchestrators():
        ok = None if offer.off else True
        yield Check(what=f"orchestrator {offer.name}", ok=ok, found=offer.off or offer.note)


def _store_words(folder: Path) -> str:
    with Store.open(folder) as store:
        owner = "" if store.owner else "; another process owns the file, this one reads a copy"
        return f"{store.count():,} runs{owner}"


def _try(what: str, look: Callable[[], str]) -> Check:
    try:
        return Check(what=what, ok=True, found=look())
    except OrchestraError as error:
        return Check(what=what, ok=False, found=str(error))


COMMANDS: dict[str, Callable[..., None]] = {"index": index, "doctor": doctor}
