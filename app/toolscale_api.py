"""The routes of ToolScale: domains and their records, tasks step by step, runs judged, tasks made in the background."""

import asyncio
from typing import Any

from fastapi import APIRouter, Request, Response

from app.answers import NotFound, json_body
from app.domain_views import domain_line, domain_view, records_view
from app.runs import RunManager
from app.synth_job import SynthJob, SynthOrder
from app.synthesis_views import free_share, report_view
from app.task_views import judged_view, metrics_view, task_line, task_view
from orchestra_lib.assigning import SAMPLE
from orchestra_lib.codec import dumps, from_data
from orchestra_lib.environment.domain import World, domain_names
from orchestra_lib.errors import BadInput
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.workbench import Workbench

_MOST_TASKS = 5_000
"""In one list."""


def router(workbench: Workbench, runs: RunManager, job: SynthJob) -> APIRouter:
    """`/toolscale…` over the assignments of one workbench, and `/runs/ID/domain`."""
    made = APIRouter(tags=["domains and their tasks"])
    assignments = workbench.assignments

    def world_of(name: str) -> World:
        if name not in domain_names():
            raise NotFound(f"there is no domain {name[:60]!r}; there are {', '.join(domain_names())}")
        return assignments.world(name)

    @made.get("/toolscale")
    async def domains() -> Response:
        """Every domain with its figures, and where the tasks come from."""

        def listed() -> dict[str, Any]:
            files = assignments.files()
            lines = [domain_line(world_of(name), len(assignments.of(name))) for name in domain_names()]
            return {
                "domains": lines,
                "made": sorted(name for name, file in files.items() if file.parent != SAMPLE),
                "folder": str(assignments.folder),
            }

        return _json(await asyncio.to_thread(listed))

    @made.get("/toolscale/domains/{name}")
    async def domain(name: str) -> Response:
        """A domain: tables with their machines, operations with their rules, policy parameters, policy."""
        return _json(await asyncio.to_thread(lambda: domain_view(world_of(name))))

    @made.get("/toolscale/domains/{name}/records/{table}")
    async def records(name: str, table: str, q: str = "", offset: int = 0, alike: bool = False) -> Response:
        """The records of a table that hold the words `q`, fifty from `offset`; `alike` leaves only look-alikes."""

        def found() -> dict[str, Any]:
            world = world_of(name)
            spec = next((one for one in world.domain.tables if one.name == table), None)
            if spec is None:
                known = ", ".join(one.name for one in world.domain.tables)
                raise NotFound(f"{name} has no table {table[:60]!r}; it has {known}")
            return records_view(world, spec, q[:200], max(0, offset), twins_only=alike)

        return _json(await asyncio.to_thread(found))

    @made.get("/toolscale/domains/{name}/tasks")
    async def tasks(name: str) -> Response:
        """The tasks of a domain, in one list: the page filters it without asking again."""

        def found() -> dict[str, Any]:
            world, every = world_of(name), assignments.of(name)
            free = free_share(assignments.folder, name)
            return {
                "tasks": [task_line(world, one) for one in every[:_MOST_TASKS]],
                "total": len(every),
                "metrics": metrics_view(world, every, free=free),
                "made": name in assignments.files() and assignments.files()[name].parent != SAMPLE,
            }

        return _json(await asyncio.to_thread(found))

    @made.get("/toolscale/domains/{name}/tasks/{task}")
    async def task(name: str, task: str) -> Response:
        """A task with its golden calls replayed: what each showed and changed, and where its arguments come from."""

        def found() -> dict[str, Any]:
            world = world_of(name)
            try:
                one = assignments.find(f"{name}/{task}")
            except BadInput as error:
                raise NotFound(str(error)) from None
            return task_view(world, one)

        return _json(await asyncio.to_thread(found))

    @made.get("/toolscale/synth")
    async def making() -> dict[str, Any]:
        """How far a making of tasks is, and what the filters rejected of all that was made."""
        return {"job": job.view(), "report": await asyncio.to_thread(report_view, assignments.folder)}

    @made.post("/toolscale/synth", status_code=202)
    async def make(request: Request) -> dict[str, Any]:
        """Make tasks of one domain in the background."""
        await job.start(from_data(await json_body(request), SynthOrder, where="synth"))
        return {"job": job.view()}

    @made.get("/runs/{run_id}/domain")
    async def judged(run_id: str) -> Response:
        """What a run in a domain came to, judged anew from its record; a run that goes on as far as it is."""

        def found() -> dict[str, Any]:
            run = _run(runs, run_id)
            return judged_view(run, assignments.judged(run))

        return _json(await asyncio.to_thread(found))

    return made


def _run(runs: RunManager, run_id: str) -> Trajectory:
    try:
        return runs.trajectory(run_id)
    except BadInput as error:
        raise NotFound(str(error)) from None


def _json(data: Any) -> Response:
    """Records hold whatever their file does, also what Starlette's own JSON would refuse."""
    return Response(dumps(data), media_type="application/json")
