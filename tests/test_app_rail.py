"""The runs beside the shown one, and search within a run, as routes."""

import time

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from scripted_workbench import scripted_workbench

from app import api
from app.runs import MAX_RUNNING, RunManager


@pytest.fixture
def client(tmp_path):
    workbench = scripted_workbench(tmp_path, pace_s=0.01)
    runs = RunManager(workbench)
    app = FastAPI()
    api.install(app, workbench, runs)
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client
        # In the loop of the runs: told from this thread, none would hear before its tool's minute is over.
        client.portal.call(runs.stop_all)
        while runs.running():
            time.sleep(0.02)
    workbench.store.close()


def start(client, task="short"):
    order = {"task": task, "orchestrator": "scripted", "preference": {"cost": 1.0}}
    return client.post("/api/runs", json=order).json()["id"]


def rail(client, *ids):
    return client.get("/api/rail", params={"ids": ",".join(ids)}).json()


def ended(client, run_id):
    while rail(client, run_id)["runs"][0]["status"] in {"running", "queued"}:
        time.sleep(0.02)
    return run_id


def test_each_run_tells_its_state_its_wish_and_its_cost(client):
    done, going = ended(client, start(client)), start(client, "slow")
    first, second, third = rail(client, done, going, "nope")["runs"]
    assert (first["status"], first["cost"]["kind"]) == ("answered", "known")
    assert first["wish"] == "quality .8 cost 1 latency .2"
    assert second["status"] == "running"
    assert first["outcome"] is None  # nobody graded it
    assert (third["status"], "nope" in third["why"]) == ("gone", True)


def test_what_waits_has_its_place_and_no_cost_yet(client):
    for _ in range(MAX_RUNNING):
        start(client, "slow")
    waiting = [start(client) for _ in range(3)]
    told = rail(client, waiting[2])
    assert [entry["place"] for entry in told["queued"]] == [1, 2, 3]
    assert told["waiting"] == 3
    assert (told["runs"][0]["status"], told["runs"][0]["cost"]["kind"]) == ("queued", "none")
    assert client.get(f"/api/runs/{waiting[0]}").json()["place"] == 1
    assert client.post(f"/api/runs/{waiting[0]}/stop").json() == {"stopping": True}
    gone = client.get(f"/api/runs/{waiting[0]}/events")
    assert gone.status_code == 404
    assert "cancelled before it began" in gone.json()["error"]


def test_too_many_ids_are_refused_in_words(client):
    answer = client.get("/api/rail", params={"ids": ",".join(map(str, range(51)))})
    assert answer.status_code == 400
    assert "at most 50" in answer.json()["error"]


def test_search_names_the_place_and_an_unknown_run(client):
    run_id = ended(client, start(client, "figures"))
    found = client.get(f"/api/runs/{run_id}/find", params={"q": "2.901 %"}).json()
    assert [(hit["turn"], hit["call"], hit["where"]) for hit in found["hits"]] == [(3, 0, "observation")]
    assert client.get("/api/runs/nope/find", params={"q": "x"}).status_code == 404


def test_a_run_that_was_told_before_is_told_anew_once_it_is_graded_or_gone(client):
    run_id = ended(client, start(client))
    while client.get(f"/api/runs/{run_id}").json()["running"]:  # its end is told before its journal is closed
        time.sleep(0.02)
    assert [rail(client, run_id)["runs"][0]["outcome"] for _ in range(2)] == [None, None]
    graded = client.post(f"/api/runs/{run_id}/grade", json={"by": "person:me", "outcome": "solved"})
    assert graded.status_code == 200, graded.text
    assert rail(client, run_id)["runs"][0]["outcome"] is True
    client.delete(f"/api/runs/{run_id}")
    assert rail(client, run_id)["runs"][0]["status"] == "gone"
