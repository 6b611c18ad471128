"""Runs that branched off from others, as a tree."""

from orchestra_lib.record import record

ROOT = """WITH RECURSIVE up(id, step) AS (
    SELECT $id, 0
    UNION ALL SELECT fork_run, step + 1 FROM up JOIN trajectories USING (id) WHERE fork_run IS NOT NULL AND step < 10000
) SELECT id FROM up ORDER BY step DESC LIMIT 1"""
"""The run that a tree grows from; it may have been deleted."""

TREE = """WITH RECURSIVE down(id) AS (
    SELECT $id UNION SELECT t.id FROM trajectories t JOIN down ON t.fork_run = down.id
) SELECT id, fork_run AS parent, fork_turn AS turn,
    coalesce(TRY_CAST(raw->>'$.setting.fork.edited' AS BOOLEAN), false) AS edited, status, orchestrator, sentence,
    outcome, cost_usd, nominal, latency_s, turns
FROM trajectories JOIN down USING (id) ORDER BY fork_turn NULLS FIRST, id"""


@record
class Branch:
    """One run in a tree of forks. `parent` is None for the run that the tree grows from; a parent may be deleted."""

    id: str
    parent: str | None
    turn: int | None
    edited: bool
    status: str
    orchestrator: str
    sentence: str
    outcome: bool | None
    cost_usd: float | None
    nominal: bool
    latency_s: float | None
    turns: int
