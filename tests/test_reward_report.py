"""The report: every number adds up to the reward, and what is missing is said."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewarding import preferences, rollouts, scored

from orchestra_lib.codec import from_data, to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.preference import Preference
from orchestra_lib.reward import Mode
from orchestra_lib.reward_report import RewardReport, Rollout, reward_reports

WISH = Preference(outcome=1.0, cost=0.5, latency=0.0)


def solved(name, cost_usd=0.1, outcome=True, **fields):
    return Rollout(id=name, outcome=outcome, cost_usd=cost_usd, latency_s=1.0, **fields)


@given(group=rollouts(), preference=preferences(), mode=st.sampled_from(Mode))
def test_the_numbers_of_a_row_add_up(group, preference, mode):
    for row in scored(group, preference, mode).values():
        parts = row.components.values()
        assert row.weighted == pytest.approx(sum(part.contribution for part in parts), rel=1e-9, abs=1e-9)
        assert row.reward == row.gate * row.weighted
        for part in parts:
            weight = abs(part.weight) if mode is Mode.PAPER else part.weight
            assert part.contribution == weight * part.normalised
            if mode is Mode.PAPER:
                assert part.min <= part.raw <= part.max


@given(group=rollouts(max_size=4), preference=preferences(), mode=st.sampled_from(Mode))
def test_a_report_survives_json(group, preference, mode):
    [report] = reward_reports(group, preference, mode)
    assert from_data(to_data(report), RewardReport, where="report") == report


def test_our_extension_is_marked_and_compares_the_negated_count():
    group = [solved(str(count), tool_counts={"gpt": count}) for count in (0, 1, 4)]
    found = [row.components["tool.gpt"] for row in scored(group, Preference(tools={"gpt": -0.5})).values()]
    assert [(part.raw, part.min, part.max, part.contribution) for part in found] == [
        (0.0, -4.0, 0.0, 0.5), (-1.0, -4.0, 0.0, 0.375), (-4.0, -4.0, 0.0, 0.0),
    ]  # fmt: skip
    assert all(part.extension for part in found)
    assert not any(part.extension for row in scored(group, WISH).values() for part in row.components.values())


def test_a_tool_that_nobody_used_has_no_range_in_the_released_code():
    group = [solved(str(at), cost_usd=at, tool_counts={"gpt": 0}) for at in range(3)]
    for row in scored(group, Preference(tools={"gpt": 1.0}), Mode.RELEASED_CODE).values():
        assert (row.components["tool.gpt"].min, row.components["tool.gpt"].contribution) == (None, 0.0)


@pytest.mark.parametrize(
    "group, words",
    [
        ([solved("a")], "a group of one has nothing to compare"),
        ([solved("a", outcome=False), solved("b", outcome=False)], "all rewards are 0"),
        ([solved("a"), solved("b")], "all rewards are 0"),
        ([solved("a", 0.1), solved("b", 0.1), solved("c", 0.1, outcome=None)], "all rewards are 0"),
        ([solved("a", 0.3), solved("b", 0.3, tool_counts={"t": 1})], "all rewards are 0"),
        ([solved("a", outcome=None)], "no rollout is graded"),
    ],
)
def test_a_group_that_cannot_teach_says_why(group, words):
    [report] = reward_reports(group, WISH)
    assert report.why.startswith(words)
    assert not any(row.kept for row in report.rows)


def test_rewards_that_are_equal_or_nearly_so_say_so():
    group = [solved("a", 0.1, tool_counts={"t": 0}), solved("b", 0.2, tool_counts={"t": 1})]
    even = Preference(outcome=0, cost=0.5, latency=0, tools={"t": 0.5})
    assert "all rewards are equal" in reward_reports(group, even)[0].why
    nearly = replace(even, tools={"t": 0.51})
    assert "differ too little (std 0.00707, needed 0.1)" in reward_reports(group, nearly)[0].why
    assert "stops at groups of two" in reward_reports(group, WISH, Mode.RELEASED_CODE)[0].why


def test_turns_with_malformed_calls_are_named_and_a_rollout_of_nothing_else_is_not_kept():
    group = [
        solved("a", 0.1, turns=3, malformed_turns=(1,)),
        solved("b", 0.2, turns=2, malformed_turns=(0, 1)),
        solved("c", 0.3, answered=False),
        solved("d", 0.3, no_reward="somebody stopped it"),
    ]
    rows = scored(group, WISH)
    assert (rows["a"].kept, rows["a"].dropped_turns) == (True, (1,))
    assert rows["b"].why == "every turn has a malformed tool call"
    assert rows["c"].why == "it ended without a valid answer"
    assert (rows["d"].why, rows["d"].reward) == ("somebody stopped it", None)


def test_groups_stay_apart_and_in_order_and_count_what_they_leave_out():
    group = [solved("a", group="late"), solved("b", group="early"), solved("c", 0.9, outcome=None, group="late")]
    found = reward_reports(group, WISH)
    assert [(one.group, one.size, one.left_out, [row.id for row in one.rows]) for one in found] == [
        ("late", 1, 1, ["a", "c"]), ("early", 1, 0, ["b"]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "group, preference, words",
    [
        ([solved("a"), solved("a")], WISH, "rollout 'a' is given twice"),
        (
            [solved("a", tool_counts={"t": 1})],
            Preference(tools={"x": 1.0}),
            "weighs 'x', which no rollout lists; the tools of the group are t",
        ),
        ([solved("a")], Preference(tools={"x": 1.0}), "the tools of the group are none"),
    ],
)
def test_what_cannot_be_scored_is_named(group, preference, words):
    with pytest.raises(BadInput, match=words):
        reward_reports(group, preference)


def test_no_rollouts_make_no_report():
    assert reward_reports([], WISH) == ()
