"""What a Parquet file must be before it is read as a partition: ours, of a known version, with columns that hold.

Whoever can write into a shared folder decides what lies there; nothing of it is taken on trust.
"""

from collections.abc import Mapping

import duckdb

from orchestra_lib.codec import SCHEMA_VERSION
from orchestra_lib.errors import BadInput, NewerSchema, first_line
from orchestra_lib.store.migrations import MIGRATIONS
from orchestra_lib.store.partition_folder import PartFile, literal

_ENDLESS = "NOT (isfinite(coalesce(one.started_s, 0)) AND isfinite(coalesce(one.finished_s, 0)))"

Columns = Mapping[str, str]
"""Types by name, in order."""

_AS_TEXT = {"JSON": "VARCHAR"}
"""Parquet has no type for it."""

_FILLED = {
    "trajectories": ("id", "started_at", "task", "orchestrator", "protocol", "status", "known_usd", "turns", "calls",
                     "failed_calls", "tools", "preference", "price_table", "nominal", "simulated", "marks", "raw"),
    "turns": ("run_id", "turn"), "calls": ("run_id", "turn", "position"), "attempts": ("run_id", "turn", "position"),
    "grades": ("run_id", "graded_at", "graded_by"), "rollouts": ("run_id", "training", "step"),
    "tags": ("run_id", "tag"), "notes": ("run_id", "note", "noted_at"), "grouped": ("run_id", "name"),
}  # fmt: skip
"""Columns that are never unknown."""

_AMOUNTS = ("cost_usd", "known_usd", "latency_s", "input_tokens", "output_tokens", "turns", "calls", "failed_calls")
_LISTS = ("tools", "called", "marks", "offers", "uses", "path", "described")
"""Columns without gaps."""


def check(
    connection: duckdb.DuckDBPyConnection, part: PartFile, url: str, expected: Columns, *, runs: str | None
) -> Columns:
    """The columns of a file as they can be read. `runs` is the file of its batch's trajectories, None for that one.

    Raises `BadInput` naming file, column and remedy, `NewerSchema`.
    """
    source = _source(url)
    try:
        _check_version(connection, part, url)
        found = {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}  # noqa: S608
        _check_types(part, found, expected)
        _check_rows(connection, part, source, found)
        if runs is not None:
            _check_runs(connection, part, source, runs)
    except duckdb.Error as error:
        raise refused(part.path, f"cannot be read ({first_line(error)})") from None
    return found


def _check_version(connection: duckdb.DuckDBPyConnection, part: PartFile, url: str) -> None:
    sql = f"SELECT decode(key), decode(value) FROM parquet_kv_metadata({literal(url)}) WHERE starts_with(decode(key), 'orchestra.')"  # noqa: S608, E501
    marks = dict(connection.execute(sql).fetchall())
    try:
        schema, tables = int(marks["orchestra.schema"]), int(marks["orchestra.tables"])
    except (KeyError, ValueError):
        raise refused(part.path, "does not say which version of this workbench wrote it") from None
    if schema > SCHEMA_VERSION or tables > len(MIGRATIONS):
        raise NewerSchema(
            f"{part.path}: schema {schema} with tables of version {tables}, but this workbench reads {SCHEMA_VERSION} "
            f"and {len(MIGRATIONS)}; update it to read newer partitions"
        )
    if schema != SCHEMA_VERSION or tables < 1:
        raise refused(part.path, f"says schema {schema} with tables of version {tables}, which there never was")


def _check_types(part: PartFile, found: Columns, expected: Columns) -> None:
    for name, kind in found.items():
        if name not in expected:
            raise refused(part.path, f"has a column {name[:80]!r} that the table {part.table} does not have")
        if kind not in (expected[name], _AS_TEXT.get(expected[name])):
            raise refused(part.path, f"has {kind[:80]} in the column {name!r}, where {expected[name]} belongs")
    for name in _FILLED[part.table]:
        if name not in found:
            raise refused(part.path, f"has no column {name!r}")


def _check_rows(connection: duckdb.DuckDBPyConnection, part: PartFile, source: str, found: Columns) -> None:
    wrong = {name: f"{name} IS NULL" for name in _FILLED[part.table]}
    if part.table == "trajectories":
        wrong["preference"] += " OR NOT json_valid(preference)"
        for name in found.keys() & set(_LISTS):
            holes = f"len(list_filter({name}, lambda one: one IS NULL)) > 0"
            wrong[name] = f"({wrong.get(name, 'false')}) OR {holes}"
        wrong["marks"] += f" OR len(list_filter(marks, lambda one: {_ENDLESS})) > 0"
        for name in found.keys() & set(_AMOUNTS):
            wrong[name] = f"({wrong.get(name, 'false')}) OR {name} < 0 OR NOT isfinite({name}::DOUBLE)"
    told = [f"coalesce(bool_or({test}), false)" for test in wrong.values()]
    if part.table == "trajectories":
        told.append("count(*) > count(DISTINCT id)")
    row = connection.execute(f"SELECT {', '.join(told)} FROM {source}").fetchone() or ()  # noqa: S608  # our own words
    for name, bad in zip([*wrong, "id"], row, strict=False):  # a table other than of trajectories has no ids of its own
        if bad:
            raise refused(part.path, f"has rows whose {name!r} is missing, double or no value that can be")


def _check_runs(connection: duckdb.DuckDBPyConnection, part: PartFile, source: str, runs: str) -> None:
    """Rows of a run in another batch would be added to those that it has there."""
    sql = f"SELECT min(run_id) FROM {source} WHERE run_id NOT IN (SELECT id FROM {_source(runs)})"  # noqa: S608
    row = connection.execute(sql).fetchone()
    if row is not None and row[0] is not None:
        raise refused(part.path, f"has in the column 'run_id' the run {row[0][:80]!r}, which its batch does not have")


def _source(url: str) -> str:
    return f"read_parquet({literal(url)}, hive_partitioning = false)"


def refused(path: str, why: str) -> BadInput:
    """What is said of a file that is not read, with the remedy."""
    return BadInput(f"{path} {why}; move it away, or write it again with `orchestra export FOLDER --format partitions`")
