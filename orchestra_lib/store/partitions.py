"""Trajectories past one machine: a folder of Parquet partitions behind the same queries as a store of one's own.

It is only read. Each table is a view over the files that were there at the last look; what any number of others write
meanwhile is seen at the next one. DuckDB reaches the files of the folder and nothing else.
"""

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from orchestra_lib.errors import BadInput, StoreFault, first_line
from orchestra_lib.store.migrations import migrate
from orchestra_lib.store.partition_check import Columns, check, refused
from orchestra_lib.store.partition_folder import TABLES, PartFile, PartitionFolder, literal
from orchestra_lib.store.queries import StoreQueries
from orchestra_lib.store.summary import Summary
from orchestra_lib.store.transaction import transaction
from orchestra_lib.trajectory import Trajectory

_LOCAL_LOOK_S, _REMOTE_LOOK_S = 1.0, 30.0
"""So long after a look at which files there are the next query looks again."""

_BATCH = "regexp_extract(filename, 'part-([^/]+)[.]parquet$', 1)"
_SUPERSEDED = f"""CREATE OR REPLACE TABLE parts.superseded AS
SELECT id AS run_id, batch FROM (SELECT id, {_BATCH} AS batch FROM read_parquet({{files}}, filename = true, hive_partitioning = false))
QUALIFY batch <> max(batch) OVER (PARTITION BY id)"""  # noqa: E501, S608
"""Runs in batches that a later batch with the same run takes the place of."""


class Partitions(StoreQueries):
    """The trajectories of a folder of partitions, by its path or URL. Safe to use from several threads.

    Opening checks every file. Raises `BadInput` for a folder without any, naming the file and the column of one that is
    none of ours or has been tampered with; `NewerSchema` for one that a newer workbench wrote; `StoreFault`.
    """

    def __init__(self, where: Path | str) -> None:
        self._folder = PartitionFolder(where)
        self._look_s = _LOCAL_LOOK_S if self._folder.local else _REMOTE_LOOK_S
        self._lock = threading.RLock()
        self._checked: dict[PartFile, Columns] = {}
        self._files: list[PartFile] | None = None
        self._looked = 0.0
        self._connection = duckdb.connect(
            ":memory:",
            config={
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "python_enable_replacements": "false",
                "temp_directory": "",
            },
        )
        try:
            migrate(self._connection, where="the database in memory")
            described = {table: self._connection.execute(f"DESCRIBE {table}").fetchall() for table in TABLES}
            self._expected = {table: {row[0]: row[1] for row in rows} for table, rows in described.items()}
            self._connection.execute("CREATE SCHEMA parts")
            for table in TABLES:  # a table without files is empty
                self._connection.execute(f"CREATE TABLE parts.{table} AS FROM {table} LIMIT 0; DROP TABLE {table}")
            self._folder.reach(self._connection)
            for setting in ("enable_external_access = false", "GLOBAL TimeZone = 'UTC'", "lock_configuration = true"):
                self._connection.execute(f"SET {setting}")
            self._look()
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        self._connection.close()

    def _look(self) -> None:
        """See which files there are, check those that are new, and have the tables show them."""
        with self._lock:
            files = self._folder.files()
            self._looked = time.monotonic()
            if files == self._files:
                return
            if not files:
                raise BadInput(
                    f"{self._folder.name} holds no partitions of trajectories; "
                    "write some with `orchestra export FOLDER --format partitions`"
                )
            with self._cursor() as cursor:
                runs = {part.batch: part for part in files if part.table == "trajectories"}
                self._checked = {
                    part: self._checked.get(part) or self._check(cursor, part, runs[part.batch]) for part in files
                }
                with transaction(cursor):
                    self._show(cursor, files)
            self._files = files

    def _check(self, cursor: duckdb.DuckDBPyConnection, part: PartFile, runs: PartFile) -> Columns:
        whose = None if part is runs else self._folder.url(runs.path)
        return check(cursor, part, self._folder.url(part.path), self._expected[part.table], runs=whose)

    def _show(self, cursor: duckdb.DuckDBPyConnection, files: Sequence[PartFile]) -> None:
        cursor.execute(_SUPERSEDED.format(files=self._listed(part for part in files if part.table == "trajectories")))
        doubled = cursor.execute("SELECT count(*) FROM parts.superseded").fetchall() != [(0,)]
        for table in TABLES:
            parts = [part for part in files if part.table == table]
            cursor.execute(f"CREATE OR REPLACE VIEW {table} AS {self._view(table, parts, doubled=doubled)}")

    def _view(self, table: str, parts: Sequence[PartFile], *, doubled: bool) -> str:
        """The files of a table as one; those of an older workbench lack columns, which are unknown."""
        if not parts:
            return f"SELECT * FROM parts.{table}"  # noqa: S608  # our own words
        alike: dict[tuple[str, ...], list[PartFile]] = {}
        for part in parts:
            alike.setdefault(tuple(self._checked[part]), []).append(part)
        last = f"({TABLES[table]}, {_BATCH}) NOT IN (SELECT run_id, batch FROM parts.superseded)" if doubled else "true"  # noqa: S608
        return " UNION ALL ".join(
            f"SELECT {self._columns(table, names)} FROM {self._source(same)} WHERE {last}"  # noqa: S608  # our own words
            for names, same in alike.items()
        )

    def _columns(self, table: str, names: Sequence[str]) -> str:
        there = set(names)
        return ", ".join(
            f"TRY_CAST({name} AS JSON) AS {name}" if kind == "JSON" and name in there
            else name if name in there
            else f"NULL::{kind} AS {name}"
            for name, kind in self._expected[table].items()
        )  # fmt: skip

    def _source(self, parts: Sequence[PartFile]) -> str:
        return f"read_parquet({self._listed(parts)}, filename = true, hive_partitioning = false)"

    def _listed(self, parts: Iterator[PartFile] | Sequence[PartFile]) -> str:
        return "[" + ", ".join(literal(self._folder.url(part.path)) for part in parts) + "]"

    def _refresh(self, *, wait: bool = False) -> None:
        if time.monotonic() - self._looked > self._look_s:
            self._look()

    def _refresh_one(self, run_id: str) -> None:
        self._refresh()

    def _missing(self, run_id: str) -> BadInput:
        return BadInput(f"there is no run {run_id!r} in {self._folder.name}; `orchestra list --store` shows its runs")

    def _summary(self, row: Mapping[str, Any]) -> Summary:
        try:
            return super()._summary(row)
        except BadInput as error:
            raise refused(self._file_of(row["id"]), f"has no preference in the column 'preference' ({error})") from None

    def _record(self, run_id: str, raw: str | None) -> Trajectory:
        try:
            if raw is None:
                raise BadInput(f"run {run_id}: no JSON")
            found = super()._record(run_id, raw)
            if found.id != run_id:
                raise BadInput(f"run {run_id}: the record is that of {found.id[:80]!r}")
        except BadInput as error:
            raise refused(self._file_of(run_id), f"has no record in the column 'raw' ({error})") from None
        return found

    def _file_of(self, run_id: str) -> str:
        files = self._source([part for part in self._files or () if part.table == "trajectories"])
        found = self._fetch(f"SELECT max(filename) AS name FROM {files} WHERE id = $id", {"id": run_id})  # noqa: S608
        return str(found[0]["name"])

    def _read(self, sql: str, parameters: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
        try:
            return self._fetch(sql, parameters)
        except duckdb.Error as error:
            raise StoreFault(f"cannot read the partitions of {self._folder.name}: {first_line(error)}") from error

    @contextlib.contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        try:
            cursor = self._connection.cursor()
        except duckdb.ConnectionException as error:
            raise StoreFault(f"the partitions of {self._folder.name} are closed") from error
        try:
            yield cursor
        finally:
            cursor.close()
