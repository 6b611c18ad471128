"""The routes of the Reward page: which groups there are, and one group with all that its rewards follow from."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from app.answers import NotFound
from app.reward_views import MAX_ROLLOUTS, group_view
from app.runs import RunManager
from orchestra_lib.codec import dumps, to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.workbench import Workbench

MAX_GROUPS = 200


def router(workbench: Workbench, runs: RunManager) -> APIRouter:
    """`GET /reward/groups`, and `GET /reward?group=NAME` or `?run=ID&run=ID…`."""
    made = APIRouter()

    @made.get("/reward/groups")
    def groups() -> dict[str, Any]:
        return {"groups": [to_data(one) for one in workbench.store.groups(MAX_GROUPS)], "most": MAX_GROUPS}

    @made.get("/reward")
    async def reward(run: Annotated[list[str] | None, Query()] = None, group: str = "") -> Response:
        data = await asyncio.to_thread(_view, workbench, runs, run or [], group)
        return Response(dumps(data), media_type="application/json")

    return made


def _view(workbench: Workbench, runs: RunManager, run_ids: Sequence[str], name: str) -> dict[str, Any]:
    if bool(run_ids) == bool(name):
        raise BadInput("name a group as ?group=NAME, or its runs as ?run=ID&run=ID")
    wanted = workbench.store.members(name) if name else tuple(dict.fromkeys(run_ids))
    if not wanted:
        raise NotFound(f"there is no group {name[:80]!r}")
    if len(wanted) > MAX_ROLLOUTS:
        raise BadInput(f"{len(wanted):,} runs; the page shows at most {MAX_ROLLOUTS}, `orchestra reward` takes more")
    try:
        found = [runs.trajectory(run_id) for run_id in wanted]
    except BadInput as error:
        raise NotFound(str(error)) from None
    return group_view(found, workbench.price_tables(), name=name or None)
