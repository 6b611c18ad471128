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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace as replaced
from datetime import datetime
from functools import cache
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb

from orchestra_lib.codec import from_data, well_formed
from orchestra_lib.errors import BadInput, Fault, OrchestraError, StoreFault
from orchestra_lib.event import Graded
from orchestra_lib.grade import Grade
from orchestra_lib.pricing import Attempt, PriceTable
from orchestra_lib.record import record
from orchestra_lib.store import query
from orchestra_lib.store.annotations import Annotations, Note
from orchestra_lib.store.artefacts import Artefacts
from orchestra_lib.store.database import Database, is_damage, open_database, set_aside
from orchestra_lib.store.entry import Entry, entry, replace
from orchestra_lib.store.forks import ROOT, TREE, Branch
from orchestra_lib.store.groups import GROUPS, MEMBERS, GroupSummary
from orchestra_lib.store.journal import Journal, Stamp
from orchestra_lib.store.migrations import renew
from orchestra_lib.store.remarks import Remarks
from orchestra_lib.store.spread import VALUES, Costs, costs_of, costs_sql, hidden_sql
from orchestra_lib.store.summary import COLUMNS, Filter, Summary, summary, where
from orchestra_lib.store.tagging import hear
from orchestra_lib.store.transaction import transaction
from orchestra_lib.store.trash import KEPT_S, Trash
from orchestra_lib.store.watch import Watch
from orchestra_lib.trajectory import Trajectory

MAX_PAGE = 1000
_BATCH = 100
_BULK = 500
_EVERYTHING = Filter()
Place = tuple[datetime, str]
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
        self.trash = Trash(home, self.journal)
        self._annotations = Annotations(home)
        self._watch: Watch
        self._heard = 0
        self._lock = _write_lock(home.resolve())
        self._remarks = Remarks(
            self._annotations,
            self.trash,
            lock=self._lock,
            known=self._check_known,
            hear=self.sync,
            rows=self._read,
        )
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
        self.add_many([trajectory])

    def add_many(self, trajectories: Iterable[Trajectory]) -> None:
        """Store many at once, each in place of an earlier one with its id. Raises `StoreFault`; whole batches stay."""
        waiting = iter(trajectories)
        while batch := {one.id: one for one in islice(waiting, _BULK)}:
            with self._lock:
                self._write([entry(one.id, self._stamp(one.id), one) for one in batch.values()])

    def list(
        self,
        wanted: Filter = _EVERYTHING,
        *,
        limit: int = 50,
        before: Place | None = None,
        after: Place | None = None,
    ) -> tuple[Summary, ...]:
        """Summaries, newest first: the newest of all, the next older than `before`, or the next newer than `after`.

        A place is the (started_at, id) of a run. Raises `BadInput` for a limit that is not 1 to 1,000, `StoreFault`.
        """
        if not 1 <= limit <= MAX_PAGE:
            raise BadInput(f"limit = {limit}; a page has 1 to {MAX_PAGE:,} trajectories")
        clause, parameters = where(wanted)
        if before is not None:
            clause += " AND (started_at, id) < ($before_time, $before_id)"
            parameters |= {"before_time": before[0], "before_id": before[1]}
        if after is not None:
            clause += " AND (started_at, id) > ($after_time, $after_id)"
            parameters |= {"after_time": after[0], "after_id": after[1]}
        self._refresh()
        way = "DESC" if after is None else "ASC"
        order = f"ORDER BY started_at {way}, id {way} LIMIT {limit}"
        found = self._read(f"SELECT {COLUMNS} FROM trajectories WHERE {clause} {order}", parameters)  # noqa: S608
        return tuple(summary(row) for row in (found if after is None else reversed(found)))

    def each(self, wanted: Filter = _EVERYTHING) -> Iterator[Trajectory]:
        """The whole trajectories behind a filter, newest first; one that goes meanwhile is left out."""
        place = None
        while page := self.list(wanted, limit=MAX_PAGE, before=place):
            for start in range(0, len(page), _BATCH):
                yield from self._whole([one.id for one in page[start : start + _BATCH]])
            if len(page) < MAX_PAGE:  # another look would only search everything once more
                return
            place = (page[-1].started_at, page[-1].id)

    def _whole(self, run_ids: Sequence[str]) -> Iterator[Trajectory]:
        sql = "SELECT id, raw FROM trajectories WHERE id IN (SELECT unnest($ids)) ORDER BY started_at DESC, id DESC"
        for row in self._read(sql, {"ids": list(run_ids)}):
            yield from_data(json.loads(row["raw"]), Trajectory, where=f"run {row['id']}")

    def count(self, wanted: Filter = _EVERYTHING) -> int:
        """How many trajectories a filter lets through."""
        clause, parameters = where(wanted)
        self._refresh()
        return int(self._read(f"SELECT count(*) AS n FROM trajectories WHERE {clause}", parameters)[0]["n"])  # noqa: S608

    def hidden(self, parts: Mapping[str, Filter]) -> Mapping[str, int]:
        """For each part of a filter, how many runs it alone keeps out: those that all other parts let through.

        `parts` are named by whoever asks; each is a filter of its own, and all of them hold together.
        """
        if not parts:
            return {}
        read = {name: where(part) for name, part in parts.items()}
        parameters = {key: value for _, own in read.values() for key, value in own.items()}
        self._refresh()
        return self._read(hidden_sql({name: clause for name, (clause, _) in read.items()}), parameters)[0]

    def costs(self, wanted: Filter = _EVERYTHING) -> Costs:
        """How the costs of these runs spread."""
        clause, parameters = where(wanted)
        self._refresh()
        return costs_of(self._read(costs_sql(clause), parameters))

    def values(self) -> Mapping[str, tuple[str, ...]]:
        """The `orchestrators`, called `tools` and `tags` of all runs, to filter by, and the latest `groups`."""
        self._refresh()
        row = self._read(VALUES, {})[0]
        return {name: tuple(found or ()) for name, found in row.items()}

    def get(self, run_id: str) -> Trajectory:
        """The whole trajectory. Raises `BadInput` naming an unknown id, `NewerSchema`, `StoreFault`."""
        self._refresh_one(run_id)
        found = self._read("SELECT raw FROM trajectories WHERE id = $id", {"id": run_id})
        if not found:
            self.journal.load(run_id)  # says that there is none, or why it cannot be read
            raise BadInput(f"run {run_id!r} has not begun yet")
        return from_data(json.loads(found[0]["raw"]), Trajectory, where=f"run {run_id}")

    def select(self, sql: str, parameters: dict[str, Any]) -> Sequence[dict[str, Any]]:
        """The rows of a reading statement of this project's own. Raises `StoreFault`."""
        self._refresh()
        return self._read(sql, parameters)

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
            self._hear()
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

    def tag(self, run_ids: Sequence[str], tag: str, *, on: bool = True) -> None:
        """Give runs a tag, or take it from them. Raises `BadInput` for no tag and an unknown run, `StoreFault`."""
        self._remarks.tag(run_ids, tag, on=on)

    def tags_of(self, run_ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """The tags of each of these runs, in order; a run without any is left out."""
        return self._remarks.tags_of(run_ids)

    def grade(
        self,
        run_id: str,
        grade: Grade | None,
        attempts: Sequence[Attempt] = (),
        *,
        prices: PriceTable | None = None,
        fault: Fault | None = None,
    ) -> Graded:
        """Add a grade, or the fault of a grader, to a run that has ended; see `Journal.grade`.

        Raises `BadInput` for an unknown run and for one that still goes on, `StoreFault`.
        """
        if self._stamp(run_id) is None:
            self._check_known(run_id)
            raise BadInput(f"run {run_id} has no journal to hold a grade; import it again, which gives it one")
        event = self.journal.grade(run_id, grade, attempts, prices=prices, fault=fault)
        self.look_again([run_id])
        return event

    def look_again(self, run_ids: Sequence[str]) -> None:
        """Have every process take these journals in again, because grades follow their ends. Raises `StoreFault`."""
        self._remarks.graded(run_ids)

    def write_note(self, run_id: str, text: str) -> Note | None:
        """Keep a text about a run in place of the one before; one without words takes it away.

        Raises `BadInput` for an unknown run and a text of over 20,000 characters, `StoreFault`.
        """
        return self._remarks.write_note(run_id, text)

    def note_of(self, run_id: str) -> Note | None:
        """What is noted about a run; None for nothing."""
        return self._remarks.note_of(run_id)

    def group(self, name: str, run_ids: Sequence[str], *, on: bool = True) -> None:
        """Put runs into a group, or take them out of it. Whether they are comparable is for `grouping.make` to say.

        Raises `BadInput` for no name, an unknown run, and taking out one that was started in the group; `StoreFault`.
        """
        self._remarks.group(name, run_ids, on=on)

    def groups(self, most: int = MAX_PAGE) -> tuple[GroupSummary, ...]:
        """Every group, the one with the latest run first."""
        return tuple(GroupSummary(**row) for row in self.select(GROUPS, {"most": most}))

    def members(self, name: str) -> tuple[str, ...]:
        """The ids of a group's runs, in the order in which they started; none for no such group."""
        self._refresh(wait=True)  # the link to a group is there as soon as its runs have begun
        return tuple(row["run_id"] for row in self._read(MEMBERS, {"name": name}))

    def forks(self, run_id: str) -> tuple[Branch, ...]:
        """The whole tree of forks that a run stands in, its root first. Raises `BadInput` for an unknown run."""
        self._check_known(run_id)
        self._refresh(wait=True)  # the fork that was just started is one of them
        root = self._read(ROOT, {"id": run_id})[0]["id"]
        return tuple(Branch(**row) for row in self._read(TREE, {"id": root}))

    def delete(self, run_id: str) -> None:
        """Take a run out of every list; its journal stays in the trash for a day, see `restore`.

        Raises `BadInput` for an unknown run and for one that still goes on, `StoreFault`.
        """
        self._remarks.delete(run_id, has_journal=lambda: self._stamp(run_id) is not None)

    def restore(self, run_id: str) -> None:
        """Have a deleted run back. Raises `BadInput` when its journal is no longer in the trash, `StoreFault`."""
        self._remarks.restore(run_id)

    def purge(self, artefacts: Artefacts, *, older_than_s: float = KEPT_S, unused_for_s: float = 3600.0) -> int:
        """Remove for good what was deleted longer ago than this, with the artefacts that no other run names.

        Returns how many runs went. While some journal cannot be read, artefacts stay: it might name them.
        """
        self._refresh()
        return self._remarks.purge(
            artefacts, older_than_s=older_than_s, unused_for_s=unused_for_s, unreadable=self.unreadable
        )

    def _check_known(self, run_id: str) -> None:
        self._refresh_one(run_id)
        if not self._read("SELECT 1 AS n FROM trajectories WHERE id = $id", {"id": run_id}):
            raise BadInput(f"there is no run {run_id!r}; it may have been deleted meanwhile")

    def _hear(self) -> None:
        """Take in what people said since the last time, here or in another process."""
        size = self._annotations.size()
        if size == self._heard:
            return
        said = self._annotations.read(self._heard if size > self._heard else 0)
        if said.bytes == self._heard:  # a line that is being written
            return
        try:
            with self._cursor() as cursor, transaction(cursor):
                moved = hear(cursor, said, gone=lambda run_id: self._stamp(run_id) is None)
        except duckdb.Error as error:
            raise StoreFault(f"the query store failed: {error}") from error
        for run_id in moved:
            self._watch.forget(run_id)
        self._heard = said.bytes

    def close(self) -> None:
        """Let go of the file, so that another process can have it."""
        self._database.connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _adopt(self, database: Database) -> None:
        self._database = database
        self._heard = int(self._fetch("SELECT bytes FROM annotations", {})[0]["bytes"])
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
            read = entry(run_id, stamp, self.journal.trajectory(run_id))
            # Between the end of a run and its own grade somebody still writes: there is more to come.
            return read if read.unfinished or not self.journal.is_live(run_id) else replaced(read, unfinished=True)
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

    def _refresh(self, *, wait: bool = False) -> None:
        """Sync; what cannot be taken in does not keep the rest from being read.

        While another thread is at it a list is shown as it was; who asks for what was just begun has to `wait`.
        """
        if self._lock.acquire(blocking=wait):
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
