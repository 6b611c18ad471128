"""Advantages: the sample standard deviation, what is left out of the loss, and the released code's clip."""

from dataclasses import replace
from statistics import mean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewarding import preferences, published_by_hand, rollouts, scored

from orchestra_lib.advantage import MIN_STD, advantages
from orchestra_lib.reward import Mode
from orchestra_lib.reward_report import reward_reports
from orchestra_lib.segments import Segments


def compare(rewards, mode=Mode.PAPER, answered=None, groups=None):
    values = np.array(rewards, float)
    said = np.ones(len(values), bool) if answered is None else np.array(answered)
    return advantages(values, said, Segments(np.zeros(len(values), int) if groups is None else np.array(groups)), mode)


def test_the_standard_deviation_is_that_of_a_sample():
    """The published code uses `statistics.stdev`; over 1, 0.56 and 0 the population's would be 0.41."""
    rewards = [1.0, 5 / 9, 0.0]
    found = compare(rewards)
    assert found.std_G == pytest.approx([stdev(rewards)])
    assert found.advantage_N == pytest.approx([(value - mean(rewards)) / stdev(rewards) for value in rewards])


@given(rewards=st.lists(st.floats(0, 15), min_size=2, max_size=64).filter(lambda values: stdev(values) > 1e-6))
def test_advantages_have_mean_zero_and_deviation_one(rewards):
    found = compare(rewards).advantage_N.tolist()
    assert mean(found) == pytest.approx(0, abs=1e-9)
    assert stdev(found) == pytest.approx(1)


@given(value=st.floats(0, 15), size=st.integers(1, 64), mode=st.sampled_from(Mode))
def test_equal_rewards_have_advantage_zero_and_teach_nothing(value, size, mode):
    found = compare([value] * size, mode)
    assert set(found.advantage_N) == {0.0}
    assert not found.kept_N.any()
    assert np.isnan(found.std_G[0]) if size == 1 else found.std_G[0] == 0.0


@given(rewards=st.lists(st.floats(0, 15, allow_subnormal=True), min_size=1, max_size=64), mode=st.sampled_from(Mode))
def test_every_advantage_is_a_bounded_number(rewards, mode):
    found = compare(rewards, mode).advantage_N
    most = 3.0 if mode is Mode.RELEASED_CODE else (len(rewards) - 1) / np.sqrt(len(rewards))
    assert np.all(np.abs(found) <= most * (1 + 1e-9))


@given(rewards=st.lists(st.floats(0, 15), min_size=1, max_size=64), data=st.data(), mode=st.sampled_from(Mode))
def test_the_order_does_not_matter_and_a_higher_reward_has_no_lower_advantage(rewards, data, mode):
    order = data.draw(st.permutations(range(len(rewards))))
    found = compare(rewards, mode).advantage_N
    shuffled = compare([rewards[at] for at in order], mode)
    assert shuffled.advantage_N.tolist() == found[list(order)].tolist()
    assert np.all(np.diff(found[np.argsort(rewards)]) >= 0)


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("apart, kept", [(0.174, True), (0.173, False)])
def test_a_group_whose_rewards_hardly_differ_is_left_out(apart, kept, mode):
    """Over 0, 0, x the sample deviation is x / sqrt(3), 0.1005 and 0.0999 here."""
    found = compare([0.0, 0.0, apart], mode)
    assert (found.differs_G.tolist(), found.kept_N.tolist()) == ([kept], [kept] * 3)
    assert found.advantage_N[2] == pytest.approx(2 / 3**0.5, rel=1e-4)


def test_a_rollout_without_a_valid_answer_is_compared_and_not_kept():
    found = compare([1.0, 0.0, 0.5], answered=[True, False, True])
    assert found.kept_N.tolist() == [True, False, True]
    assert found.advantage_N.tolist() == compare([1.0, 0.0, 0.5]).advantage_N.tolist()


def test_each_group_is_judged_by_itself():
    found = compare([1.0, 0.3, 0.0, 0.3], groups=[7, -2, 7, -2])
    assert found.mean_G.tolist() == [0.3, 0.5]
    assert found.kept_N.tolist() == [True, False, True, False]


def test_the_released_code_clips_and_keeps_nothing_of_a_pair():
    rewards = [1.0] + [0.0] * 40
    assert compare(rewards, Mode.RELEASED_CODE).advantage_N.max() == 3.0
    assert compare(rewards).advantage_N.max() > 6
    assert compare([1.0, 0.0]).kept_N.all()
    assert not compare([1.0, 0.0], Mode.RELEASED_CODE).kept_N.any()


@given(group=rollouts(min_size=3), preference=preferences())
def test_the_released_codes_advantages_are_reproduced(group, preference):
    weights = {**preference.tools, "accuracy": preference.outcome, "cost": preference.cost}
    rewards, expected = published_by_hand(group, weights | {"latency": preference.latency})
    found = scored(group, preference, Mode.RELEASED_CODE)
    # A z-score of rewards that differ by rounding only is noise in both.
    if max(rewards) - min(rewards) > 1e-6 * max(map(abs, rewards)):
        assert [row.advantage for row in found.values()] == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(group=rollouts(), preference=preferences(), mode=st.sampled_from(Mode))
def test_what_is_not_kept_says_why_and_what_is_kept_has_no_excuse(group, preference, mode):
    [report] = reward_reports(group, preference, mode)
    answered = {one.id: one.answered for one in group}
    for row in report.rows:
        assert row.kept == (row.why is None) == (report.why is None and answered[row.id])
    assert report.why is not None or report.std >= MIN_STD


@given(group=rollouts(), preference=preferences())
def test_an_unanswered_rollout_still_moves_its_group(group, preference):
    silent = [replace(one, answered=False) for one in group]
    assert [row.advantage for row in scored(silent, preference).values()] == [
        row.advantage for row in scored(group, preference).values()
    ]
