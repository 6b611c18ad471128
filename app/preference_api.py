"""The routes of preferences in words: what a sentence asks for, by rules or as a model proposes. Nothing is applied."""

import asyncio
from typing import Any

from fastapi import APIRouter, Request

from app.answers import json_body
from orchestra_lib.billing import spent_on
from orchestra_lib.codec import from_data, to_data
from orchestra_lib.preference import GOALS
from orchestra_lib.preference_drawing import Offered
from orchestra_lib.preference_text import read_preference
from orchestra_lib.pricelist import find_table
from orchestra_lib.record import record
from orchestra_lib.wishing import propose
from orchestra_lib.workbench import Workbench

_PRICES = "nominal"


@record
class Said:
    """What somebody said of their wishes, and the model to ask; without one it is read by rules."""

    sentence: str
    model: str | None = None


def router(workbench: Workbench) -> APIRouter:
    """`POST /preference/read`, `POST /preference/propose`, `GET /preference/models`."""
    made = APIRouter()

    @made.get("/preference/models")
    async def models() -> dict[str, Any]:
        found = await asyncio.to_thread(workbench.roster.models.names)
        return {"models": [{"name": name, "off": off} for name, off in found]}

    @made.post("/preference/read")
    async def read(request: Request) -> dict[str, Any]:
        said = from_data(await json_body(request), Said, where="preference")
        offered = await asyncio.to_thread(_offered, workbench)
        found = read_preference(said.sentence, offered.tools, offered.remote)
        return {
            "goals": dict(found.goals),
            "tools": dict(found.preference.tools),
            "understood": [to_data(one) for one in found.understood],
            "no_tool": list(found.no_tool),
            "not_understood": list(found.not_understood),
        }

    @made.post("/preference/propose")
    async def ask(request: Request) -> dict[str, Any]:
        said = from_data(await json_body(request), Said, where="preference")
        model = await asyncio.to_thread(workbench.roster.chat_model, said.model or "")
        offered = await asyncio.to_thread(_offered, workbench)
        found = await propose(model, said.sentence, offered)
        spent = spent_on(found.attempts, await asyncio.to_thread(find_table, workbench.home, _PRICES))
        weights = found.preference
        return {
            "goals": None if weights is None else {goal: getattr(weights, goal) for goal in GOALS},
            "tools": None if weights is None else {name: weights.weight(name) for name in offered.names},
            "reason": found.reason,
            "why": found.why,
            "cost_usd": spent.cost_usd,
            "prices": _PRICES,
        }

    return made


def _offered(workbench: Workbench) -> Offered:
    """The tools that can be called now."""
    tools = tuple(spec for spec, off in workbench.tools() if off is None)
    remote = workbench.roster.remote() & {spec.name for spec in tools}
    return Offered(tools=tools, remote=remote, extension=True)
