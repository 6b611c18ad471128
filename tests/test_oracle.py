"""The oracle takes the best able expert that a preference allows; baselines are compared with it on the same tables."""

import statistics
from datetime import date

import pytest
from playing import Echo, run
from simulating import expert, played

from orchestra_lib.judge.checks import compare_by_itself
from orchestra_lib.policy.baseline import at_random, cheapest, strongest
from orchestra_lib.policy.oracle import oracle
from orchestra_lib.preference import Preference
from orchestra_lib.profile import price_table
from orchestra_lib.simulated_tasks import find, simulated_task, simulated_tasks

EXPERTS = [
    expert("great", 0.97, usd=10.0, latency_s=20.0),
    expert("quick", 0.7, usd=3.0, latency_s=1.0),
    expert("cheap", 0.6, usd=0.1, latency_s=6.0),
    expert("weak", 0.1, usd=0.01, latency_s=0.5),
]
TASK = simulated_task(1, 0).task


def kind_of(task):
    one = find(task.text)
    return (None, None) if one is None else (one.kind, one.difficulty)


def the_oracle(experts=EXPERTS):
    return oracle({one.profile.priced_as: one.profile for one in experts}, kind_of)


def first(policy, preference, experts=EXPERTS, task=TASK):
    return played(policy, experts, task, preference=preference, seed=1).calls[0].call.tool


@pytest.mark.parametrize(
    "preference, tool",
    [
        (Preference(outcome=1.0, cost=0.0, latency=0.0), "sim_great"),
        (Preference(outcome=0.3, cost=1.0, latency=0.0), "sim_cheap"),
        (Preference(outcome=0.3, cost=0.0, latency=1.0), "sim_quick"),
        (Preference(outcome=0.3, cost=0.0, latency=0.0, tools={"sim_cheap": 1.0}), "sim_cheap"),
        (Preference(outcome=0.3, cost=0.0, latency=0.0, tools={"sim_great": -1.0}), "sim_quick"),
    ],
)
def test_it_takes_what_the_preference_asks_for_among_the_able(preference, tool):
    assert first(the_oracle(), preference) == tool


def test_it_knows_the_kind_of_the_task():
    maths = expert("maths", skills={"math": {"any": 0.95}, "code": {"any": 0.1}})
    coder = expert("coder", skills={"math": {"any": 0.1}, "code": {"any": 0.95}})
    wanted = Preference(outcome=1.0)
    for number, tool in ((0, "sim_maths"), (1, "sim_coder")):
        task = simulated_task(1, number).task
        assert first(the_oracle([maths, coder]), wanted, [maths, coder], task) == tool


def test_where_nobody_is_able_the_likeliest_goes_first_and_strangers_last():
    poor = [expert("none", 0.0), expert("some", 0.3)]
    assert first(the_oracle(poor), Preference(cost=1.0), poor) == "sim_some"
    estimates = run(the_oracle(), [Echo()]).turns[0].generation.estimates
    assert [(one.score, one.note) for one in estimates] == [(None, "it has no profile that the oracle knows")]


def test_an_unknown_price_counts_as_the_dearest():
    table = price_table([one.profile for one in EXPERTS[:2]], name="some", dated=date(2026, 1, 1))
    experts = EXPERTS[:3]
    trajectory = played(the_oracle(), experts, TASK, prices=table, preference=Preference(outcome=0.3, cost=1.0))
    noted = {one.tool: one.note for one in trajectory.turns[0].generation.estimates}
    assert "typical cost unknown" in noted["sim_cheap"]
    assert trajectory.calls[0].call.tool == "sim_quick"


def test_on_the_same_tasks_the_oracle_beats_the_baselines_under_a_cost_preference():
    wish = Preference(outcome=0.5, cost=1.0, latency=0.0)

    def measured(policy):
        runs = [played(policy, EXPERTS, one.task, seed=one.number, preference=wish) for one in simulated_tasks(5, 32)]
        right = [compare_by_itself(one.answer, one.setting.task.reference)[1].outcome for one in runs]
        return sum(right) / len(right), statistics.fmean(one.bill().cost_usd for one in runs)

    found = {name: measured(policy) for name, policy in (
        ("oracle", the_oracle()), ("strongest", strongest()), ("cheapest", cheapest()), ("random", at_random())
    )}  # fmt: skip
    right = {name: one[0] for name, one in found.items()}
    cost = {name: one[1] for name, one in found.items()}
    assert right["strongest"] > right["oracle"] > right["cheapest"]
    assert cost["cheapest"] < cost["oracle"] < cost["random"] < cost["strongest"]
