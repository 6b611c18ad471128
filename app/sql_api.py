"""The routes of the SQL page: one reading statement, the schema to ask about, and a result as a file."""

import asyncio
import math
import re
import time
from collections.abc import Callable
from datetime import date, datetime
from typing import Any, Literal

from fastapi import APIRouter, Request, Response

from app.api import json_body
from orchestra_lib import codec
from orchestra_lib.errors import BadInput
from orchestra_lib.export import answer_bytes
from orchestra_lib.record import record
from orchestra_lib.store.query import Answer
from orchestra_lib.workbench import Workbench

SHOWN_ROWS = 1_000
"""A page shows so many rows; a file holds `EXPORTED_ROWS`."""
EXPORTED_ROWS = 100_000
TIMEOUT_S = 20.0
_CELL_CHARS = 2_000
_ASK_S = 0.2
_SCHEMA = """
SELECT c.table_name, c.column_name, c.data_type, coalesce(t.estimated_size, -1)
FROM duckdb_columns() c LEFT JOIN duckdb_tables() t USING (database_name, schema_name, table_name)
WHERE NOT c.internal ORDER BY c.table_name, c.column_index
"""
_PLACE = re.compile(r"^LINE (\d+): (.*)\n( *)\^", re.MULTILINE)
_SAFE_INTEGER = 2**53


@record
class Question:
    """One SQL statement that reads."""

    sql: str


def router(workbench: Workbench) -> APIRouter:
    """Everything under `/sql`."""
    made = APIRouter(tags=["sql"])

    @made.post("/sql")
    async def ask(request: Request) -> Any:
        """Answer one SELECT on the store; whoever hangs up has the query stopped."""
        question = codec.from_data(await json_body(request), Question, where="query")
        began = time.monotonic()
        try:
            answer = await _answered(workbench, question.sql, request, SHOWN_ROWS)
        except BadInput as error:
            return Response(codec.dumps(refusal(str(error), question.sql)), 400, media_type="application/json")
        return {**answer_data(answer), "seconds": time.monotonic() - began}

    @made.get("/sql/schema")
    def schema() -> list[dict[str, Any]]:
        """The tables of the store, their columns and how many rows they have."""
        tables: dict[str, dict[str, Any]] = {}
        for table, column, kind, rows in workbench.store.query(_SCHEMA).rows:
            entry = tables.setdefault(table, {"name": table, "rows": rows if rows >= 0 else None, "columns": []})
            entry["columns"].append({"name": column, "type": kind})
        return list(tables.values())

    @made.get("/sql/export")
    async def export(request: Request, sql: str, form: Literal["csv", "parquet"] = "csv") -> Response:
        """The result of one SELECT as a file."""
        answer = await _answered(workbench, sql, request, EXPORTED_ROWS)
        data = await asyncio.to_thread(answer_bytes, answer.columns, answer.rows, form)
        kind = "text/csv; charset=utf-8" if form == "csv" else "application/vnd.apache.parquet"
        named = {"content-disposition": f'attachment; filename="query.{form}"', "x-rows-cut": str(answer.cut).lower()}
        return Response(data, media_type=kind, headers=named)

    return made


async def _answered(workbench: Workbench, sql: str, request: Request, rows: int) -> Answer:
    """Run it in a thread, and stop it when whoever asked is gone."""
    stops: list[Callable[[], None]] = []
    ask = asyncio.to_thread(
        workbench.store.query, sql, max_rows=rows, timeout_s=TIMEOUT_S, started=lambda stop: stops.append(stop)
    )
    task = asyncio.create_task(ask)
    while not (await asyncio.wait({task}, timeout=_ASK_S))[0]:
        if await request.is_disconnected():
            for stop in stops:
                stop()
    return task.result()


def refusal(message: str, sql: str) -> dict[str, Any]:
    """Why a query was refused, and the place in its text that DuckDB points at, None when it points at none."""
    found = _PLACE.search(message)
    where = None
    if found:
        line, shown = int(found[1]), found[2]
        # A long line is shown as a part between dots; the arrow counts within what is shown.
        column = len(found[3]) - len(f"LINE {line}: ")
        whole = (sql.split("\n") + [""] * line)[line - 1]
        part = shown.removeprefix("...").removesuffix("...")
        column += whole.find(part) - (3 if shown.startswith("...") else 0) if part in whole else 0
        where = {"line": line, "column": max(0, column) + 1}
    message = message.removeprefix("the query failed: ").removeprefix("the query is no SQL: ")
    plain = _PLACE.split(message)[0].strip() if found else message
    return {"error": plain, "where": where, "detail": found and found[0]}


def answer_data(answer: Answer) -> dict[str, Any]:
    """A result as JSON can hold it."""
    return {
        "columns": [{"name": name, "type": kind} for name, kind in zip(answer.columns, answer.types, strict=True)],
        "rows": [[_cell(value) for value in row] for row in answer.rows],
        "cut": answer.cut,
    }


def _cell(value: Any) -> Any:
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) < _SAFE_INTEGER else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case str():
            return value if len(value) <= _CELL_CHARS else value[:_CELL_CHARS] + "…"
        case datetime() | date():
            return value.isoformat()
        case bytes():
            return f"{len(value)} bytes"
        case list() | tuple() | dict():
            text = codec.dumps(_plain(value))
            return text if len(text) <= _CELL_CHARS else text[:_CELL_CHARS] + "…"
        case _:
            return str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
