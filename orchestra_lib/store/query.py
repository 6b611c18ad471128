"""SQL from people: one statement that reads, in a transaction that cannot write, on a database that reaches nothing.

DuckDB's own parser says what a statement is, so that no second parser can be talked into
another opinion; its read-only transaction stops what a SELECT can hide (`WITH x AS (INSERT …)`).
Files, extensions, settings and Python variables are closed off where the database is opened.
"""

import threading
from collections.abc import Callable
from typing import Any

import duckdb

from orchestra_lib.codec import well_formed
from orchestra_lib.errors import BadInput
from orchestra_lib.record import record

MAX_ROWS = 10_000
TIMEOUT_S = 30.0
_HINT = "ask with one SELECT, WITH, FROM, VALUES, DESCRIBE, SHOW or SUMMARIZE statement"


@record
class Answer:
    """Column names and rows of a query; `cut` when there were more rows than `max_rows`. `types` are DuckDB's words."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: bool
    types: tuple[str, ...] = ()


Started = Callable[[Callable[[], None]], None]
"""Told how to stop a query, by a call from any thread, right before it begins."""


def run(
    cursor: duckdb.DuckDBPyConnection,
    sql: str,
    *,
    max_rows: int = MAX_ROWS,
    timeout_s: float = TIMEOUT_S,
    started: Started | None = None,
) -> Answer:
    """Run one reading statement on a cursor of its own, for at most `timeout_s` seconds.

    Raises `BadInput` for anything else, for SQL that DuckDB refuses, and when time or memory run out.
    """
    statement = _only_select(cursor, sql)
    timer = threading.Timer(timeout_s, cursor.interrupt)
    if started is not None:
        started(cursor.interrupt)
    try:
        cursor.execute("BEGIN TRANSACTION READ ONLY")
        timer.start()
        try:
            cursor.execute(statement)
            rows = cursor.fetchmany(max_rows + 1)
        finally:
            timer.cancel()
        described = cursor.description or ()
        return Answer(
            columns=tuple(column[0] for column in described),
            rows=tuple(rows[:max_rows]),
            cut=len(rows) > max_rows,
            types=tuple(str(column[1]) for column in described),
        )
    except duckdb.InterruptException:
        raise BadInput(f"the query took longer than {timeout_s:g} s and was stopped; narrow it down") from None
    except duckdb.Error as error:
        raise BadInput(f"the query failed: {error}") from None
    finally:
        cursor.rollback()


def _only_select(cursor: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    try:
        statements = cursor.extract_statements(well_formed(sql))
    except duckdb.Error as error:
        raise BadInput(f"the query is no SQL: {error}") from None
    if len(statements) != 1:
        raise BadInput(f"the query has {len(statements)} statements; {_HINT}")
    (statement,) = statements
    if statement.type != duckdb.StatementType.SELECT:
        raise BadInput(f"{statement.type.name} is not allowed in a query; {_HINT}")
    return statement
