"""The routes of the lab: groups of runs, the tree of forks of a run, and its replay."""

import asyncio
from typing import Any

from fastapi import APIRouter, Request

from app.answers import found, json_body
from app.runs import RunManager
from orchestra_lib import grouping
from orchestra_lib.codec import from_data, to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.forking import tree_lines
from orchestra_lib.record import record
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.workbench import Workbench

MAX_GROUPED = 1000
_REPLAYS = 2
"""Replays at once; each is a process of its own."""


@record
class Grouping:
    """Runs to put into a group, or to take out of it."""

    name: str
    runs: tuple[str, ...]
    on: bool = True


def router(workbench: Workbench, runs: RunManager) -> APIRouter:
    """`GET` and `POST /groups`, `GET /runs/ID/forks`, `POST /runs/ID/replay`."""
    made = APIRouter()
    store, places = workbench.store, asyncio.Semaphore(_REPLAYS)

    @made.get("/groups")
    def groups() -> dict[str, Any]:
        return {"groups": [to_data(one) for one in store.groups()]}

    @made.post("/groups")
    async def group(request: Request) -> dict[str, Any]:
        """Put runs of one task into a group; refused, naming the run, where they are none."""
        wish = from_data(await json_body(request), Grouping, where="group")
        if not 1 <= len(wish.runs) <= MAX_GROUPED:
            raise BadInput(f"{len(wish.runs)} runs; group between 1 and {MAX_GROUPED:,} at once")
        if wish.on:
            await asyncio.to_thread(grouping.make, store, wish.name, wish.runs)
        else:
            await asyncio.to_thread(store.group, wish.name, wish.runs, on=False)
        return {"name": wish.name, "runs": await asyncio.to_thread(store.members, wish.name)}

    @made.get("/runs/{run_id}/forks")
    async def forks(run_id: str) -> dict[str, Any]:
        """The tree of forks that a run stands in, as lines with their depth; and what it paid before its own fork."""
        run = await found(runs, run_id)
        return await asyncio.to_thread(_forks, workbench, run)

    @made.post("/runs/{run_id}/replay")
    async def replay(run_id: str) -> dict[str, Any]:
        """Play a run again from its record, without a network; nothing is kept."""
        await found(runs, run_id)
        if runs.live(run_id) is not None:
            raise BadInput(f"run {run_id} still goes on; replay it when it has ended")
        async with places:
            replayed, _ = await asyncio.to_thread(workbench.replay, run_id)
        return {
            "same": replayed.difference is None,
            "difference": replayed.difference and to_data(replayed.difference),
            "sha256": replayed.sha256,
            "denied_by": replayed.denied_by,
            "turns": len(replayed.trajectory.turns),
            "calls": len(replayed.trajectory.calls),
        }

    return made


def _forks(workbench: Workbench, run: Trajectory) -> dict[str, Any]:
    try:
        lines = tree_lines(workbench.store.forks(run.id))
    except BadInput:  # it goes on, and the store does not have it yet
        lines = ()
    paid, fork = run.before_fork(), run.setting.fork
    return {
        "tree": [{"depth": depth, **to_data(one)} for depth, one in lines],
        "group": run.setting.group,
        "fork": fork and to_data(fork),
        "paid_before_usd": paid and paid.cost_usd,
        "nominal": run.setting.prices.nominal,
    }
