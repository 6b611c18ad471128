"""Success by what a run did to a database: the environment tells it, condition by condition."""

from collections.abc import Mapping
from typing import Protocol

from orchestra_lib.judge.verdict import Verdict
from orchestra_lib.trajectory import Trajectory


class StateGrader(Protocol):
    """An environment that can say what a run has done to its database. Raises `WorldFault` when it cannot look."""

    def conditions(self, trajectory: Trajectory) -> Mapping[str, bool | None]: ...


def state(conditions: Mapping[str, bool | None]) -> Verdict:
    """Solved when every condition holds, not solved when one does not, else unknown. ValueError without conditions."""
    if not conditions:
        raise ValueError("a verdict on a database needs conditions")
    broken = [name for name, holds in conditions.items() if holds is False]
    unknown = [name for name, holds in conditions.items() if holds is None]
    if broken:
        return Verdict(outcome=False, reason=f"does not hold: {', '.join(broken)}", conditions=conditions)
    if unknown:
        return Verdict(outcome=None, reason=f"cannot be told: {', '.join(unknown)}", conditions=conditions)
    return Verdict(outcome=True, reason=f"all {len(conditions)} conditions hold", conditions=conditions)
