"""Much at once: long runs side by side, and a long queue."""

import asyncio
import time
from collections.abc import Iterator
from datetime import datetime

import httpx2

from app.runs import MAX_RUNNING
from benchmarks.claims import Claim, Rival, claim
from benchmarks.soaking.served import served
from benchmarks.soaking.world import STEPS, TOOL, Scale, furnished, home, order
from orchestra_lib.event import Event, fold
from orchestra_lib.spans import Span, spans
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.workbench import Workbench

_TURNS, _PAUSE_S = 3, 0.3
"""Of a run that is queued: sixteen at once are played no faster than 18 a second, so that the others wait."""
_SETTLED = 0.2
"""The share of a queue after which the server has loaded what it needs, and its memory is measured first."""


def long_runs(scale: Scale) -> Iterator[Claim]:
    """Long runs side by side: the spans that the events make are those of the store, and of the journals."""
    told: dict[str, list[Event]] = {}
    with home() as folder:
        workbench, began = furnished(folder), time.process_time()

        async def play() -> None:
            orders = [order(scale.turns, task=f"turns, run {number}") for number in range(scale.runs)]

            def note_down(event: Event, run: list[str]) -> None:
                told.setdefault(run[0], []).append(event)

            async def one(number: int) -> None:
                run_id = f"run-{number}"
                async for event in workbench.play(orders[number], run_id=run_id):
                    note_down(event, [run_id])

            await asyncio.gather(*map(one, range(scale.runs)))
            await workbench.close()

        asyncio.run(play())
        spent_s = time.process_time() - began
        emitted = _by_id(fold(events) for events in told.values())
        anew = Workbench(folder)
        stored = _by_id(anew.store.get(run_id) for run_id in told)
        journalled = _by_id(run for run_id in told if (run := anew.journal.trajectory(run_id)) is not None)
        counted = anew.store.query("SELECT (SELECT count(*) FROM turns), (SELECT count(*) FROM calls)").rows[0]
        anew.store.close()
    what = f"{scale.runs} runs of {scale.turns} turns"
    yield claim(f"{what}: spans emitted", len(emitted), "spans")
    yield claim(f"{what}: spans stored that differ, or are missing", _differing(emitted, stored), "spans", at_most=0)
    yield claim(f"{what}: the same of the journals", _differing(emitted, journalled), "spans", at_most=0)
    wanted = scale.runs * scale.turns, scale.runs * (scale.turns - 1)
    off = sum(abs(one - other) for one, other in zip(counted, wanted, strict=True))
    yield claim(f"{what}: rows of turns and calls too many or too few", off, "rows", at_most=0)
    yield claim(f"{what}: CPU of a turn", 1000 * spent_s / (scale.runs * scale.turns), "ms")


def _by_id(runs: Iterator[Trajectory]) -> dict[int, Span]:
    found: dict[int, Span] = {}
    for run in runs:
        for span in spans(run, content=True):
            assert span.span_id not in found, "two spans of one id"
            found[span.span_id] = span
    return found


def _differing(ones: dict[int, Span], others: dict[int, Span]) -> int:
    return sum(ones.get(name) != others.get(name) for name in ones.keys() | others.keys())


def queue(scale: Scale) -> Iterator[Claim]:
    """Runs asked for over HTTP, one after another and faster than they are played."""
    with home() as folder:
        with (
            served(folder, _PAUSE_S) as server,
            httpx2.Client(base_url=server.url, trust_env=False, timeout=60) as client,
        ):
            asked, memory = [], []
            for number in range(scale.queued):
                body = {
                    "task": f"{_TURNS} turns, run {number}", "orchestrator": STEPS, "tools": [TOOL], "reference": "42",
                }  # fmt: skip
                asked.append(client.post("/api/runs", json=body).raise_for_status().json()["id"])
                if number == int(scale.queued * _SETTLED):
                    memory.append(server.memory_mb())
            waiting = client.get("/api/state").json()["queued"]
            while (state := client.get("/api/state").json())["queued"] or state["running"]:
                time.sleep(0.5)
            memory.append(server.memory_mb())
        store = Workbench(folder).store
        rows = store.query("SELECT id, status, started_at FROM trajectories", max_rows=scale.queued + 1).rows
        store.close()
    ended = {run_id for run_id, status, _ in rows if status == "answered"}
    began: dict[str, datetime] = {run_id: at for run_id, _, at in rows}
    order_of = sorted(ended, key=lambda run_id: began[run_id])
    place = {run_id: n for n, run_id in enumerate(order_of)}
    shifts = [abs(place[run_id] - n) for n, run_id in enumerate(one for one in asked if one in ended)]
    what = f"{scale.queued:,} runs queued"
    yield claim(f"{what}: waited when the last was asked for", waiting, "runs", at_least=1)
    yield claim(f"{what}: not ended with their answer", len(set(asked) ^ ended), "runs", at_most=0)
    yield claim(f"{what}: farthest from the order asked for", max(shifts), "places", at_most=MAX_RUNNING)
    yield claim(
        f"{what}: memory of the server at the end", memory[1], "MB",
        rival=Rival(name=f"after {int(scale.queued * _SETTLED):,}", value=memory[0]), ratio_at_most=1.25,
    )  # fmt: skip
