"""What a server tells of itself and of a model, beyond the list of names: vLLM says its version and the context."""

import json
import time
from contextlib import suppress
from typing import Any

import httpx2

from orchestra_lib.model.probe import Door
from orchestra_lib.model.wire import is_local
from orchestra_lib.record import record

_MAX_BYTES = 1 << 20


@record
class Served:
    """`context` is in tokens; None stands for what is not said. `answer_s` is the time of one small request."""

    version: str | None = None
    context: int | None = None
    answer_s: float | None = None


def ask(door: Door, model: str, *, within_s: float = 5.0) -> Served:
    """Ask a server of vLLM's kind. Never raises for what a server does."""
    root = door.base_url.rstrip("/")
    began = time.monotonic()
    listed = _get(f"{root}/models", door, within_s)
    took_s = None if listed is None else time.monotonic() - began
    told = _get(f"{root.removesuffix('/v1')}/version", door, within_s)
    version = told.get("version") if isinstance(told, dict) else None
    return Served(
        version=version[:40] if isinstance(version, str) else None, context=_context(listed, model), answer_s=took_s
    )


def _context(listed: Any, model: str) -> int | None:
    rows = listed.get("data") if isinstance(listed, dict) else None
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and row.get("id") == model:
            length = row.get("max_model_len")
            return length if isinstance(length, int) and not isinstance(length, bool) and length > 0 else None
    return None


def _get(url: str, door: Door, within_s: float) -> Any:
    headers = {"Authorization": f"Bearer {door.key}"} if door.key else {}
    with (
        suppress(httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError, RecursionError),
        httpx2.Client(timeout=within_s, trust_env=not is_local(url)) as client,
        client.stream("GET", url, headers=headers) as answer,
    ):
        data = b""
        for chunk in answer.iter_bytes():
            data += chunk
            if len(data) > _MAX_BYTES:
                return None
        return json.loads(data) if answer.is_success else None
    return None
