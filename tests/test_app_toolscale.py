"""The routes of ToolScale: domains, records, tasks step by step, runs judged, tasks made in the background."""

import json
import sys
import time

import pytest
from domain_workbench import domain_workbench
from fastapi import FastAPI
from fastapi.testclient import TestClient

from app import api, toolscale_api
from app.runs import RunManager
from app.synth_job import SynthJob
from orchestra_lib.synthesis.metrics import LABELS


@pytest.fixture
def client(tmp_path):
    bench = domain_workbench(tmp_path)
    app, runs = FastAPI(), RunManager(bench)
    job = SynthJob(bench.assignments.folder)
    api.install(app, bench, runs)
    app.include_router(toolscale_api.router(bench, runs, job), prefix="/api")
    with TestClient(app, raise_server_exceptions=False) as made:
        made.bench, made.job = bench, job
        yield made
    bench.store.close()


def get(client, path, **query):
    return client.get(f"/api/toolscale/{path}".rstrip("/"), params=query).json()


def played(client, orchestrator):
    order = {"assignment": "mock/mock-1", "orchestrator": orchestrator}
    run_id = client.post("/api/runs", json=order).json()["id"]
    while client.get(f"/api/runs/{run_id}").json()["running"]:
        time.sleep(0.02)
    return client.get(f"/api/runs/{run_id}/domain").json()


def test_every_domain_is_listed_with_its_figures(client):
    found = get(client, "")
    lines = {one["name"]: one for one in found["domains"]}
    assert {"mock", "railway"} <= set(lines)
    assert (lines["mock"]["records"]["bikes"], lines["mock"]["tasks"], found["made"]) == (9, 1, ["mock"])


def test_a_domain_shows_its_machines_and_which_rules_nothing_enforces(client):
    found = get(client, "domains/mock")
    [hires] = [table for table in found["tables"] if table["name"] == "hires"]
    assert hires["machine"]["moves"] == [["booked", "cancelled"]]
    assert {state["name"]: state["records"] for state in hires["machine"]["states"]}["booked"] == 6
    [cancel] = [one for one in found["operations"] if one["name"] == "cancel_hire"]
    assert {rule["id"]: rule["mode"] for rule in cancel["rules"]} == {"status": "enforced", "early": "policy"}
    assert (cancel["reads"], cancel["writes"]) == (["bikes", "hires", "members"], ["bikes", "hires", "members"])
    assert found["policy"].startswith("# Bike hire policy")


def test_records_are_found_by_words_and_look_alikes_are_marked(client):
    found = get(client, "domains/mock/records/members", q="ana")
    assert [(one["key"], one["alike"]) for one in found["rows"]] == [
        ("ana_berg_1201", ["ana_berg_4417"]),
        ("ana_berg_4417", ["ana_berg_1201"]),
    ]
    assert get(client, "domains/mock/records/members", alike=True)["total"] == 2
    assert get(client, "domains/railway/records/bookings", offset=290)["total"] == 300


def test_a_task_is_replayed_call_by_call_with_what_each_changed(client):
    found = get(client, "domains/mock/tasks/mock-1")
    assert [len(step["changes"]) for step in found["steps"]] == [0, 0, 0, 0, 5]
    sources = {argument["name"]: argument["from"] for step in found["steps"] for argument in step["arguments"]}
    assert sources == {"email": "user", "member_id": "call 1", "hire_id": "call 3", "reason": "choice"}
    status = next(one for one in found["steps"][-1]["changes"] if one["path"] == "status")
    assert (status["before"], status["after"]) == ("booked", "cancelled")
    assert [one["passes"] for one in found["checks"]] == [False, False, False]


def test_a_run_is_judged_beside_the_golden_calls(client):
    done, undone = played(client, "worker"), played(client, "idle")
    assert (done["success"], done["changed"]) == (True, done["golden"])
    assert (undone["success"], undone["changed"]) == (False, [])
    assert len(undone["reasons"]) == 3
    listed = client.get("/api/trajectories").json()
    assert "I fell ill" in json.dumps(listed)


def test_conduct_is_told_beside_the_conditions_and_decides_nothing(client):
    hasty = played(client, "hasty")
    assert hasty["conduct"] == [{"line": "authenticate", "why": "get_hire before the user was identified"}]
    assert (hasty["success"], hasty["reasons"]) == (True, [])
    assert played(client, "worker")["conduct"] == []


@pytest.mark.parametrize(
    "path",
    [
        "toolscale/domains/moon",
        "toolscale/domains/..%2Fx",
        "toolscale/domains/mock/records/moons",
        "toolscale/domains/mock/tasks/none",
        "runs/nothing/domain",
    ],
)
def test_what_is_not_there_is_not_found_in_words(client, path):
    answer = client.get(f"/api/{path}")
    assert answer.status_code == 404


def test_a_run_without_a_domain_says_so(client):
    run_id = client.post("/api/runs", json={"task": "short", "orchestrator": "scripted"}).json()["id"]
    answer = client.get(f"/api/runs/{run_id}/domain")
    assert (answer.status_code, "no domain" in answer.json()["error"]) == (400, True)


def test_the_report_of_the_makers_becomes_a_funnel_in_order(client):
    folder = client.bench.assignments.folder
    rejected = {"quota": {"enough": 1}, "drawn": {"no record": 4, "tie": 1}, "golden": {"fails": 2}}
    domain = {"candidates": 20, "rejected": rejected}
    metrics = {"golden_mean": 6.5, "free": 0.0}
    worse = [f"{LABELS['golden_mean']}: 6.5, x has 7"]
    report = {"domains": {"mock": domain}, "metrics": metrics, "worse_than_published": worse}
    (folder / "report.json").write_text(json.dumps(report), "utf-8")
    found = get(client, "synth")["report"]
    assert [(one["name"], one["left"]) for one in found["funnels"][0]["stages"]] == [
        ("drawn", 15), ("golden", 13), ("solvable", 13), ("not free", 13), ("discriminative", 13), ("quota", 12),
    ]  # fmt: skip
    assert [row["what"] for row in found["metrics"]["rows"] if row["worse"]] == [LABELS["golden_mean"]]
    assert get(client, "domains/mock/tasks")["metrics"]["ours"]["free"] == 0.0
    for broken in ("{", "[]", '{"domains": {"mock": 1}}'):
        (folder / "report.json").write_text(broken, "utf-8")
        assert get(client, "synth")["report"] == {"funnels": [], "metrics": None}
        assert get(client, "domains/mock/tasks")["metrics"]["ours"]["free"] is None


def test_making_runs_in_the_background_and_its_last_words_are_shown(client, monkeypatch):
    line = "import sys; print('railway: 1 of 2'); print('<b>x</b>', file=sys.stderr); sys.exit(3)"
    monkeypatch.setattr(client.job, "command", lambda order: (sys.executable, "-c", line))
    assert client.post("/api/toolscale/synth", json={"domain": "railway", "n": 2}).status_code == 202
    while (job := get(client, "synth")["job"])["running"]:
        time.sleep(0.02)
    assert (job["failed"], sorted(job["lines"])) == (True, ["<b>x</b>", "railway: 1 of 2"])


@pytest.mark.parametrize("order", [{"domain": "--out"}, {"domain": "mock", "n": 0}, {"domain": "mock", "seed": -1}, {}])
def test_an_order_that_no_maker_can_read_is_refused(client, order):
    assert client.post("/api/toolscale/synth", json=order).status_code == 400
    assert get(client, "synth")["job"] is None
