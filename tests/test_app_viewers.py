"""Several people, tabs and runs at once: nobody sees another's, nobody waits for another's."""

import asyncio
import contextlib
import json
import threading
import time

import pytest
from episodes import events
from fastapi import FastAPI
from fastapi.testclient import TestClient
from playing import Echo, events_of
from scripted_workbench import ScriptedRoster

from app import api, stream
from app.liverun import frames
from app.runs import RunManager
from orchestra_lib.limits import Limits
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.preference import Preference
from orchestra_lib.toolkit.function import FunctionTool
from orchestra_lib.workbench import Order, Workbench


@contextlib.asynccontextmanager
async def manager(home, **tools):
    roster = ScriptedRoster(pace_s=0.01)
    roster._tools |= tools
    workbench = Workbench(home, roster=roster)
    runs = RunManager(workbench)
    try:
        yield runs
    finally:
        await runs.close()
        await workbench.close()


async def seen(runs, run_id):
    """Everything that a viewer of a run is sent, as JSON."""
    live = runs.live(run_id)  # None when it has ended before anybody looked
    following = stream.live(live, 0) if live else stream.stored(runs, run_id, runs.events(run_id), 0)
    parts = [part async for part in following]
    return [json.loads(part.split("data: ", 1)[1]) for part in parts if part.startswith("id: ")]


def test_two_visitors_with_different_wishes_see_each_their_own_run(tmp_path):
    """H4: nothing of a visitor is kept but in the run that they asked for."""
    thrifty = Order(task="short", orchestrator="scripted", preference=Preference(cost=1.0), limits=Limits(max_turns=7))
    hasty = Order(task="parallel", orchestrator="scripted", preference=Preference(latency=1.0), tools=("coder",))

    async def play():
        async with manager(tmp_path) as runs:
            started = await asyncio.gather(runs.start(thrifty), runs.start(hasty))
            return started, await asyncio.gather(*(seen(runs, run_id) for run_id in started))

    ids, (first, second) = asyncio.run(play())
    for run_id, order, sent in zip(ids, (thrifty, hasty), (first, second), strict=True):
        setting = sent[0]["setting"]
        assert setting["run_id"] == run_id
        assert (setting["task"]["text"], setting["limits"]["max_turns"]) == (order.task, order.limits.max_turns)
        assert (setting["preference"]["cost"], setting["preference"]["latency"]) == (
            order.preference.cost,
            order.preference.latency,
        )
        numbers = [part["seq"] for part in sent]
        assert numbers == sorted(set(numbers))
    assert [tool["name"] for tool in second[0]["setting"]["tools"]] == ["coder"]
    assert (first[-1]["answer"], second[-1]["answer"]) == ("47104101", "Both answered.")


def test_a_run_that_nobody_watches_goes_on_and_is_kept(tmp_path):
    """H5: also when the tab that started it is closed at once."""

    async def play():
        async with manager(tmp_path) as runs:
            run_id = await runs.start(Order(task="short", orchestrator="scripted"))
            if (live := runs.live(run_id)) is not None:
                viewer = stream.live(live, 0)
                await anext(viewer)
                await viewer.aclose()
            async with asyncio.timeout(10):
                while runs.live(run_id):
                    await asyncio.sleep(0.01)
            return runs._workbench.store.get(run_id)

    assert asyncio.run(play()).answer == "47104101"


def test_a_stop_in_a_call_that_never_yields_ends_the_run_and_the_record_is_found(tmp_path):
    """H5: a plain function that blocks its thread."""
    done = threading.Event()

    def code_interpreter(text: str) -> str:
        done.wait(60)
        return text

    async def play():
        async with manager(tmp_path, code_interpreter=FunctionTool(code_interpreter)) as runs:
            run_id = await runs.start(Order(task="short", orchestrator="scripted"))
            while not runs.live(run_id).trajectory.calls:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            asked = time.monotonic()
            runs.stop(run_id)
            while runs.live(run_id):
                await asyncio.sleep(0.01)
            return time.monotonic() - asked, runs._workbench.store.get(run_id)

    try:
        took, kept = asyncio.run(play())
    finally:
        done.set()
    assert took < 3
    assert (kept.status, str(kept.calls[0].observation.status)) == ("cancelled", "cancelled")


def test_what_a_viewer_is_sent_does_not_grow_with_the_run():
    """H7: fifty turns whose results have 20,000 characters each."""

    async def long(word):
        return word + "x" * 20_000

    script = [[("echo", {"word": str(turn)})] for turn in range(50)]
    events = asyncio.run(events_of(Scripted([*script, "done"]), [Echo(work=long)], limits=Limits(max_turns=60)))
    sizes = [len(frame.data) for frame in frames(events)]
    early, late = sizes[5:20], sizes[-20:]
    assert max(sizes) < 6_000
    assert max(late) < 1.2 * max(early)
    assert sum(sizes) < 50 * 10_000


@pytest.mark.parametrize("turns", [2, 70, 300])
def test_a_long_stored_run_is_begun_at_once_and_told_whole_once(tmp_path, turns):
    """What is sent first is the beginning; the rest follows, nothing twice, however long it is."""

    async def sent():
        async with manager(tmp_path) as runs:
            kept = [event for event in events("run-1", turns=turns) if event.kind not in ("streamed", "call_started")]
            runs._workbench.journal.put(kept)
            first = runs.beginning("run-1")
            parts = [part async for part in stream.stored(runs, "run-1", first, 0)]
            return len(first), kept, [json.loads(one.split("data: ", 1)[1]) for one in parts if one.startswith("id: ")]

    first, kept, told = asyncio.run(sent())
    assert first == min(len(kept), 200)
    assert [frame["seq"] for frame in told] == [event.seq for event in kept]
    assert "bill" in told[-1]["derived"]


@contextlib.contextmanager
def served(workbench):
    runs = RunManager(workbench)
    app = FastAPI()
    api.install(app, workbench, runs)
    with TestClient(app) as client:
        yield client
        client.portal.call(runs.close)
    workbench.store.close()


@pytest.fixture
def client(tmp_path):
    with served(Workbench(tmp_path, roster=ScriptedRoster(pace_s=0.01))) as client:
        yield client


def test_no_key_of_the_environment_reaches_a_visitor(tmp_path, monkeypatch):
    """H4: the pages are the same for everybody, and what fills them holds no key."""
    for name in ("OPENAI_API_KEY", "TAVILY_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.setenv(name, "canary-key")
    monkeypatch.setenv("OPENAI_MODEL", "some-model")
    with served(Workbench(tmp_path)) as client:
        state = client.get("/api/state").text
    assert "some-model" in state
    assert "canary" not in state


def test_a_quick_look_is_quick_while_five_long_runs_go_on(client):
    """H7: what a page asks for while it is used."""
    for _ in range(5):
        client.post("/api/runs", json={"task": "slow", "orchestrator": "scripted"}).raise_for_status()
    took = []
    for path in ("/api/state", "/api/trajectories") * 3:
        asked = time.monotonic()
        assert client.get(path).status_code == 200
        took.append(time.monotonic() - asked)
    assert min(took) < 1
