"""Opening the DuckDB file of a home folder, whatever state it and its owner are in.

DuckDB lets one process hold a file and nobody else, not even to read. The first process holds
`workbench.duckdb`; the next one gets a copy of its own, `workbench.reader.duckdb`, and any
further one works in memory. All three are filled from the same journals and answer alike; the
copy begins as a byte copy of the shared file, so that only the rest is read from the journals.
"""

import contextlib
import logging
import os
import re
import shutil
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from orchestra_lib.errors import StoreFault, first_line
from orchestra_lib.record import record
from orchestra_lib.store.migrations import migrate

OWNED = "workbench.duckdb"
_COPY = "workbench.reader.duckdb"
_DAMAGE = re.compile(r"not a valid DuckDB database|corrupt|could not read enough bytes|replaying WAL", re.IGNORECASE)
_STILL_NS = 10**9
"""A file written less than a second ago may be written again without another time stamp."""

_log = logging.getLogger(__name__)


@record
class Database:
    """An open database. `path` is None in memory; `note` tells what was set aside or could not be used."""

    connection: duckdb.DuckDBPyConnection
    path: Path | None
    note: str | None = None

    @property
    def owner(self) -> bool:
        """Whether this process holds the shared file."""
        return self.path is not None and self.path.name == OWNED


def open_database(home: Path) -> Database:
    """Open the first of the shared file, the copy and memory that can be had, with its tables up to date.

    A damaged file is set aside under a dated name and begun anew. Raises `NewerSchema` for tables
    that a newer workbench made, `StoreFault` when the home folder cannot be made.
    """
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)  # runs are nobody else's to read
    except OSError as error:
        raise StoreFault(f"cannot make the folder {home}: {error.strerror}") from error
    note = None
    for path in (home / OWNED, home / _COPY):
        if path.name == _COPY and not path.exists():
            _begin_copy(home)
        try:
            return _open(path, note)
        except duckdb.Error as error:
            if "Could not set lock" not in str(error):
                note = f"{path.name} cannot be used ({first_line(error)}); answers come from the journals alone"
                _log.warning(note)
    connection = _connect(":memory:", home)
    migrate(connection, where="the database in memory")
    return Database(connection=connection, path=None, note=note)


def is_damage(error: duckdb.Error) -> bool:
    """Whether the file itself is at fault, and not the query, a lock or a full disk."""
    if isinstance(error, duckdb.FatalException | duckdb.InternalException) or type(error) is duckdb.Error:
        return "No space left" not in str(error)
    return isinstance(error, duckdb.IOException | duckdb.SerializationException) and bool(_DAMAGE.search(str(error)))


def set_aside(path: Path) -> str:
    """Rename a damaged file and its log; returns the sentence that says so. Raises `StoreFault`."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    kept = path.with_name(f"{path.stem}.damaged-{stamp}.duckdb")
    try:
        for suffix in ("", ".wal"):
            if os.path.lexists(f"{path}{suffix}"):
                os.replace(f"{path}{suffix}", f"{kept}{suffix}")
    except OSError as error:
        raise StoreFault(f"{path} is damaged and cannot be set aside: {error.strerror}") from error
    return f"{path.name} was damaged: it was set aside as {kept.name} and rebuilt from the journals"


def _begin_copy(home: Path) -> None:
    """Copy the shared file if it holds still meanwhile: DuckDB writes it only at checkpoints, else its log."""
    source = home / OWNED
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory(dir=home, prefix=".copy-") as folder:
        before = source.stat()
        copy = shutil.copyfile(source, Path(folder, _COPY))
        after = source.stat()
        still = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
        if still and time.time_ns() - before.st_mtime_ns > _STILL_NS:
            os.link(copy, home / _COPY)  # unlike a rename it takes nothing from a process that was faster


def _open(path: Path, note: str | None) -> Database:
    try:
        return Database(connection=_ready(path), path=path, note=note)
    except duckdb.Error as error:
        strange = isinstance(error, duckdb.CatalogException | duckdb.BinderException)  # tables, but not ours
        if not (strange or is_damage(error)):
            raise
        note = set_aside(path)
        _log.warning("%s (%s)", note, first_line(error))
    return Database(connection=_ready(path), path=path, note=note)


def _ready(path: Path) -> duckdb.DuckDBPyConnection:
    connection = _connect(str(path), path.parent)
    try:
        migrate(connection, where=str(path))
        # Damage shows only when blocks are read; these are needed first.
        connection.execute("SELECT run_id, size, mtime_ns, unfinished FROM journals").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(database: str, home: Path) -> duckdb.DuckDBPyConnection:
    """A connection that reaches no other file, no extension and no variable of this program, for good."""
    connection = duckdb.connect(
        database,
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "enable_external_access": "false",
            "python_enable_replacements": "false",
            "memory_limit": "1GB",
            "temp_directory": str(home / "tmp"),
        },
    )
    locked = connection.execute("SELECT current_setting('lock_configuration')").fetchone()
    if locked == (False,):  # a second connection of this process finds it locked already
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        connection.execute("SET lock_configuration = true")
    return connection
