"""A run on the axis of its stated seconds: as it would have gone had simulated and recorded experts waited."""

from collections.abc import Collection
from dataclasses import replace

from orchestra_lib.trajectory import Call, Trajectory, Turn, stated_more_s


def as_stated(run: Trajectory) -> Trajectory:
    """The same run with the times of `Trajectory.latency_s`: each such call lasts what it states, and what comes after
    its turn comes later by as much. A run without such tools is returned as it is."""
    stating = {spec.name for spec in run.setting.tools if spec.states_its_time}
    if not stating:
        return run
    later_s, turns = 0.0, []
    for turn in run.turns:
        more_s = stated_more_s(turn, stating)
        turns.append(_moved(turn, later_s, more_s, stating))
        later_s += more_s
    ended = None if run.finished_s is None else run.finished_s + later_s
    return replace(run, turns=tuple(turns), finished_s=ended)


def _moved(turn: Turn, later_s: float, more_s: float, stating: Collection[str]) -> Turn:
    return replace(
        turn,
        started_s=turn.started_s + later_s,
        generated_s=None if turn.generated_s is None else turn.generated_s + later_s,
        finished_s=None if turn.finished_s is None else turn.finished_s + later_s + more_s,
        calls=tuple(_call(call, later_s, call.call.tool in stating) for call in turn.calls),
    )


def _call(call: Call, later_s: float, states: bool) -> Call:
    seen = call.observation
    if seen is None:
        return call
    begun = seen.started_s + later_s
    lasted = call.stated_s if states else seen.latency_s
    return replace(call, observation=replace(seen, started_s=begun, finished_s=begun + lasted))
