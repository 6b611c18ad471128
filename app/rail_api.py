"""The runs that a page has open beside the one it shows: where each stands, in one answer."""

import asyncio
from typing import Any

from fastapi import APIRouter

from app import views
from app.runs import RunManager
from orchestra_lib.errors import BadInput

MAX_IDS = 50


def router(runs: RunManager) -> APIRouter:
    """`GET /rail?ids=a,b`: one entry per id, in order; and how many wait in the queue."""
    made = APIRouter()

    @made.get("/rail")
    async def rail(ids: str = "") -> dict[str, Any]:
        wanted = [run_id for run_id in ids.split(",") if run_id]
        if len(wanted) > MAX_IDS:
            raise BadInput(f"{len(wanted)} ids are too many; ask for at most {MAX_IDS} at once")
        return {
            "runs": [await _entry(runs, run_id) for run_id in wanted],
            "queued": [_waiting(runs, ticket.run_id) for ticket in runs.queue.first(MAX_IDS)],
            "waiting": len(runs.queue),
        }

    return made


async def _entry(runs: RunManager, run_id: str) -> dict[str, Any]:
    if runs.queue.find(run_id) is not None:
        return _waiting(runs, run_id)
    try:
        live = runs.live(run_id)
        trajectory = live.trajectory if live else await asyncio.to_thread(runs.trajectory, run_id)
    except BadInput as error:
        return {"id": run_id, "status": "gone", "why": str(error)}
    seconds = live.elapsed_s if live else trajectory.latency_s
    return {**views.running_view(trajectory), "status": str(trajectory.status), "seconds": seconds}


def _waiting(runs: RunManager, run_id: str) -> dict[str, Any]:
    ticket = runs.queue.find(run_id)
    assert ticket is not None, "asked for between two awaits"
    return views.queued_view(run_id, ticket.order, runs.queue.place(run_id))
