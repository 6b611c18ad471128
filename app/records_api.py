"""The routes of the trajectories list: pages, what can be filtered for, tags, deletion and export."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from app import filtering, views
from app.answers import NotFound, json_body
from app.runs import RunManager
from orchestra_lib import export
from orchestra_lib.codec import from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.export import ExportFormat
from orchestra_lib.preference import GOALS
from orchestra_lib.record import record
from orchestra_lib.store.summary import OUTCOMES, Filter, Summary
from orchestra_lib.trajectory import StopReason
from orchestra_lib.workbench import Workbench

PAGE = 50
MAX_TAGGED = 1000
_MEDIA = {
    ExportFormat.JSONL: ("application/x-ndjson", "jsonl"),
    ExportFormat.MESSAGES: ("application/x-ndjson", "messages.jsonl"),
    ExportFormat.SHAREGPT: ("application/x-ndjson", "sharegpt.jsonl"),
    ExportFormat.TRL: ("application/x-ndjson", "trl.jsonl"),
    ExportFormat.CSV: ("text/csv; charset=utf-8", "csv"),
    ExportFormat.PARQUET: ("application/vnd.apache.parquet", "parquet"),
}


_ROLLOUTS = Filter(training=True)


@record
class Tagging:
    """A tag to give to some runs, or to take from them."""

    runs: tuple[str, ...]
    tag: str
    on: bool = True


def router(workbench: Workbench, runs: RunManager) -> APIRouter:
    """The routes over one workbench."""
    made = APIRouter()
    store = workbench.store

    @made.get("/trajectories")
    def trajectories(request: Request) -> dict[str, Any]:
        wanted = filtering.read_filter(request.query_params)
        page = _page(workbench, wanted, request.query_params)
        tags = store.tags_of([row.id for row in page.rows])
        return {
            "rows": [{**views.list_row(row), "tags": tags.get(row.id, ())} for row in page.rows],
            "newer": page.newer,
            "older": page.older,
            "running": len(runs.running()) + len(runs.queue),
            "rollouts": store.count(_ROLLOUTS),  # hidden ones change no row, yet the page counts them
        }

    @made.get("/trajectories/hidden")
    def hidden(request: Request) -> dict[str, int]:
        """How many runs each filter alone hides, for a reader who wonders which one to drop.

        Nobody asked for `training`, so that it is told only where it hides something.
        """
        told = store.hidden(filtering.parts(filtering.read_filter(request.query_params)))
        return {part: runs for part, runs in told.items() if runs or part != "training"}

    @made.get("/trajectories/count")
    def counted() -> dict[str, int]:
        """How many trajectories the store has, rollouts of training apart."""
        return {"trajectories": store.count(filtering.LISTED)}

    @made.get("/trajectories/overview")
    def overview(request: Request) -> dict[str, Any]:
        wanted = filtering.read_filter(request.query_params)
        others = replace(wanted, cost_from=None, cost_to=None)
        costs, values = store.costs(others), store.values()
        return {
            # A text is searched through everything that was seen: once is enough.
            "matches": costs.runs if wanted == others else store.count(wanted),
            "total": store.count(Filter(training=wanted.training)),
            "trajectories": store.count(filtering.LISTED),
            "costs": filtering.costs_view(costs),
            "statuses": ["running", *StopReason],
            "outcomes": list(OUTCOMES),
            "orchestrators": _merged(values["orchestrators"], (one.name for one in workbench.orchestrators())),
            "tools": _merged(values["tools"], (spec.name for spec, _ in workbench.tools())),
            "tags": list(values["tags"]),
            "groups": list(values["groups"]),
            "trainings": list(values["trainings"]),
            "goals": list(GOALS),
        }

    @made.get("/trajectories/export")
    def exported(request: Request, form: str = "jsonl") -> StreamingResponse:
        if form not in _MEDIA:
            raise BadInput(f"there is no export as {form[:40]!r}; use {', '.join(_MEDIA)}")
        wanted, kind = filtering.read_filter(request.query_params), ExportFormat(form)
        media_type, ending = _MEDIA[kind]
        return StreamingResponse(
            export.stream(store.each(wanted), kind),
            media_type=media_type,
            headers={
                "content-disposition": f'attachment; filename="trajectories.{ending}"',
                "cache-control": "no-store",
            },
        )

    @made.post("/trajectories/tags")
    async def tag(request: Request) -> dict[str, Any]:
        wish = from_data(await json_body(request), Tagging, where="tag")
        if not 1 <= len(wish.runs) <= MAX_TAGGED:
            raise BadInput(f"{len(wish.runs)} runs; tag between 1 and {MAX_TAGGED:,} at once")
        await asyncio.to_thread(store.tag, wish.runs, wish.tag, on=wish.on)
        return {"tags": await asyncio.to_thread(store.tags_of, wish.runs)}

    @made.delete("/runs/{run_id}")
    async def delete(run_id: str) -> dict[str, Any]:
        if runs.live(run_id) is not None:
            raise BadInput(f"run {run_id} is still going on; stop it first")
        await asyncio.to_thread(_known, workbench, run_id)
        await asyncio.to_thread(store.delete, run_id)
        return {"deleted": run_id, "restorable": store.trash.has(run_id)}

    @made.get("/runs/{run_id}/trash")
    def trashed(run_id: str) -> dict[str, bool]:
        return {"restorable": store.trash.has(run_id)}

    @made.get("/runs/{run_id}/tags")
    def tags(run_id: str) -> dict[str, Any]:
        return {"tags": store.tags_of([run_id]).get(run_id, ())}

    @made.post("/runs/{run_id}/restore")
    async def restore(run_id: str) -> dict[str, str]:
        await asyncio.to_thread(store.restore, run_id)
        return {"restored": run_id}

    return made


@record
class _Page:
    rows: Sequence[Summary]
    newer: str | None
    older: str | None


def _page(workbench: Workbench, wanted: Filter, query: Mapping[str, str]) -> _Page:
    """One page, and the places that lead on from it in both directions where there is more."""
    store = workbench.store
    before, after = filtering.read_place(query, "before"), filtering.read_place(query, "after")
    if before and after:
        raise BadInput("a page is before a place or after one, not both")
    rows = store.list(wanted, limit=PAGE + 1, before=before, after=after)
    if after is not None and len(rows) <= PAGE:  # less than a page above it: the first page, whole
        before = after = None
        rows = store.list(wanted, limit=PAGE + 1)
    more = len(rows) > PAGE
    rows = rows[1:] if more and after is not None else rows[:PAGE]
    if not rows:
        return _Page(rows=rows, newer=None, older=None)
    first, last = ((row.started_at, row.id) for row in (rows[0], rows[-1]))
    newer = more if after is not None else before is not None and bool(store.list(wanted, limit=1, after=first))
    older = more if after is None else bool(store.list(wanted, limit=1, before=last))
    return _Page(
        rows=rows,
        newer=filtering.place_of(rows[0]) if newer else None,
        older=filtering.place_of(rows[-1]) if older else None,
    )


def _merged(found: Sequence[str], offered: Any) -> list[str]:
    return sorted({*found, *offered})


def _known(workbench: Workbench, run_id: str) -> None:
    try:
        workbench.store.get(run_id)
    except BadInput as error:
        raise NotFound(str(error)) from None
