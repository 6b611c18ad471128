"""The lab's routes: groups by hand and by order, forks with their tree, replays that keep nothing."""

import pytest
from episodes import trajectory
from test_app_api import finished, run


def order(client, **more):
    made = client.post("/api/runs", json={"task": "short", "orchestrator": "scripted", **more})
    return made.json()


def forked(client, parent, turn, **more):
    made = run(client, "figures", fork={"run_id": parent, "turn": turn}, **more)
    client.get(f"/api/runs/{made}/events")
    return made


def test_rollouts_that_are_ordered_under_one_name_are_a_group(client):
    made = [finished(client, "short", group="mine", seed=seed) for seed in (1, 2)]
    (group,) = client.get("/api/groups").json()["groups"]
    assert (group["name"], group["runs"], group["ungraded"]) == ("mine", 2, 2)
    assert client.workbench.store.members("mine") == tuple(sorted(made))


def test_stored_runs_of_one_task_become_a_group_and_others_are_refused(client):
    client.workbench.store.add_many([trajectory("a"), trajectory("b"), trajectory("c", task="Another.")])
    answer = client.post("/api/groups", json={"name": "mine", "runs": ["a", "b"]})
    assert answer.json() == {"name": "mine", "runs": ["a", "b"]}
    refused = client.post("/api/groups", json={"name": "mine", "runs": ["c"]})
    assert (refused.status_code, "run c has another task than a" in refused.json()["error"]) == (400, True)
    assert client.post("/api/groups", json={"name": "mine", "runs": ["a"], "on": False}).json()["runs"] == ["b"]


@pytest.mark.parametrize(
    "data, words",
    [
        ({"name": "", "runs": ["a"]}, "for a group"),
        ({"name": "x", "runs": []}, "between 1 and"),
        ({"name": "x", "runs": ["none"]}, "none"),
        ({"name": "x"}, "runs"),
    ],
)
def test_a_bad_group_is_one_clear_line(client, data, words):
    answer = client.post("/api/groups", json=data)
    assert (answer.status_code, words in answer.json()["error"]) == (400, True)


def test_a_fork_is_ordered_like_a_run_and_its_tree_is_found_from_both_ends(client):
    parent = finished(client, "figures")
    fork = forked(client, parent, 3, call={"tool": "coder", "arguments": {"text": "otherwise"}})
    for run_id in (parent, fork):
        tree = client.get(f"/api/runs/{run_id}/forks").json()["tree"]
        assert [(one["depth"], one["id"], one["turn"], one["edited"]) for one in tree] == [
            (0, parent, None, False),
            (1, fork, 3, True),
        ]
    found = client.get(f"/api/runs/{fork}/forks").json()
    assert found["fork"]["run_id"] == parent
    assert found["paid_before_usd"] > 0
    assert client.get(f"/api/runs/{parent}/forks").json()["paid_before_usd"] is None
    assert client.get("/api/runs/nothing/forks").status_code == 404


def test_a_fork_that_cannot_be_is_refused_at_once(client):
    parent = finished(client, "short")
    answer = order(client, fork={"run_id": parent, "turn": 7})
    assert "has no turn 7; its turns are 1 to 2" in answer["error"]
    assert "sql is off" in order(client, fork={"run_id": parent, "turn": 1}, tools=["sql"])["error"]


def test_a_replay_says_that_it_is_the_same_and_keeps_nothing(client):
    run_id = finished(client, "short")
    answer = client.post(f"/api/runs/{run_id}/replay").json()
    assert (answer["same"], answer["difference"], answer["turns"], answer["calls"]) == (True, None, 2, 1)
    assert answer["denied_by"] in ("kernel", "python")
    assert client.get("/api/trajectories/overview").json()["total"] == 1
    assert client.post("/api/runs/nothing/replay").status_code == 404


def test_the_list_is_narrowed_to_a_group(client):
    client.workbench.store.add_many([trajectory("a"), trajectory("b")])
    client.post("/api/groups", json={"name": "mine", "runs": ["b"]})
    rows = client.get("/api/trajectories", params={"group": "mine"}).json()["rows"]
    assert [row["id"] for row in rows] == ["b"]
    assert client.get("/api/trajectories/hidden", params={"group": "none"}).json() == {"group": 2}
