"""The routes: what is asked wrongly is answered in words, what a run wrote is served as inert bytes."""

import json
import threading
import time

import pytest
from episodes import events, trajectory
from scripted_workbench import HOSTILE, curve_png

from orchestra_lib.event import fold
from orchestra_lib.tool import File


def run(client, task="short", **more):
    started = client.post("/api/runs", json={"task": task, "orchestrator": "scripted", **more})
    assert started.status_code == 201, started.text
    return started.json()["id"]


def stream(client, run_id, **more):
    text = client.get(f"/api/runs/{run_id}/events", **more).text
    parts = [dict(line.split(": ", 1) for line in part.split("\n") if ": " in line) for part in text.split("\n\n")]
    return [json.loads(part["data"]) for part in parts if "id" in part]


def finished(client, task="short", **more):
    run_id = run(client, task, **more)
    while client.get(f"/api/runs/{run_id}").json()["running"]:
        time.sleep(0.02)
    return run_id


def test_a_run_streams_to_its_answer(client):
    frames = stream(client, run(client))
    assert frames[0]["kind"] == "run_started"
    assert frames[-1]["answer"] == "47104101"


def test_a_stream_goes_on_after_the_last_event_seen(client):
    run_id = finished(client)
    whole = stream(client, run_id)
    by_query = stream(client, run_id, params={"after": whole[2]["seq"]})
    by_header = stream(client, run_id, headers={"last-event-id": str(whole[2]["seq"])})
    assert by_query == by_header == whole[3:]


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ({"task": " "}, "empty"),
        ({"task": "x" * 300_000}, "200,000"),
        ({"task": "x", "orchestrator": "nobody"}, "nobody"),
        ({"task": "x", "tools": ["nothing"]}, "nothing"),
        ({"task": "x", "preference": {"cost": 7}}, "out of range"),
        ({"task": "x", "preference": {"tools": {"sqll": 1}}}, "sqll"),
        ({"task": "x", "prices": "none"}, "price table"),
        ({"task": "x", "limits": {"max_turns": 0}}, "max_turns"),
        ({"task": "x", "surprise": 1}, "surprise"),
        ([], "run"),
    ],
)
def test_a_bad_order_gets_one_clear_line(client, order, words):
    if isinstance(order, dict):
        order = {"orchestrator": "scripted", **order}
    answer = client.post("/api/runs", json=order)
    assert answer.status_code == 400
    assert words in answer.json()["error"]
    assert client.get("/api/state").json()["trajectories"] == 0


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"x" * 4_000_001])
def test_a_body_that_is_no_order_is_refused(client, body):
    assert client.post("/api/runs", content=body).status_code == 400


@pytest.mark.parametrize("path", ["", "/events", "/trajectory", "/observations/x"])
def test_an_unknown_run_is_not_found(client, path):
    answer = client.get(f"/api/runs/nope{path}")
    assert answer.status_code == 404
    assert "nope" in answer.json()["error"]


def test_a_long_observation_is_fetched_whole(client):
    run_id = finished(client, "long")
    text = client.get(f"/api/runs/{run_id}/observations/call_1_0").text
    assert len(text) > 150_000
    assert text.splitlines()[-1].startswith("line 2999")


def test_hostile_text_is_served_as_text_that_nothing_runs(client):
    run_id = finished(client, "hostile")
    answer = client.get(f"/api/runs/{run_id}/observations/call_1_0")
    assert answer.text == HOSTILE
    assert answer.headers["content-type"].startswith("text/plain")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_only_bitmaps_are_shown_and_all_else_is_downloaded(client):
    kept = client.workbench.artefacts.put
    png = kept(File(name="a.png", media_type="image/png", data=curve_png()))
    svg = kept(File(name="a.svg", media_type="image/svg+xml", data=b"<svg onload='alert(1)'/>"))
    page = kept(File(name="a.png", media_type="image/png", data=b"<html><script>1</script>"))
    assert client.get(f"/api/artefacts/{png.sha256}").headers["content-type"] == "image/png"
    for ref in (svg, page):
        answer = client.get(f"/api/artefacts/{ref.sha256}")
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment")
        assert "sandbox" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("name", ["0" * 64, "short", "..%2F..%2Fetc%2Fpasswd"])
def test_an_unknown_artefact_is_not_found(client, name):
    assert client.get(f"/api/artefacts/{name}").status_code == 404


def test_the_sentence_follows_the_wishes_and_names_only_tools_on_offer(client):
    def sentence(**preference):
        return client.post("/api/preference", json={"preference": preference}).json()["sentence"]

    assert "Avoid Coder" in sentence(tools={"coder": -1.0})
    assert "Database" not in sentence(tools={"sql": 1.0})
    assert sentence(cost=1.0) != sentence(cost=0.0)


def test_a_stopped_run_is_kept_and_stopping_it_again_does_nothing(client):
    run_id = run(client, "slow")
    assert client.post(f"/api/runs/{run_id}/stop").json() == {"stopping": True}
    while client.get(f"/api/runs/{run_id}").json()["running"]:
        time.sleep(0.02)
    assert client.get(f"/api/runs/{run_id}").json()["status"] == "cancelled"
    assert client.post(f"/api/runs/{run_id}/stop").json() == {"stopping": False}


def test_the_state_says_why_something_is_off(client):
    state = client.get("/api/state").json()
    assert state["orchestrators"][-1]["off"].startswith("its weights")
    assert {tool["name"]: tool["off"] for tool in state["tools"]}["sql"] == "no database is configured"


def test_a_run_of_another_process_is_followed_while_it_is_written(client):
    written = list(events("run-elsewhere"))
    writer = client.workbench.journal.open("run-elsewhere")
    for event in written[:4]:
        writer.append(event)

    def go_on():
        time.sleep(0.3)
        for event in written[4:]:
            writer.append(event)
        writer.close()

    other = threading.Thread(target=go_on)
    other.start()
    frames = stream(client, "run-elsewhere")
    other.join()
    assert frames[0]["kind"] == "run_started"
    assert frames[-1]["kind"] == "run_finished"


def test_a_run_whose_process_died_ends_the_stream_in_words(client):
    with client.workbench.journal.open("run-dead") as writer:
        for event in list(events("run-dead"))[:4]:
            writer.append(event)
    text = client.get("/api/runs/run-dead/events").text
    assert "event: broken" in text
    assert text.rstrip().endswith("event: end\ndata: {}")


def test_a_run_that_lives_only_in_the_store_is_read_like_any_other(client):
    client.workbench.store.add(trajectory("imported", turns=3))
    frames = stream(client, "imported")
    assert [frame["kind"] for frame in frames[:3]] == ["run_started", "turn_started", "generated"]
    assert frames[-1]["answer"] == "4"
    assert client.get("/api/runs/imported").json() == {"id": "imported", "status": "answered", "running": False}
    assert len(client.get("/api/runs/imported/ledger").json()["rows"]) == 5
    assert client.get("/api/compare", params={"a": "imported", "b": "imported"}).status_code == 200
    assert client.get("/api/runs/imported/observations/call-0").text == "four"
    assert client.get("/api/runs/nowhere/events").status_code == 404


def test_a_stored_run_that_never_ended_says_so(client):
    client.workbench.store.add(fold(list(events("cut-off"))[:5]))
    assert "event: broken" in client.get("/api/runs/cut-off/events").text
