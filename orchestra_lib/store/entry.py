"""What is to be written about one run, and the writing of many at once."""

from collections.abc import Collection, Sequence
from typing import Any

import duckdb

from orchestra_lib.record import record
from orchestra_lib.store.journal import Stamp
from orchestra_lib.store.rows import Rows, rows
from orchestra_lib.trajectory import Trajectory

_KEYS = {
    "trajectories": "id", "turns": "run_id", "calls": "run_id", "attempts": "run_id", "grades": "run_id",
    "rollouts": "run_id",
}  # fmt: skip


@record
class Entry:
    """What is to be written about a run: its rows, or why its journal gives none."""

    run_id: str
    stamp: Stamp | None
    rows: Rows | None = None
    unfinished: bool = False
    fault: str | None = None


def entry(run_id: str, stamp: Stamp | None, trajectory: Trajectory | None) -> Entry:
    """The entry of a run; `trajectory` None: its journal has no whole line yet."""
    if trajectory is None:
        return Entry(run_id=run_id, stamp=stamp, unfinished=True)
    return Entry(run_id=run_id, stamp=stamp, rows=rows(trajectory), unfinished=trajectory.stop is None)


def replace(cursor: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> None:
    """Write entries in place of what is there; the caller holds the transaction.

    A journal that became unreadable leaves the rows that were read from it before.
    """
    replaced = there(cursor, [one.run_id for one in entries if one.rows is not None])
    forget(cursor, replaced)
    for table in _KEYS:
        _append(cursor, table, [row for one in entries if one.rows for row in getattr(one.rows, table)])
    stamped = [
        (one.run_id, one.stamp.size, one.stamp.mtime_ns, one.unfinished, one.fault) for one in entries if one.stamp
    ]
    cursor.execute("DELETE FROM journals WHERE run_id IN (SELECT unnest($ids))", {"ids": [row[0] for row in stamped]})
    _append(cursor, "journals", stamped)


def there(cursor: duckdb.DuckDBPyConnection, ids: Sequence[str]) -> set[str]:
    """Which of these runs have rows."""
    found = cursor.execute("SELECT id FROM trajectories WHERE id IN (SELECT unnest($ids))", {"ids": ids}).fetchall()
    return {row[0] for row in found}


def forget(cursor: duckdb.DuckDBPyConnection, ids: Collection[str]) -> None:
    """Remove the rows of runs; looking for rows that are not there would take longer than to write new ones."""
    for table, key in _KEYS.items() if ids else ():
        cursor.execute(f"DELETE FROM {table} WHERE {key} IN (SELECT unnest($ids))", {"ids": list(ids)})  # noqa: S608


def _append(cursor: duckdb.DuckDBPyConnection, table: str, new: Sequence[tuple[Any, ...]]) -> None:
    if new:
        with cursor.appender(table) as appender:
            appender.append_rows(list(new))
