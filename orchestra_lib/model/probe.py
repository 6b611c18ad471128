"""Whether addresses answer: looked up in the background, kept for a while, never waited for by who only asks."""

import json
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import field, replace
from typing import Any

import httpx2

from orchestra_lib.model.wire import is_local
from orchestra_lib.record import record

WITHIN_S = 2.0
"""How long an address may take to answer."""
PATIENT_S = 15.0
"""The same where somebody asked for this address alone and waits for it."""
FRESH_S = 60.0
"""An answer stands so long; that there was none a quarter of it, so that a server just started is seen soon."""
_MAX_BYTES = 4 << 20


@record
class Door:
    """What is looked at: an address and the key for it, which is sent there and nowhere else."""

    base_url: str
    key: str | None = field(default=None, repr=False)


@record
class Sight:
    """What was seen. `problem` is None when the address answers; `models` are the ids it lists, None when unknown."""

    problem: str | None
    models: tuple[str, ...] | None = None
    refused: bool = False
    seen_s: float = 0.0


Look = Callable[[Door, float], Sight]


class Probes:
    """Looks at doors in threads of its own. Safe to use from several threads."""

    def __init__(self, look: Look | None = None, *, within_s: float = WITHIN_S, fresh_s: float = FRESH_S) -> None:
        self._look, self._within_s, self._fresh_s = look or look_at, within_s, fresh_s
        self._lock = threading.Lock()
        self._seen: dict[Door, Sight] = {}
        self._looking: dict[Door, threading.Thread] = {}

    def sight(self, door: Door) -> Sight | None:
        """What was seen last, None when nothing yet; an old sight is renewed in the background."""
        with self._lock:
            seen = self._seen.get(door)
            if seen is None or time.monotonic() - seen.seen_s > (self._fresh_s / 4 if seen.problem else self._fresh_s):
                self._start(door, self._within_s)
            return seen

    def wait(self, doors: Iterable[Door], within_s: float | None = None) -> None:
        """Wait until each door was looked at once, but no longer than a look may take: `within_s`, else as always."""
        within_s = within_s or self._within_s
        deadline = time.monotonic() + within_s + 0.5
        with self._lock:
            unseen = [door for door in doors if door not in self._seen]
            for door in unseen:
                self._start(door, within_s)
            looking = [self._looking[door] for door in unseen]
        for thread in looking:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _start(self, door: Door, within_s: float) -> None:
        if door not in self._looking:
            # A thread, since no timeout of a client covers a name service that hangs.
            self._looking[door] = threading.Thread(target=self._run, args=(door, within_s), daemon=True)
            self._looking[door].start()

    def _run(self, door: Door, within_s: float) -> None:
        sight = self._look(door, within_s)
        with self._lock:
            self._seen[door] = replace(sight, seen_s=time.monotonic())
            del self._looking[door]


def look_at(door: Door, within_s: float) -> Sight:
    """Ask an address for its models. Never raises for what a server does."""
    headers = {"Authorization": f"Bearer {door.key}"} if door.key else {}
    url = door.base_url.rstrip("/") + "/models"
    try:
        with (
            httpx2.Client(timeout=within_s, trust_env=not is_local(url)) as client,
            client.stream("GET", url, headers=headers) as answer,
        ):
            return _sight(answer, time.monotonic() + within_s)
    except httpx2.TimeoutException:
        return Sight(problem=f"did not answer within {within_s:g} s")
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError):
        return Sight(problem="does not answer")


def _sight(answer: httpx2.Response, deadline: float) -> Sight:
    code = answer.status_code
    if code in (401, 403):
        return Sight(problem=f"refuses the key (HTTP {code})", refused=True)
    if code in (404, 405):  # it answers, and has no list of models
        return Sight(problem=None)
    if not answer.is_success:
        return Sight(problem=f"answers HTTP {code}")
    data = b""
    for chunk in answer.iter_bytes():
        data += chunk
        if len(data) > _MAX_BYTES or time.monotonic() > deadline:
            return Sight(problem=None)
    return Sight(problem=None, models=_ids(data))


def _ids(data: bytes) -> tuple[str, ...] | None:
    with suppress(ValueError, RecursionError):
        listed: Any = json.loads(data)
        rows = listed.get("data") if isinstance(listed, dict) else None
        if isinstance(rows, list):
            ids = (row.get("id") for row in rows if isinstance(row, dict))
            return tuple(name for name in ids if isinstance(name, str))
    return None
