"""A folder of Parquet partitions, on this machine or in an object store: where its files lie, and what they are called.

    trajectories/day=2026-11-30/orchestrator=conductor/part-20261130T201500123456Z-4f1c09ab.parquet
    turns/day=2026-11-30/orchestrator=conductor/part-20261130T201500123456Z-4f1c09ab.parquet

Files of one name hold the same runs, a table each; that name is their *batch*, and the later one wins where two batches
hold the same run. Every writer has names of its own, so that any number of them can write side by side.
"""

import contextlib
import os
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import duckdb
import pyarrow as pa
from pyarrow import fs

from orchestra_lib.durability import sync_folder
from orchestra_lib.errors import BadInput, StoreFault, first_line
from orchestra_lib.record import record

TABLES = {
    "trajectories": "id", "turns": "run_id", "calls": "run_id", "attempts": "run_id", "grades": "run_id",
    "rollouts": "run_id", "tags": "run_id", "notes": "run_id", "grouped": "run_id",
}  # fmt: skip
"""The tables that partitions hold, with the column that names a run."""

_FILE = re.compile(r"part-(\d{8}T\d{12}Z-[0-9a-f]{8})\.parquet")
_URL = re.compile(r"[a-z][a-z0-9+]+://", re.IGNORECASE)
_PROTOCOL = "orchestra"
"""What a file of another file system is called towards DuckDB."""


@record
class PartFile:
    """One file. `size` in bytes and `modified_ns` tell whether it is still the one that was looked at."""

    table: str
    batch: str
    path: str
    size: int
    modified_ns: int | None


class PartitionFolder:
    """One folder of partitions, by path or by URL: `file://`, and what pyarrow reaches, such as `s3://BUCKET/PREFIX`.

    Raises `BadInput` for a URL that leads nowhere pyarrow knows.
    """

    def __init__(self, where: Path | str) -> None:
        self.name = _without_secrets(str(where))
        if is_url(where):
            try:
                self._files, path = fs.FileSystem.from_uri(str(where))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError, OSError) as error:
                raise BadInput(
                    f"{self.name} leads nowhere that this pyarrow reaches ({first_line(error)}); "
                    "name a folder, or a URL such as s3://BUCKET/PREFIX"
                ) from None
        else:
            self._files, path = fs.LocalFileSystem(), str(Path(where).absolute())
        self._path = path.rstrip("/")
        self.local = isinstance(self._files, fs.LocalFileSystem)

    def files(self) -> list[PartFile]:
        """Every file of a batch that is whole, which its file of trajectories says: it is written last.

        Raises `BadInput` naming a Parquet file that is none of ours, or there twice, and `StoreFault`.
        """
        found = [part for table in TABLES for part in self._in(table)]
        places: dict[tuple[str, str], str] = {}
        for part in found:
            first = places.setdefault((part.table, part.batch), part.path)
            if first != part.path:
                raise BadInput(f"{part.path} has the name of {first}, so that its rows would count twice; remove one")
        whole = {part.batch for part in found if part.table == "trajectories"}
        return [part for part in found if part.batch in whole]

    def _in(self, table: str) -> Iterable[PartFile]:
        wanted = fs.FileSelector(f"{self._path}/{table}", allow_not_found=True, recursive=True)
        try:
            there = self._files.get_file_info(wanted)
        except OSError as error:
            raise StoreFault(f"cannot read {self.name}: {first_line(error)}") from error
        for one in sorted(there, key=lambda info: info.path):
            if one.type == fs.FileType.Directory or one.base_name.startswith("."):
                continue
            named = _FILE.fullmatch(one.base_name)
            if named is not None:
                yield PartFile(table=table, batch=named[1], path=one.path, size=one.size, modified_ns=one.mtime_ns)
            elif one.extension == "parquet":
                raise BadInput(f"{one.path} is no partition of this workbench; move it out of {self.name}")

    def put(self, table: str, day: str, orchestrator: str, batch: str, content: memoryview) -> None:
        """Write one file, which appears only when it is whole; on disk for good when this returns.

        Raises `StoreFault`; a file that is there already is never written over.
        """
        folder = f"{self._path}/{table}/day={day}/orchestrator={quote(orchestrator, safe=' ')[:200]}"
        path = f"{folder}/part-{batch}.parquet"
        try:
            if self.local:
                _put_local(Path(path), content)
                return
            with self._files.open_output_stream(path) as out:  # an object is there when all of it is
                out.write(content)
        except OSError as error:
            raise StoreFault(f"cannot write {path}: {first_line(error)}") from error

    def reach(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Let a connection read these files and no others. Called before its settings are locked."""
        if not self.local:
            connection.register_filesystem(_seen_by_duckdb(self._files))
        connection.execute(f"SET allowed_directories = [{literal(self.url(self._path))}]")

    def url(self, path: str) -> str:
        """What DuckDB calls a path here."""
        return path if self.local else f"{_PROTOCOL}://{path}"


def is_url(where: Path | str) -> bool:
    """Whether this is an address and no path."""
    return isinstance(where, str) and bool(_URL.match(where))


def new_batch() -> str:
    """A name that sorts by time and that no other writer takes."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}-{uuid4().hex[:8]}"


def literal(text: str) -> str:
    """A text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def _seen_by_duckdb(files: fs.FileSystem) -> Any:
    """A file system of pyarrow's as DuckDB takes one: no extension has to be fetched for it."""
    from fsspec.implementations.arrow import ArrowFSWrapper  # type: ignore[import-untyped]

    class Files(ArrowFSWrapper):  # type: ignore[misc]  # fsspec is not typed
        protocol = _PROTOCOL

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return path.removeprefix(f"{_PROTOCOL}://")  # fsspec would take a bucket for a host

        @cache  # noqa: B019  # lives as long as the connection; files never change, and each look is a request
        def info(self, path: str, **options: Any) -> Any:
            return super().info(path, **options)

        def modified(self, path: str) -> Any:
            return self.info(path)["mtime"]

    return Files(files)


def _without_secrets(where: str) -> str:
    """An address without what opens it: a key may stand before its host and in its query."""
    if not is_url(where):
        return where
    scheme, _, rest = where.partition("://")
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"


def _put_local(path: Path, content: memoryview) -> None:
    made = path.with_name(f".{path.name}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with made.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(made, path)  # unlike a rename it takes nothing from anybody
        sync_folder(path.parent)
    finally:
        with contextlib.suppress(FileNotFoundError):
            made.unlink()
