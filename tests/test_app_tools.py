"""The routes of Tools & prices over a scripted workbench."""

import time

import pytest
from toolbench import lab, tools_client


@pytest.fixture
def client(tmp_path):
    with tools_client(tmp_path, fetch_s=0.1) as client:
        yield client


def rows(client, **more):
    return {row["id"]: row for row in client.get("/api/tools", params=more).json()["rows"]}


def test_the_card_has_what_the_orchestrator_reads_under_the_chosen_table(client):
    nominal, vendor = rows(client)["coder"], rows(client, prices="vendor")["coder"]
    assert "$0.04 in / $0.04 out per million tokens" in nominal["reads"]["description"]
    assert nominal["reads"]["description"] != vendor["reads"]["description"]
    assert nominal["reads"]["parameters"]["required"] == ["text"]


def test_what_is_off_says_why(client):
    found = rows(client)
    assert found["sql"]["off"] == "no database is configured"
    assert "set OPENAI_API_KEY" in next(row["off"] for name, row in found.items() if name.startswith("openai/"))


def test_a_call_by_hand_is_kept_billed_and_measured(client):
    order = {"task": "try", "orchestrator": "try-out", "tools": ["coder"], "arguments": {"text": "x"}}
    run_id = client.post("/api/runs", json=order).json()["id"]
    while client.get(f"/api/runs/{run_id}").json()["running"]:
        time.sleep(0.02)
    use = rows(client)["coder"]["use"]
    assert (use["ran"], use["ok"], use["priced"]) == (1, 1, 1)
    assert client.get("/api/tools/coder/measured").json()["callers"] == [["try-out", 1]]


def test_arguments_that_do_not_fit_are_answered_in_words(client):
    order = {"task": "try", "orchestrator": "try-out", "tools": ["options"], "arguments": {"text": 1, "size": 10}}
    answer = client.post("/api/runs", json=order)
    assert answer.status_code == 400
    for words in ("`unit` is missing", "`text` must be of type string", "`size` must be at most 9"):
        assert words in answer.json()["error"]


def test_an_endpoint_is_added_tested_and_offered(client):
    with lab() as address:
        new = {"name": "lab/solver", "base_url": address, "model": "solver-7b"}
        assert client.post("/api/endpoints", json=new).status_code == 201
        trial = client.post("/api/endpoints/lab/solver/test").json()
    assert trial["error"] is None
    assert (trial["usage"], trial["native_call"]) == (True, True)
    assert 'say({"word": "ready"})' in trial["text"]
    assert {"lab/solver", "lab-solver"} <= set(rows(client))


def test_an_endpoint_of_ones_own_is_edited_and_removed(client):
    new = {"name": "lab/x", "base_url": "http://127.0.0.1:9/v1", "model": "m"}
    client.post("/api/endpoints", json=new)
    found = rows(client)
    assert found["lab/x"]["own"] == found["lab-x"]["own"]
    assert (found["lab/x"]["own"]["door"], found["lab/x"]["own"]["endpoint"]["model"]) == (True, "m")
    assert found["coder"]["own"] is None
    assert client.put("/api/endpoints/lab/x", json={**new, "model": "n"}).json() == {"name": "lab/x"}
    assert rows(client)["lab/x"]["endpoint"]["model"] == "n"
    for refused in ({**new, "name": "lab/y"}, {**new, "base_url": "ftp://x"}, {**new, "context": 1}):
        assert client.put("/api/endpoints/lab/x", json=refused).status_code == 400
    assert rows(client)["lab/x"]["endpoint"]["model"] == "n"
    assert client.delete("/api/endpoints/lab/x").json() == {"removed": "lab/x"}
    assert "lab/x" not in rows(client)
    assert client.delete("/api/endpoints/lab/x").status_code == 400
    assert client.delete("/api/endpoints/openai/gpt-6-luna").status_code == 400


def test_a_key_in_the_form_is_refused_and_kept_nowhere(client):
    key = "sk-proj-abcdefghijklmnopqrstuvwx"
    new = {"name": "lab/x", "base_url": "https://lab.example/v1", "model": "m", "key_env": key}
    answer = client.post("/api/endpoints", json=new)
    assert answer.status_code == 400
    assert "environment variable" in answer.json()["error"]
    assert key not in answer.text
    assert all(key not in file.read_text("utf-8", "replace") for file in client.home.rglob("*.toml*"))


def test_an_endpoint_that_is_off_is_not_asked(client):
    answer = client.post("/api/endpoints/openai/gpt-6-luna/test")
    assert answer.status_code == 400
    assert "set OPENAI_API_KEY" in answer.json()["error"]
    assert client.post("/api/endpoints/no/such/test").status_code == 400


def test_weights_are_fetched_on_demand_and_tell_how_far_they_are(client):
    name = "Qwen2.5-Coder-0.5B-Instruct"
    assert client.get("/api/weights").json()[0]["state"] == "absent"
    assert client.post(f"/api/weights/{name}/fetch").status_code == 202
    while client.get("/api/weights").json()[0]["state"] != "ready":
        time.sleep(0.02)
    assert client.post("/api/weights/nope/fetch").status_code == 400


def test_tables_stand_side_by_side_and_a_row_that_is_not_there_is_null(client):
    found = client.get("/api/prices").json()
    assert {"nominal", "vendor", "together"} <= {table["name"] for table in found["tables"]}
    cells = {row["name"]: row["cells"] for row in found["rows"]}
    assert cells["Qwen2.5-Coder-1.5B-Instruct"]["nominal"]["text"] == "0.18 / 0.18"
    assert cells["gpt-6-luna"]["nominal"] is None
    assert all(table["dated"] and table["source"] for table in found["tables"])


def test_any_row_is_found_by_a_part_of_its_name(client):
    names = [row["name"] for row in client.get("/api/prices", params={"q": "QWEN2.5"}).json()["rows"]]
    assert names
    assert all("qwen2.5" in name.lower() for name in names)
    assert client.get("/api/prices", params={"q": "no such row"}).json()["rows"] == []


def test_a_table_is_copied_changed_and_what_ships_is_not(client):
    assert client.post("/api/prices", json={"name": "mine", "copy_of": "nominal"}).status_code == 201
    row = {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 2.0, "source": "by hand"}
    change = {"rows": {"coder": row, "local_search": None}}
    assert client.post("/api/prices/mine/rows", json=change).status_code == 200
    assert rows(client, prices="mine")["local_search"]["price"] is None
    assert "copy it" in client.post("/api/prices/nominal/rows", json=change).json()["error"]


@pytest.mark.parametrize(
    "row, words",
    [
        ({"input_usd_per_mtok": 1.0, "source": "x"}, "both"),
        ({"call_usd": -1, "source": "x"}, "0 or more"),
        ({"call_usd": "many", "source": "x"}, "call_usd"),
        ({"call_usd": 1}, "source"),
    ],
)
def test_a_bad_price_is_refused_by_name(client, row, words):
    client.post("/api/prices", json={"name": "mine", "copy_of": "nominal"})
    answer = client.post("/api/prices/mine/rows", json={"rows": {"coder": row}})
    assert answer.status_code == 400
    assert words in answer.json()["error"]
