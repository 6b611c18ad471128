"""The HTTP routes under /api: thin translations between JSON and the run manager, the store and the views."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Header, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse

from app import (
    compare_api,
    detail_api,
    filtering,
    finding_api,
    grade_api,
    lab_api,
    preference_api,
    rail_api,
    records_api,
    reward_api,
    stream,
    views,
)
from app.answers import NotFound as NotFound
from app.answers import found
from app.answers import json_body as json_body
from app.runs import RunManager
from orchestra_lib import codec
from orchestra_lib.bitmap import bitmap_type
from orchestra_lib.errors import BadInput, WorldFault
from orchestra_lib.event import Event
from orchestra_lib.preference import Preference, describe
from orchestra_lib.record import record
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.workbench import Order, Workbench

_DEFAULTS = Order(task="what the composer starts from")
_UNTRUSTED = {"content-security-policy": "default-src 'none'; sandbox", "x-content-type-options": "nosniff"}


@record
class Wish:
    """A preference together with the tools on offer, whose titles its sentence names."""

    preference: Preference = Preference()
    tools: tuple[str, ...] | None = None


def install(app: FastAPI, workbench: Workbench, runs: RunManager) -> None:
    """Add the routes and the translation of errors into answers."""
    app.include_router(_run_routes(runs), prefix="/api")
    app.include_router(_record_routes(workbench, runs), prefix="/api")
    app.include_router(records_api.router(workbench, runs), prefix="/api")
    app.include_router(detail_api.router(runs), prefix="/api")
    app.include_router(compare_api.router(runs, workbench.store), prefix="/api")
    app.include_router(grade_api.router(workbench, runs), prefix="/api")
    app.include_router(reward_api.router(workbench, runs), prefix="/api")
    app.include_router(lab_api.router(workbench, runs), prefix="/api")
    app.include_router(preference_api.router(workbench), prefix="/api")
    app.include_router(rail_api.router(runs), prefix="/api")
    app.include_router(finding_api.router(runs), prefix="/api")
    app.include_router(_setting_routes(workbench, runs), prefix="/api")
    for error, status in ((NotFound, 404), (BadInput, 400), (WorldFault, 503)):
        app.add_exception_handler(error, _answer(status))


def _answer(status: int) -> Any:
    async def handler(_request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"error": str(error)}, status)

    return handler


def _run_routes(runs: RunManager) -> APIRouter:
    router = APIRouter()

    @router.post("/runs", status_code=201)
    async def start(request: Request) -> dict[str, str]:
        order = codec.from_data(await json_body(request), Order, where="run")
        return {"id": await runs.start(order)}

    @router.post("/runs/{run_id}/stop")
    async def stop(run_id: str) -> dict[str, bool]:
        if not runs.stop(run_id):
            await found(runs, run_id)  # an unknown run is an error, a finished one is not
            return {"stopping": False}
        return {"stopping": True}

    @router.get("/runs/{run_id}/events")
    async def events(
        run_id: str, after: int = 0, last_event_id: Annotated[int | None, Header()] = None
    ) -> StreamingResponse:
        start_after = last_event_id if last_event_id is not None else after
        waiting, live = runs.queue.find(run_id), runs.live(run_id)
        if waiting is not None:
            parts = stream.queued(runs, waiting, start_after)
        elif live is None:
            parts = stream.stored(runs, run_id, await _events(runs, run_id), start_after)
        else:
            parts = stream.live(live, start_after)
        return StreamingResponse(
            parts, media_type="text/event-stream", headers={"cache-control": "no-store", "x-accel-buffering": "no"}
        )

    return router


def _record_routes(workbench: Workbench, runs: RunManager) -> APIRouter:
    router = APIRouter()

    @router.get("/runs/{run_id}")
    async def head(run_id: str) -> dict[str, Any]:
        if (place := runs.queue.place(run_id)) is not None:
            return {"id": run_id, "status": "queued", "running": False, "place": place}
        trajectory = await found(runs, run_id)
        return {"id": trajectory.id, "status": trajectory.status, "running": runs.live(run_id) is not None}

    @router.get("/runs/{run_id}/trajectory")
    async def whole(run_id: str) -> Response:
        trajectory = await found(runs, run_id)
        data = codec.dumps(codec.to_data(trajectory))
        return Response(data, media_type="application/json")

    @router.get("/runs/{run_id}/observations/{call_id}")
    async def observation(run_id: str, call_id: str) -> PlainTextResponse:
        text = await asyncio.to_thread(_observation, workbench, await found(runs, run_id), call_id)
        return PlainTextResponse(text, headers=_UNTRUSTED)

    @router.get("/artefacts/{sha256}")
    async def artefact(sha256: str) -> Response:
        data = await asyncio.to_thread(_artefact, workbench, sha256)
        media_type = bitmap_type(data)
        headers = {**_UNTRUSTED, "cache-control": "private, max-age=31536000, immutable"}
        if media_type is None:
            headers["content-disposition"] = f'attachment; filename="{sha256[:12]}.bin"'
        return Response(data, media_type=media_type or "application/octet-stream", headers=headers)

    return router


def _setting_routes(workbench: Workbench, runs: RunManager) -> APIRouter:
    router = APIRouter()

    @router.get("/state")
    def state() -> dict[str, Any]:
        tables, weights = workbench.price_tables(), workbench.weights()
        embedded = {status.name for status in weights}
        return {
            "orchestrators": [codec.to_data(offer) for offer in workbench.orchestrators()],
            "tools": [views.tool_view(spec, off, tables, embedded) for spec, off in workbench.tools()],
            "prices": [views.table_view(table) for table in tables],
            "weights": [codec.to_data(status) for status in weights],
            "running": [views.running_view(trajectory) for trajectory in runs.running()],
            "queued": len(runs.queue),
            "trajectories": workbench.store.count(filtering.LISTED),
            "defaults": codec.to_data(_DEFAULTS),
        }

    @router.post("/preference")
    async def preference(request: Request) -> dict[str, str]:
        wish = codec.from_data(await json_body(request), Wish, where="preference")
        offered = {
            spec.name: spec.title
            for spec, off in workbench.tools()
            if off is None and (wish.tools is None or spec.name in wish.tools)
        }
        return {"sentence": describe(wish.preference, offered)}

    return router


async def _events(runs: RunManager, run_id: str) -> list[Event]:
    try:
        return await asyncio.to_thread(runs.beginning, run_id)
    except BadInput as error:
        raise NotFound(str(error)) from None


def _observation(workbench: Workbench, trajectory: Trajectory, call_id: str) -> str:
    for call in trajectory.calls:
        if call.call.id == call_id and call.observation is not None:
            full = call.observation.full
            return (
                call.observation.text
                if full is None
                else workbench.artefacts.get(full.sha256).decode("utf-8", "replace")
            )
    raise NotFound(f"run {trajectory.id} has no observation of a call {call_id!r}")


def _artefact(workbench: Workbench, sha256: str) -> bytes:
    try:
        return workbench.artefacts.get(sha256)
    except BadInput as error:
        raise NotFound(str(error)) from None
