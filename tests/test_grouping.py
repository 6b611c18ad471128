"""Groups from stored trajectories: what may stand together, what a rollout counts, what it costs under which table."""

from dataclasses import replace
from datetime import date

import pytest
from episodes import PRICES, TOOLS, events, trajectory

from orchestra_lib.errors import BadInput, Fault
from orchestra_lib.event import fold
from orchestra_lib.generation import Generation
from orchestra_lib.grouping import group, is_malformed
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import Price
from orchestra_lib.task import Task
from orchestra_lib.tool import CallStatus, Observation, ToolCall
from orchestra_lib.trajectory import Call, StopReason, Turn

DEAR = replace(
    PRICES, name="dear", prices={**PRICES.prices, "search": Price(call_usd=7.0, source="test")}, dated=date(2026, 1, 2)
)


def graded(run_id="a", outcome=True, **changes):
    return replace(trajectory(run_id, **changes), outcome=outcome)


def with_setting(one, **changes):
    return replace(one, setting=replace(one.setting, **changes))


def test_a_rollout_counts_every_offered_tool_and_pays_what_its_bill_says():
    one = graded(turns=3)
    [rollout] = group([one])
    assert (rollout.id, rollout.outcome, rollout.tool_counts) == ("a", True, {"search": 2, "coder": 0})
    assert (rollout.cost_usd, rollout.latency_s) == (one.bill().cost_usd, one.finished_s)
    assert (rollout.answered, rollout.turns, rollout.malformed_turns) == (True, 3, ())


def test_a_rollout_whose_tools_only_play_a_part_is_marked():
    pretending = with_setting(graded(), tools=(replace(TOOLS[0], simulated=True), TOOLS[1]))
    assert [one.simulated for one in (*group([graded()]), *group([pretending]))] == [False, True]


def test_another_table_prices_anew_and_the_judge_is_not_part_of_the_price():
    judged = replace(graded(turns=2), judge_attempts=graded().turns[0].generation.attempts)
    [cheap], [dear] = group([judged]), group([judged], prices=DEAR)
    assert dear.cost_usd - cheap.cost_usd == pytest.approx(6.999)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"task": Task(text="Another.")}, "run b has another task than a, so they are no group; leave it out"),
        ({"tools": TOOLS[:1]}, "run b has other tools than a"),
        ({"preference": Preference(cost=0.1)}, "another preference than a.*weigh all alike with --prefer"),
        ({"prices": DEAR}, "another price table than a.*price all alike with --prices"),
    ],
)
def test_what_is_no_group_is_refused_by_run_and_remedy(changes, words):
    with pytest.raises(BadInput, match=words):
        group([graded("a"), with_setting(graded("b"), **changes)])


def test_runs_weighed_and_priced_anew_may_have_been_played_otherwise():
    other = with_setting(graded("b"), preference=Preference(cost=0.1), prices=DEAR)
    assert len(group([graded("a"), other], prices=PRICES, any_preference=True)) == 2


def test_a_run_that_has_not_ended_is_refused():
    running = fold(list(events("a"))[:-1])
    with pytest.raises(BadInput, match="run a has not ended; wait for it, or leave it out"):
        group([running])
    with pytest.raises(BadInput, match="name some"):
        group([])


def test_a_graded_run_with_an_unpriced_part_is_refused_and_an_ungraded_one_is_not():
    lacking = replace(PRICES, name="lacking", prices={"small": PRICES.prices["small"]})
    with pytest.raises(BadInput, match=r"run a: its cost is unknown under lacking .*no price for search\), .*--prices"):
        group([graded("a")], prices=lacking)
    [rollout] = group([graded("a", outcome=None)], prices=lacking)
    assert rollout.cost_usd is None


def test_a_fault_and_a_stop_give_no_reward_and_a_limit_does():
    fault = Fault(where="orchestrator", kind="provider", message="down")
    stops = [
        graded("a", fault=fault, answer=None),
        replace(graded("b"), stop=StopReason.CANCELLED),
        replace(graded("c"), stop=StopReason.MAX_TURNS, answer=None),
    ]
    found = group(stops)
    assert [one.no_reward for one in found] == ["the world failed, not the orchestrator", "somebody stopped it", None]
    assert [one.counts for one in found] == [False, False, True]
    assert not found[2].answered


def turn(call=None, status=CallStatus.OK, answer=None):
    seen = Observation(call_id="c", status=status, text="", started_s=0.0, finished_s=0.0)
    calls = (Call(call=call, observation=seen),) if call else ()
    move = Generation(raw_text="", calls=(call,) if call else (), answer=answer)
    return Turn(index=0, started_s=0.0, generation=move, calls=calls)


GOOD = ToolCall.of("c", "search", {"query": "x"})
TEXT = ToolCall(id="c", tool="search", arguments=None, arguments_text="{")


@pytest.mark.parametrize(
    "move, malformed",
    [
        (turn(GOOD), False),
        (turn(answer="4"), False),
        (turn(), True),
        (turn(TEXT, CallStatus.REJECTED), True),
        (turn(replace(GOOD, tool="nothing"), CallStatus.REJECTED), True),
        (turn(GOOD, CallStatus.REJECTED), False),
        (turn(GOOD, CallStatus.ERROR), False),
        (turn(replace(GOOD, recovered="python_literal")), True),
        (Turn(index=0, started_s=0.0), False),
    ],
)
def test_a_turn_is_malformed_when_its_writing_is_not_when_it_failed_or_was_a_repeat(move, malformed):
    assert is_malformed(move, trajectory().setting) is malformed
