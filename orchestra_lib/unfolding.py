"""A trajectory back into events, for one that was stored without its journal, such as an imported one."""

from collections.abc import Iterator
from dataclasses import replace

from orchestra_lib.errors import Fault
from orchestra_lib.event import (
    CallFinished,
    Event,
    Generated,
    Graded,
    RunFinished,
    RunStarted,
    TurnFinished,
    TurnStarted,
)
from orchestra_lib.trajectory import Call, StopReason, Trajectory, Turn


def unfold(trajectory: Trajectory) -> list[Event]:
    """Events whose fold is this trajectory; they are those that a journal keeps.

    Calls stand in the order in which they were proposed. Which call a fault came with is told by its tool, else by
    its place. What judges took stands with the first grade or failure of one.
    """
    return [replace(event, seq=seq) for seq, event in enumerate(_events(trajectory), start=1)]


def _events(trajectory: Trajectory) -> Iterator[Event]:
    yield RunStarted(seq=0, t_s=0.0, setting=trajectory.setting)
    with_calls, at_end = _faults(trajectory)
    for turn in trajectory.turns:
        yield from _turn(turn, with_calls)
    t_s = trajectory.finished_s or 0.0
    if trajectory.stop is not None:
        yield RunFinished(seq=0, t_s=t_s, stop=trajectory.stop, answer=trajectory.answer, fault=at_end)
    attempts = trajectory.judge_attempts
    for fault in trajectory.judge_faults:
        yield Graded(seq=0, t_s=t_s, fault=fault, attempts=attempts)
        attempts = ()
    for grade in trajectory.grades:
        yield Graded(seq=0, t_s=t_s, grade=grade, attempts=attempts)
        attempts = ()


def _turn(turn: Turn, faults: Iterator[Fault | None]) -> Iterator[Event]:
    yield TurnStarted(seq=0, t_s=turn.started_s, turn=turn.index)
    if turn.generation is not None:
        t_s = turn.started_s if turn.generated_s is None else turn.generated_s
        yield Generated(seq=0, t_s=t_s, turn=turn.index, generation=turn.generation)
    for call in turn.calls:
        if (seen := call.observation) is not None:
            yield CallFinished(
                seq=0,
                t_s=seen.finished_s,
                turn=turn.index,
                observation=seen,
                attempts=call.attempts,
                fault=next(faults),
            )
    if turn.finished_s is not None:
        yield TurnFinished(seq=0, t_s=turn.finished_s, turn=turn.index)


def _faults(trajectory: Trajectory) -> tuple[Iterator[Fault | None], Fault | None]:
    """The fault of each call that was answered, in order, and the one that the run ended with."""
    answered = [call for call in trajectory.calls if call.observation is not None]
    left = list(trajectory.faults)
    at_end = left.pop() if left and (trajectory.stop is StopReason.FAULT or len(left) > len(answered)) else None
    return iter(_matched(answered, left)), at_end


def _matched(answered: list[Call], faults: list[Fault]) -> list[Fault | None]:
    """Each fault with a call of its tool, unless later calls would then be too few for the faults that are left."""
    matched: list[Fault | None] = []
    for n, call in enumerate(answered):
        due = bool(faults) and (faults[0].where == call.call.tool or len(faults) >= len(answered) - n)
        matched.append(faults.pop(0) if due else None)
    return matched
