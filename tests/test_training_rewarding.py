"""What rollouts are worth: the library's rewards and advantages, and who stays out of the loss."""

from dataclasses import replace

import numpy as np
import pytest
from toy_scale import EXPERTS, ToyCourse
from toy_training import plain, played

from orchestra_lib.errors import BadInput, ProviderFault
from orchestra_lib.grouping import group
from orchestra_lib.reward_report import reward_reports
from orchestra_lib.toolkit.simulated import SimulatedExpert
from orchestra_lib.training.rewarding import score


@pytest.fixture(scope="module")
def rollouts():
    return played(exercises=4)


def settings(**grpo):
    return plain(rollouts=6, **grpo).grpo


def test_rewards_and_advantages_are_those_of_the_report(rollouts):
    scored = score(rollouts, settings())
    for start in range(0, len(rollouts), 6):
        members = [one.trajectory for one in rollouts[start : start + 6]]
        report = reward_reports(group(members), members[0].setting.preference)[0]
        for row, one in zip(report.rows, scored[start : start + 6], strict=True):
            assert (one.reward, one.advantage) == pytest.approx((row.reward, row.advantage), abs=1e-12)
            assert one.group_differs == (report.why is None)
    assert {one.why for one in scored} > {None}


def test_masks_hold_what_was_sampled_and_nothing_that_was_told(rollouts):
    for rollout, one in zip(rollouts, score(rollouts, settings()), strict=True):
        assert len(one.mask) == len(rollout.completion) == len(rollout.mask)
        sampled = [token for token, own in zip(rollout.completion, rollout.mask, strict=True) if own]
        turns = [turn.generation.token_ids for turn in rollout.trajectory.turns]
        assert sampled == [token for ids in turns for token in ids]
        if one.kept:
            bad = {at for turn in one.malformed for at in range(*rollout.spans[turn])}
            assert one.mask == [own * (at not in bad) for at, own in enumerate(rollout.mask)]
        else:
            assert not any(one.mask)


def test_penalised_moves_stay_in_the_loss(rollouts):
    masked = score(rollouts, settings())
    paid = score(rollouts, settings(malformed="penalise", no_answer="penalise", penalty=0.5))
    assert any(one.malformed for one in paid)
    for rollout, one, before in zip(rollouts, paid, masked, strict=True):
        assert one.why in (None, "flat_group")
        if one.malformed:
            assert one.reward == -0.5
        if one.kept:
            assert one.mask == rollout.mask
        assert before.why != "malformed" or one.kept or one.why == "flat_group"


class Dying:
    """An expert whose endpoint is gone for rollout 2."""

    def __init__(self, name, number):
        self._inner = SimulatedExpert(EXPERTS[name], name=name)
        self.spec, self._number = self._inner.spec, number

    def spec_for(self, arguments):
        return self.spec

    async def call_in(self, situation, arguments):
        if self._number == 2:
            raise ProviderFault("connection reset by peer")
        return await self._inner.call_in(situation, arguments)

    async def call(self, arguments, *, run_id):
        raise AssertionError

    async def release(self, run_id):
        await self._inner.release(run_id)


def test_an_expert_that_dies_is_recorded_and_its_siblings_go_on():
    dying = played(ToyCourse(lambda number: [Dying(name, number) for name in EXPERTS]), exercises=1)
    scored = score(dying, settings())
    assert [fault.message for fault in dying[2].trajectory.faults][:1] == ["connection reset by peer"]
    assert (scored[2].why, scored[2].reward, any(scored[2].mask)) == ("fault", None, False)
    well = score(played(exercises=1), settings())
    assert [one.why for n, one in enumerate(scored) if n != 2].count("fault") == 0
    assert sum(one.reward is not None for one in scored) == 5 == sum(one.reward is not None for one in well) - 1


def test_rollouts_that_nobody_can_price_or_grade_are_no_part_of_their_group(rollouts):
    members = sorted(rollouts[:6], key=lambda one: not one.trajectory.calls)  # those that called something first
    nobody = replace(members[0].trajectory, outcome=None)
    members[0] = replace(members[0], trajectory=nobody)
    unpriced = replace(members[1].trajectory.setting, prices=replace(nobody.setting.prices, prices={}))
    members[1] = replace(members[1], trajectory=replace(members[1].trajectory, setting=unpriced))
    scored = score(members, settings())
    assert [one.why for one in scored[:2]] == ["ungraded", "ungraded"]
    rest = reward_reports(group([one.trajectory for one in members[2:]]), members[2].trajectory.setting.preference)[0]
    assert np.allclose([one.advantage for one in scored[2:]], [row.advantage for row in rest.rows])


def test_a_group_that_is_not_whole_is_refused(rollouts):
    with pytest.raises(BadInput, match=r"group 1 .* has 5 of its 6"):
        score(rollouts[1:], settings())


def test_a_reward_part_can_be_taken_out_and_the_gate_opened(rollouts):
    everything = score(rollouts, settings(min_std=0.0, malformed="keep", no_answer="keep"))
    assert {one.why for one in everything} == {None}
    assert any(one.malformed for one in everything)
    assert [one.mask for one in everything] == [one.mask for one in rollouts]
    nothing = score(rollouts, settings(drop=["outcome", "cost", "latency", "tools"]))
    assert {one.reward for one in nothing} == {0.0}
    assert {one.why for one in nothing} == {"flat_group"}
    failed = [at for at, one in enumerate(rollouts) if not one.trajectory.outcome]
    shut, opened = (score(rollouts, settings(gate=gate)) for gate in (True, False))
    assert failed
    assert {shut[at].reward for at in failed} == {0.0}
    assert any(opened[at].reward for at in failed)


def test_dropping_a_part_is_a_weight_of_nothing(rollouts):
    groups = [rollouts[at : at + 6] for at in range(0, len(rollouts), 6)]
    for part in ("outcome", "cost", "latency"):
        scored = iter(score(rollouts, settings(drop=[part])))
        for members in groups:
            records = [one.trajectory for one in members]
            preference = replace(records[0].setting.preference, **{part: 0.0})
            report = reward_reports(group(records), preference)[0]
            assert [next(scored).reward for _ in members] == pytest.approx([row.reward for row in report.rows])
