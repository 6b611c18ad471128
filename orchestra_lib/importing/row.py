"""One unit of a file that is imported: a trajectory, or why it is none."""

from orchestra_lib.record import record
from orchestra_lib.trajectory import Trajectory


@record
class Row:
    """A row or a sample. `name` says where it stands; exactly one of `trajectory` and `problem` is given."""

    name: str
    trajectory: Trajectory | None = None
    problem: str | None = None
