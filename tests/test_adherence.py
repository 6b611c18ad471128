"""Adherence: ours is bounded, fair and unit-free; the paper's is computed as written, weak spots included."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewarding import TOOLS, amounts, preferences, rollouts

from orchestra_lib.adherence import Example, adherence, bounded, published
from orchestra_lib.errors import BadInput
from orchestra_lib.preference import Preference
from orchestra_lib.reward_report import Rollout

THRIFTY = Preference(outcome=0, cost=1, latency=0)
KEEN = Preference(outcome=0, cost=0, latency=0, tools={"search": 1.0})


def did(cost_usd=0.1, outcome=True, **counts):
    return Rollout(id="r", outcome=outcome, cost_usd=cost_usd, latency_s=1.0, tool_counts=counts)


pairs = rollouts(min_size=2, max_size=2)
asking = preferences().filter(lambda wish: any((*wish.tools.values(), wish.outcome, wish.cost, wish.latency)))


@given(pair=pairs, preference=asking)
def test_the_bounded_score_lies_between_nothing_and_one(pair, preference):
    score = bounded(Example(run=pair[0], base=pair[1], preference=preference))
    assert -1e-12 <= score <= 1 + 1e-12
    assert pair[0].outcome or score == 0


@given(pair=pairs, preference=asking)
def test_a_solved_run_that_does_as_the_base_does_scores_one_half(pair, preference):
    run = replace(pair[0], outcome=True)
    assert bounded(Example(run=run, base=run, preference=preference)) == pytest.approx(0.5)


@given(pair=pairs, preference=asking, more=amounts)
def test_more_cost_never_raises_the_bounded_score(pair, preference, more):
    run, base = replace(pair[0], outcome=True), pair[1]
    dearer = replace(run, cost_usd=run.cost_usd + more)
    first, second = (bounded(Example(run=one, base=base, preference=preference)) for one in (run, dearer))
    assert second <= first + 1e-12


@given(run=st.floats(1e-6, 1e6), base=st.floats(1e-6, 1e6), unit=st.sampled_from([0.01, 100.0]))
def test_cents_and_dollars_give_the_same_bounded_score(run, base, unit):
    plain, other = (
        bounded(Example(run=did(run * factor), base=did(base * factor), preference=THRIFTY)) for factor in (1, unit)
    )
    assert other == pytest.approx(plain)


@given(pair=pairs, preference=asking, tool=st.sampled_from(TOOLS))
def test_an_avoided_tool_that_takes_the_place_of_another_never_raises_the_bounded_score(pair, preference, tool):
    run = replace(pair[0], outcome=True, tool_counts={name: 2 for name in TOOLS})
    other = TOOLS[TOOLS.index(tool) - 1]
    swapped = replace(run, tool_counts={**run.tool_counts, tool: 3, other: 1})
    against = replace(preference, tools={tool: -1.0})
    first, second = (bounded(Example(run=one, base=pair[1], preference=against)) for one in (run, swapped))
    assert second < first


def test_half_the_cost_scores_two_thirds_and_twice_the_cost_one_third():
    scores = [bounded(Example(run=did(cost), base=did(0.1), preference=THRIFTY)) for cost in (0.05, 0.1, 0.2, 0.0)]
    assert scores == pytest.approx([2 / 3, 1 / 2, 1 / 3, 1.0])


def test_the_published_score_does_not_see_what_the_run_cost_and_ours_does():
    examples = [Example(run=did(cost), base=did(0.1), preference=THRIFTY) for cost in (0.01, 5.0)]
    assert [published(one) for one in examples] == [-0.1, -0.1]
    assert bounded(examples[0]) > 0.9
    assert bounded(examples[1]) < 0.1


def test_the_published_score_of_a_preferred_tool_has_no_bound_and_ours_has():
    examples = [Example(run=did(search=count), base=did(search=0), preference=KEEN) for count in (1, 10)]
    assert [published(one) for one in examples] == [1.0, 10.0]
    assert [bounded(one) for one in examples] == [1.0, 1.0]


def test_the_published_score_is_the_appendix_term_by_term():
    wish = Preference(outcome=0.5, cost=0.2, latency=0.1, tools={"search": 1.0, "gpt": 0.3})
    example = Example(run=did(0.3, search=4, gpt=1), base=did(0.6, search=2), preference=wish)
    assert published(example) == pytest.approx(4 / 2 + 0.3 * 1 + 0.5 - 0.2 * 0.6 - 0.1 * 1.0)
    assert published(replace(example, run=did(outcome=False))) == 0.0


def test_ours_is_a_mean_the_papers_a_sum_and_the_ungraded_are_counted():
    one = Example(run=did(search=2), base=did(search=1, gpt=1), preference=KEEN)
    silent = [replace(one, run=did(outcome=None)), replace(one, base=did(outcome=None))]
    nothing = replace(one, preference=Preference(outcome=0, cost=0, latency=0))
    found = adherence([one, one, *silent, nothing])
    assert (found.bounded, found.published, found.compared, found.left_out) == (0.75, 4.0, 2, 3)
    assert adherence([]).bounded is None


def test_an_unknown_cost_is_refused_by_id():
    example = Example(run=did(None), base=did(), preference=THRIFTY)
    with pytest.raises(BadInput, match="rollout 'r': cost_usd is unknown"):
        adherence([example])
