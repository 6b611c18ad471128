"""Writing trajectories as Parquet partitions: one file for each table, day and orchestrator, in batches of runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from orchestra_lib.codec import SCHEMA_VERSION
from orchestra_lib.store.migrations import MIGRATIONS
from orchestra_lib.store.partition_folder import TABLES, PartitionFolder, new_batch
from orchestra_lib.store.queries import StoreQueries
from orchestra_lib.store.summary import Filter, where

MARK = {b"orchestra.schema": str(SCHEMA_VERSION).encode(), b"orchestra.tables": str(len(MIGRATIONS)).encode()}
"""What the footer of every file says: the schema of records, and how many steps its tables had come to."""

_RUNS = 2_000
"""Runs in one file at most; a batch is made in memory."""
_GROUP = 500
"""Rows in a row group of trajectories: a single run is found by its id among so many."""

_PARTS = """SELECT strftime(started_at AT TIME ZONE 'UTC', '%Y-%m-%d') AS day, orchestrator, list(id ORDER BY started_at, id) AS ids
FROM trajectories WHERE status <> 'running' AND {clause} GROUP BY ALL ORDER BY day, orchestrator"""  # noqa: E501


def write_partitions(store: StoreQueries, wanted: Filter, folder: Path | str) -> int:
    """Add the runs behind a filter that have ended to a folder of partitions; returns how many.

    What lies in the folder stays. A run that was written there before counts once, as it was written last. Raises
    `BadInput` for a URL that leads nowhere, `StoreFault` where it cannot be written: what is whole by then stays.
    """
    target, count = PartitionFolder(folder), 0
    for day, orchestrator, ids in _parts(store, wanted):
        batch = new_batch()
        # The trajectories come last: a batch without them is not there.
        for table in sorted(TABLES, key=lambda name: name == "trajectories"):
            found = store.arrow(f"SELECT * FROM {table} WHERE {TABLES[table]} IN (SELECT unnest($ids))", {"ids": ids})  # noqa: S608
            if found.num_rows:
                target.put(table, day, orchestrator, batch, _content(found))
        count += len(ids)
    return count


def _parts(store: StoreQueries, wanted: Filter) -> Iterator[tuple[str, str, Sequence[str]]]:
    clause, parameters = where(wanted)
    for row in store.select(_PARTS.format(clause=clause), parameters):
        for start in range(0, len(row["ids"]), _RUNS):
            yield row["day"], row["orchestrator"], row["ids"][start : start + _RUNS]


def _content(table: Any) -> memoryview:
    out = pa.BufferOutputStream()
    marked = table.replace_schema_metadata({**(table.schema.metadata or {}), **MARK})
    pq.write_table(marked, out, compression="zstd", row_group_size=_GROUP)
    return memoryview(out.getvalue())
