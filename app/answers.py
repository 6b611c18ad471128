"""What every route shares: how a body is read, a run found, and what stands for a thing that is not there."""

import asyncio
import json
from typing import Any

from fastapi import Request

from app.runs import RunManager
from orchestra_lib.errors import BadInput, OrchestraError
from orchestra_lib.trajectory import Trajectory

MAX_BODY_BYTES = 4_000_000


class NotFound(OrchestraError):
    """Nothing is stored under this name."""


async def found(runs: RunManager, run_id: str) -> Trajectory:
    """A run that goes on or is stored. Raises `NotFound` for any other id."""
    try:
        return await asyncio.to_thread(runs.trajectory, run_id)
    except BadInput as error:
        raise NotFound(str(error)) from None


async def json_body(request: Request) -> Any:
    """The body of a request as plain data. Raises `BadInput` for no JSON and for a body over 4 MB."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise BadInput(f"the request is over {MAX_BODY_BYTES:,} bytes; a task has at most 200,000 characters")
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # also whole numbers of over 4,300 digits, and very deep nesting
        raise BadInput("the request is not JSON") from None
