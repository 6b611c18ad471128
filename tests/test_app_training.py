"""The routes of Training: run folders in every state, steps as they come, rollouts as runs, orders to a process."""

import json
import os
import sys
import time
from pathlib import Path
from statistics import fmean

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from scripted_workbench import scripted_workbench
from training_folders import add_checkpoint, add_final, rollout_rows, run_folder

from app import api, training_api
from app.runs import RunManager
from orchestra_lib.codec import from_data
from orchestra_lib.interval import over_seeds
from orchestra_lib.simulated_tasks import find
from orchestra_lib.store.rollouts import StepRollouts, Worth
from orchestra_lib.training import conducting, launching
from orchestra_lib.training.launching import Launcher
from orchestra_lib.training.run_folder import RunFolder, State
from orchestra_lib.trajectory import Trajectory

HERE = Path(__file__).parent
PROGRAM = (sys.executable, str(HERE / "training_program.py"))
ENVIRON = {**os.environ, "PYTHONPATH": str(HERE.parent)}


@pytest.fixture
def client(tmp_path, monkeypatch):
    configs = tmp_path / "configs"
    configs.mkdir()
    (configs / "tiny.toml").write_text("# A tiny policy.\nname = 'tiny'\n[grpo]\nsteps = 60\n", "utf-8")
    monkeypatch.setattr(launching, "CONFIGS", configs)
    monkeypatch.setattr(conducting, "SHIPPED", tmp_path / "nothing ships")
    bench = scripted_workbench(tmp_path / "home")
    launcher = Launcher(bench.home, program=PROGRAM, measurer=(*PROGRAM, "--measure"), environ=ENVIRON)
    app, runs = FastAPI(), RunManager(bench)
    api.install(app, bench, runs)
    app.include_router(training_api.router(bench, launcher), prefix="/api")
    with TestClient(app, raise_server_exceptions=False) as made:
        made.bench, made.launcher, made.home = bench, launcher, launcher.folder
        yield made
    for name in launcher.running():
        launcher.stop(launcher.folder / name)
    for child in launcher._children.values():
        child.wait(10)
    bench.store.close()


def get(client, path="", **query):
    return client.get(f"/api/training{path}", params=query).json()


def lines(client, **query):
    return {one["id"]: one for one in get(client, **query)["runs"]}


def until(what, seconds=30):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(0.02)
    return found


def test_no_run_is_no_error(client):
    found = get(client)
    assert (found["runs"], found["problems"], found["folder"]) == ([], [], str(client.home))


def test_every_run_is_listed_with_what_its_last_steps_came_to(client):
    run_folder(client.home / "one", done=20, state=State.FINISHED, rollouts=(20,))
    add_final(client.home / "one")
    run = lines(client)["one"]
    steps = RunFolder(client.home / "one").steps()
    assert run["figures"]["accuracy"] == pytest.approx(sum(one.accuracy for one in steps[-5:]) / 5)
    assert (run["state"], run["last_step"], run["simulated"], run["final"]) == ("finished", 20, True, True)
    assert run["compliance"]["outcome"] is None
    assert "reward" not in run["figures"]


def test_a_run_is_a_state_with_a_reason(client):
    run_folder(client.home / "gone", done=3, rollouts=())
    run_folder(client.home / "failed", done=3, state=State.FAILED, message="loss is nan at step 3", rollouts=())
    (client.home / "broken").mkdir()
    (client.home / "broken" / "status.json").write_text('{"state":', "utf-8")
    found = lines(client)
    assert (found["failed"]["state"], found["failed"]["message"]) == ("failed", "loss is nan at step 3")
    assert found["broken"]["state"] == "unreadable"
    assert "no JSON" in found["broken"]["message"]
    status = client.home / "gone" / "status.json"
    data = json.loads(status.read_text("utf-8")) | {"heartbeat_at": "2026-01-01T00:00:00Z"}
    status.write_text(json.dumps(data), "utf-8")
    gone = lines(client)["gone"]
    assert (gone["state"], gone["message"]) == ("failed", "its process ended without saying so")


def test_a_run_that_is_held_goes_on(client):
    folder = run_folder(client.home / "one", done=3, rollouts=(), pid=1)
    with folder.held():
        assert lines(client)["one"]["state"] == "running"


def test_steps_come_as_they_are_written_and_never_twice(client):
    folder = client.home / "one"
    run_folder(folder, done=4, rollouts=())
    assert [row["step"] for row in get(client, "/steps", run="one")["rows"]] == [1, 2, 3, 4]
    with (folder / "steps.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"step": 5, "samples": 8, "kept"')
        file.flush()
        assert get(client, "/steps", run="one", after=4)["rows"] == []
        file.write(': 8}\n{"step": "six"}\nnonsense\n')
    found = get(client, "/steps", run="one", after=4)
    assert [(row["step"], row["kept"], row["accuracy"]) for row in found["rows"]] == [(5, 8, None)]
    assert (found["last"], found["bad"]) == (5, 2)
    RunFolder(folder).write_config("")
    (folder / "steps.jsonl").write_text('{"step": 1}\n', "utf-8")
    assert get(client, "/steps", run="one", after=4)["last"] == 1


def test_what_is_no_number_is_unknown_and_named(client):
    run_folder(client.home / "one", done=3, rollouts=(), odd=(3,))
    row = get(client, "/steps", run="one")["rows"][-1]
    assert (row["loss"], row["grad_norm"], row["odd"]) == (None, None, ["loss", "grad_norm"])


def test_rollouts_say_what_each_was_worth_and_open_as_runs(client):
    run_folder(client.home / "one", done=2, rollouts=(2,))
    found = get(client, "/rollouts", run="one", step=2)["rollouts"]
    assert [(one["kept"], one["why"]) for one in found[3:5]] == [(True, None), (False, "flat_group")]
    assert [call["tool"] for call in found[1]["calls"]] == ["sim_strongest", "sim_small"]
    order = {"run": "one", "step": 2, "number": 1}
    opened = client.post("/api/training/rollouts/open", json=order).json()["id"]
    assert client.post("/api/training/rollouts/open", json=order).json()["id"] == opened == found[1]["id"]
    run = client.get(f"/api/runs/{opened}/trajectory").json()
    assert run["setting"]["task"]["text"] == found[1]["task"]
    assert client.get("/api/trajectories").json()["rows"][0]["simulated"] is True


def test_all_rollouts_of_a_step_are_those_of_the_store(client):
    folder = run_folder(client.home / "one", done=2, rollouts=(2,))
    played = [from_data(row["trajectory"], Trajectory, where="test") for row in rollout_rows(1, groups=3, size=4)]
    worth = Worth(reward=0.5, advantage=-1.0, kept=True)
    StepRollouts(client.bench.home, folder.stored_as).put(1, [(one, worth) for one in played])
    assert get(client, "/run", run="one")["stored_as"] == folder.stored_as
    assert get(client, "/steps", run="one")["rollout_steps"] == [1, 2]
    found = get(client, "/rollouts", run="one", step=1)["rollouts"]
    assert [(one["id"], one["advantage"], one["why"]) for one in found] == [(one.id, -1.0, None) for one in played]
    opened = client.post("/api/training/rollouts/open", json={"run": "one", "step": 1, "number": 3}).json()["id"]
    run = client.get(f"/api/runs/{opened}/trajectory").json()
    assert run["setting"]["group"] == played[3].setting.group
    query = {"training_run": folder.stored_as, "training_step": 1}
    assert len(client.get("/api/trajectories", params=query).json()["rows"]) == 12


def test_a_rollout_that_cannot_be_read_is_told_and_the_others_stay(client):
    folder = run_folder(client.home / "one", done=1, rollouts=())
    good = rollout_rows(1, groups=1, size=1)
    folder.write_rollouts(1, [*good, {"trajectory": {"setting": 3}, "reward": "x", "kept": False, "why": "fault"}])
    found = get(client, "/rollouts", run="one", step=1)["rollouts"]
    assert "problem" not in found[0]
    assert (found[1]["reward"], found[1]["why"], bool(found[1]["problem"])) == (None, "fault", True)
    assert client.post("/api/training/rollouts/open", json={"run": "one", "step": 1, "number": 9}).status_code == 404


def test_other_folders_are_looked_into_by_their_whole_path(client, tmp_path):
    run_folder(tmp_path / "else where" / "r1", done=2, rollouts=())
    where = str(tmp_path / "else where")
    assert [*lines(client, also=where)] == [f"{where}/r1"]
    assert [*lines(client, also=f"{where}/r1")] == [f"{where}/r1"]
    assert get(client, "/run", run=f"{where}/r1")["config"]["grpo.steps"] == 110
    found = get(client, also=["relative", f"/{'x' * 300}", str(tmp_path / "configs")])
    assert [one["problem"].split(";")[0] for one in found["problems"]] == [
        "there is no such folder",
        "there is no such folder",
        "it holds no training run",
    ]


@pytest.mark.parametrize("run", ["none", "..", "/etc/nothing", "a/../b", f"/{'x' * 300}"])
def test_what_is_no_run_is_refused_in_words(client, run):
    answer = client.get("/api/training/run", params={"run": run})
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]


def test_a_run_is_started_stopped_and_resumed(client):
    begin = {"config": "tiny", "name": "new", "sets": ["grpo.steps=300", "pace=0.03"]}
    assert client.post("/api/training/start", json=begin).status_code == 202
    assert lines(client)["new"]["state"] in ("starting", "running")
    again = client.post("/api/training/start", json=begin | {"name": "other"})
    assert (again.status_code, "new is training already" in again.json()["error"]) == (400, True)
    until(lambda: get(client, "/steps", run="new")["last"] > 1)
    assert client.post("/api/training/stop", json={"run": "new"}).json()["pid"] > 1
    until(lambda: get(client, "/run", run="new")["pid"] is None)
    head = get(client, "/run", run="new")
    assert (head["state"], len(head["checkpoints"])) == ("stopped", 1)
    assert client.post("/api/training/resume", json={"run": "new"}).json()["resumed"] is True
    assert get(client, "/run", run="new")["state"] in ("starting", "running")


def test_a_start_that_fails_at_once_tells_the_line_of_the_error(client):
    begin = {"config": "tiny", "name": "bad", "sets": ["refuse=1"]}
    client.post("/api/training/start", json=begin)
    until(lambda: lines(client)["bad"]["state"] == "failed")
    head = get(client, "/run", run="bad")
    assert head["message"].startswith("orchestra: configs/tiny.toml: grpo.lrr is no setting")
    assert (head["log"][0], get(client, "/steps", run="bad")["rows"]) == ("loading", [])


def test_a_run_that_was_killed_is_failed_and_can_go_on(client):
    client.post("/api/training/start", json={"config": "tiny", "name": "hit", "sets": ["die_at=3"]})
    until(lambda: lines(client)["hit"]["state"] == "failed")
    assert "ended without saying so" in get(client, "/run", run="hit")["message"]
    add_checkpoint(client.home / "hit", 2)
    client.post("/api/training/resume", json={"run": "hit"})
    until(lambda: lines(client)["hit"]["state"] == "finished")
    assert [row["step"] for row in get(client, "/steps", run="hit")["rows"]] == [1, 2, 3, 4, 5, 6]


def test_the_configs_that_ship_are_told_with_their_values(client):
    [config] = get(client, "/configs")["configs"]
    assert (config["name"], config["said"], config["fields"]["grpo.steps"]) == ("tiny", "A tiny policy.", 60)


def test_a_trained_policy_is_measured_in_a_process_of_its_own(client):
    run_folder(client.home / "one", done=3, state=State.FINISHED, rollouts=())
    assert get(client, "/evaluation", run="one") == {"evaluation": None, "going": False, "problem": None, "can": False}
    add_final(client.home / "one")
    assert get(client, "/evaluation", run="one")["can"] is True
    assert client.post("/api/training/evaluation", json={"run": "one"}).json()["pid"] > 1
    again = client.post("/api/training/evaluation", json={"run": "one"})
    assert (again.status_code, "already" in again.json()["error"]) == (400, True)
    until(lambda: not get(client, "/evaluation", run="one")["going"])
    found = get(client, "/evaluation", run="one")
    assert (found["problem"], sorted(found["evaluation"]["figures"])) == (None, ["seen", "uniform"])


def test_what_ships_is_a_run_among_others(client, tmp_path, monkeypatch):
    run_folder(tmp_path / "ships" / "tiny-x", done=3, rollouts=())
    folder = tmp_path / "ships" / "tiny-x"
    (folder / "status.json").unlink()
    (folder / "orchestra.json").write_text('{"dialect": "tiny", "stage": "grpo"}', "utf-8")
    (tmp_path / "ships" / "tiny-warm").mkdir()
    monkeypatch.setattr(conducting, "SHIPPED", tmp_path / "ships")
    run = lines(client)["shipped:tiny-x"]
    assert (run["state"], run["simulated"], run["last_step"]) == ("finished", True, 3)
    assert len(get(client, "/steps", run="shipped:tiny-x")["rows"]) == 3
    assert client.get("/api/training/run", params={"run": "shipped:../x"}).status_code == 400


def test_runs_that_differ_by_their_seed_alone_come_to_a_mean_with_an_interval(client):
    for name, seed, done in (("a", 1, 20), ("b", 2, 20), ("c", 3, 8), ("other", 4, 20), ("again", 1, 20)):
        run_folder(client.home / name, done=done, seed=seed, state=State.FINISHED, rollouts=(), steps=60)
    other = client.home / "other" / "config.toml"
    other.write_text(other.read_text("utf-8").replace("beta = 0.02", "beta = 0.5"), "utf-8")
    found = get(client, "/seeds", run="a")
    assert [(one["seed"], one["id"], one["this"]) for one in found["seeds"]] == [
        (1, "a", True),
        (2, "b", False),
        (3, "c", False),
    ]
    assert [row["step"] for row in found["rows"]] == list(range(1, 9))
    last = found["rows"][-1]
    means = [fmean(step.accuracy for step in RunFolder(client.home / name).steps()[3:8]) for name in ("a", "b", "c")]
    expected = over_seeds(means)
    assert (last["accuracy"], last["low"]["accuracy"], last["high"]["accuracy"]) == pytest.approx(
        (expected.mean, expected.low, expected.high)
    )
    assert last["low"]["compliance"]["cost"] < last["compliance"]["cost"] < last["high"]["compliance"]["cost"]
    assert (last["n"], last["compliance"]["outcome"]) == (3, None)
    assert get(client, "/seeds", run="other") == {
        "seeds": [{"seed": 4, "id": "other", "this": True, "steps": 20}],
        "window": 5,
        "rows": [],
    }


def test_what_ships_is_shown_over_its_seeds(client, monkeypatch):
    monkeypatch.setattr(conducting, "SHIPPED", Path(__file__).parent.parent / "data" / "checkpoints")
    found = get(client, "/seeds", run="shipped:tiny-grpo")
    assert [one["seed"] for one in found["seeds"]] == [0, 1, 2, 3, 4]
    assert found["seeds"][0]["id"] == "shipped:tiny-grpo"
    last = found["rows"][-1]
    assert (last["step"], last["n"]) == (60, 5)
    assert last["low"]["compliance"]["cost"] > 0.85
    assert len(get(client, "/steps", run=found["seeds"][3]["id"])["rows"]) == 60


def test_a_simulated_task_is_one_that_its_text_alone_tells(client):
    said = get(client, "/task", number=12)["task"]
    assert find(said).text == said != get(client, "/task", number=13)["task"]


def test_a_config_that_cannot_run_here_says_why_and_one_for_a_cluster_is_planned(client, tmp_path):
    shipped = Path(__file__).parent.parent / "configs"
    for name in ("small", "h100"):
        (tmp_path / "configs" / f"{name}.toml").write_text((shipped / f"{name}.toml").read_text("utf-8"), "utf-8")
    off = {one["name"]: one["off"] for one in get(client, "/configs")["configs"]}
    assert off["tiny"] is None
    assert "`orchestra models fetch Qwen2.5-Coder-0.5B-Instruct`" in off["small"]
    assert "start it there with Slurm or Ray" in off["h100"]
    plan = get(client, "/plan", config="h100")
    assert {"rollouts": "128", "training processes": "8"}.items() <= {
        row["name"]: row["value"] for row in plan["rows"]["a step"]
    }.items()
    assert any("general_thought.jsonl is not there" in problem for problem in plan["problems"])
    assert client.get("/api/training/plan", params={"config": "tiny"}).status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"config": "tiny"},
        {"config": "tiny", "name": "x", "shell": True},
        {"config": "tiny", "name": "x", "sets": "a=1"},
    ],
)
def test_an_order_with_anything_else_in_it_is_refused(client, body):
    assert client.post("/api/training/start", json=body).status_code == 400
