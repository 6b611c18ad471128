"""The routes of the SQL page: one reading statement, calm refusals, files."""

import io
import time

import pyarrow.parquet as pq
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from scripted_workbench import HOSTILE, scripted_workbench

from app import api, sql_api
from app.runs import RunManager
from app.sql_api import refusal
from orchestra_lib.codec import dumps


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    workbench = scripted_workbench(tmp_path_factory.mktemp("home"), pace_s=0.0)
    app = FastAPI()
    api.install(app, workbench, RunManager(workbench))
    app.include_router(sql_api.router(workbench), prefix="/api")
    with TestClient(app, raise_server_exceptions=False) as client:
        for task in ("short", "parallel", "hostile"):
            run_id = client.post("/api/runs", json={"task": task, "orchestrator": "scripted"}).json()["id"]
            while client.get(f"/api/runs/{run_id}").json()["running"]:
                time.sleep(0.02)
        yield client
    workbench.store.close()


def ask(client, sql):
    return client.post("/api/sql", json={"sql": sql})


def test_a_question_is_answered_with_columns_types_and_rows(client):
    answer = ask(client, "SELECT status, count(*) AS n FROM trajectories GROUP BY ALL").json()
    assert answer["columns"] == [{"name": "status", "type": "VARCHAR"}, {"name": "n", "type": "BIGINT"}]
    assert answer["rows"] == [["answered", 3]]


def test_every_kind_of_value_becomes_json(client):
    answer = ask(
        client,
        "SELECT NULL a, 'nan'::DOUBLE b, 9007199254740993 c, DATE '2026-01-02' d, [1, 2] e, {'x': 1} f, "
        "MAP {'k': 0.5::DOUBLE} g, 1.50::DECIMAL(5, 2) h, '\\x01'::BLOB i, now() j, true k, "
        "INTERVAL 1 DAY l, uuid() m, 2::HUGEINT ** 100 n",
    )
    row = answer.json()["rows"][0]
    assert row[:8] == [None, "nan", "9007199254740993", "2026-01-02", "[1,2]", '{"x":1}', '{"k":0.5}', "1.50"]
    assert row[8] == "1 bytes"
    assert row[10] is True


def test_more_rows_than_a_page_shows_are_cut_and_it_says_so(client):
    answer = ask(client, "SELECT * FROM range(5000)").json()
    assert (len(answer["rows"]), answer["cut"]) == (1000, True)


@pytest.mark.parametrize(
    "sql",
    ["DELETE FROM calls", "SELECT 1; SELECT 2", "COPY calls TO 'x'", "ATTACH 'x'", "FROM read_csv('/etc/passwd')",
     "INSTALL httpfs", "SET memory_limit = '1TB'", "", "PRAGMA database_list; DROP TABLE calls"],
)  # fmt: skip
def test_what_does_not_read_the_store_is_refused(client, sql):
    answer = ask(client, sql)
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_a_mistake_is_shown_with_its_place(client):
    refused = ask(client, "SELECT tool,\n  latency\nFROM calls").json()
    assert "latency" in refused["error"]
    assert refused["where"] == {"line": 2, "column": 3}
    assert "LINE" not in refused["error"]


def test_the_place_in_a_long_line_is_found_in_the_whole_line(client):
    sql = f"SELECT {', '.join(f'{n} AS c{n}' for n in range(100))}, nothing_like_it FROM calls"
    assert ask(client, sql).json()["where"]["column"] == sql.index("nothing_like_it") + 1


def test_the_schema_names_tables_columns_and_the_view(client):
    tables = {table["name"]: table for table in client.get("/api/sql/schema").json()}
    assert {"trajectories", "turns", "calls", "attempts", "tool_use"} <= set(tables)
    assert {"name": "latency_s", "type": "DOUBLE"} in tables["calls"]["columns"]
    assert tables["tool_use"]["rows"] is None


def test_a_result_is_a_csv_file_that_no_spreadsheet_runs(client):
    answer = client.get("/api/sql/export", params={"sql": "SELECT '=1+1' AS a, NULL AS b, 2 AS c"})
    assert answer.headers["content-disposition"] == 'attachment; filename="query.csv"'
    assert answer.text.splitlines() == ["a,b,c", "'=1+1,,2"]


def test_a_result_is_a_parquet_file_with_types(client):
    sql = "SELECT tool, latency_s, [1] AS list, tool FROM calls ORDER BY ALL"
    answer = client.get("/api/sql/export", params={"sql": sql, "form": "parquet"})
    table = pq.read_table(io.BytesIO(answer.content))
    assert table.column_names == ["tool", "latency_s", "list", "tool_3"]
    assert str(table.schema.field("latency_s").type) == "double"


def test_a_file_of_a_query_that_is_refused_is_an_error(client):
    assert client.get("/api/sql/export", params={"sql": "DROP TABLE calls"}).status_code == 400
    assert client.get("/api/sql/export", params={"sql": "SELECT 1", "form": "exe"}).status_code == 422


def test_foreign_text_comes_as_text(client):
    rows = ask(client, "SELECT task, answer FROM trajectories WHERE task = 'hostile'").json()["rows"]
    assert rows == [["hostile", HOSTILE]]


@given(st.text(), st.text())
def test_any_refusal_can_be_told(message, sql):
    told = refusal(message + "\n\nLINE 1: " + sql.partition("\n")[0] + "\n        ^", sql)
    assert dumps(told)
    assert told["where"] is None or told["where"]["column"] >= 1
