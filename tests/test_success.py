"""The three conditions, and what upstream's rule says beside them."""

import pytest
from worlds import call, cancellation, done, world

from orchestra_lib.environment.assignment import AssignmentKind, Information
from orchestra_lib.environment.success import Judge, golden_of, judge
from orchestra_lib.errors import BadInput

SAID = ("You get $50.00 back.",)


def verdict(*calls, said=SAID, **changes):
    task = cancellation(**changes)
    return judge(world(), task, done(task, *calls), said)


def test_the_golden_calls_succeed():
    assert verdict().success


def test_other_reads_and_another_order_succeed_too():
    golden = cancellation().golden
    extra = call("search_bikes", kind="city", station="North")
    assert verdict(golden[1], extra, golden[0], golden[3], golden[4]).success


@pytest.mark.parametrize(
    "last, reason",
    [
        (call("cancel_hire", hire_id="H1004", reason="illness"), "should not have changed: bikes B106, hires H1004"),
        (call("cancel_hire", hire_id="H1003", reason="mistake"), "changed otherwise: hires H1003"),
    ],
)
def test_another_write_fails_in_the_state(last, reason):
    golden = cancellation().golden
    said = verdict(*golden[:-1], last)
    assert (said.state_ok, said.said_ok, said.upstream) == (False, True, False)
    assert reason in said.reasons


def test_what_was_not_looked_at_is_named_though_the_state_is_right():
    task = cancellation(kind=AssignmentKind.REFUSAL, required=(), golden=(call("get_hire", hire_id="H1002"),))
    said = judge(world(), task, world().state(), ("I cannot do that.",))
    assert (said.state_ok, said.touched_ok, said.success) == (True, False, False)
    assert said.reasons == ("never looked at: hires H1002",)
    assert said.upstream, "upstream passes whoever does nothing here"


def test_seen_in_a_search_counts_as_looked_at():
    task = cancellation(required=(), golden=(call("get_bike", bike_id="B101"),))
    assert judge(world(), task, done(None, call("search_bikes", kind="road")), ()).success


def test_the_quick_way_agrees():
    task = cancellation()
    judged = Judge(world(), task)
    for calls in (task.golden, task.golden[:-1], task.golden[1:], task.golden[-1:]):
        for said in (SAID, ("Done.",)):
            state = done(None, *calls)
            assert judged.succeeds(state, said) == judged(state, said).success


def test_upstream_takes_part_of_a_number_for_the_number():
    said = verdict(said=("You get 150.0 back.",))
    assert (said.said_ok, said.upstream) == (False, True)


def test_a_golden_call_that_fails_is_named():
    broken = cancellation(golden=(call("get_hire", hire_id="H1003"), call("get_hire", hire_id="H9")))
    with pytest.raises(BadInput, match=r"mock-1: golden call 2 \(get_hire\): There is no hire 'H9'"):
        golden_of(world(), broken)


def test_a_required_text_may_be_said_otherwise():
    required = (Information(value="cancelled", aliases=("called off",)),)
    assert verdict(said=("It is called off.",), required=required).said_ok
    assert not verdict(said=("It is uncancelled.",), required=required).said_ok
