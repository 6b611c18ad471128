"""What people said of runs, taken into the tables."""

from collections.abc import Callable, Iterable
from datetime import datetime

import duckdb

from orchestra_lib.store.annotations import Annotation, AnnotationKind, Said

_TABLES = {
    "trajectories": "id", "turns": "run_id", "calls": "run_id", "attempts": "run_id", "grades": "run_id",
    "journals": "run_id",
}  # fmt: skip


def hear(cursor: duckdb.DuckDBPyConnection, said: Said, *, gone: Callable[[str], bool]) -> tuple[str, ...]:
    """Take annotations in; the caller holds the transaction. Returns the runs whose journals are to be looked at again.

    A deleted run's rows go unless it has a journal again, which `gone` tells: then that counts.
    """
    for table, (column, on, off) in _LABELS.items():
        labels = _last((one.run_id, one.value or "", one) for one in said.annotations if one.kind in (on, off))
        _forget(cursor, table, column, labels)
        _append(cursor, table, [(*key, one.at) for key, one in labels.items() if one.kind is on])
    notes = _last((one.run_id, "", one) for one in said.annotations if one.kind is AnnotationKind.NOTED)
    if notes:
        ids = {"ids": [run_id for run_id, _ in notes]}
        cursor.execute("DELETE FROM notes WHERE run_id IN (SELECT unnest($ids::VARCHAR[]))", ids)
        _append(cursor, "notes", [(run_id, one.value, one.at) for (run_id, _), one in notes.items() if one.value])
    moved = _last((one.run_id, "", one) for one in said.annotations if one.kind in _MOVING)
    deleted = [key[0] for key, one in moved.items() if one.kind is AnnotationKind.DELETED and gone(key[0])]
    if deleted:
        for table, key in _TABLES.items():
            cursor.execute(f"DELETE FROM {table} WHERE {key} IN (SELECT unnest($ids))", {"ids": deleted})  # noqa: S608
    cursor.execute("UPDATE annotations SET bytes = $bytes", {"bytes": said.bytes})
    regraded = {one.run_id for one in said.annotations if one.kind is AnnotationKind.GRADED}
    return (*(run_id for run_id, _ in moved), *regraded)


_LABELS = {
    "tags": ("tag", AnnotationKind.TAGGED, AnnotationKind.UNTAGGED),
    "grouped": ("name", AnnotationKind.GROUPED, AnnotationKind.UNGROUPED),
}
"""Tables of labels that a run has any number of: their column, and what puts one there and takes it away."""
_MOVING = (AnnotationKind.DELETED, AnnotationKind.RESTORED)


def _last(said: Iterable[tuple[str, str, Annotation]]) -> dict[tuple[str, str], Annotation]:
    return {(run_id, value): one for run_id, value, one in said}


def _forget(cursor: duckdb.DuckDBPyConnection, table: str, column: str, labels: Iterable[tuple[str, str]]) -> None:
    if pairs := list(labels):
        listed = {"ids": [run_id for run_id, _ in pairs], "labels": [label for _, label in pairs]}
        pair = "SELECT unnest($ids::VARCHAR[]), unnest($labels::VARCHAR[])"
        cursor.execute(f"DELETE FROM {table} WHERE (run_id, {column}) IN ({pair})", listed)  # noqa: S608


def _append(cursor: duckdb.DuckDBPyConnection, table: str, rows: list[tuple[str, str | None, datetime]]) -> None:
    if rows:
        with cursor.appender(table) as appender:
            appender.append_rows(rows)
