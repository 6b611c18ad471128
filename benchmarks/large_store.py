"""A store with very many runs, for benchmarks: a few hundred that are made, and copies of them within the database."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import duckdb

from benchmarks.claims import note
from orchestra_lib.store.database import OWNED
from orchestra_lib.store.migrations import MIGRATIONS
from orchestra_lib.store.store import Store
from orchestra_lib.trajectory import Trajectory

RUN_TABLES = {"trajectories": "id", "turns": "run_id", "calls": "run_id", "attempts": "run_id"}
"""Where a run's rows are, and the column that names it."""

RUN = "{RUN}"
"""In the SQL of a copied column, the id of the copy."""


def large_store(
    name: str, runs: int, seeds: Iterable[Trajectory], made: int, fresh: Callable[[str, str], Mapping[str, str]]
) -> Path:
    """The home folder of a store with `runs` runs, made anew unless an earlier start finished it.

    `seeds` are the first `made` runs, with ids `run-0000000` and on. `fresh` gives for a table and
    its column of ids the SQL of the columns that a copy does not share with its seed `t`: `copy` is its number, and
    `RUN` stands for its id.
    """
    home = Path(tempfile.gettempdir()) / f"orchestra-bench-{name}-{runs}-{len(MIGRATIONS)}"
    if (home / "complete").exists():
        return home
    note(f"making {runs:,} runs in {home}")
    shutil.rmtree(home, ignore_errors=True)
    with Store(home) as store:
        store.add_many(seeds)
    with duckdb.connect(str(home / OWNED)) as connection:
        for start in range(made, runs, made * 40):
            for table, key in RUN_TABLES.items():
                columns = [row[0] for row in connection.execute(f"DESCRIBE {table}").fetchall()]
                end = min(start + made * 40, runs)
                connection.execute(_copies(table, key, columns, fresh(table, key), made, start, end))
        connection.execute("CHECKPOINT")
    (home / "complete").touch()
    return home


def _copies(table: str, key: str, columns: list[str], fresh: Mapping[str, str], made: int, start: int, end: int) -> str:
    """SQL that copies the seeds to the numbers from `start` to `end`."""
    run_id = f"format('run-{{:07d}}', CAST(right(t.{key}, 7) AS INTEGER) + copy * {made})"
    told = {key: RUN, **fresh}
    wanted = ", ".join(told.get(name, f"t.{name}").replace(RUN, run_id) for name in columns)
    seeds = f"(SELECT * FROM {table} WHERE {key} < 'run-{made:07}') t"
    return f"INSERT INTO {table} SELECT {wanted} FROM range({start // made}, {-(-end // made)}) c(copy), {seeds}"
