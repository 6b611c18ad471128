"""A trajectory unfolds into events that fold into it again."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.errors import Fault
from orchestra_lib.event import (
    CallFinished,
    Generated,
    Graded,
    RunFinished,
    RunStarted,
    TurnFinished,
    TurnStarted,
    fold,
)
from orchestra_lib.generation import Generation
from orchestra_lib.grade import Grade
from orchestra_lib.tool import CallStatus, Observation, ToolCall
from orchestra_lib.trajectory import StopReason
from orchestra_lib.unfolding import unfold
from tests.episodes import attempt, events, setting, trajectory

DOWN = {name: Fault(where=name, kind="provider", message=f"{name} is down") for name in ("search", "coder", "run")}
NAMES = st.sampled_from(["search", "coder"])


@st.composite
def runs(draw):
    """Runs of a few turns whose calls end in any order, some with a fault, cut anywhere."""
    made = [RunStarted(seq=1, t_s=0.0, setting=setting())]
    for turn in range(draw(st.integers(0, 4))):
        made.append(TurnStarted(seq=0, t_s=turn, turn=turn))
        tools = draw(st.lists(NAMES, max_size=4))
        ids = [draw(st.sampled_from(["a", "b", str(n)])) for n in range(len(tools))]
        calls = tuple(ToolCall.of(call_id, tool, {}) for call_id, tool in zip(ids, tools, strict=True))
        made.append(Generated(seq=0, t_s=turn + 0.1, turn=turn, generation=Generation(raw_text="", calls=calls)))
        for n in draw(st.permutations(range(len(calls)))):
            seen = Observation(call_id=ids[n], status=CallStatus.OK, text=str(n), started_s=0.2, finished_s=n + 0.3)
            fault = draw(st.sampled_from([None, *DOWN.values()]))
            made.append(CallFinished(seq=0, t_s=1.0, turn=turn, observation=seen, attempts=(attempt(),), fault=fault))
        made.append(TurnFinished(seq=0, t_s=turn + 0.9, turn=turn))
    stop = draw(st.sampled_from([StopReason.FAULT, StopReason.ANSWERED]))
    fault = draw(st.sampled_from([None, DOWN["run"]]))
    made.append(RunFinished(seq=0, t_s=9.0, stop=stop, answer="4", fault=fault))
    return made[: draw(st.integers(1, len(made)))]


@given(runs())
def test_what_is_unfolded_folds_into_the_same(made):
    whole = fold(made)
    assert fold(unfold(whole)) == whole


def test_events_are_numbered_without_gaps_and_are_those_of_the_journal():
    kept = [event for event in events(turns=3) if event.kind not in {"streamed", "call_started"}]
    unfolded = unfold(trajectory(turns=3))
    assert [event.seq for event in unfolded] == list(range(1, len(kept) + 1))
    assert [(event.kind, event.t_s) for event in unfolded] == [(event.kind, event.t_s) for event in kept]


def test_a_fault_stays_with_the_call_of_its_tool_and_the_last_with_the_end():
    calls = tuple(ToolCall.of(name, name, {}) for name in ("search", "coder"))
    seen = [Observation(call_id=c.id, status=CallStatus.ERROR, text="", started_s=0.0, finished_s=1.0) for c in calls]
    run = [
        RunStarted(seq=1, t_s=0.0, setting=setting()),
        TurnStarted(seq=2, t_s=0.0, turn=0),
        Generated(seq=3, t_s=0.1, turn=0, generation=Generation(raw_text="", calls=calls)),
        CallFinished(seq=4, t_s=1.0, turn=0, observation=seen[0]),
        CallFinished(seq=5, t_s=1.0, turn=0, observation=seen[1], fault=DOWN["coder"]),
        RunFinished(seq=6, t_s=2.0, stop=StopReason.FAULT, fault=DOWN["run"]),
    ]
    assert [getattr(event, "fault", None) for event in unfold(fold(run))][-3:] == [None, DOWN["coder"], DOWN["run"]]


def test_grades_and_what_they_took_come_back():
    verdicts = [Grade(at=datetime(2026, 11, 30, tzinfo=UTC), by=f"model:{n}", outcome=n == 1) for n in range(2)]
    graded = [Graded(seq=99 + n, t_s=5.0, grade=one, attempts=(attempt(),)) for n, one in enumerate(verdicts)]
    whole = fold([*events(), *graded])
    assert fold(unfold(whole)) == whole
    assert (whole.outcome, len(whole.judge_attempts)) == (True, 2)
