"""What people said of runs, taken into the tables."""

from collections.abc import Callable, Iterable
from datetime import datetime

import duckdb

from orchestra_lib.store.annotations import Annotation, AnnotationKind, Said

_TABLES = {"trajectories": "id", "turns": "run_id", "calls": "run_id", "attempts": "run_id", "journals": "run_id"}


def hear(cursor: duckdb.DuckDBPyConnection, said: Said, *, gone: Callable[[str], bool]) -> tuple[str, ...]:
    """Take annotations in; the caller holds the transaction. Returns the runs that were deleted or came back.

    A deleted run's rows go unless it has a journal again, which `gone` tells: then that counts.
    """
    tags = _last((one.run_id, one.value or "", one) for one in said.annotations if one.kind in _TAGGING)
    moved = _last((one.run_id, "", one) for one in said.annotations if one.kind not in _TAGGING)
    if tags:
        pairs = {"ids": [run_id for run_id, _ in tags], "tags": [tag for _, tag in tags]}
        cursor.execute(
            "DELETE FROM tags WHERE (run_id, tag) IN (SELECT unnest($ids::VARCHAR[]), unnest($tags::VARCHAR[]))", pairs
        )
        _append(cursor, [(*key, one.at) for key, one in tags.items() if one.kind is AnnotationKind.TAGGED])
    deleted = [key[0] for key, one in moved.items() if one.kind is AnnotationKind.DELETED and gone(key[0])]
    if deleted:
        for table, key in _TABLES.items():
            cursor.execute(f"DELETE FROM {table} WHERE {key} IN (SELECT unnest($ids))", {"ids": deleted})  # noqa: S608
    cursor.execute("UPDATE annotations SET bytes = $bytes", {"bytes": said.bytes})
    return tuple(run_id for run_id, _ in moved)


_TAGGING = (AnnotationKind.TAGGED, AnnotationKind.UNTAGGED)


def _last(said: Iterable[tuple[str, str, Annotation]]) -> dict[tuple[str, str], Annotation]:
    return {(run_id, value): one for run_id, value, one in said}


def _append(cursor: duckdb.DuckDBPyConnection, rows: list[tuple[str, str, datetime]]) -> None:
    if rows:
        with cursor.appender("tags") as appender:
            appender.append_rows(rows)
