"""Queries read this store and nothing else, however they are written."""

import pytest

from orchestra_lib.errors import BadInput
from orchestra_lib.store.store import Store
from tests.episodes import trajectory


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path) as opened:
        opened.add(trajectory())
        yield opened


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM trajectories",
        "select count(*) from trajectories; -- a remark; and ; more",
        "/* first; */ WITH t AS (SELECT 1 AS one) SELECT * FROM t",
        "FROM calls SELECT count(*)",
        "VALUES (1)",
        "DESCRIBE calls",
        "SHOW TABLES",
        "SUMMARIZE attempts",
        "SELECT 'lone \ud83d and ü'",
    ],
)
def test_reading_statements_are_answered(store, sql):
    assert store.query(sql).rows


WRITES = [
    "INSERT INTO calls (run_id) VALUES ('x')",
    "UPDATE trajectories SET cost_usd = 0",
    "DELETE FROM trajectories",
    "DROP TABLE calls",
    "CREATE TABLE x AS SELECT 1",
    "CREATE TEMP TABLE x AS SELECT 1",
    "CREATE MACRO f() AS 1",
    "ALTER TABLE calls ADD COLUMN x INTEGER",
    "TRUNCATE calls",
    "MERGE INTO calls USING calls AS b ON calls.run_id = b.run_id WHEN MATCHED THEN DELETE",
    "WITH x AS (INSERT INTO calls (run_id) VALUES ('x') RETURNING run_id) SELECT * FROM x",
    "WITH x AS (DELETE FROM trajectories RETURNING id) SELECT * FROM x",
    "EXPLAIN ANALYZE DELETE FROM trajectories",
    "PREPARE p AS DELETE FROM trajectories",
    "BEGIN",
    "COMMIT",
    "CHECKPOINT",
    "VACUUM",
]
OUTSIDE = [
    "SELECT * FROM read_csv('{path}')",
    "SELECT * FROM read_text('{path}')",
    "SELECT * FROM read_blob('{path}')",
    "SELECT * FROM read_json('{path}')",
    "SELECT * FROM read_parquet('{path}')",
    "SELECT * FROM glob('{folder}/*')",
    "FROM '{path}'",
    'SELECT * FROM "{path}"',
    "SELECT * FROM query('SELECT * FROM read_text(''{path}'')')",
    "SELECT * FROM query_table('{path}')",
    "COPY calls TO '{folder}/out.csv'",
    "COPY (SELECT 1) TO '{folder}/out.csv'",
    "COPY calls FROM '{path}'",
    "EXPORT DATABASE '{folder}/out'",
    "IMPORT DATABASE '{folder}'",
    "ATTACH '{folder}/other.duckdb'",
    "ATTACH ':memory:' AS m",
    "DETACH workbench",
    "USE memory",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SELECT * FROM read_csv('https://example.org/x.csv')",
    "SELECT * FROM sqlite_scan('{path}', 'x')",
    "SELECT getenv('HOME')",
    "SELECT * FROM python_variable",
    "SELECT * FROM duckdb_secrets()",
]
SETTINGS = [
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET GLOBAL memory_limit = '100GB'",
    "RESET lock_configuration",
    "SET VARIABLE x = 1",
    "PRAGMA enable_profiling",
    "PRAGMA database_list",
    "CALL pragma_version()",
    "EXECUTE p",
]
CONFUSING = [
    "",
    "   ",
    ";",
    "-- nothing",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE calls",
    "SELECT 1 /* ; */; /* */ DELETE FROM calls --",
    "SELECT 1 -- ;\n; DELETE FROM calls",
    "SELECT",
    "'); DROP TABLE calls; --",
    "SELECT no_such_column FROM calls",
    "SELECT * FROM no_such_table",
    "SELECT 1 \0 ; DROP TABLE calls",
    "SELECT " + "(" * 20_000 + "1" + ")" * 20_000,
]


@pytest.mark.parametrize("sql", WRITES + OUTSIDE + SETTINGS + CONFUSING)
def test_everything_else_is_refused_in_a_clear_line_and_changes_nothing(store, tmp_path, sql):
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,secret\n")
    python_variable = secret  # noqa: F841  # what a replacement scan would find
    with pytest.raises(BadInput, match="query"):
        store.query(sql.replace("{path}", str(secret)).replace("{folder}", str(tmp_path)))
    assert store.query("SELECT (SELECT count(*) FROM trajectories), (SELECT count(*) FROM calls)").rows == ((1, 1),)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("out")) == []


def test_the_word_and_the_remedy_are_named(store):
    with pytest.raises(BadInput, match="INSERT is not allowed in a query; ask with one SELECT"):
        store.query("INSERT INTO calls (run_id) VALUES ('x')")
    with pytest.raises(BadInput, match="2 statements"):
        store.query("SELECT 1; SELECT 2")


def test_rows_are_capped_and_it_says_so(store):
    answer = store.query("SELECT * FROM range(100) AS r(n)", max_rows=10)
    assert (answer.columns, len(answer.rows), answer.cut) == (("n",), 10, True)
    assert not store.query("SELECT * FROM range(10)", max_rows=10).cut


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM range(1000000000) a, range(1000000000) b",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r",
    ],
)
def test_a_query_without_end_is_stopped_and_the_store_lives_on(store, sql):
    with pytest.raises(BadInput, match=r"longer than 0\.3 s"):
        store.query(sql, timeout_s=0.3)
    assert store.count() == 1


def test_a_huge_result_does_not_fill_memory(store):
    assert store.query("SELECT n, repeat('x', 1000) FROM range(100000000) AS r(n)", max_rows=5).cut


def test_times_come_out_in_utc(store):
    assert store.query("SELECT started_at::VARCHAR FROM trajectories").rows == (("2026-11-29 12:00:00+00",),)
