"""Success by what a run did to a database: the environment tells it, condition by condition."""

from collections.abc import Mapping
from typing import Protocol

from orchestra_lib.judge.verdict import Verdict
from orchestra_lib.record import record
from orchestra_lib.trajectory import Trajectory


@record
class Found:
    """What an environment found: its conditions, and why those do not hold that do not."""

    conditions: Mapping[str, bool | None]
    reasons: tuple[str, ...] = ()


class StateGrader(Protocol):
    """An environment that can say what a run has done to its database. Raises `WorldFault` when it cannot look."""

    def look(self, trajectory: Trajectory) -> Found: ...


def state(found: Found) -> Verdict:
    """Solved when every condition holds, not solved when one does not, else unknown. ValueError without conditions."""
    conditions = found.conditions
    if not conditions:
        raise ValueError("a verdict on a database needs conditions")
    broken = [name for name, holds in conditions.items() if holds is False]
    unknown = [name for name, holds in conditions.items() if holds is None]
    if broken:
        why = "; ".join([f"does not hold: {', '.join(broken)}", *found.reasons])
        return Verdict(outcome=False, reason=why, conditions=conditions)
    if unknown:
        return Verdict(outcome=None, reason=f"cannot be told: {', '.join(unknown)}", conditions=conditions)
    return Verdict(outcome=True, reason=f"all {len(conditions)} conditions hold", conditions=conditions)
