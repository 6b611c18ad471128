"""The route of the Compare page."""

import asyncio

from fastapi import APIRouter
from fastapi.responses import Response

from app.answers import NotFound
from app.comparison import comparison
from app.runs import RunManager
from orchestra_lib.codec import dumps
from orchestra_lib.errors import BadInput
from orchestra_lib.trajectory import Trajectory


def router(runs: RunManager) -> APIRouter:
    """`GET /compare?a=ID&b=ID`."""
    made = APIRouter()

    @made.get("/compare")
    async def compare(a: str = "", b: str = "") -> Response:
        found = [await _found(runs, side, run_id) for side, run_id in (("A", a), ("B", b))]
        data = await asyncio.to_thread(comparison, *found)
        return Response(dumps(data), media_type="application/json")

    return made


async def _found(runs: RunManager, side: str, run_id: str) -> Trajectory:
    if not run_id:
        raise BadInput(f"{side} is missing; name two runs as ?a=ID&b=ID")
    try:
        return await asyncio.to_thread(runs.trajectory, run_id)
    except BadInput as error:
        raise NotFound(f"{side}: {error}") from None
