"""The list's routes: pages both ways, filters in the address, tags, deletion that can be undone, export."""

import contextlib
import csv
import io
import json
from dataclasses import asdict

import pyarrow.parquet as pq
from episodes import START, trajectory
from hypothesis import given
from hypothesis import strategies as st
from test_app_api import finished, run

from app import filtering, records_api
from orchestra_lib.errors import BadInput
from orchestra_lib.preference import Preference
from orchestra_lib.store.rollouts import StepRollouts, Worth
from orchestra_lib.store.spread import Costs
from orchestra_lib.store.summary import Filter

TEXTS = st.none() | st.text(min_size=1, max_size=5)
FLAGS = st.none() | st.booleans()
COUNTED = ("state", "trajectories/count", "trajectories/overview")
"""What tells the top bar how many trajectories there are."""


def fill(client, count):
    client.workbench.store.add_many([trajectory(f"run-{n}", minutes=n) for n in range(count)])


def listed(client, **query):
    answer = client.get("/api/trajectories", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(page):
    return [row["id"] for row in page["rows"]]


def test_the_list_is_filtered_and_counts_what_it_hides(client):
    done = finished(client)
    finished(client, "fault")
    assert [row["task"] for row in listed(client, status="fault")["rows"]] == ["fault"]
    overview = client.get("/api/trajectories/overview", params={"status": "fault"}).json()
    assert (overview["matches"], overview["total"]) == (1, 2)
    assert {"scripted", "waiting"} <= set(overview["orchestrators"])
    assert overview["groups"] == []
    client.workbench.store.group("mine", [done])
    assert client.get("/api/trajectories/overview").json()["groups"] == ["mine"]


def test_the_list_pages_both_ways_without_gap_or_repeat(client, monkeypatch):
    monkeypatch.setattr(records_api, "PAGE", 2)
    fill(client, 5)
    pages = [listed(client)]
    while pages[-1]["older"]:
        pages.append(listed(client, before=pages[-1]["older"]))
    assert [ids(page) for page in pages] == [["run-4", "run-3"], ["run-2", "run-1"], ["run-0"]]
    back = listed(client, after=pages[2]["newer"])
    assert ids(back) == ["run-2", "run-1"]
    assert ids(listed(client, after=back["newer"])) == ["run-4", "run-3"]
    assert pages[0]["newer"] is None


def test_less_than_a_page_upwards_is_the_first_page_whole(client, monkeypatch):
    monkeypatch.setattr(records_api, "PAGE", 2)
    fill(client, 4)
    from_the_middle = listed(client, before=f"{trajectory('run-3', minutes=3).setting.started_at.isoformat()}~run-3")
    page = listed(client, after=from_the_middle["newer"])
    assert (ids(page), page["newer"]) == (["run-3", "run-2"], None)


def test_a_place_that_is_none_is_refused_in_words(client):
    for query in ({"before": "x"}, {"after": "2026-11-30~a"}, {"cost_min": "-1"}, {"since": "soon"}, {"nominal": "1"}):
        answer = client.get("/api/trajectories", params=query)
        assert answer.status_code == 400
        assert next(iter(query)) in answer.json()["error"]


def test_an_address_is_read_as_the_filter_it_names():
    query = {"q": " a ", "since": "2026-11-29", "until": "2026-11-29", "cost_max": "0.2", "nominal": "no", "tool": ""}
    day = START.replace(hour=0)
    assert filtering.read_filter(query) == Filter(
        text="a", since=day, until=day.replace(day=30), cost_to=0.2, nominal=False, training=False
    )


@given(st.dictionaries(st.sampled_from([*filtering.NAMES, "before", "after"]), st.text()))
def test_any_address_is_a_filter_or_a_clear_refusal(query):
    with contextlib.suppress(BadInput):
        filtering.read_filter(query)
        filtering.read_place(query, "before")


def test_costs_are_bars_without_gaps_beside_what_is_free_and_unknown():
    view = filtering.costs_view(Costs(bins={-8: 3, -5: 1}, free=2, unknown=4))
    assert [bar["runs"] for bar in view["bars"]] == [3, 0, 0, 1]
    assert view["bars"][0]["from"] == 0.01
    assert (view["free"], view["unknown"]) == (2, 4)
    assert filtering.costs_view(Costs(bins={}, free=0, unknown=0))["bars"] == []


def test_tags_are_given_found_and_taken(client):
    fill(client, 3)
    given_ = client.post("/api/trajectories/tags", json={"runs": ["run-0", "run-2"], "tag": "demo"})
    assert given_.json() == {"tags": {"run-0": ["demo"], "run-2": ["demo"]}}
    assert ids(listed(client, tag="demo")) == ["run-2", "run-0"]
    assert listed(client)["rows"][0]["tags"] == ["demo"]
    client.post("/api/trajectories/tags", json={"runs": ["run-2"], "tag": "demo", "on": False})
    assert ids(listed(client, tag="demo")) == ["run-0"]
    assert client.post("/api/trajectories/tags", json={"runs": ["nope"], "tag": "x"}).status_code == 400


def test_a_deleted_run_is_gone_and_comes_back(client):
    run_id = finished(client)
    assert client.delete(f"/api/runs/{run_id}").json() == {"deleted": run_id, "restorable": True}
    assert client.get(f"/api/runs/{run_id}").status_code == 404
    assert client.delete(f"/api/runs/{run_id}").status_code == 404
    assert client.post(f"/api/runs/{run_id}/restore").json() == {"restored": run_id}
    assert client.get(f"/api/runs/{run_id}").json()["status"] == "answered"
    assert client.post(f"/api/runs/{run_id}/restore").status_code == 400


def test_a_running_run_is_not_deleted(client):
    run_id = run(client, "slow")
    answer = client.delete(f"/api/runs/{run_id}")
    assert (answer.status_code, "stop it first" in answer.json()["error"]) == (400, True)
    client.post(f"/api/runs/{run_id}/stop")


def test_the_filtered_set_is_exported_in_every_form(client):
    fill(client, 3)
    client.workbench.store.tag(["run-1"], "out")

    def exported(form):
        answer = client.get("/api/trajectories/export", params={"form": form, "tag": "out"})
        assert answer.headers["content-disposition"].startswith("attachment")
        return answer.content

    assert json.loads(exported("jsonl"))["id"] == "run-1"
    assert json.loads(exported("messages"))["messages"][0]["role"] == "system"
    assert json.loads(exported("sharegpt"))["conversations"][0]["from"] == "human"
    assert json.loads(exported("trl"))["prompt"][0]["role"] == "system"
    assert [row["id"] for row in csv.DictReader(io.StringIO(exported("csv").decode()))] == ["run-1"]
    assert pq.read_table(io.BytesIO(exported("parquet"))).column("id").to_pylist() == ["run-1"]
    assert client.get("/api/trajectories/export", params={"form": "exe"}).status_code == 400
    assert client.get("/api/trajectories/export", params={"form": "otlp"}).status_code == 400


def test_each_filter_says_how_many_runs_it_alone_hides(client):
    fill(client, 4)
    client.workbench.store.add(
        trajectory("run-x", minutes=9, task="Another", preference=Preference(tools={"coder": 1}))
    )

    def hidden(**query):
        return client.get("/api/trajectories/hidden", params=query).json()

    assert hidden() == {}
    assert hidden(q="another") == {"text": 4}
    assert hidden(q="another", status="fault") == {"text": 0, "status": 1}
    day = START.date().isoformat()
    assert hidden(since=day, until=day, prefer="tool.coder", avoid="web") == {"date": 0, "prefer": 0, "avoid": 1}
    assert hidden(tag="demo") == {"tag": 5}


def test_rollouts_of_training_are_hidden_until_they_are_asked_for(client):
    client.workbench.store.add(trajectory("by-hand"))
    worth = Worth(reward=None, advantage=None, kept=False, why="no reward")
    StepRollouts(client.workbench.home, "tiny").put(3, [(trajectory("rollout"), worth)])
    assert ids(listed(client)) == ["by-hand"]
    assert client.get("/api/trajectories/hidden").json() == {"training": 1}
    assert client.get("/api/trajectories/overview").json()["trainings"] == ["tiny"]
    assert [client.get(f"/api/{of}").json()["trajectories"] for of in COUNTED] == [1, 1, 1]
    assert ids(listed(client, training="yes")) == ids(listed(client, training_run="tiny")) == ["rollout"]
    assert ids(listed(client, training_step="4")) == []
    assert sorted(ids(listed(client, training="all"))) == ["by-hand", "rollout"]
    asked = [client.get("/api/trajectories/overview", params={"training": of}).json() for of in ("no", "yes", "all")]
    assert [(one["matches"], one["total"], one["trajectories"]) for one in asked] == [(1, 1, 1), (1, 1, 1), (2, 2, 1)]
    for wrong in ({"training": "perhaps"}, {"training_step": "-1"}):
        assert client.get("/api/trajectories", params=wrong).status_code == 400


def test_runs_are_found_by_what_they_were_told_to_prefer_and_avoid(client):
    wishes = {"a": Preference(cost=0.9, tools={"coder": 0.8}), "b": Preference(cost=0.1, tools={"coder": -0.9})}
    client.workbench.store.add_many([trajectory(name, preference=wish) for name, wish in wishes.items()])
    assert ids(listed(client, prefer="cost")) == ids(listed(client, prefer="tool.coder")) == ["a"]
    assert ids(listed(client, avoid="tool.coder")) == ["b"]
    answer = client.get("/api/trajectories", params={"prefer": "beauty"})
    assert (answer.status_code, "tool.NAME" in answer.json()["error"]) == (400, True)


@given(wanted=st.builds(Filter, text=TEXTS, tool=TEXTS, status=TEXTS, since=st.none() | st.just(START), nominal=FLAGS))
def test_a_filter_taken_apart_is_the_whole_again(wanted):
    fields = [asdict(part) for part in filtering.parts(wanted).values()]
    together = {name: value for one in fields for name, value in one.items() if value is not None}
    assert Filter(**together) == wanted
