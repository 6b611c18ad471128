"""Tools & prices as plain data: the catalogue, what an orchestrator reads of a tool, price tables side by side."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from app import views
from orchestra_lib import chat, codec
from orchestra_lib.limits import Limits
from orchestra_lib.model.endpoint import SERVED, Endpoint
from orchestra_lib.model.weights import WeightsStatus
from orchestra_lib.orchestrators import Offer
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import Price, PriceTable
from orchestra_lib.store.tool_use import ToolUse
from orchestra_lib.task import Task
from orchestra_lib.tool import ToolSpec
from orchestra_lib.trajectory import Setting

Data = dict[str, Any]
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
MAX_FOUND = 200
"""Price rows of one search at most."""


def as_read(spec: ToolSpec, table: PriceTable) -> Data:
    """Exactly what an orchestrator reads of a tool under a price table: description and parameters."""
    setting = Setting(
        run_id="", started_at=_EPOCH, task=Task(text="-"), orchestrator="", protocol=chat.PROTOCOL,
        preference=Preference(), sentence="", tools=(spec,), prices=table, limits=Limits(),
    )  # fmt: skip
    function: Data = chat.openai_tools(setting)[0]["function"]
    return function


def catalogue_tool(spec: ToolSpec, off: str | None, table: PriceTable, use: ToolUse | None, where: str) -> Data:
    """A tool's line and card."""
    return {
        "id": spec.name,
        "role": "tool",
        "title": spec.title,
        "kind": str(spec.kind),
        "where": where,
        "off": off,
        "note": None,
        "simulated": spec.simulated,
        "price": views.price_text(table.find(spec.priced_as)),
        "priced_as": list(spec.priced_names),
        "typical_s": spec.typical_latency_s,
        "timeout_s": spec.timeout_s,
        "use": None if use is None else codec.to_data(use),
        "reads": as_read(spec, table),
        "source": spec.source,
    }


def catalogue_orchestrator(offer: Offer, endpoint: Endpoint | None, priced_as: str | None, table: PriceTable) -> Data:
    """An orchestrator's line and card; `endpoint` when it is one of the catalogue."""
    return {
        "id": offer.name,
        "role": "orchestrator",
        "title": offer.title,
        "kind": "orch",
        "where": _where(offer.name),
        "off": offer.off,
        "note": offer.note,
        "simulated": False,
        "price": views.price_text(table.find(priced_as)) if priced_as else None,
        "priced_as": [priced_as] if priced_as else [],
        "typical_s": endpoint.typical_latency_s if endpoint else None,
        "endpoint": None if endpoint is None else {"model": endpoint.model, "context": endpoint.context},
        "use": None,
        "reads": None,
    }


def _where(name: str) -> str:
    provider, slash, _ = name.partition("/")
    return ("this machine" if provider == "local" else provider) if slash else "built in"


def weights_view(status: WeightsStatus, title: str, licence: str, memory_bytes: int | None) -> Data:
    """Weights in the catalogue: how far they are, and what one should know before a download."""
    return {**codec.to_data(status), "title": title, "licence": licence, "memory_bytes": memory_bytes}


def price_rows(tables: Sequence[PriceTable], names: Iterable[str]) -> list[Data]:
    """The price of each name in each table, None where a table has no row for it."""
    return [{"name": name, "cells": {table.name: _cell(table, name) for table in tables}} for name in names]


def _cell(table: PriceTable, name: str) -> Data | None:
    found = table.resolve(name)
    if found.price is None:
        return None
    return {"row": found.row, "by": str(found.by), "text": _short(found.price), **price_data(found.price)}


def price_data(price: Price) -> Data:
    """A price as it is edited."""
    return {
        "input": price.input_usd_per_mtok,
        "output": price.output_usd_per_mtok,
        "cached": price.cached_usd_per_mtok,
        "call": price.call_usd,
        "second": price.second_usd,
        "tiers": len(price.tiers),
        "source": price.source,
        "assumed": price.assumed,
        "since": price.since.isoformat() if price.since else None,
    }


def _short(price: Price) -> str:
    if price.free:
        return "free"
    parts = []
    if price.input_usd_per_mtok is not None and price.output_usd_per_mtok is not None:
        parts.append(f"{_figure(price.input_usd_per_mtok)} / {_figure(price.output_usd_per_mtok)}")
    parts += [f"{_figure(price.call_usd)} / call"] if price.call_usd is not None else []
    parts += [f"{_figure(price.second_usd)} / s"] if price.second_usd is not None else []
    return " + ".join(parts)


def _figure(usd: float) -> str:
    if usd == 0 or usd >= 0.01:
        return f"{usd:,.2f}" if round(usd, 2) == usd else f"{usd:.4f}".rstrip("0")
    return f"{usd:.7f}".rstrip("0")


def found_names(tables: Sequence[PriceTable], text: str) -> tuple[list[str], bool]:
    """Row names that hold a text, in all tables, and whether there were more than are given."""
    names = sorted({name for table in tables for name in table.prices if text.lower() in name.lower()})
    return names[:MAX_FOUND], len(names) > MAX_FOUND


def names_in_use(specs: Iterable[ToolSpec], offers: Iterable[str | None]) -> list[str]:
    """What the tools and orchestrators at hand are priced as, in their order."""
    names = [name for spec in specs for name in spec.priced_names] + [name for name in offers if name]
    return [name for name in dict.fromkeys(names) if name != SERVED]


def histogram(found: tuple[float, list[int]] | None) -> Data | None:
    """Seconds of good calls for a drawing."""
    return None if found is None else {"width_s": found[0], "counts": found[1]}


def places(endpoints: Iterable[Endpoint], tool_name: Callable[[Endpoint], str]) -> Mapping[str, str]:
    """The provider behind each tool that is an endpoint."""
    return {tool_name(endpoint): endpoint.provider for endpoint in endpoints}
