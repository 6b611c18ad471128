"""The routes of Tools & prices: catalogue, weights, endpoints, and the user's own price tables."""

import asyncio
import logging
import threading
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from fastapi import APIRouter, Request

from app import mcp_api
from app import tools_views as views
from app.api import json_body
from orchestra_lib import codec
from orchestra_lib.errors import BadInput, WorldFault
from orchestra_lib.language_models import CODER
from orchestra_lib.model.own_endpoints import (
    NewEndpoint,
    Own,
    add_endpoint,
    edit_endpoint,
    own_endpoints,
    remove_endpoint,
)
from orchestra_lib.model.trial import try_out
from orchestra_lib.players import tool_name
from orchestra_lib.pricelist import copy_table, find_table, own_tables, set_rows
from orchestra_lib.pricing import Price
from orchestra_lib.record import record
from orchestra_lib.store.tool_use import callers, latencies, tool_use
from orchestra_lib.tool import ToolSpec
from orchestra_lib.workbench import Workbench

MOST_AT_ONCE = 12
"""Price tables side by side."""
_HELPED = ("conductor", "free-loop")
"""Orchestrators whose own tokens are those of the embedded coder."""
_log = logging.getLogger(__name__)


@record
class Copy:
    """A new table of the user's own: its name, and the table that it begins as."""

    name: str
    copy_of: str


@record
class Rows:
    """Rows of a table as they shall be; None takes one out."""

    rows: Mapping[str, Price | None]


def router(workbench: Workbench) -> APIRouter:
    """Everything under `/tools`, `/weights`, `/endpoints`, `/prices` and `/mcp`."""
    made = APIRouter(tags=["tools and prices"])
    _catalogue(made, workbench)
    _endpoints(made, workbench)
    _prices(made, workbench)
    made.include_router(mcp_api.router(workbench))
    return made


def _catalogue(made: APIRouter, workbench: Workbench) -> None:
    roster = workbench.roster

    @made.get("/tools")
    def catalogue(prices: str = "nominal") -> dict[str, Any]:
        """Every tool and orchestrator with its status, its price under a table, and what was measured of it."""
        table = find_table(workbench.home, prices).at(_today())
        table = roster.mcp.priced(table, [spec for spec, _ in workbench.tools()])
        used, behind = tool_use(workbench.store), views.places(roster.endpoints, tool_name)
        tools = [
            views.catalogue_tool(spec, off, table, used.get(spec.name), behind.get(spec.name) or _place(spec))
            for spec, off in workbench.tools()
        ]
        offers = [
            views.catalogue_orchestrator(
                offer,
                roster.endpoints.get(offer.name) if offer.name in roster.endpoints else None,
                _priced_as(workbench, offer.name),
                table,
            )
            for offer in workbench.orchestrators()
        ]
        own = _own(workbench)
        names = {tool_name(endpoint): endpoint.name for endpoint in roster.endpoints if endpoint.name in own}
        for row in tools + offers:
            found = own.get(names.get(row["id"], "") if row["role"] == "tool" else row["id"])
            row["own"] = None if found is None else codec.to_data(found)
        return {"rows": tools + offers, "weights": _weights(workbench), "prices": table.name}

    @made.get("/tools/{name}/measured")
    def measured(name: str) -> dict[str, Any]:
        """Who calls a tool, and how long its good calls took."""
        return {
            "callers": callers(workbench.store, name)[:8],
            "latency": views.histogram(latencies(workbench.store, name)),
        }

    @made.get("/weights")
    def weights() -> list[dict[str, Any]]:
        """Every weights file that can be fetched: state, size, licence, memory."""
        return _weights(workbench)

    @made.post("/weights/{name}/fetch", status_code=202)
    def fetch(name: str) -> dict[str, str]:
        """Begin to fetch weights; `/api/weights` tells how far they are."""
        roster.models.weights.get(name)
        threading.Thread(target=_fetch, args=(workbench, name), daemon=True).start()
        return {"fetching": name}


def _fetch(workbench: Workbench, name: str) -> None:
    try:
        workbench.roster.models.fetch_one(name)
    except WorldFault as error:  # its status says so to every page
        _log.warning("%s", error)


def _endpoints(made: APIRouter, workbench: Workbench) -> None:
    @made.post("/endpoints", status_code=201)
    async def add(request: Request) -> dict[str, str]:
        """Add an endpoint to the user's file: an address, a model and the name of a variable, never a key."""
        new = codec.from_data(await json_body(request), NewEndpoint, where="endpoint")
        await asyncio.to_thread(_add, workbench, new)
        return {"name": new.name}

    @made.post("/endpoints/{name:path}/test")
    async def test(name: str) -> dict[str, Any]:
        """Send an endpoint one tiny request and tell what came back."""
        endpoints = workbench.roster.endpoints
        endpoint = endpoints.get(name)
        await asyncio.to_thread(endpoints.look)
        if (off := endpoints.off(name)) is not None:
            raise BadInput(off)
        data: dict[str, Any] = codec.to_data(await try_out(name, endpoints.model(name), endpoint.style))
        return data

    @made.put("/endpoints/{name:path}")
    async def edit(name: str, request: Request) -> dict[str, str]:
        """Change an endpoint of one's own; its name stays. Runs that go on keep what they began with."""
        new = codec.from_data(await json_body(request), NewEndpoint, where="endpoint")
        if new.name != name:
            raise BadInput(f"name = {new.name[:80]!r}; an endpoint keeps its name, add another one instead")
        await asyncio.to_thread(edit_endpoint, workbench.home, new)
        await asyncio.to_thread(workbench.roster.reload_endpoints)
        return {"name": name}

    @made.delete("/endpoints/{name:path}")
    async def remove(name: str) -> dict[str, str]:
        """Take an endpoint of one's own out of the user's file."""
        await asyncio.to_thread(remove_endpoint, workbench.home, name)
        await asyncio.to_thread(workbench.roster.reload_endpoints)
        return {"removed": name}


def _own(workbench: Workbench) -> Mapping[str, Own]:
    try:
        return own_endpoints(workbench.home)
    except BadInput:  # broken by hand meanwhile: what was read before holds, and cannot be changed here
        return {}


def _add(workbench: Workbench, new: NewEndpoint) -> None:
    add_endpoint(workbench.home, new)
    workbench.roster.reload_endpoints()


def _prices(made: APIRouter, workbench: Workbench) -> None:
    @made.get("/prices")
    def prices(q: str = "") -> dict[str, Any]:
        """The price tables side by side: what is in use here, or the rows whose name holds `q`."""
        tables, own = workbench.price_tables()[:MOST_AT_ONCE], own_tables(workbench.home)
        today = [table.at(_today()) for table in tables]
        specs = [spec for spec, _ in workbench.tools()]
        offers = [_priced_as(workbench, offer.name) for offer in workbench.orchestrators()]
        names, more = views.found_names(today, q.strip()) if q.strip() else (views.names_in_use(specs, offers), False)
        return {
            "tables": [
                {
                    "name": table.name,
                    "dated": table.dated.isoformat(),
                    "source": table.source,
                    "nominal": table.nominal,
                    "historic": table.historic,
                    "own": table.name in own,
                    "rows": len(table.prices),
                }
                for table in today
            ],
            "rows": views.price_rows(today, names),
            "more": more,
        }

    @made.get("/prices/{name}")
    def whole(name: str) -> dict[str, Any]:
        """One table, row by row."""
        table = find_table(workbench.home, name).at(_today())
        rows = [{"name": row, **views.price_data(price)} for row, price in table.prices.items()]
        return {"name": table.name, "own": table.name in own_tables(workbench.home), "rows": rows}

    @made.post("/prices", status_code=201)
    async def copy(request: Request) -> dict[str, str]:
        """Begin a table of one's own as a copy of another."""
        wanted = codec.from_data(await json_body(request), Copy, where="price table")
        table = await asyncio.to_thread(copy_table, workbench.home, wanted.copy_of, wanted.name, _today())
        return {"name": table.name}

    @made.post("/prices/{name}/rows")
    async def change(name: str, request: Request) -> dict[str, Any]:
        """Change rows of a table of one's own."""
        wanted = codec.from_data(await json_body(request), Rows, where=f"price table {name}")
        table = await asyncio.to_thread(set_rows, workbench.home, name, wanted.rows, _today())
        return {"name": table.name, "dated": table.dated.isoformat(), "rows": len(table.prices)}


def _priced_as(workbench: Workbench, name: str) -> str | None:
    endpoints = workbench.roster.endpoints
    if name in endpoints:
        return endpoints.priced_as(name)
    if name in _HELPED:
        return CODER
    local = name.removeprefix("local/")
    return local if local != name else None


def _place(spec: ToolSpec) -> str:
    if spec.third_party:
        return f"third party · {spec.third_party}"
    return f"this machine · {spec.model}" if spec.model else "built in"


def _weights(workbench: Workbench) -> list[dict[str, Any]]:
    catalogue = workbench.roster.models.weights
    entries = [(catalogue.get(name), catalogue.status(name)) for name in catalogue.names]
    return [views.weights_view(status, one.title, one.licence, one.memory_bytes) for one, status in entries]


def _today() -> date:
    return datetime.now(UTC).date()
