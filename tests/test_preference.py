"""Preferences: weights in range, read from words, said in words."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.errors import BadInput
from orchestra_lib.preference import GOALS, MAX_SENTENCE, Preference, describe, parse_preference

goal_weights = st.floats(0, 1)
tool_names = st.from_regex(r"[a-z_]{1,20}", fullmatch=True)
tool_weights = st.floats(-1, 1)
preferences = st.builds(
    Preference,
    outcome=goal_weights,
    cost=goal_weights,
    latency=goal_weights,
    tools=st.dictionaries(tool_names, tool_weights, max_size=5),
)


@given(preference=preferences)
def test_what_is_written_reads_back(preference):
    pairs = [f"{goal}={getattr(preference, goal)!r}" for goal in GOALS]
    pairs += [f"tool.{tool}={weight!r}" for tool, weight in preference.tools.items()]
    assert parse_preference(pairs) == preference


def test_plain_words_are_understood():
    read = parse_preference(["quality=1", " time = 0.5", "tool.local_search=-1"])
    assert (read.outcome, read.latency, read.weight("local_search"), read.weight("other")) == (1.0, 0.5, -1.0, 0.0)


@given(texts=st.lists(st.text(max_size=20), max_size=4))
def test_any_text_is_read_or_refused_as_bad_input(texts):
    with contextlib.suppress(BadInput):
        parse_preference(texts)


@pytest.mark.parametrize(
    "pair, named",
    [
        ("cost", "write NAME=WEIGHT"),
        ("=1", "write NAME=WEIGHT"),
        ("cost=", "'' is no number"),
        ("cost=high", "'high' is no number"),
        ("speed=1", "unknown goal 'speed'"),
        ("tool.=1", "name the tool"),
        ("cost=1.5", "cost = 1.5 is out of range; use 0 to 1"),
        ("cost=-0.1", "cost = -0.1 is out of range"),
        ("cost=nan", "cost = nan is out of range"),
        ("tool.x=-1.1", "tool.x = -1.1 is out of range; use -1 to 1"),
        ("tool.x=inf", "tool.x = inf is out of range"),
    ],
)
def test_what_is_wrong_is_named(pair, named):
    with pytest.raises(BadInput, match=named):
        parse_preference([pair])


@given(weight=st.floats().filter(lambda weight: not (math.isfinite(weight) and 0 <= weight <= 1)))
@pytest.mark.parametrize("goal", GOALS)
def test_no_goal_outside_its_range_is_ever_made(goal, weight):
    with pytest.raises(BadInput, match=f"preference {goal}"):
        Preference(**{goal: weight})


def test_a_sentence_replaces_the_words_and_has_a_limit():
    assert describe(Preference(sentence="Do as you like."), {"a": "A"}) == "Do as you like."
    with pytest.raises(BadInput, match="keep it under 600"):
        Preference(sentence="x" * (MAX_SENTENCE + 1))


@given(preference=preferences)
def test_only_tools_on_offer_are_named(preference):
    words = describe(preference, {})
    assert "Prefer" not in words
    assert "Avoid" not in words


@pytest.mark.parametrize(
    "weight, words",
    [
        (1.0, "Prefer Search."),
        (0.51, "Prefer Search."),
        (0.5, "Use Search where it fits."),
        (0.06, "Use Search where it fits."),
        (0.0, ""),
        (-0.04, ""),
        (-0.5, "Use Search less."),
        (-0.75, "Avoid Search."),
        (-1.0, "Avoid Search."),
    ],
)
def test_the_words_follow_the_weight(weight, words):
    said = describe(Preference(outcome=0.1, cost=0.1, latency=0.0, tools={"s": weight}), {"s": "Search"})
    assert said.endswith(words)
    assert ("Search" in said) == bool(words)


@given(weight=tool_weights)
def test_every_weight_gives_at_most_one_sentence_about_a_tool(weight):
    assert describe(Preference(tools={"s": weight}), {"s": "Search"}).count("Search") <= 1


def test_several_tools_are_joined():
    words = describe(Preference(tools={"a": 1.0, "b": 1.0, "c": 1.0}), {"a": "A", "b": "B", "c": "C"})
    assert words.endswith("Prefer A, B and C.")


def test_opposite_goals_read_opposite():
    thrifty = describe(Preference(outcome=0.0, cost=1.0, latency=0.0), {})
    assert thrifty == "A rough answer is enough; keep the cost low; time does not matter."
    assert describe(Preference(outcome=1.0, cost=0.0, latency=0.5), {}) == (
        "Answer well; cost does not matter; latency matters."
    )
