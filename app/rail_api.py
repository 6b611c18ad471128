"""The runs that a page has open beside the one it shows: where each stands, in one answer."""

import asyncio
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from fastapi import APIRouter

from app import views
from app.runs import RunManager
from orchestra_lib.errors import BadInput
from orchestra_lib.store.journal import Stamp
from orchestra_lib.trajectory import Trajectory

MAX_IDS = 50
_KEPT = 1_000
"""Entries of stored runs that are held until their journals change: reading a long run takes a while."""


def router(runs: RunManager) -> APIRouter:
    """`GET /rail?ids=a,b`: one entry per id, in order; and how many wait in the queue."""
    made = APIRouter()

    @lru_cache(maxsize=_KEPT)
    def kept(run_id: str, _stamp: Stamp) -> dict[str, Any]:
        return _read(runs, run_id)

    def stored(run_id: str) -> dict[str, Any]:
        stamp = runs.stamp(run_id)
        return _read(runs, run_id) if stamp is None else kept(run_id, stamp)

    @made.get("/rail")
    async def rail(ids: str = "") -> dict[str, Any]:
        wanted = [run_id for run_id in ids.split(",") if run_id]
        if len(wanted) > MAX_IDS:
            raise BadInput(f"{len(wanted)} ids are too many; ask for at most {MAX_IDS} at once")
        return {
            "runs": [await _entry(runs, run_id, stored) for run_id in wanted],
            "queued": [_waiting(runs, ticket.run_id) for ticket in runs.queue.first(MAX_IDS)],
            "waiting": len(runs.queue),
        }

    return made


async def _entry(runs: RunManager, run_id: str, stored: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    if runs.queue.find(run_id) is not None:
        return _waiting(runs, run_id)
    try:
        if (live := runs.live(run_id)) is not None:
            return _told(live.trajectory, live.elapsed_s)
        return await asyncio.to_thread(stored, run_id)
    except BadInput as error:
        return {"id": run_id, "status": "gone", "why": str(error)}


def _read(runs: RunManager, run_id: str) -> dict[str, Any]:
    trajectory = runs.trajectory(run_id)
    return _told(trajectory, trajectory.latency_s)


def _told(trajectory: Trajectory, seconds: float | None) -> dict[str, Any]:
    return {**views.running_view(trajectory), "status": str(trajectory.status), "seconds": seconds}


def _waiting(runs: RunManager, run_id: str) -> dict[str, Any]:
    ticket = runs.queue.find(run_id)
    assert ticket is not None, "asked for between two awaits"
    return views.queued_view(run_id, ticket.order, runs.queue.place(run_id))
