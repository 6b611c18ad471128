"""Two runs side by side, as data: texts whole again, sums in words, and the first difference that matters."""

from dataclasses import replace

import pytest
from episodes import trajectory
from hypothesis import given
from hypothesis import strategies as st
from test_app_api import finished

from app.comparison import comparison
from app.textdiff import text_diff
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


def test_two_runs_are_compared_and_a_missing_one_is_named(client):
    a, b = finished(client, "figures"), finished(client, "parallel")
    found = client.get("/api/compare", params={"a": a, "b": b}).json()
    assert found["a"]["id"] == a
    assert {row["difference"] for row in found["rows"]} >= {"arguments", "only_a", "only_b"}
    gone = client.get("/api/compare", params={"a": a, "b": "nope"})
    assert (gone.status_code, gone.json()["error"][:3]) == (404, "B: ")
    assert client.get("/api/compare", params={"a": a}).status_code == 400
