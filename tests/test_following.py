"""Adherence of stored runs: who is compared with whom, under which preference and prices."""

from dataclasses import replace

import pytest
from test_grouping import DEAR, graded, with_setting

from orchestra_lib.errors import BadInput
from orchestra_lib.following import following
from orchestra_lib.preference import Preference
from orchestra_lib.task import Task

AVOIDS = Preference(outcome=0, cost=0, latency=0, tools={"search": -1.0})


def other_task(one, text="Another."):
    return with_setting(one, task=Task(text=text))


def test_a_run_is_compared_with_the_base_of_its_task_under_its_own_preference():
    runs = [with_setting(graded("a", turns=3, tool="coder"), preference=AVOIDS), other_task(graded("b"))]
    found = following(runs, [other_task(graded("y")), graded("x", turns=3)])
    first, second = found.rows
    assert (first.run, first.base, second.base) == ("a", "x", "y")
    assert first.bounded == 1.0  # the base only searched, the run did not
    assert first.published == 0.0  # -1 times no call
    assert second.bounded == pytest.approx(0.5)
    assert (found.total.compared, found.total.bounded) == (2, pytest.approx(0.75))


def test_another_preference_and_other_prices_may_be_asked_for():
    run, base = graded("a", turns=2), with_setting(graded("x", turns=4), prices=DEAR)
    thrifty = Preference(outcome=0, cost=1, latency=0)
    with pytest.raises(BadInput, match="run a and its base x have two price tables; price them alike with --prices"):
        following([run], [base], preference=thrifty)
    (row,) = following([run], [base], preference=thrifty, prices=DEAR).rows
    assert row.bounded == pytest.approx(3 / 4, abs=0.01)  # one dear call beside three


def test_what_is_left_out_says_why_and_is_counted():
    nothing = Preference(outcome=0, cost=0, latency=0)
    runs = [graded("a", outcome=None), other_task(graded("b")), with_setting(graded("c"), preference=nothing)]
    found = following(runs, [graded("x"), other_task(graded("y", outcome=None))])
    assert [row.why for row in found.rows] == [
        "the run is ungraded, or nothing to be rewarded for",
        "its base is ungraded, or nothing to be rewarded for",
        "its preference weighs nothing",
    ]
    assert {(row.bounded, row.published) for row in found.rows} == {(None, None)}
    assert (found.total.bounded, found.total.compared, found.total.left_out) == (None, 0, 3)


def test_what_cannot_be_compared_is_refused_by_id():
    with pytest.raises(BadInput, match="run a has no base run of its task"):
        following([graded("a")], [other_task(graded("x"))])
    with pytest.raises(BadInput, match="runs x and y are both a base of one task"):
        following([graded("a")], [graded("x"), graded("y")])
    with pytest.raises(BadInput, match="has not ended"):
        following([replace(graded("a"), stop=None)], [graded("x")])


def test_a_run_that_is_its_own_base_scores_one_half():
    (row,) = following([graded("a")], [graded("a")]).rows
    assert row.bounded == pytest.approx(0.5)
