"""What breaks: the disk, the clock, the endpoint."""

import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2

from benchmarks.claims import Claim, claim, note
from benchmarks.scripted_server import CALLS
from benchmarks.soaking.faulty_server import faulty
from benchmarks.soaking.small_files import disk_of
from benchmarks.soaking.world import MODEL, Echo, Scale, furnished, home, order, played
from orchestra_lib.chat import CallStyle
from orchestra_lib.errors import StoreFault
from orchestra_lib.event import Event, Graded, fold
from orchestra_lib.grouping import group
from orchestra_lib.model.dialect import Patience
from orchestra_lib.model.openai_compatible import OpenAICompatible
from orchestra_lib.policy.chat_model import ChatPolicy
from orchestra_lib.preference import Preference
from orchestra_lib.protocols import PolicySpec
from orchestra_lib.reward_report import reward_reports
from orchestra_lib.trajectory import StopReason, Trajectory
from orchestra_lib.workbench import Workbench

SEED = 12
_AT_ONCE = 100
"""Rollouts against the endpoint: with more, requests run out of patience before this process has sent them."""


def disk(scale: Scale) -> Iterator[Claim]:
    """A disk that fills up under eight runs, and has room again; and one file that can grow no further."""
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        script = 'mount -t tmpfs -o size=48m soak "$1" && exec "$2" -m benchmarks.soaking.full_disk "$1"'
        command = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", folder, sys.executable]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    if (ran.returncode and "mount" in ran.stderr + ran.stdout) or "unshare" in ran.stderr:
        note(f"no disk of its own can be had here, so none was filled ({ran.stderr.strip()[:120]})")
    else:
        assert ran.returncode == 0, ran.stderr
        told = json.loads(ran.stdout)
        for one in told["unclear"]:
            note(f"not a clear error: {one[:300]}")
        yield claim("disk full: runs that it broke off", told["full"], "of 8", at_least=1)
        yield claim("disk full: ended by anything but a clear error", len(told["unclear"]), "runs", at_most=0)
        yield claim(
            "disk full: events acknowledged and lost", told["lost"], "events", at_most=0,
        )  # fmt: skip
        yield claim("disk full: events acknowledged", told["acknowledged"], "events")
        yield claim("disk full: runs once there is room again", told["after"], "of 4 answered", at_least=4)
        still = told["unfinished"] + told["unlisted"]
        yield claim("disk full: runs unlisted or unfinished afterwards", still, "runs", at_most=0)
    yield from _one_file()


def _one_file() -> Iterator[Claim]:
    """No file may grow over 2 MB: the journal of one run would, or the tables' log of it; its siblings' would not."""
    with home() as folder:
        workbench = furnished(folder, tool=Echo(times=400))
        orders = [order(700), *(order(9) for _ in range(7))]

        async def play() -> list[Exception | None]:
            with disk_of(2_000_000):
                return await played(workbench, orders, lambda event: None)

        first, *siblings = asyncio.run(play())
        workbench.store.close()
    note(f"what the long run ended with: {first}")
    yield claim("a file that cannot grow: its run told so", isinstance(first, StoreFault), "of 1", at_least=1)
    yield claim("a file that cannot grow: siblings that went on", siblings.count(None), "of 7", at_least=7)


class JumpingClock:
    """The time of day, which is set an hour back or forward whenever it is asked for."""

    def __init__(self) -> None:
        self._rng, self._off, self.jumps = random.Random(SEED), timedelta(), 0

    def __call__(self) -> datetime:
        self._off += self._rng.choice((-1, 0, 1)) * timedelta(hours=1)
        self.jumps += 1
        return datetime.now(UTC) + self._off


def clock(scale: Scale) -> Iterator[Claim]:
    """Runs while the time of day jumps: no time of theirs is longer than the whole took, none is below 0."""
    began, jumping = time.monotonic(), JumpingClock()
    told: dict[str, list[Event]] = {}
    with home() as folder:
        workbench = furnished(folder, now=jumping)

        async def one(number: int) -> None:
            async for event in workbench.play(order(5), run_id=f"run-{number}"):
                told.setdefault(f"run-{number}", []).append(event)

        async def play() -> None:
            await asyncio.gather(*map(one, range(scale.clocks)))
            await workbench.close()

        asyncio.run(play())
        took_s = time.monotonic() - began
        anew = Workbench(folder)
        kept = [anew.store.get(run_id) for run_id in told]
        anew.store.close()
    runs = [fold(events) for events in told.values()]
    times = [(one.t_s, other.t_s) for events in told.values() for one, other in pairwise(events)]
    backward = sum(after < before for before, after in times)
    late = sum(event.t_s > took_s for events in told.values() for event in events)
    wrong = sum(not 0 <= (run.latency_s or 0.0) <= took_s for run in runs)
    wrong += sum(
        call.observation is None or not 0 <= call.observation.latency_s <= took_s for run in runs for call in run.calls
    )
    order_kept = sum(
        [event.seq for event in events] != sorted(event.seq for event in events) for events in told.values()
    )
    graded = sum(isinstance(events[-1], Graded) for events in told.values())
    what = f"clock jumping in {scale.clocks} runs"
    yield claim(f"{what}: times asked for", jumping.jumps, "times")
    yield claim(f"{what}: graded at their end", graded, "runs", at_least=scale.clocks)
    yield claim(f"{what}: events before the one before", backward + order_kept, "events", at_most=0)
    yield claim(f"{what}: events later than the whole took", late, "events", at_most=0)
    yield claim(f"{what}: durations below 0 or above the whole", wrong, "durations", at_most=0)
    yield claim(
        f"{what}: runs stored otherwise than told",
        sum(a != b for a, b in zip(kept, runs, strict=True)),
        "runs",
        at_most=0,
    )


def endpoint(scale: Scale) -> Iterator[Claim]:
    """A group of rollouts against an endpoint that breaks a fifth of its replies, with one retry a request."""
    with home() as folder, faulty(0.2, SEED) as url:
        patience = Patience(idle_s=10.0, attempt_s=60.0, total_s=180.0, max_retries=1, first_wait_s=0.01)
        model = OpenAICompatible(MODEL, url, "scripted", api_key="none", patience=patience)
        spec = PolicySpec(name="scripted", priced_as=MODEL, max_input_tokens=4000, max_output_tokens=400)
        workbench = furnished(folder, policy=ChatPolicy(spec, model, style=CallStyle.NATIVE))
        wanted = order(CALLS + 1, group="soak")
        orders = [wanted] * scale.rollouts

        async def play() -> list[Exception | None]:
            try:
                errors = list[Exception | None]()
                for at in range(0, len(orders), _AT_ONCE):
                    errors += await played(workbench, orders[at : at + _AT_ONCE], lambda event: None)
                return errors
            finally:
                await workbench.close()

        errors = asyncio.run(play())
        count: dict[str, int] = httpx2.get(url.replace("/v1", "/count"), trust_env=False).json()
        store = Workbench(folder).store
        runs = [store.get(run_id) for run_id in store.members("soak")]
        store.close()
    injected = sum(number for kind, number in count.items() if kind != "good")
    note(f"replies: {count}; ends: {dict(Counter(str(run.stop) for run in runs))}")
    failed, fine = (sum(_failed(a) is kind for run in runs for a in _asked(run)) for kind in (True, False))
    by_fault = [run for run in runs if run.stop is StopReason.FAULT]
    other = len(orders) - sum(run.stop in (StopReason.FAULT, StopReason.ANSWERED) for run in runs)
    rewards = {row.id: row.reward for report in reward_reports(group(runs), Preference()) for row in report.rows}
    what = f"{scale.rollouts} rollouts, a fifth of replies broken"
    yield claim(f"{what}: faults injected", injected, "faults")
    yield claim(f"{what}: faults of the bill too many or too few", abs(failed - injected), "attempts", at_most=0)
    yield claim(
        f"{what}: good replies of the bill too many or too few", abs(fine - count.get("good", 0)), "attempts", at_most=0
    )
    yield claim(f"{what}: neither answered nor ended by the fault", other + sum(map(bool, errors)), "runs", at_most=0)
    unnamed = sum(not run.faults or run.faults[-1].kind != "provider" for run in by_fault)
    yield claim(f"{what}: ended by a fault that is not the provider's", unnamed, "runs", at_most=0)
    paid = sum(rewards.get(run.id) is not None for run in by_fault)
    yield claim(f"{what}: ended by a fault", len(by_fault), "runs")
    yield claim(f"{what}: ended by a fault and yet rewarded", paid, "runs", at_most=0)
    unpaid = sum(rewards.get(run.id) is None for run in runs if run.stop is StopReason.ANSWERED)
    yield claim(f"{what}: answered and without a reward", unpaid, "runs", at_most=0)


def _asked(run: Trajectory) -> Iterator[Any]:
    """Every request that the orchestrator made."""
    for turn in run.turns:
        if turn.generation is not None:
            yield from turn.generation.attempts


def _failed(attempt: Any) -> bool:
    return attempt.error is not None
