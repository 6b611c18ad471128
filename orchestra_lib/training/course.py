"""What is trained on: exercises, each played by a group of rollouts that are compared with one another."""

from collections.abc import Callable, Sequence
from typing import Protocol

from orchestra_lib.protocols import Tool
from orchestra_lib.record import record
from orchestra_lib.trajectory import Setting, Trajectory

Verdict = Callable[[Trajectory], bool | None]


@record
class Exercise:
    """What the rollouts of one group have in common.

    `kind` names how it was drawn ("seen", "uniform", …). `setting` is that of every rollout but for `run_id`,
    `started_at`, `group` and `seed`, which are its own. `tools` makes the tools of rollout n of the group, whose specs
    are those of the setting. `grade` says whether the task was solved, None where nobody can say. `complies` says
    whether the first call kept to the preference, None where there was nothing to keep. `strongest` are the names of
    the tools that count as strongest. `aim` is what the preference asks for: cost, latency, tool, outcome.
    """

    id: str
    kind: str
    setting: Setting
    tools: Callable[[int], Sequence[Tool]]
    grade: Verdict
    complies: Verdict = lambda trajectory: None
    strongest: frozenset[str] = frozenset()
    aim: str = "outcome"


class Course(Protocol):
    """Exercises without end. The same course and number give the same exercise, on every machine."""

    def exercise(self, number: int) -> Exercise: ...
