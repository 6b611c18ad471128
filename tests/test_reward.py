"""The reward: every property that the design promises, and the published arithmetic beside the paper's."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewarding import TOOLS, amounts, preferences, published_by_hand, rewards_by_hand, rollouts, scored

from orchestra_lib.errors import BadInput
from orchestra_lib.preference import GOALS, Preference
from orchestra_lib.reward import Measures, Mode, rewards, weights_of
from orchestra_lib.reward_report import Rollout

modes = st.sampled_from(Mode)
COST_ONLY = Preference(outcome=0.0, cost=1.0, latency=0.0)
NEAR = {"rel": 1e-9, "abs": 1e-12}


def costing(*costs, **fields):
    return [Rollout(id=str(cost), cost_usd=cost, **{"outcome": True, "latency_s": 1.0} | fields) for cost in costs]


def of(group, preference, mode="paper"):
    return {name: row.reward for name, row in scored(group, preference, mode).items()}


@pytest.mark.parametrize(
    "mode, expected", [(Mode.PAPER, [1.0, 5 / 9, 0.0]), (Mode.RELEASED_CODE, [7 / 3, 25 / 9, 10 / 3])]
)
def test_the_worked_example_of_three_costs(mode, expected):
    """Reference 4.3 a, b: 1, 0.56, 0 by the paper; 2.33, 2.78, 3.33 by the released code, the dearest best."""
    assert list(of(costing(0.01, 0.05, 0.10), COST_ONLY, mode).values()) == pytest.approx(expected, **NEAR)


def test_the_worked_example_of_two_costs():
    assert list(of(costing(0.10, 0.01), COST_ONLY, Mode.RELEASED_CODE).values()) == pytest.approx([10 / 3, 7 / 3])


@given(group=rollouts(), preference=preferences())
def test_vectors_and_plain_loops_agree(group, preference):
    assert list(of(group, preference).values()) == pytest.approx(rewards_by_hand(group, preference), **NEAR)


@given(group=rollouts(), preference=preferences())
def test_the_released_code_is_reproduced(group, preference):
    weights = {**preference.tools, "accuracy": preference.outcome, "cost": preference.cost}
    expected, _ = published_by_hand(group, weights | {"latency": preference.latency})
    assert list(of(group, preference, Mode.RELEASED_CODE).values()) == pytest.approx(expected, **NEAR)


def test_the_released_code_takes_weights_above_one():
    """A documented row has accuracy 3, cost 0.1, latency 0.1, expert-1 3 (reference 4.3 d)."""
    measures = Measures(
        count_T_N=np.array([[0.0, 1.0, 3.0]]),
        solved_N=np.array([True, True, False]),
        cost_usd_N=np.array([0.1, 0.3, 0.2]),
        latency_s_N=np.array([5.0, 5.0, 5.0]),
        group_N=np.zeros(3, int),
    )
    found = rewards(measures, np.array([3.0, 3.0, 0.1, 0.1]), Mode.RELEASED_CODE)
    # expert-1 is ranged over its two users: -0.5, 0, 1; accuracy 1, 1, 0; cost (c + 0.3) / 0.2 + 0.3 / 0.2.
    assert found.reward_N == pytest.approx([-1.5 + 3 + 0.35, 0 + 3 + 0.45, 0])


def test_a_preferred_tool_that_all_its_users_called_once_is_worth_nothing_to_the_released_code():
    group = [
        Rollout(id=str(count), outcome=True, cost_usd=0.1, latency_s=1.0, tool_counts={"gpt": count})
        for count in (0, 1)
    ]
    wish = Preference(outcome=0, cost=0, latency=0, tools={"gpt": 1.0})
    assert of(group, wish, Mode.PAPER) == {"0": 0.0, "1": 1.0}
    assert of(group, wish, Mode.RELEASED_CODE) == {"0": 0.0, "1": 0.0}


@given(group=rollouts(), preference=preferences(), mode=modes, data=st.data())
def test_the_order_of_the_group_does_not_matter(group, preference, mode, data):
    assert of(data.draw(st.permutations(group)), preference, mode) == of(group, preference, mode)


@given(group=rollouts(), preference=preferences(), mode=modes)
def test_the_names_of_tools_and_rollouts_do_not_matter(group, preference, mode):
    """Tools are summed in order of their names, so renaming may move the last digit."""
    new = dict(zip(TOOLS, ("z", "a", "m"), strict=True))
    renamed = [
        replace(one, id=f"x-{one.id}", tool_counts={new[tool]: count for tool, count in one.tool_counts.items()})
        for one in group
    ]
    wish = replace(preference, tools={new[tool]: weight for tool, weight in preference.tools.items()})
    assert list(of(renamed, wish, mode).values()) == pytest.approx(list(of(group, preference, mode).values()), **NEAR)


@given(group=rollouts(min_size=2), preference=preferences(), field=st.sampled_from(["cost_usd", "latency_s"]))
def test_of_two_solved_rollouts_the_dearer_or_slower_is_never_worth_more(group, preference, field):
    first, second, *others = [replace(one, outcome=True) for one in group]
    second = replace(second, **{name: getattr(first, name) for name in ("cost_usd", "latency_s", "tool_counts")})
    second = replace(second, **{field: max(getattr(group[0], field), getattr(group[1], field))})
    found = of([first, second, *others], preference)
    assert found["r1"] <= found["r0"]


@given(group=rollouts(), preference=preferences(), more=amounts, field=st.sampled_from(["cost_usd", "latency_s"]))
def test_more_cost_or_time_never_raises_a_rollouts_own_reward(group, preference, more, field):
    dearer = replace(group[0], **{field: getattr(group[0], field) + more})
    assert of([dearer, *group[1:]], preference)["r0"] <= of(group, preference)["r0"]


@given(group=rollouts(outcomes=(True,)), preference=preferences(low=0.0), tool=st.sampled_from(TOOLS))
def test_using_a_wanted_tool_more_never_lowers_the_reward_and_an_unwanted_one_never_raises_it(group, preference, tool):
    counts = group[0].tool_counts
    more = replace(group[0], tool_counts={**counts, tool: counts[tool] + 1})
    assert of([more, *group[1:]], preference)["r0"] >= of(group, preference)["r0"]
    against = replace(preference, tools={**preference.tools, tool: -preference.tools[tool]})
    assert of([more, *group[1:]], against)["r0"] <= of(group, against)["r0"]


@given(group=rollouts(), preference=preferences(), mode=modes)
def test_an_unsolved_rollout_is_worth_nothing(group, preference, mode):
    found = scored(group, preference, mode)
    assert all((found[one.id].reward, found[one.id].gate) == (0.0, 0) for one in group if not one.outcome)


@given(group=rollouts(), preference=preferences())
def test_a_reward_lies_between_nothing_and_the_sum_of_all_weights(group, preference):
    parts = [abs(weight) for weight in weights_of(preference, TOOLS)]
    for row in scored(group, preference).values():
        assert 0.0 <= row.reward <= sum(parts) * (1 + 1e-12)
        assert all(0.0 <= part.normalised <= 1.0 for part in row.components.values())


@given(group=rollouts(), preference=preferences(), mode=modes, data=st.data())
def test_an_ungraded_rollout_changes_nothing_for_the_others(group, preference, mode, data):
    ungraded = replace(data.draw(rollouts(max_size=1))[0], id="ungraded", outcome=None)
    at = data.draw(st.integers(0, len(group)))
    found = scored([*group[:at], ungraded, *group[at:]], preference, mode)
    row = found.pop("ungraded")
    assert found == scored(group, preference, mode)
    assert (row.reward, row.advantage, row.kept, row.why) == (None, None, False, "ungraded")


@given(group=rollouts(), preference=preferences(), mode=modes)
def test_equal_rollouts_get_equal_rewards(group, preference, mode):
    found = of([*group, replace(group[0], id="twin")], preference, mode)
    assert found["twin"] == found["r0"]


@given(group=rollouts(), preference=preferences())
def test_a_constant_component_is_zero(group, preference):
    found = scored([replace(one, cost_usd=0.1) for one in group], preference)
    assert {row.components["cost"].normalised for row in found.values()} == {0.0}


@given(one=rollouts(max_size=1), preference=preferences(), mode=modes)
def test_a_group_of_one_or_of_equals_is_worth_nothing(one, preference, mode):
    copies = [replace(one[0], id=str(at)) for at in range(5)]
    for group in (one, copies):
        assert set(of(group, preference, mode).values()) == {0.0}


@given(
    groups=st.lists(rollouts(max_size=9), min_size=1, max_size=5), preference=preferences(), mode=modes, data=st.data()
)
def test_many_groups_at_once_are_each_group_alone(groups, preference, mode, data):
    """Also when the groups lie across one another."""
    named = [[replace(one, id=f"{at}-{one.id}", group=str(at)) for one in group] for at, group in enumerate(groups)]
    alone = {name: row for group in named for name, row in scored(group, preference, mode).items()}
    mixed = data.draw(st.permutations([one for group in named for one in group]))
    assert scored(mixed, preference, mode) == alone


@given(groups=st.lists(rollouts(max_size=5), min_size=1, max_size=4), data=st.data())
def test_each_group_may_have_its_own_weights(groups, data):
    wishes = [data.draw(preferences()) for _ in groups]
    flat = [(at, one) for at, group in enumerate(groups) for one in group]
    measures = Measures(
        count_T_N=np.array([[one.tool_counts[tool] for _, one in flat] for tool in TOOLS], float),
        solved_N=np.array([one.outcome for _, one in flat]),
        cost_usd_N=np.array([one.cost_usd for _, one in flat]),
        latency_s_N=np.array([one.latency_s for _, one in flat]),
        group_N=np.array([at for at, _ in flat]),
    )
    found = rewards(measures, np.stack([weights_of(wish, TOOLS) for wish in wishes], axis=1)).reward_N
    alone = [value for group, wish in zip(groups, wishes, strict=True) for value in of(group, wish).values()]
    assert found.tolist() == alone


@given(
    bad=st.sampled_from([float("nan"), float("inf"), -float("inf"), -0.01, 1.1e15]),
    field=st.sampled_from(["cost_usd", "latency_s"]),
)
def test_a_cost_or_time_that_is_no_amount_is_refused_by_id(bad, field):
    with pytest.raises(BadInput, match=f"rollout 'odd': {field} = "):
        Rollout(**{"id": "odd", "outcome": True, "cost_usd": 0.1, "latency_s": 1.0} | {field: bad})


@pytest.mark.parametrize("field", ["cost_usd", "latency_s"])
def test_an_unknown_cost_or_time_is_refused_by_id_and_not_taken_for_zero(field):
    group = costing(0.1, 0.2)
    with pytest.raises(BadInput, match=rf"rollout '0.2': {field} is unknown, and unknown is not 0; .*leave it out"):
        scored([group[0], replace(group[1], **{field: None})], COST_ONLY)


def test_an_ungraded_rollout_may_cost_nobody_knows_what():
    found = scored([*costing(0.1, 0.2), Rollout(id="u", outcome=None, cost_usd=None, latency_s=None)], COST_ONLY)
    assert [row.reward for row in found.values()] == [1.0, 0.0, None]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0, 2e15])
def test_arrays_are_checked_too(bad):
    measures = Measures(
        count_T_N=np.zeros((0, 2)),
        solved_N=np.array([True, True]),
        cost_usd_N=np.array([0.0, bad]),
        latency_s_N=np.zeros(2),
        group_N=np.zeros(2, int),
    )
    with pytest.raises(BadInput, match="rollout 1: cost_usd"):
        rewards(measures, np.ones(3))
    with pytest.raises(BadInput, match="3 components need"):
        rewards(replace(measures, cost_usd_N=np.zeros(2)), np.ones(4))


def test_no_rollouts_give_no_rewards():
    nothing = np.zeros(0)
    measures = Measures(
        count_T_N=np.zeros((2, 0)),
        solved_N=nothing > 0,
        cost_usd_N=nothing,
        latency_s_N=nothing,
        group_N=nothing.astype(int),
    )
    assert all(rewards(measures, np.ones(2 + len(GOALS)), mode).reward_N.shape == (0,) for mode in Mode)
