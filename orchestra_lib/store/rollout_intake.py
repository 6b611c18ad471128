"""Taking the rollouts of training into the query store: which files are new, changed or gone, and their rows.

A run that has a journal of its own, and one that another file brought, stay as they are: ids are unique.
"""

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from orchestra_lib.errors import BadInput, NewerSchema, StoreFault
from orchestra_lib.record import record
from orchestra_lib.store.entry import Entry, forget, replace, there
from orchestra_lib.store.journal import Stamp
from orchestra_lib.store.rollouts import Rollout, StepFile, read, step_files
from orchestra_lib.store.rows import rows

Read = Callable[[str, dict[str, Any]], Sequence[dict[str, Any]]]
_SETTLED_NS = 10**9
"""A folder changed less than a second ago may change again without another time stamp."""


@record
class Change:
    """A file that is to be taken in; `file` and `stamp` None: it is gone, and its rollouts with it."""

    name: str
    file: StepFile | None = None
    stamp: Stamp | None = None


class RolloutIntake:
    """Remembers the stamp of every file taken in; while no folder changes a look costs a `stat` for each of them.

    `rows` reads the tables; `has_journal` tells whether a run has a journal of its own.
    """

    def __init__(self, home: Path, rows: Read, *, has_journal: Callable[[str], bool]) -> None:
        self._folder = home / "rollouts"
        self._has_journal = has_journal
        files = rows("SELECT name, size, mtime_ns FROM rollout_files", {})
        self._known = {row["name"]: Stamp(size=row["size"], mtime_ns=row["mtime_ns"]) for row in files}
        self._quiet: dict[str, int] = {}

    def take_in(self, commit: Callable[[Callable[[duckdb.DuckDBPyConnection], object]], None]) -> int:
        """Bring the tables to what the files say, each in a transaction of `commit`; how many. Raises `StoreFault`."""
        try:
            changed = self._changed()
            for change in changed:
                commit(partial(_take_in, change=change, has_journal=self._has_journal))
                if change.stamp is None:
                    self._known.pop(change.name, None)
                else:
                    self._known[change.name] = change.stamp
        except OSError as error:
            raise StoreFault(f"cannot read {self._folder}: {error.strerror}") from error
        return len(changed)

    def refuse(self, run_id: str, what: str, rows: Read) -> None:
        """Raises `BadInput` for a rollout of training: those of a training run stay and go together."""
        if found := rows("SELECT training FROM rollouts WHERE run_id = $id", {"id": run_id}):
            training = found[0]["training"]
            raise BadInput(
                f"run {run_id} is a rollout of the training run {training} and is not {what} by itself; "
                f"filter those away, or remove the folder {self._folder / training} to forget them all"
            )

    def _changed(self) -> list[Change]:
        try:
            trainings = sorted(one.name for one in os.scandir(self._folder) if one.is_dir(follow_symlinks=False))
        except FileNotFoundError:
            trainings = []
        changed = [change for training in trainings for change in self._changed_in(training)]
        gone = [name for name in self._known if name.partition("/")[0] not in trainings]
        return [*changed, *(Change(name=name) for name in gone)]

    def _changed_in(self, training: str) -> list[Change]:
        folder = self._folder / training
        moment = folder.stat().st_mtime_ns
        if self._quiet.get(training) == moment:
            return []
        there = {file.name: file for file in step_files(folder)}
        changed = [Change(name=name, file=file, stamp=stamp) for name, file in there.items() if (stamp := _stamp(file))]
        changed = [one for one in changed if self._known.get(one.name) != one.stamp]
        known = (name for name in self._known if name.startswith(f"{training}/"))
        changed += [Change(name=name) for name in known if name not in there]
        if not changed and time.time_ns() - moment > _SETTLED_NS:
            self._quiet[training] = moment
        return changed


def _take_in(cursor: duckdb.DuckDBPyConnection, change: Change, *, has_journal: Callable[[str], bool]) -> None:
    """Bring the tables to what a file says; the caller holds the transaction. Raises OSError."""
    before = cursor.execute("SELECT run_id FROM rollouts WHERE file = $name", {"name": change.name}).fetchall()
    forget(cursor, [row[0] for row in before])
    cursor.execute("DELETE FROM rollout_files WHERE name = $name", {"name": change.name})
    if change.file is None or change.stamp is None:
        return
    entries, fault = _entries(change.file)
    taken = there(cursor, [one.run_id for one in entries])
    taken |= {one.run_id for one in entries if has_journal(one.run_id)}
    if taken:
        fault = fault or f"{len(taken):,} of its ids are those of other runs, for example {min(taken)}; they stay"
    replace(cursor, [one for one in entries if one.run_id not in taken])
    row = [change.name, change.stamp.size, change.stamp.mtime_ns, fault]
    cursor.execute("INSERT INTO rollout_files VALUES (?, ?, ?, ?)", row)


def _entries(file: StepFile) -> tuple[list[Entry], str | None]:
    try:
        lines, fault = read(file)
    except NewerSchema as error:
        return [], str(error)
    placed = ((line.trajectory, Rollout(file=file, worth=line.worth)) for line in lines)
    made = {one.id: Entry(run_id=one.id, stamp=None, rows=rows(one, rollout)) for one, rollout in placed}
    return [*made.values()], fault


def _stamp(file: StepFile) -> Stamp | None:
    try:
        stat = file.path.stat()
    except FileNotFoundError:
        return None
    return Stamp(size=stat.st_size, mtime_ns=stat.st_mtime_ns)
