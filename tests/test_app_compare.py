"""Two runs side by side, as data: texts whole again, sums in words, and the first difference that matters."""

from dataclasses import replace

import pytest
from episodes import trajectory
from hypothesis import given
from hypothesis import strategies as st
from test_app_api import finished

from app.compared_rewards import Group
from app.comparison import By, comparison
from app.lineup import lineup
from orchestra_lib.textdiff import text_diff
from orchestra_lib.tool import CallStatus, ToolCall


@given(st.text(), st.text())
def test_the_pieces_of_a_text_are_the_text_again(a, b):
    pieces_a, pieces_b = text_diff(a, b)
    assert "".join(text for _, text in pieces_a) == a
    assert "".join(text for _, text in pieces_b) == b
    assert "".join(t for differs, t in pieces_a if not differs) == "".join(t for differs, t in pieces_b if not differs)


def test_long_texts_are_compared_by_lines_and_longer_ones_not_at_all():
    lines = [f"line {n}\n" for n in range(100)]
    a, b = "".join(lines), "".join([*lines[:50], "new\n", *lines[50:]])
    assert text_diff(a, b)[1][1] == (True, "new\n")
    assert text_diff("x\n" * 9_000, "y\n" * 9_000)[0] == [(True, "x\n" * 9_000)]


def second(**changes):
    return trajectory("run-2", **changes)


def asked(run, text):
    """The run with its first call asked otherwise."""
    first = run.turns[0]
    call = replace(first.calls[0], call=ToolCall.of("call-0", "search", {"query": text}))
    return replace(run, turns=(replace(first, calls=(call,)), *run.turns[1:]))


def test_equal_runs_have_no_difference_and_say_so():
    found = comparison(trajectory(), second())
    assert found["differences"] == 0
    assert found["first"]["words"] == "The one call is the same, and so is the answer. Only cost and time can differ."
    assert [delta["words"] for delta in found["deltas"]] == [
        "the same",
        "as quick",
        "the same calls",
        "the same",
        "as many",
    ]


@pytest.mark.parametrize(
    ("b", "words"),
    [
        (second(turns=3), "only B calls Search."),
        (second(tool="coder"), "only A calls Search. After it 1 of 1 differ."),
        (second(observation="five"), "the same call of Search came back otherwise."),
        (second(call_status=CallStatus.ERROR), "the same call of Search came back otherwise: ok in A, error in B."),
        (asked(second(), "ü 9"), "Search: B has “9” where A has “0”."),
        (second(answer="5"), "The one call is the same; the answers differ."),
        (second(task="Another?"), "The tasks differ. The one call is the same"),
        (trajectory(), "Both sides are the same run."),
    ],
)
def test_the_first_difference_that_matters_is_one_sentence(b, words):
    assert words in comparison(trajectory(), b)["first"]["words"]


def test_an_unknown_figure_has_no_difference():
    unpriced = replace(trajectory().setting.prices, prices={})
    found = comparison(trajectory(), second(prices=unpriced))
    assert (found["deltas"][0]["b"], found["deltas"][0]["words"]) == (None, None)
    assert found["rows"][0]["usd"] is None


def test_a_call_that_only_one_has_is_not_marked_as_changed():
    row = comparison(trajectory(), second(turns=3))["rows"][1]
    assert row["a"] is None
    assert not any(differs for differs, _ in row["b"]["arguments"])


def test_a_long_run_is_compared_in_a_moment():
    found = comparison(trajectory(turns=200), second(turns=190, task="x"))
    assert len(found["rows"]) == found["pairs"] == 199


def test_by_turn_a_call_stands_beside_what_the_other_did_in_that_turn():
    a, b = trajectory(turns=4), second(turns=4)
    moved = replace(b, turns=(replace(b.turns[0], calls=()), *b.turns[1:]))
    assert [row["difference"] for row in comparison(a, moved)["rows"]] == ["only_a", "same", "same"]
    by_turn = comparison(a, asked(b, "ü 1"), by=By.TURN)["rows"]
    assert [row["difference"] for row in by_turn] == ["arguments", "same", "same"]
    assert [(row["a"]["number"], row["b"]["number"]) for row in by_turn] == [(1, 1), (2, 2), (3, 3)]


def test_rewards_are_those_of_the_group_that_both_are_of():
    runs = [replace(trajectory(f"r{n}", turns=2 + n), outcome=True) for n in range(3)]
    alone = comparison(runs[0], runs[1])["reward"]
    assert (alone["group"], alone["size"], alone["rewards"][0]) == (None, 2, pytest.approx(0.9 + 0.2 + 0.5))
    shared = comparison(runs[0], runs[1], group=Group(name="g", members=tuple(runs)))["reward"]
    assert (shared["group"], shared["size"]) == ("g", 3)
    assert shared["rewards"][1] == pytest.approx((0.9 + 0.2 + 0.5) / 2)
    ungraded = comparison(runs[0], trajectory("r1"))["reward"]
    assert (ungraded["rewards"][1], ungraded["why"]) == (None, "r1: ungraded")
    strangers = comparison(runs[0], replace(second(task="Another?"), outcome=True))["reward"]
    assert (strangers["rewards"], strangers["why"][:26]) == ([None, None], "run run-2 has another task")


def test_several_runs_are_held_against_one_of_them():
    runs = [replace(trajectory(f"r{n}", turns=2 + n, answer=str(n // 2)), outcome=n != 2) for n in range(3)]
    found = lineup(runs, runs[1])
    facts = {fact["name"]: fact["values"] for fact in found["facts"]}
    assert (facts["Turns"], facts["Reward"][2]) == ([2, 3, 4], 0)
    assert found["same_answer"] == [True, True, False]
    assert found["first"][1] is None
    assert "only A calls Search" in found["first"][0]
    assert [(tool["name"], tool["values"]) for tool in found["tools"]] == [("search", [1, 2, 3])]


def test_up_to_eight_runs_are_compared_and_more_refused(client):
    client.workbench.store.add_many([replace(trajectory(f"r{n}"), outcome=True) for n in range(9)])

    def asked_for(*numbers, **more):
        return client.get("/api/compare", params={"run": [f"r{n}" for n in numbers], **more})

    assert asked_for(0, 1).json()["b"]["id"] == "r1"
    assert (asked_for(*range(8), base="r3").json()["base"], asked_for(0, 1, 2).json()["base"]) == ("r3", "r0")
    assert "between 2 and 8" in asked_for(*range(9)).json()["error"]
    assert asked_for(0, 1, 99).json()["error"].startswith("Run 3: ")
    assert client.get("/api/compare", params={"a": "r0", "b": "r1", "by": "x"}).status_code == 400
    client.workbench.store.group("mine", ["r0", "r1", "r2"])
    assert asked_for(0, 1).json()["reward"]["group"] == "mine"


def test_two_runs_are_compared_and_a_missing_one_is_named(client):
    a, b = finished(client, "figures"), finished(client, "parallel")
    found = client.get("/api/compare", params={"a": a, "b": b}).json()
    assert found["a"]["id"] == a
    assert {row["difference"] for row in found["rows"]} >= {"arguments", "only_a", "only_b"}
    gone = client.get("/api/compare", params={"a": a, "b": "nope"})
    assert (gone.status_code, gone.json()["error"][:3]) == (404, "B: ")
    assert client.get("/api/compare", params={"a": a}).status_code == 400
