"""What happens in an episode, one event after another; a trajectory is their fold.

The journal keeps every event but `Streamed` and `CallStarted`; the live page follows all of
them. `seq` counts from 1 without gaps within a run; `t_s` is seconds since the run started.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from orchestra_lib.errors import Fault
from orchestra_lib.generation import Channel, Generation
from orchestra_lib.grade import Grade
from orchestra_lib.pricing import Attempt, PriceTable
from orchestra_lib.record import record
from orchestra_lib.tool import CallStatus, Observation
from orchestra_lib.trajectory import MOST_TURNS, Call, Setting, StopReason, Trajectory, Turn


@record
class RunStarted:
    kind: Literal["run_started"] = "run_started"
    seq: int
    t_s: float
    setting: Setting


@record
class TurnStarted:
    kind: Literal["turn_started"] = "turn_started"
    seq: int
    t_s: float
    turn: int


@record
class Streamed:
    """Text of the running generation, for whoever watches; the whole of it comes in `Generated`."""

    kind: Literal["streamed"] = "streamed"
    seq: int
    t_s: float
    turn: int
    channel: Channel
    text: str


@record
class Generated:
    """The orchestrator has spoken: its calls are proposed, or it answered."""

    kind: Literal["generated"] = "generated"
    seq: int
    t_s: float
    turn: int
    generation: Generation


@record
class CallStarted:
    """A call passed every check and runs. `held_usd` is its worst case, None when unknown."""

    kind: Literal["call_started"] = "call_started"
    seq: int
    t_s: float
    turn: int
    call_id: str
    held_usd: float | None


@record
class CallFinished:
    kind: Literal["call_finished"] = "call_finished"
    seq: int
    t_s: float
    turn: int
    observation: Observation
    attempts: tuple[Attempt, ...] = ()
    fault: Fault | None = None


@record
class TurnFinished:
    kind: Literal["turn_finished"] = "turn_finished"
    seq: int
    t_s: float
    turn: int


@record
class RunFinished:
    kind: Literal["run_finished"] = "run_finished"
    seq: int
    t_s: float
    stop: StopReason
    answer: str | None = None
    fault: Fault | None = None


@record
class Graded:
    """Somebody graded the run after it had ended, or tried to: `grade` is None where the grader failed by `fault`.

    A failed try changes no outcome. `attempts` are what a judge took, billed apart from the run, and `prices` the
    table with the rows that price them.
    """

    kind: Literal["graded"] = "graded"
    seq: int
    t_s: float
    grade: Grade | None = None
    attempts: tuple[Attempt, ...] = ()
    prices: PriceTable | None = None
    fault: Fault | None = None


Event = (
    RunStarted | TurnStarted | Streamed | Generated | CallStarted | CallFinished | TurnFinished | RunFinished | Graded
)


CUT_OFF = "Not finished: the run was cut off."
"""What answers a call whose run's process ended before it was done."""


def fold(events: Iterable[Event]) -> Trajectory:
    """The trajectory after these events, complete or cut anywhere. Raises ValueError without a `RunStarted`."""
    trajectory: Trajectory | None = None
    former: list[Turn] = []  # no event changes them any more: copied once, not once for each event
    for event in events:
        if isinstance(event, RunStarted):
            former = []
        elif isinstance(event, TurnStarted) and trajectory is not None:
            former += trajectory.turns
            trajectory = replace(trajectory, turns=())
        trajectory = apply(trajectory, event)
    if trajectory is None:
        raise ValueError("no events: a trajectory begins with run_started")
    return replace(trajectory, turns=(*former, *trajectory.turns))


def apply(trajectory: Trajectory | None, event: Event) -> Trajectory:
    """The trajectory after one more event."""
    if isinstance(event, RunStarted):
        return Trajectory(setting=event.setting)
    if trajectory is None:
        raise ValueError(f"the first event is {event.kind}; a trajectory begins with run_started")
    match event:
        case TurnStarted():
            if not 0 <= event.turn < MOST_TURNS:
                raise ValueError(f"there is no turn {event.turn}")
            return replace(trajectory, turns=(*trajectory.turns, Turn(index=event.turn, started_s=event.t_s)))
        case Generated():
            calls = tuple(Call(call=call) for call in event.generation.calls)
            return _last(trajectory, generation=event.generation, generated_s=event.t_s, calls=calls)
        case CallFinished():
            return _with_fault(_last(trajectory, calls=_answered(trajectory.turns[-1].calls, event)), event.fault)
        case TurnFinished():
            return _last(trajectory, finished_s=event.t_s)
        case RunFinished():
            finished_s = event.t_s if trajectory.setting.timed else None
            ended = replace(trajectory, stop=event.stop, answer=event.answer, finished_s=finished_s)
            return _with_fault(ended, event.fault)
        case Graded():
            return _graded(trajectory, event)
        case _:
            return trajectory


def closing(trajectory: Trajectory, *, seq: int, t_s: float, fault: Fault) -> list[Event]:
    """The events that close a run which was cut off: every open call answered, the open turn and the run ended.

    `seq` is the number of the first. A call that was under way may have cost something: what is unknown.
    """
    closed: list[Event] = []
    turn = trajectory.turns[-1] if trajectory.turns else None
    if turn is not None and turn.finished_s is None:
        specs = {spec.name: spec for spec in trajectory.setting.tools}
        for call in turn.calls:
            if call.observation is None:
                spec = specs.get(call.call.tool)
                started_s = turn.generated_s or t_s
                closed.append(
                    CallFinished(
                        seq=seq + len(closed),
                        t_s=t_s,
                        turn=turn.index,
                        observation=Observation(
                            call_id=call.call.id,
                            status=CallStatus.CANCELLED,
                            text=CUT_OFF,
                            started_s=started_s,
                            finished_s=t_s,
                        ),
                        attempts=(Attempt(priced_as=spec.priced_as, wall_s=t_s - started_s),) if spec else (),
                    )
                )
        closed.append(TurnFinished(seq=seq + len(closed), t_s=t_s, turn=turn.index))
    return [*closed, RunFinished(seq=seq + len(closed), t_s=t_s, stop=StopReason.FAULT, fault=fault)]


def _last(trajectory: Trajectory, **changes: object) -> Trajectory:
    turn: Turn = replace(trajectory.turns[-1], **changes)  # type: ignore[arg-type]  # the callers above name real fields
    return replace(trajectory, turns=(*trajectory.turns[:-1], turn))


def _answered(calls: tuple[Call, ...], event: CallFinished) -> tuple[Call, ...]:
    """The calls with this one answered: the first that waits under its id, so that nothing is billed twice."""
    for place, call in enumerate(calls):
        if call.call.id == event.observation.call_id and call.observation is None:
            done = replace(call, observation=event.observation, attempts=event.attempts)
            return (*calls[:place], done, *calls[place + 1 :])
    return calls


def _graded(trajectory: Trajectory, event: Graded) -> Trajectory:
    setting = trajectory.setting
    if event.prices is not None:
        setting = replace(setting, prices=setting.prices.with_rows_of(event.prices))
    judged = replace(
        trajectory,
        setting=setting,
        judge_attempts=(*trajectory.judge_attempts, *event.attempts),
        judge_faults=trajectory.judge_faults if event.fault is None else (*trajectory.judge_faults, event.fault),
    )
    if event.grade is None:
        return judged
    return replace(judged, outcome=event.grade.outcome, grades=(*trajectory.grades, event.grade))


def _with_fault(trajectory: Trajectory, fault: Fault | None) -> Trajectory:
    return trajectory if fault is None else replace(trajectory, faults=(*trajectory.faults, fault))
