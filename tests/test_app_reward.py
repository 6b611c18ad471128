"""The Reward page's data: what a group did, what it costs under every table, and which sets of runs are none."""

from dataclasses import replace

import pytest
from episodes import PRICES, TOOLS, trajectory
from test_app_api import run

from app import reward_api
from app.reward_views import RECORDED, group_view
from orchestra_lib.errors import BadInput
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import Price
from orchestra_lib.trajectory import StopReason

DOUBLE = replace(
    PRICES,
    name="double",
    prices={
        "small": Price(input_usd_per_mtok=2.0, output_usd_per_mtok=4.0, source="test"),
        "search": Price(call_usd=0.002, source="test"),
    },
)
EMPTY = replace(PRICES, name="empty", prices={})


def graded(run_id, outcome=True, **changes):
    return replace(trajectory(run_id, **changes), outcome=outcome)


def test_costs_stand_beside_the_rollouts_under_every_table():
    view = group_view([graded("a"), graded("b", turns=4)], [DOUBLE, EMPTY], name="g")
    recorded, double, empty = view["prices"]
    assert (recorded["key"], recorded["refused"]) == (RECORDED, None)
    assert double["usd"] == {one: pytest.approx(2 * recorded["usd"][one]) for one in ("a", "b")}
    assert empty["usd"] == {"a": None, "b": None}
    assert "no price for search, small (run a)" in empty["refused"]


def test_an_unknown_cost_of_what_does_not_count_refuses_no_table():
    assert group_view([graded("a", None)], [EMPTY])["prices"][1]["refused"] is None
    stopped = replace(graded("b"), stop=StopReason.CANCELLED)
    view = group_view([graded("a"), stopped], [])
    assert [one["no_reward"] for one in view["rollouts"]] == [None, "somebody stopped it"]


def test_rollouts_of_several_tables_need_a_choice():
    recorded, double = group_view([graded("a"), graded("b", prices=DOUBLE)], [DOUBLE])["prices"]
    assert (recorded["mixed"], "priced by 2 tables" in recorded["refused"]) == (True, True)
    assert double["refused"] is None


def test_a_wish_for_a_tool_that_was_not_on_offer_is_no_fader():
    wish = Preference(tools={"search": 0.4, "elsewhere": 1.0})
    view = group_view([graded("a", preference=wish), graded("b", preference=Preference())], [])
    assert view["preference"]["tools"] == {"search": 0.4}
    assert view["preferences"] == 2
    assert [tool["name"] for tool in view["tools"]] == sorted(spec.name for spec in TOOLS)


def test_what_still_runs_is_named_and_left_out():
    running = replace(graded("b", None), stop=None)
    view = group_view([graded("a"), running], [])
    assert (len(view["rollouts"]), view["running"]) == (1, ["b"])
    with pytest.raises(BadInput, match="none of these runs has ended"):
        group_view([running], [])


def test_runs_that_are_no_group_are_refused_by_name():
    with pytest.raises(BadInput, match="run b has another task"):
        group_view([graded("a"), graded("b", task="Another?")], [])


def test_a_group_is_listed_and_opened_by_its_name_or_its_runs(client, monkeypatch):
    store = client.workbench.store
    store.add_many([graded("a", group="it's <b>"), graded("b", None, group="it's <b>"), graded("c")])
    groups = client.get("/api/reward/groups").json()["groups"]
    assert [(one["name"], one["runs"], one["ungraded"]) for one in groups] == [("it's <b>", 2, 1)]
    named = client.get("/api/reward", params={"group": "it's <b>"}).json()
    assert [one["id"] for one in named["rollouts"]] == ["a", "b"]
    listed = client.get("/api/reward", params={"run": ["a", "c", "a"]}).json()
    assert [one["id"] for one in listed["rollouts"]] == ["a", "c"]
    monkeypatch.setattr(reward_api, "MAX_ROLLOUTS", 1)
    assert "at most 1" in client.get("/api/reward", params={"run": ["a", "c"]}).json()["error"]


@pytest.mark.parametrize(
    ("query", "status"),
    [({}, 400), ({"group": "g", "run": "a"}, 400), ({"group": "nope"}, 404), ({"run": "nope"}, 404)],
)
def test_what_is_not_there_is_said_so(client, query, status):
    assert client.get("/api/reward", params=query).status_code == status


def test_a_running_run_is_no_group_yet(client):
    run_id = run(client, "slow")
    answer = client.get("/api/reward", params={"run": run_id})
    assert answer.status_code in (400, 404)
    client.post(f"/api/runs/{run_id}/stop")
