"""A trajectory is the fold of its events, wherever they stop."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.errors import Fault
from orchestra_lib.event import (
    CallFinished,
    CallStarted,
    Generated,
    RunFinished,
    RunStarted,
    Streamed,
    TurnFinished,
    TurnStarted,
    apply,
    closing,
    fold,
)
from orchestra_lib.generation import Generation
from orchestra_lib.tool import CallStatus, Observation, ToolCall, ToolSpec
from orchestra_lib.trajectory import StopReason
from tests.episodes import attempt, events, setting, trajectory

RUN = list(events(turns=4))


def test_the_fold_of_a_run_says_what_happened():
    whole = fold(RUN)
    assert (whole.status, whole.answer, whole.finished_s, len(whole.turns)) == ("answered", "4", 4.0, 4)
    assert [call.call.id for call in whole.calls] == ["call-0", "call-1", "call-2"]
    assert [turn.index for turn in whole.turns] == [0, 1, 2, 3]
    assert whole.turns[0].calls[0].observation.latency_s == pytest.approx(0.6)


@given(cut=st.integers(1, len(RUN)))
def test_events_cut_anywhere_give_a_trajectory_that_the_rest_completes(cut):
    begun = fold(RUN[:cut])
    assert (begun.stop is None) == (cut < len(RUN))
    for event in RUN[cut:]:
        begun = apply(begun, event)
    assert begun == fold(RUN)


@given(cut=st.integers(1, len(RUN)))
def test_what_only_streams_changes_nothing(cut):
    kept = [event for event in RUN[:cut] if not isinstance(event, Streamed | CallStarted)]
    assert fold(kept) == fold(RUN[:cut])


@given(cut=st.integers(1, len(RUN) - 1))
def test_the_bill_only_grows(cut):
    assert fold(RUN[:cut]).bill().known_usd <= fold(RUN[: cut + 1]).bill().known_usd


def test_the_ledger_follows_the_order_of_events():
    assert [payee for payee, _ in trajectory(turns=3).ledger()] == [
        "orchestrator",
        "search",
        "orchestrator",
        "search",
        "orchestrator",
    ]


@pytest.mark.parametrize("first", [None, TurnStarted(seq=1, t_s=0.0, turn=0)])
def test_a_trajectory_begins_with_its_setting(first):
    with pytest.raises(ValueError, match="begins with run_started"):
        fold([] if first is None else [first])


def observed(call_id, text="ok"):
    seen = Observation(call_id=call_id, status=CallStatus.OK, text=text, started_s=0.0, finished_s=1.0)
    return CallFinished(seq=9, t_s=1.0, turn=0, observation=seen, attempts=(attempt(),))


def parallel(*call_ids):
    calls = tuple(ToolCall.of(call_id, "coder", {}) for call_id in call_ids)
    return [
        RunStarted(seq=1, t_s=0.0, setting=setting()),
        TurnStarted(seq=2, t_s=0.0, turn=0),
        Generated(seq=3, t_s=0.0, turn=0, generation=Generation(raw_text="", calls=calls)),
    ]


@given(order=st.permutations(["a", "b", "c"]))
def test_parallel_calls_may_finish_in_any_order(order):
    done = fold(parallel("a", "b", "c") + [observed(call_id) for call_id in order])
    assert [call.observation.call_id for call in done.calls] == ["a", "b", "c"]


def test_a_repeated_id_answers_one_call_and_is_billed_once_each():
    once = fold([*parallel("a", "a"), observed("a", "first")])
    assert [call.observation and call.observation.text for call in once.calls] == ["first", None]
    assert len(list(once.ledger())) == 1
    twice = apply(once, observed("a", "second"))
    assert [call.observation.text for call in twice.calls] == ["first", "second"]
    assert apply(twice, observed("a", "third")) == twice
    assert apply(twice, observed("nobody")) == twice


def test_faults_on_the_way_are_kept_and_siblings_go_on():
    fault = Fault(where="coder", kind="provider", message="down")
    failed = CallFinished(seq=4, t_s=1.0, turn=0, observation=observed("a").observation, fault=fault)
    ended = RunFinished(seq=6, t_s=2.0, stop=StopReason.ANSWERED, answer="x")
    done = fold([*parallel("a", "b"), failed, observed("b"), TurnFinished(seq=5, t_s=1.5, turn=0), ended])
    assert (done.faults, done.status, done.turns[0].finished_s) == ((fault,), "answered", 1.5)


def test_a_trajectory_is_simulated_when_any_tool_on_offer_is():
    profile = ToolSpec(name="p", title="P", description="", parameters={}, simulated=True)
    assert trajectory(tools=(profile,)).simulated
    assert not trajectory().simulated


@given(cut=st.integers(1, len(RUN) - 1))
def test_a_run_cut_off_anywhere_is_closed_with_every_call_answered(cut):
    fault = Fault(where="run", kind="interrupted", message="cut off")
    begun = fold(RUN[:cut])
    closed = fold([*RUN[:cut], *closing(begun, seq=cut + 1, t_s=9.0, fault=fault)])
    assert (closed.status, closed.faults) == ("fault", (fault,))
    assert all(call.observation is not None for call in closed.calls)
    assert all(turn.finished_s is not None for turn in closed.turns)
