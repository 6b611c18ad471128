"""The tables of the query store, as numbered steps: each is applied once and never edited afterwards.

A change of the tables is a new step at the end of `MIGRATIONS`. Times are TIMESTAMPTZ in UTC,
durations seconds, money USD; NULL means unknown. Keys are kept by the one writer, not by an index.
"""

import duckdb

from orchestra_lib.errors import NewerSchema
from orchestra_lib.store.transaction import transaction

_FIRST = """
CREATE TABLE journals (run_id VARCHAR, size BIGINT, mtime_ns BIGINT, unfinished BOOLEAN, fault VARCHAR);

CREATE TABLE trajectories (
    id VARCHAR, started_at TIMESTAMPTZ, task VARCHAR, task_id VARCHAR, orchestrator VARCHAR, protocol VARCHAR,
    status VARCHAR, answer VARCHAR, outcome BOOLEAN, cost_usd DOUBLE, known_usd DOUBLE, latency_s DOUBLE,
    input_tokens BIGINT, output_tokens BIGINT, turns INTEGER, calls INTEGER, failed_calls INTEGER,
    tools VARCHAR[], called VARCHAR[], prefer_outcome DOUBLE, prefer_cost DOUBLE, prefer_latency DOUBLE,
    prefer_tools MAP(VARCHAR, DOUBLE), preference JSON, sentence VARCHAR, price_table VARCHAR, prices_dated DATE,
    nominal BOOLEAN, simulated BOOLEAN, seed BIGINT, fault VARCHAR,
    marks STRUCT(tool VARCHAR, kind VARCHAR, status VARCHAR, started_s DOUBLE, finished_s DOUBLE)[], raw JSON
);

CREATE TABLE turns (
    run_id VARCHAR, turn INTEGER, started_s DOUBLE, generated_s DOUBLE, finished_s DOUBLE, reasoning VARCHAR,
    content VARCHAR, answer VARCHAR, calls INTEGER, input_tokens BIGINT, output_tokens BIGINT, cost_usd DOUBLE
);

CREATE TABLE calls (
    run_id VARCHAR, turn INTEGER, position INTEGER, call_id VARCHAR, tool VARCHAR, kind VARCHAR, status VARCHAR,
    arguments VARCHAR, arguments_json JSON, recovered VARCHAR, observation VARCHAR, started_s DOUBLE,
    finished_s DOUBLE, latency_s DOUBLE, input_tokens BIGINT, output_tokens BIGINT, cost_usd DOUBLE
);

CREATE TABLE attempts (
    run_id VARCHAR, turn INTEGER, position INTEGER, call_id VARCHAR, payee VARCHAR, priced_as VARCHAR,
    input_tokens BIGINT, output_tokens BIGINT, cached_tokens BIGINT, reasoning_tokens BIGINT, wall_s DOUBLE,
    queue_s DOUBLE, billed BOOLEAN, error VARCHAR, cost_usd DOUBLE, input_usd_per_mtok DOUBLE,
    output_usd_per_mtok DOUBLE, cached_usd_per_mtok DOUBLE, call_usd DOUBLE, second_usd DOUBLE,
    price_source VARCHAR, price_table VARCHAR, prices_dated DATE
);
"""

_TOOL_USE = """
CREATE OR REPLACE VIEW tool_use AS
SELECT tool, any_value(kind) AS kind,
    count(*) FILTER (status IN ('ok', 'error', 'timeout')) AS ran, count(*) FILTER (status = 'ok') AS ok,
    count(*) FILTER (status = 'rejected') AS refused, median(latency_s) FILTER (status = 'ok') AS p50_s,
    quantile_cont(latency_s, 0.95) FILTER (status = 'ok') AS p95_s,
    avg(cost_usd) FILTER (status IN ('ok', 'error', 'timeout')) AS mean_usd,
    count(cost_usd) FILTER (status IN ('ok', 'error', 'timeout')) AS priced
FROM calls WHERE status IS NOT NULL GROUP BY tool;
"""
"""What was measured of each tool: calls that ran, how many went well, seconds, the mean of the known costs."""

_ANNOTATIONS = """
CREATE TABLE tags (run_id VARCHAR, tag VARCHAR, tagged_at TIMESTAMPTZ);

CREATE TABLE annotations (bytes BIGINT);
INSERT INTO annotations VALUES (0);
"""
"""What people said of runs, from `annotations.jsonl`, and how much of that file is in here."""

_LAB = """
ALTER TABLE trajectories ADD COLUMN group_name VARCHAR;
ALTER TABLE trajectories ADD COLUMN fork_run VARCHAR;
ALTER TABLE trajectories ADD COLUMN fork_turn INTEGER;
ALTER TABLE trajectories ADD COLUMN origin VARCHAR;

CREATE TABLE grades (
    run_id VARCHAR, position INTEGER, graded_at TIMESTAMPTZ, graded_by VARCHAR, outcome BOOLEAN, reason VARCHAR,
    conditions MAP(VARCHAR, BOOLEAN)
);

CREATE TABLE notes (run_id VARCHAR, note VARCHAR, noted_at TIMESTAMPTZ);
CREATE TABLE grouped (run_id VARCHAR, name VARCHAR, grouped_at TIMESTAMPTZ);
CREATE OR REPLACE VIEW group_members AS
SELECT id AS run_id, group_name AS name FROM trajectories WHERE group_name IS NOT NULL
UNION SELECT run_id, name FROM grouped WHERE run_id IN (SELECT id FROM trajectories);
"""
"""Grades from the journals, notes and hand-made groups from `annotations.jsonl`; a run's own group in its row."""

_USES = """
ALTER TABLE trajectories ADD COLUMN domain VARCHAR;
ALTER TABLE trajectories ADD COLUMN offers STRUCT(tool VARCHAR, model VARCHAR, kind VARCHAR, simulated BOOLEAN,
    input_usd_per_mtok DOUBLE, output_usd_per_mtok DOUBLE, call_usd DOUBLE, second_usd DOUBLE)[];
ALTER TABLE trajectories ADD COLUMN uses STRUCT(tool VARCHAR, model VARCHAR, kind VARCHAR, turn INTEGER, calls INTEGER,
    usd DOUBLE, seconds DOUBLE)[];
ALTER TABLE trajectories ADD COLUMN path VARCHAR[];
DELETE FROM journals;
"""
"""Who was on offer at which price, and who was called, by who answers and not by the name of the tool; journals that
are forgotten are read again, and fill these columns of runs that were stored before."""

_DESCRIBED = """
ALTER TABLE trajectories ADD COLUMN described VARCHAR[];
DELETE FROM journals;
"""
"""Beside `offers`, by which description each was offered: the beginning of its SHA-256. Journals are read again."""

_ROLLOUTS = """
ALTER TABLE trajectories ADD COLUMN training VARCHAR;
ALTER TABLE trajectories ADD COLUMN training_step INTEGER;

CREATE TABLE rollouts (
    run_id VARCHAR, training VARCHAR, step INTEGER, reward DOUBLE, advantage DOUBLE, kept BOOLEAN, why VARCHAR,
    file VARCHAR
);
CREATE TABLE rollout_files (name VARCHAR, size BIGINT, mtime_ns BIGINT, fault VARCHAR);
"""
"""Rollouts of training from `rollouts/`, what each was worth, and which of those files are in here."""

_WHOLE_PATH = """
DELETE FROM journals;
"""
"""`path` has every call of a run and no longer the first three: journals are read again."""

MIGRATIONS: tuple[tuple[str, str], ...] = (
    ("first tables", _FIRST),
    ("view tool_use", _TOOL_USE),
    ("annotations", _ANNOTATIONS),
    ("grades, notes, groups and forks", _LAB),
    ("who was on offer and who was called", _USES),
    ("by which description tools were offered", _DESCRIBED),
    ("rollouts of training", _ROLLOUTS),
    ("who answered every call", _WHOLE_PATH),
)
"""Name and SQL of every step; the first has number 1."""

TABLES = (
    "journals", "trajectories", "turns", "calls", "attempts", "tags", "annotations", "grades", "notes", "grouped",
    "rollouts", "rollout_files",
)  # fmt: skip


def version(connection: duckdb.DuckDBPyConnection) -> int:
    """The number of the last step that was applied; 0 for a new file."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations (number INTEGER, name VARCHAR, applied_at TIMESTAMPTZ DEFAULT now())"
    )
    row = connection.execute("SELECT coalesce(max(number), 0) FROM migrations").fetchone()
    assert row is not None
    return int(row[0])


def migrate(connection: duckdb.DuckDBPyConnection, *, where: str) -> int:
    """Bring the tables up to date in one transaction; returns how many steps that took.

    Raises `NewerSchema`, naming `where`, for a file that a newer workbench has migrated.
    """
    done = version(connection)
    if done > len(MIGRATIONS):
        raise NewerSchema(
            f"{where} has tables of version {done}, this workbench knows {len(MIGRATIONS)}: update the workbench, "
            "or move that file away and its tables are rebuilt from the journals"
        )
    with transaction(connection):
        _apply(connection, done)
    return len(MIGRATIONS) - done


def renew(connection: duckdb.DuckDBPyConnection) -> None:
    """Replace every table by an empty one of the newest version, in one transaction."""
    with transaction(connection):
        for table in (*TABLES, "migrations"):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
        _apply(connection, version(connection))


def _apply(connection: duckdb.DuckDBPyConnection, done: int) -> None:
    for number, (name, sql) in enumerate(MIGRATIONS[done:], start=done + 1):
        connection.execute(sql)
        connection.execute("INSERT INTO migrations (number, name) VALUES (?, ?)", [number, name])
