from dataclasses import replace

import pytest
from conducting import PRICES, orchestra
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.policy.conductor.choice import choose, expected_cost_usd, pull
from orchestra_lib.policy.conductor.estimator import Chance
from orchestra_lib.preference import Preference

SPECS = [tool.spec for tool in orchestra()]
NAMES = [spec.name for spec in SPECS]
weights = st.floats(0.0, 1.0)


def chosen(preference=None, *, prices=PRICES, tried=(), **chances):
    given_chances = {name: Chance(tool=name, chance=chances.get(name, 0.0), note="given") for name in NAMES}
    return choose(SPECS, given_chances, preference or Preference(), prices, tried=tried)


def test_the_likeliest_tool_wins_when_only_quality_counts():
    quality = Preference(outcome=1.0, cost=0.0, latency=0.0)
    assert chosen(quality, coder=0.8, generalist=0.7).tool == "coder"


def test_a_user_who_saves_gets_the_cheaper_tool_for_a_little_less_chance():
    saving = Preference(outcome=0.5, cost=1.0, latency=1.0)
    choice = chosen(saving, coder=0.8, generalist=0.7)
    assert choice.tool == "generalist"
    assert choice.runner_up.tool == "coder"


def test_minus_one_forbids_even_the_only_able_tool():
    choice = chosen(Preference(tools={"coder": -1.0}), coder=1.0)
    assert choice.tool is None
    assert "avoid" in next(estimate.note for estimate in choice.estimates if estimate.tool == "coder")


def test_plus_one_pulls_an_able_tool_before_a_surer_one_and_never_an_unable_one():
    for chance, tool in ((0.5, "generalist"), (0.05, "local_search")):
        assert chosen(Preference(tools={"generalist": 1.0}), local_search=0.95, generalist=chance).tool == tool


def test_what_was_tried_is_not_tried_again():
    assert chosen(coder=0.9, generalist=0.3, tried={"coder"}).tool == "generalist"


def test_an_unknown_price_counts_as_the_dearest_and_is_shown_as_unknown():
    known = {name: price for name, price in PRICES.prices.items() if name != "generalist"}
    prices = type(PRICES)(name="x", dated=PRICES.dated, source="x", prices=known)
    choice = chosen(Preference(outcome=0.1, cost=1.0, latency=0.0), prices=prices, generalist=0.9, code_interpreter=0.9)
    assert choice.tool == "code_interpreter"
    assert next(e.cost_usd for e in choice.estimates if e.tool == "generalist") is None


def test_an_expected_cost_counts_calls_and_seconds():
    unknown = Chance(tool="any", chance=0.5, note="")
    assert expected_cost_usd(SPECS[2], PRICES, unknown) == pytest.approx(0.01)
    assert expected_cost_usd(SPECS[0], PRICES, unknown) == pytest.approx(0.1 * 0.00001)


def test_a_model_that_writes_long_replies_to_such_questions_costs_more_and_takes_longer():
    spec = replace(SPECS[2], model="writer")
    short, long = (Chance(tool="coder", chance=0.5, note="", tokens=n, length=n / 50) for n in (50, 250))
    assert expected_cost_usd(spec, PRICES, long) == pytest.approx((150 + 250) / 1e6)
    chosen = [
        choose([spec], {"coder": chance}, Preference(), PRICES).estimates[0].latency_s for chance in (short, long)
    ]
    assert chosen == [8.0, 40.0]


@given(outcome=weights, cost=weights, latency=weights, chance=weights, more=weights)
def test_more_chance_never_lowers_a_score(outcome, cost, latency, chance, more):
    preference = Preference(outcome=outcome, cost=cost, latency=latency)
    low, high = sorted((chance, more))
    score = {
        at: next(e.score for e in chosen(preference, coder=at).estimates if e.tool == "coder") for at in (low, high)
    }
    assert score[low] is None or score[high] >= score[low]


@given(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0), weights)
def test_liking_a_tool_more_never_pulls_less(one, other, chance):
    low, high = sorted((one, other))
    assert pull(low, chance) <= pull(high, chance)


def test_a_tool_whose_arguments_a_model_must_write_bears_that_cost():
    bare = Chance(tool="code_interpreter", chance=0.8, note="")
    written = replace(bare, writer="writer")
    difference = expected_cost_usd(SPECS[0], PRICES, written) - expected_cost_usd(SPECS[0], PRICES, bare)
    assert difference == pytest.approx(490 / 1e6)
