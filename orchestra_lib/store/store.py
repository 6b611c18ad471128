"""The query store: trajectories in DuckDB, found again by text, tool, preference and time.

Journals are the truth, and files of rollouts; this is derived from them. `sync` takes in every journal that is new or
has grown, also those that other processes write, and each `list`, `count`, `get` and `query`
syncs first: a process that could not have the shared file answers as freshly as its owner.
A trajectory that was added without a journal lives only here and is gone after `rebuild`.
"""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace as replaced
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb

from orchestra_lib.errors import BadInput, Fault, OrchestraError, StoreFault
from orchestra_lib.event import Graded
from orchestra_lib.grade import Grade
from orchestra_lib.pricing import Attempt, PriceTable
from orchestra_lib.record import record
from orchestra_lib.store.annotations import Annotations, Note
from orchestra_lib.store.artefacts import Artefacts
from orchestra_lib.store.database import Database, is_damage, open_database, set_aside
from orchestra_lib.store.entry import Entry, entry, replace
from orchestra_lib.store.journal import Journal, Stamp
from orchestra_lib.store.migrations import renew
from orchestra_lib.store.queries import StoreQueries
from orchestra_lib.store.remarks import Remarks
from orchestra_lib.store.rollout_intake import RolloutIntake
from orchestra_lib.store.tagging import hear
from orchestra_lib.store.transaction import transaction
from orchestra_lib.store.trash import KEPT_S, Trash
from orchestra_lib.store.watch import Watch
from orchestra_lib.trajectory import Trajectory

_BATCH = 100
_BULK = 500
_SHORT_BYTES = 200_000
_FAULTS = """SELECT run_id, fault AS reason FROM journals WHERE fault IS NOT NULL
UNION ALL SELECT 'rollouts/' || name, fault FROM rollout_files WHERE fault IS NOT NULL ORDER BY run_id"""
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


class Store(StoreQueries):
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

    def get(self, run_id: str) -> Trajectory:
        """The whole trajectory. Raises `BadInput` naming an unknown id, `NewerSchema`, `StoreFault`.

        A short run is read from its journal: the tables keep records compressed, hundreds of them together.
        """
        stamp = self._stamp(run_id)
        if stamp is not None and stamp.size <= _SHORT_BYTES:
            with contextlib.suppress(OrchestraError):  # the tables may have what could be read before
                if (found := self.journal.trajectory(run_id)) is not None:
                    return found
        return super().get(run_id)

    def sync(self) -> int:
        """Take in every journal, and every file of rollouts, that is new or has changed; returns how many.

        Raises `StoreFault`.
        """
        with self._lock:
            self._hear()
            changed = [*self._watch.changed().items()]
            for start in range(0, len(changed), _BATCH):
                self._take_in([self._read_journal(*journal) for journal in changed[start : start + _BATCH]])
            return len(changed) + self._rollouts.take_in(self._commit)

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
        """Journals, and files of rollouts, that could not be taken in whole; the others are not touched by them."""
        found = self._read(_FAULTS, {})
        return tuple(Unreadable(**row) for row in found)

    def tag(self, run_ids: Sequence[str], tag: str, *, on: bool = True) -> None:
        """Give runs a tag, or take it from them. Raises `BadInput` for no tag and an unknown run, `StoreFault`."""
        self._remarks.tag(run_ids, tag, on=on)

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
            self._rollouts.refuse(run_id, "graded", self._read)
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
        self._remarks.write_note(run_id, text)
        return self.note_of(run_id)

    def group(self, name: str, run_ids: Sequence[str], *, on: bool = True) -> None:
        """Put runs into a group, or take them out of it. Whether they are comparable is for `grouping.make` to say.

        Raises `BadInput` for no name, an unknown run, and taking out one that was started in the group; `StoreFault`.
        """
        self._remarks.group(name, run_ids, on=on)

    def delete(self, run_id: str) -> None:
        """Take a run out of every list; its journal stays in the trash for a day, see `restore`.

        Raises `BadInput` for an unknown run and for one that still goes on, `StoreFault`.
        """
        self._check_known(run_id)
        self._rollouts.refuse(run_id, "deleted", self._read)
        self._remarks.delete(run_id, has_journal=lambda: self._has_journal(run_id))

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

    def _adopt(self, database: Database) -> None:
        self._database = database
        self._heard = int(self._fetch("SELECT bytes FROM annotations", {})[0]["bytes"])
        known = self._fetch("SELECT run_id, size, mtime_ns, unfinished FROM journals", {})
        stamps = {row["run_id"]: Stamp(size=row["size"], mtime_ns=row["mtime_ns"]) for row in known}
        unfinished = [row["run_id"] for row in known if row["unfinished"]]
        self._watch = Watch(self.journal, stamps, unfinished)
        self._rollouts = RolloutIntake(
            self.home, self._fetch, has_journal=lambda run_id: self._stamp(run_id) is not None
        )

    def _missing(self, run_id: str) -> BadInput:
        self.journal.load(run_id)  # says that there is none, or why it cannot be read
        return BadInput(f"run {run_id!r} has not begun yet")

    def _has_journal(self, run_id: str) -> bool:
        return self._stamp(run_id) is not None

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
        except StoreFault as error:
            fault = error if len(entries) == 1 else None
            for one in entries if fault is None else ():
                try:
                    self._write([one])
                except StoreFault as its_own:
                    fault = its_own
            if fault is not None:
                raise fault from None

    def _write(self, entries: Sequence[Entry]) -> None:
        self._commit(partial(replace, entries=entries))
        for one in entries:
            if one.stamp is not None:
                self._watch.taken_in(one.run_id, one.stamp, unfinished=one.unfinished)

    def _commit(self, change: Callable[[duckdb.DuckDBPyConnection], object]) -> None:
        """All of it or nothing; once more with a new file when this one turned out to be damaged."""
        try:
            with self._cursor() as cursor, transaction(cursor):
                change(cursor)
        except duckdb.Error as error:
            self._reopen(error)
            with self._cursor() as cursor, transaction(cursor):
                change(cursor)

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

    def _read(self, sql: str, parameters: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
        try:
            return self._fetch(sql, parameters)
        except duckdb.Error as error:
            with self._lock:
                self._reopen(error)
                self.sync()
        return self._fetch(sql, parameters)

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
