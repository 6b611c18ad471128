"""The route of the Compare page: two trajectories side by side, or three to eight."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from app.answers import NotFound
from app.compared_rewards import Group
from app.comparison import By, comparison
from app.lineup import FEWEST, MOST, lineup
from app.reward_views import MAX_ROLLOUTS
from app.runs import RunManager
from orchestra_lib.codec import dumps
from orchestra_lib.errors import BadInput
from orchestra_lib.store.store import Store
from orchestra_lib.trajectory import Trajectory


def router(runs: RunManager, store: Store) -> APIRouter:
    """`GET /compare?a=ID&b=ID`, or `?run=ID&run=ID…` with a `base`; `by` says how two are aligned."""
    made = APIRouter()

    @made.get("/compare")
    async def compare(
        run: Annotated[list[str] | None, Query()] = None, a: str = "", b: str = "", base: str = "", by: str = By.CALL
    ) -> Response:
        if by not in set(By):
            raise BadInput(f"by = {by[:40]!r}; use {', '.join(By)}")
        many = tuple(dict.fromkeys(run or ()))
        if len(many) == 2:
            a, b, many = *many, ()
        work = (_many, runs, store, many, base) if many else (_two, runs, store, a, b, By(by))
        data = await asyncio.to_thread(*work)
        return Response(dumps(data), media_type="application/json")

    return made


def _two(runs: RunManager, store: Store, a: str, b: str, by: By) -> dict[str, Any]:
    one, other = (_found(runs, side, run_id) for side, run_id in (("A", a), ("B", b)))
    return comparison(one, other, by=by, group=_group(runs, store, (one, other)))


def _many(runs: RunManager, store: Store, run_ids: Sequence[str], base: str) -> dict[str, Any]:
    if not FEWEST <= len(run_ids) <= MOST:
        raise BadInput(f"{len(run_ids)} runs; compare between 2 and {MOST} at once")
    found = [_found(runs, f"Run {place}", run_id) for place, run_id in enumerate(run_ids, 1)]
    chosen = next((one for one in found if one.id == base), found[0])
    return lineup(found, chosen, group=_group(runs, store, found))


def _found(runs: RunManager, side: str, run_id: str) -> Trajectory:
    if not run_id:
        raise BadInput(f"{side} is missing; name two runs as ?a=ID&b=ID")
    try:
        return runs.trajectory(run_id)
    except BadInput as error:
        raise NotFound(f"{side}: {error}") from None


def _group(runs: RunManager, store: Store, compared: Sequence[Trajectory]) -> Group | None:
    """The first group by name that all of them are of, with its members that have ended."""
    ids = {one.id for one in compared}
    listed = ", ".join("'" + run_id.replace("'", "''") + "'" for run_id in sorted(ids))
    answer = store.query(
        f"SELECT name FROM group_members WHERE run_id IN ({listed}) GROUP BY name "  # noqa: S608  # quoted above
        f"HAVING count(DISTINCT run_id) = {len(ids)} ORDER BY name LIMIT 1"
    )
    if not answer.rows:
        return None
    name = str(answer.rows[0][0])
    members = store.members(name)
    if len(members) > MAX_ROLLOUTS:
        return None
    return Group(name=name, members=tuple(one for one in map(runs.trajectory, members) if one.stop is not None))
