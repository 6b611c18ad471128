"""The query store: trajectories in DuckDB, found again by text, tool, preference and time.

Journals are the truth; this is derived from them. `sync` takes in every journal that is new or
has grown, also those that other processes write, and each `list`, `count`, `get` and `query`
syncs first: a process that could not have the shared file answers as freshly as its owner.
A trajectory that was added without a journal lives only here and is gone after `rebuild`.
"""

import contextlib
import json
import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb

from orchestra_lib.codec import from_data, well_formed
from orchestra_lib.errors import BadInput, OrchestraError, StoreFault
from orchestra_lib.record import record
from orchestra_lib.store import query
from orchestra_lib.store.database import Database, is_damage, open_database, set_aside
from orchestra_lib.store.entry import Entry, entry, replace
from orchestra_lib.store.journal import Journal, Stamp
from orchestra_lib.store.migrations import renew
from orchestra_lib.store.summary import COLUMNS, Filter, Summary, summary, where
from orchestra_lib.store.transaction import transaction
from orchestra_lib.store.watch import Watch
from orchestra_lib.trajectory import Trajectory

MAX_PAGE = 1000
_BATCH = 100
_BULK = 500
_EVERYTHING = Filter()
_log = logging.getLogger(__name__)


@record
class Unreadable:
    """A journal that could not be taken in, and why."""

    run_id: str
    reason: str


@record
class Rebuilt:
    """What `rebuild` found: how many runs are in the store now, and which journals could not be read."""

    runs: int
    unreadable: tuple[Unreadable, ...]


class Store:
    """Trajectories of one home folder. Safe to use from several threads and several processes.

    Opening migrates the tables and syncs; each sync closes, as interrupted, what a dead process left.
    Raises `NewerSchema` for tables of a newer workbench, `StoreFault` when the folder cannot be used.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.journal = Journal(home)
        self._lock = _write_lock(home.resolve())
        with self._lock:
            self._adopt(open_database(home))
            self._refresh()

    @classmethod
    def open(cls, home: Path | str) -> "Store":
        """The same as `Store(Path(home))`, for notebooks."""
        return cls(Path(home))

    @property
    def owner(self) -> bool:
        """Whether this process holds the shared file; the others answer from a copy of their own."""
        return self._database.owner

    @property
    def note(self) -> str | None:
        """What the person should know about the file: that it was damaged, or cannot be used."""
        return self._database.note

    def add(self, trajectory: Trajectory) -> None:
        """Store a trajectory, in place of an earlier one with its id. Raises `StoreFault`."""
        with self._lock:
            self._write([entry(trajectory.id, self._stamp(trajectory.id), trajectory)])

    def add_many(self, trajectories: Iterable[Trajectory]) -> None:
        """Store many at once, each in place of an earlier one with its id. Raises `StoreFault`; whole batches stay."""
        waiting = iter(trajectories)
        while batch := {one.id: one for one in islice(waiting, _BULK)}:
            with self._lock:
                self._write([entry(one.id, self._stamp(one.id), one) for one in batch.values()])

    def list(
        self, wanted: Filter = _EVERYTHING, *, limit: int = 50, before: tuple[datetime, str] | None = None
    ) -> tuple[Summary, ...]:
        """Summaries, newest first. `before` is the (started_at, id) of the last one on the page before.

        Raises `BadInput` for a limit that is not 1 to 1,000, `StoreFault`.
        """
        if not 1 <= limit <= MAX_PAGE:
            raise BadInput(f"limit = {limit}; a page has 1 to {MAX_PAGE:,} trajectories")
        clause, parameters = where(wanted)
        if before is not None:
            clause += " AND (started_at, id) < ($before_time, $before_id)"
            parameters |= {"before_time": before[0], "before_id": before[1]}
        self._refresh()
        order = f"ORDER BY started_at DESC, id DESC LIMIT {limit}"
        found = self._read(f"SELECT {COLUMNS} FROM trajectories WHERE {clause} {order}", parameters)  # noqa: S608
        return tuple(summary(row) for row in found)

    def count(self, wanted: Filter = _EVERYTHING) -> int:
        """How many trajectories a filter lets through."""
        clause, parameters = where(wanted)
        self._refresh()
        return int(self._read(f"SELECT count(*) AS n FROM trajectories WHERE {clause}", parameters)[0]["n"])  # noqa: S608

    def get(self, run_id: str) -> Trajectory:
        """The whole trajectory. Raises `BadInput` naming an unknown id, `NewerSchema`, `StoreFault`."""
        self._refresh_one(run_id)
        found = self._read("SELECT raw FROM trajectories WHERE id = $id", {"id": run_id})
        if not found:
            self.journal.load(run_id)  # says that there is none, or why it cannot be read
            raise BadInput(f"run {run_id!r} has not begun yet")
        return from_data(json.loads(found[0]["raw"]), Trajectory, where=f"run {run_id}")

    def query(
        self,
        sql: str,
        *,
        max_rows: int = query.MAX_ROWS,
        timeout_s: float = query.TIMEOUT_S,
        started: query.Started | None = None,
    ) -> query.Answer:
        """Answer one reading SQL statement; see `query.run`."""
        self._refresh()
        with self._cursor() as cursor:
            return query.run(cursor, sql, max_rows=max_rows, timeout_s=timeout_s, started=started)

    def sync(self) -> int:
        """Take in every journal that is new or has changed; returns how many. Raises `StoreFault`."""
        with self._lock:
            changed = [*self._watch.changed().items()]
            for start in range(0, len(changed), _BATCH):
                self._take_in([self._read_journal(*journal) for journal in changed[start : start + _BATCH]])
            return len(changed)

    def rebuild(self) -> Rebuilt:
        """Drop all tables and fill them again from the journals. Raises `StoreFault`."""
        with self._lock:
            try:
                with self._cursor() as cursor:
                    renew(cursor)
            except duckdb.Error as error:
                self._reopen(error)
            self._adopt(self._database)
            self.sync()
            return Rebuilt(runs=self.count(), unreadable=self.unreadable())

    def unreadable(self) -> tuple[Unreadable, ...]:
        """Journals that could not be taken in; the others are not touched by them."""
        found = self._read("SELECT run_id, fault AS reason FROM journals WHERE fault IS NOT NULL ORDER BY run_id", {})
        return tuple(Unreadable(**row) for row in found)

    def close(self) -> None:
        """Let go of the file, so that another process can have it."""
        self._database.connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _adopt(self, database: Database) -> None:
        self._database = database
        known = self._fetch("SELECT run_id, size, mtime_ns, unfinished FROM journals", {})
        stamps = {row["run_id"]: Stamp(size=row["size"], mtime_ns=row["mtime_ns"]) for row in known}
        unfinished = [row["run_id"] for row in known if row["unfinished"]]
        self._watch = Watch(self.journal, stamps, unfinished)

    def _stamp(self, run_id: str) -> Stamp | None:
        try:
            return self.journal.stamp(run_id)
        except BadInput:  # an imported trajectory may have an id that no journal can have
            return None

    def _read_journal(self, run_id: str, stamp: Stamp) -> Entry:
        try:
            return entry(run_id, stamp, self.journal.trajectory(run_id))
        except OrchestraError as error:
            return Entry(run_id=run_id, stamp=stamp, fault=str(error))

    def _take_in(self, entries: Sequence[Entry]) -> None:
        """Write all of them, or where that fails each by itself, so that a bad one costs only itself."""
        try:
            self._write(entries)
        except StoreFault:
            if len(entries) == 1:
                raise
            for one in entries:
                self._take_in([one])

    def _write(self, entries: Sequence[Entry]) -> None:
        try:
            self._commit(entries)
        except duckdb.Error as error:
            self._reopen(error)
            self._commit(entries)
        for one in entries:
            if one.stamp is not None:
                self._watch.taken_in(one.run_id, one.stamp, unfinished=one.unfinished)

    def _commit(self, entries: Sequence[Entry]) -> None:
        with self._cursor() as cursor, transaction(cursor):
            replace(cursor, entries)

    def _refresh(self) -> None:
        """Sync unless another thread is at it; what cannot be taken in does not keep the rest from being read."""
        if self._lock.acquire(blocking=False):
            try:
                self.sync()
            except StoreFault as error:
                _log.warning("some runs are not in the lists yet: %s", error)
            finally:
                self._lock.release()

    def _refresh_one(self, run_id: str) -> None:
        stamp = self._stamp(run_id)
        if stamp is not None and not self._watch.is_current(run_id, stamp):
            with self._lock:
                self._take_in([self._read_journal(run_id, stamp)])

    def _read(self, sql: str, parameters: dict[str, Any]) -> Sequence[dict[str, Any]]:
        try:
            return self._fetch(sql, parameters)
        except duckdb.Error as error:
            with self._lock:
                self._reopen(error)
                self.sync()
        return self._fetch(sql, parameters)

    def _fetch(self, sql: str, parameters: dict[str, Any]) -> Sequence[dict[str, Any]]:
        with self._cursor() as cursor:
            cursor.execute(sql, {name: well_formed(v) if isinstance(v, str) else v for name, v in parameters.items()})
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def _reopen(self, error: duckdb.Error) -> None:
        """Begin with a new file when this one turned out to be damaged. Raises `StoreFault` when that is not it."""
        damaged = is_damage(error)
        if not damaged and not isinstance(error, duckdb.FatalException):
            raise StoreFault(f"the query store failed: {error}") from error
        self._database.connection.close()
        if damaged and self._database.path is not None:
            _log.warning(set_aside(self._database.path))
        self._adopt(open_database(self.home))

    @contextlib.contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        try:
            cursor = self._database.connection.cursor()
        except duckdb.ConnectionException as error:
            raise StoreFault(f"the store of {self.home} is closed") from error
        try:
            yield cursor
        finally:
            cursor.close()


@cache
def _write_lock(home: Path) -> threading.RLock:
    """One writer at a time in this process, however many stores it opens on a home folder."""
    return threading.RLock()
