"""Trajectories that were made elsewhere: conversations in OpenAI's form, and logs of inspect_ai.

They become journals, so that they stay when the query store is made anew. Their ids follow from their content: what
was imported once is not imported again. A file is read to its end before anything of it is kept, unless bad rows are
to be skipped; it is read row by row, so that its size does not matter.
"""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from orchestra_lib.errors import BadInput
from orchestra_lib.importing import inspect_log, jsonl
from orchestra_lib.importing.row import Row as Row
from orchestra_lib.record import record
from orchestra_lib.store.journal import Journal
from orchestra_lib.unfolding import unfold

_SHOWN = 5
_PEEK_BYTES = 4096


class ImportFormat(StrEnum):
    """What a file is."""

    AUTO = "auto"
    """Told by its content."""
    MESSAGES = "messages"
    INSPECT = "inspect"


@record
class Imported:
    """What an import came to: runs that are new, that were there already, and rows that were bad.

    `problems` are the first bad rows in words.
    """

    new: int = 0
    known: int = 0
    bad: int = 0
    problems: tuple[str, ...] = ()


def import_file(
    file: Path,
    journal: Journal,
    *,
    form: ImportFormat = ImportFormat.AUTO,
    skip_bad: bool = False,
    now: datetime | None = None,
) -> Imported:
    """Keep every trajectory of a file. `now` dates runs of files without times, None for the present.

    Raises `BadInput` naming the file, the row and the remedy for the first bad row, before anything is kept; with
    `skip_bad` the rest is kept, and the bad rows are counted. Raises `StoreFault` where the disk fails.
    """
    read = _reader(file, form, now or datetime.now(UTC))
    try:
        if not skip_bad:
            _check(file, read())
        return _keep(read(), journal)
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror or error}") from None


def _check(file: Path, rows: Iterator[Row]) -> None:
    found = 0
    for row in rows:
        found += 1
        if row.problem is not None:
            raise BadInput(f"{file}, {row.name}: {row.problem}. Nothing was imported; mend it, or use --skip-bad")
    if not found:
        raise BadInput(f"{file} holds nothing to import")


def _keep(rows: Iterator[Row], journal: Journal) -> Imported:
    new = known = bad = 0
    problems: list[str] = []
    for row in rows:
        if row.trajectory is None:
            bad += 1
            problems += [f"{row.name}: {row.problem}"] if len(problems) < _SHOWN else []
        elif journal.path(row.trajectory.id).exists() or not journal.put(unfold(row.trajectory)):
            known += 1
        else:
            new += 1
    if new:
        journal.sync()
    return Imported(new=new, known=known, bad=bad, problems=tuple(problems))


def _reader(file: Path, form: ImportFormat, now: datetime) -> Callable[[], Iterator[Row]]:
    try:
        with file.open("rb") as start:
            head = start.read(_PEEK_BYTES)
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from None
    if form is ImportFormat.AUTO:
        form = ImportFormat.INSPECT if _is_log(file, head) else ImportFormat.MESSAGES
    if form is ImportFormat.MESSAGES:
        return lambda: jsonl.rows(file, now=now)
    return lambda: inspect_log.rows(file, now=now)


def _is_log(file: Path, head: bytes) -> bool:
    """A zip archive is one, and so is a file of JSON that does not begin with a row of messages."""
    if head.startswith(inspect_log.ZIP):
        return True
    if file.suffix != ".json":
        return False
    first = head.partition(b"\n")[0].strip()
    try:
        return "messages" not in json.loads(first)
    except (ValueError, RecursionError, TypeError):
        return not first.startswith(b'{"messages"')
