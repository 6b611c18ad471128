"""Groups in the query store: rollouts that were started together, and runs that somebody put together later."""

from orchestra_lib.codec import well_formed
from orchestra_lib.errors import BadInput
from orchestra_lib.record import record

MAX_NAME_CHARS = 80

GROUPS = """SELECT name, count(*) AS runs, any_value(left(task, 400)) AS task, count(DISTINCT task) AS tasks,
    count(*) FILTER (outcome) AS solved, count(*) FILTER (outcome IS NULL) AS ungraded,
    count(*) FILTER (status = 'running') AS running
FROM group_members JOIN trajectories ON id = run_id WHERE training IS NULL
GROUP BY name ORDER BY max(started_at) DESC, name LIMIT $most"""
"""Those of training are many hundreds, and found by their training run."""

MEMBERS = """SELECT run_id FROM group_members JOIN trajectories ON id = run_id
WHERE name = $name ORDER BY started_at, run_id"""

OWN = "SELECT id FROM trajectories WHERE group_name = $name AND id IN (SELECT unnest($ids::VARCHAR[])) ORDER BY id"
"""Runs that were started in a group: that stands in their journals."""


@record
class GroupSummary:
    """A group as a list shows it; `tasks` is above 1 where its runs are no group after all."""

    name: str
    runs: int
    task: str
    tasks: int
    solved: int
    ungraded: int
    running: int


def checked_group(text: str) -> str:
    """The name of a group as it is kept. Raises `BadInput` for none, one over 80 characters, and a file's name."""
    name = well_formed(" ".join(text.split()))
    if not name or not name.isprintable() or len(name) > MAX_NAME_CHARS:
        raise BadInput(
            f"{text[:MAX_NAME_CHARS]!r} is no name for a group; use 1 to {MAX_NAME_CHARS} visible characters"
        )
    if name.lower().endswith(".json"):
        raise BadInput(f"{name!r} reads like a file; name the group without .json")
    return name
