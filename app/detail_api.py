"""The routes of one trajectory's tabs: its ledger, what was sent, what came back raw, and copies to paste."""

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

from app import snippets, views
from app.answers import NotFound, found
from app.runs import RunManager
from orchestra_lib import chat, codec, toolorchestra
from orchestra_lib.chat import CallStyle
from orchestra_lib.errors import BadInput
from orchestra_lib.ledger import LedgerRow, ledger
from orchestra_lib.trajectory import ORCHESTRATOR, Trajectory
from orchestra_lib.transcript import style_of, transcript, was_asked

_INERT = {"content-security-policy": "default-src 'none'; sandbox", "x-content-type-options": "nosniff"}


def router(runs: RunManager) -> APIRouter:
    """The routes over the runs of one workbench."""
    made = APIRouter()

    @made.get("/runs/{run_id}/ledger")
    async def attempts(run_id: str) -> dict[str, Any]:
        return ledger_view(await found(runs, run_id))

    @made.get("/runs/{run_id}/messages")
    async def messages(run_id: str, style: str = "") -> Response:
        view = await asyncio.to_thread(messages_view, await found(runs, run_id), style)
        return Response(codec.dumps(view), media_type="application/json")

    @made.get("/runs/{run_id}/raw")
    async def raw(run_id: str) -> Response:
        view = raw_view(await found(runs, run_id))
        return Response(codec.dumps(view), media_type="application/json")

    @made.get("/runs/{run_id}/copy/{form}")
    async def copy(run_id: str, form: str, request: Request) -> PlainTextResponse:
        if form not in snippets.FORMS:
            raise NotFound(f"a run cannot be copied as {form[:40]!r}; use {', '.join(snippets.FORMS)}")
        base = str(request.base_url).rstrip("/")
        text = codec.well_formed(snippets.FORMS[form](await found(runs, run_id), base))
        return PlainTextResponse(text, headers=_INERT)

    return made


def ledger_view(trajectory: Trajectory) -> dict[str, Any]:
    """Every attempt with the price row it met, and the table that this row stands in."""
    prices = trajectory.setting.prices
    return {"rows": [_row(row, trajectory) for row in ledger(trajectory)], "table": views.table_view(prices)}


def _row(row: LedgerRow, trajectory: Trajectory) -> dict[str, Any]:
    spec = next((spec for spec in trajectory.setting.tools if spec.name == row.payee), None)
    attempt = row.attempt
    own = row.payee == ORCHESTRATOR
    return {
        "turn": row.turn,
        "call": row.call_id,
        "payee": row.payee,
        "title": trajectory.setting.orchestrator if own else spec.title if spec else row.payee,
        "kind": "orch" if own else str(spec.kind) if spec else "basic",
        "priced_as": attempt.priced_as,
        "usage": codec.to_data(attempt.usage) if attempt.usage else None,
        "wall_s": attempt.wall_s if trajectory.setting.timed else None,
        "billed": attempt.billed,
        "error": attempt.error,
        "cost": views.cost_view((attempt,), trajectory.setting.prices),
        "reported_usd": attempt.reported_cost_usd,
        "row": row.row,
        "matched": str(row.matched),
        "price": views.price_text(row.price),
        "source": row.price.source if row.price else None,
        "flags": [str(flag) for flag in row.flags],
    }


def messages_view(trajectory: Trajectory, style: str) -> dict[str, Any]:
    """The messages as sent. Raises `BadInput` for a call style that there is not."""
    if style and style not in set(CallStyle):
        raise BadInput(f"there is no call style {style[:40]!r}; use {', '.join(CallStyle)}")
    chosen = CallStyle(style) if style else style_of(trajectory)
    fresh = trajectory.setting.protocol == toolorchestra.PROTOCOL
    return {
        "protocol": trajectory.setting.protocol,
        "styles": [] if fresh else list(CallStyle),
        "style": None if fresh else chosen,
        "asked": was_asked(trajectory),
        "requests": [codec.to_data(asked) for asked in transcript(trajectory, chosen)],
        "tools": [] if fresh or chosen is not CallStyle.NATIVE else list(chat.openai_tools(trajectory.setting)),
    }


def raw_view(trajectory: Trajectory) -> dict[str, Any]:
    """What the orchestrator wrote in each turn, before it was read."""
    return {
        "turns": [
            {
                "turn": turn.index,
                "text": turn.generation.raw_text if turn.generation else None,
                "tokens": len(turn.generation.token_ids) if turn.generation and turn.generation.token_ids else None,
                "recovered": [call.call.recovered for call in turn.calls if call.call.recovered],
            }
            for turn in trajectory.turns
        ]
    }
