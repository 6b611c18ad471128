"""What a user adds to local search: `orchestra index PATH` builds it, local search maps it."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from filelock import FileLock

from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.record import record
from orchestra_lib.toolkit.documents import Reader
from orchestra_lib.toolkit.passage import Passage
from orchestra_lib.toolkit.search_index import SearchIndex

MAX_PASSAGES = 500_000
_SHOWN_ROWS = 20


@record
class IndexReport:
    """What was indexed: every path the index now covers, and what was left out of them.

    `skipped` counts files by reason; `bad_rows` names the first 20 of `bad_row_count`; `gone` lists paths
    that were indexed earlier and are no longer there.
    """

    paths: tuple[str, ...]
    files: int
    passages: int
    skipped: Mapping[str, int]
    bad_rows: tuple[str, ...]
    bad_row_count: int
    gone: tuple[str, ...] = ()


def index_paths(paths: Sequence[Path], home: Path) -> IndexReport:
    """Add files and folders to the user's index under `home`; what was indexed before is read afresh.

    Readers see the old index or the new one, never a half. Raises `BadInput` for a path that is not there,
    for nothing to index, or for more than 500,000 passages; `StoreFault` when `home` cannot be written.
    """
    for path in paths:
        if not path.exists():
            raise BadInput(f"{path}: there is no such file or folder")
    folder = home / "index"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "lock"):
            return _rebuild(paths, folder)
    except OSError as error:
        raise StoreFault(f"the index under {folder} cannot be written: {error}") from error


def current(home: Path) -> Path | None:
    """The folder of the index in use, None when nothing was indexed."""
    try:
        name = (home / "index" / "current").read_text("utf-8").strip()
    except FileNotFoundError:
        return None
    return home / "index" / name


def _rebuild(paths: Sequence[Path], folder: Path) -> IndexReport:
    before = _roots(folder)
    gone = tuple(str(path) for path in before if not path.exists())
    roots = list(dict.fromkeys([path for path in before if path.exists()] + [path.resolve() for path in paths]))
    reader = Reader()
    passages = _passages(reader, roots)
    fresh = Path(tempfile.mkdtemp(prefix="passages-", dir=folder))
    try:
        SearchIndex.of(passages).save(fresh)
        (fresh / "roots.json").write_text(json.dumps([str(root) for root in roots]), "utf-8")
        _point_to(fresh)
    except BaseException as error:
        shutil.rmtree(fresh, ignore_errors=True)
        if isinstance(error, ValueError):
            raise BadInput(_nothing(roots, reader)) from None
        raise
    for old in folder.glob("passages-*"):
        if old != fresh:
            shutil.rmtree(old, ignore_errors=True)
    return IndexReport(
        paths=tuple(str(root) for root in roots),
        files=reader.files,
        passages=len(passages),
        skipped=dict(+reader.skipped),
        bad_rows=tuple(reader.bad_rows[:_SHOWN_ROWS]),
        bad_row_count=len(reader.bad_rows),
        gone=gone,
    )


def _passages(reader: Reader, roots: Sequence[Path]) -> list[Passage]:
    read = (passage for root in roots for passage in reader.read(root))
    passages = list(islice(read, MAX_PASSAGES + 1))
    if len(passages) > MAX_PASSAGES:
        raise BadInput(f"more than {MAX_PASSAGES:,} passages; index a smaller folder")
    return passages


def _point_to(fresh: Path) -> None:
    pointer = fresh.parent / "current.new"
    pointer.write_text(fresh.name, "utf-8")
    os.replace(pointer, fresh.parent / "current")


def _roots(folder: Path) -> list[Path]:
    now = current(folder.parent)
    try:
        return [Path(path) for path in json.loads((now / "roots.json").read_text("utf-8"))] if now else []
    except (OSError, ValueError):
        return []  # a broken index is replaced by the new one


def _nothing(roots: Sequence[Path], reader: Reader) -> str:
    left_out = ", ".join(f"{count} {reason}" for reason, count in (+reader.skipped).items())
    bad = f"; first bad row {reader.bad_rows[0]}" if reader.bad_rows else ""
    where = ", ".join(str(root) for root in roots)
    return f"nothing to index in {where}: .md, .txt and .jsonl files are read; left out: {left_out or 'none'}{bad}"
