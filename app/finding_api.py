"""Search within one run, going on or stored."""

import asyncio
from typing import Any

from fastapi import APIRouter

from app import finding
from app.answers import found
from app.runs import RunManager
from orchestra_lib import codec


def router(runs: RunManager) -> APIRouter:
    """`GET /runs/ID/find?q=TEXT`: the places in order, as `finding.Hit`."""
    made = APIRouter()

    @made.get("/runs/{run_id}/find")
    async def find(run_id: str, q: str = "") -> dict[str, Any]:
        trajectory = await found(runs, run_id)
        hits = await asyncio.to_thread(finding.find, trajectory, q)
        return {"hits": [codec.to_data(hit) for hit in hits], "most": finding.MAX_HITS}

    return made
