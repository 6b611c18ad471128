"""Runs belong to the server: viewers come and go, runs end and leave memory."""

import asyncio
import contextlib
import json

import pytest
from scripted_workbench import scripted_workbench

from app import stream
from app.liverun import frames
from app.runs import MAX_RUNNING, RunManager
from orchestra_lib.errors import BadInput
from orchestra_lib.workbench import Order


@contextlib.asynccontextmanager
async def manager(home):
    workbench = scripted_workbench(home, pace_s=0.01)
    runs = RunManager(workbench)
    try:
        yield runs
    finally:
        await runs.close()
        await workbench.close()


def order(task="short"):
    return Order(task=task, orchestrator="scripted")


async def watch(runs, run_id, after=0):
    live = runs.live(run_id)
    return [json.loads(frame.data) async for frame in live.follow(after) if frame is not None]


async def ended(runs, run_id):
    live = runs.live(run_id)
    while live and not live.ended:
        await asyncio.sleep(0.01)


def test_two_viewers_see_every_frame_once_and_in_order(tmp_path):
    """H6"""

    async def play():
        async with manager(tmp_path) as runs:
            run_id = await runs.start(order())
            return await asyncio.gather(watch(runs, run_id), watch(runs, run_id))

    first, second = asyncio.run(play())
    seqs = [frame["seq"] for frame in first]
    assert seqs == sorted(set(seqs))
    assert first == second
    assert first[-1]["answer"] == "47104101"


def test_a_viewer_who_comes_back_neither_loses_nor_repeats_a_frame(tmp_path):
    """H6"""

    async def play():
        async with manager(tmp_path) as runs:
            run_id = await runs.start(order("figures"))
            live = runs.live(run_id)
            seen = []
            async for frame in live.follow(0):
                seen.append(frame.seq)
                if len(seen) == 12:
                    break
            rest = [frame["seq"] for frame in await watch(runs, run_id, after=seen[-1])]
            return seen, rest

    seen, rest = asyncio.run(play())
    assert rest[0] > seen[-1]
    assert rest == sorted(set(rest))


def test_a_finished_run_leaves_memory_and_its_journal_gives_the_same_frames(tmp_path):
    """H6, H3: what is stored is what is shown."""

    async def play():
        async with manager(tmp_path) as runs:
            run_id = await runs.start(order())
            live_frames = await watch(runs, run_id)
            await ended(runs, run_id)
            assert runs.live(run_id) is None
            return live_frames, [json.loads(frame.data) for frame in frames(runs.events(run_id))]

    live_frames, stored = asyncio.run(play())
    kept = [frame for frame in live_frames if frame["kind"] not in {"streamed", "call_started"}]
    assert (stored[0], stored[-1]) == (kept[0], kept[-1])
    for frame in kept[1:-1]:
        frame["derived"].pop("bill", None)
    assert stored[1:-1] == kept[1:-1]


def test_streamed_pieces_are_forgotten_once_the_whole_is_there(tmp_path):
    async def play():
        async with manager(tmp_path) as runs:
            run_id = await runs.start(order("slow"))
            live = runs.live(run_id)
            while len(live.trajectory.calls) < 2:
                await asyncio.sleep(0.01)
            late = [json.loads(frame.data)["kind"] for frame in live._log]
            runs.stop(run_id)
            await ended(runs, run_id)
            return late

    late = asyncio.run(play())
    assert "generated" in late
    assert "streamed" not in late


def test_a_stop_ends_the_run_within_a_second_and_keeps_the_record(tmp_path):
    """H5"""

    async def play():
        async with manager(tmp_path) as runs:
            run_id = await runs.start(order("slow"))
            live = runs.live(run_id)
            while len(live.trajectory.calls) < 2:
                await asyncio.sleep(0.01)
            assert runs.stop(run_id)
            await asyncio.wait_for(ended(runs, run_id), 5)
            return runs.trajectory(run_id)

    trajectory = asyncio.run(play())
    assert trajectory.status == "cancelled"
    assert [call.observation.status for call in trajectory.calls] == ["ok", "cancelled"]


def test_a_bad_order_is_refused_before_anything_runs(tmp_path):
    async def play():
        async with manager(tmp_path) as runs:
            with pytest.raises(BadInput, match="orchestrator"):
                await runs.start(Order(task="x", orchestrator="nobody"))
            with pytest.raises(BadInput, match="empty"):
                await runs.start(order("  "))
            return runs.running()

    assert asyncio.run(play()) == []


async def full(runs):
    return [await runs.start(order("slow")) for _ in range(MAX_RUNNING)]


def test_a_run_too_many_waits_at_its_place_and_begins_when_one_ends(tmp_path):
    async def play():
        async with manager(tmp_path) as runs:
            going = await full(runs)
            first, second = await runs.start(order()), await runs.start(order())
            places = [runs.queue.place(run_id) for run_id in (first, second)]
            ticket = runs.queue.find(first)
            runs.stop(going[0])
            assert await asyncio.wait_for(ticket.settled(), 5) is None
            return places, runs.queue.place(second), [frame async for frame in ticket.run.follow(0)]

    places, moved, seen = asyncio.run(play())
    assert (places, moved) == ([1, 2], 1)
    assert json.loads(seen[-1].data)["answer"] == "47104101"


def test_thousands_are_accepted_and_no_more_than_the_limit_goes_on(tmp_path):
    async def play():
        async with manager(tmp_path) as runs:
            await full(runs)
            ids = await asyncio.gather(*(runs.start(order()) for _ in range(2000)))
            return len(runs.running()), len(runs.queue), [runs.queue.place(run_id) for run_id in ids[:3]]

    going, waiting, places = asyncio.run(play())
    assert (going, waiting) == (MAX_RUNNING, 2000)
    assert all(places)


def test_a_run_that_waits_can_be_cancelled_and_is_told_apart_from_an_unknown_one(tmp_path):
    async def play():
        async with manager(tmp_path) as runs:
            await full(runs)
            run_id = await runs.start(order())
            ticket = runs.queue.find(run_id)
            assert runs.stop(run_id)
            with pytest.raises(BadInput, match="cancelled before it began"):
                runs.trajectory(run_id)
            return str(await ticket.settled()), len(runs.queue), run_id in runs._workbench.journal.stamps()

    why, waiting, written = asyncio.run(play())
    assert "nothing was spent" in why
    assert (waiting, written) == (0, False)


def test_a_bad_order_is_refused_also_when_it_would_have_to_wait(tmp_path):
    async def play():
        async with manager(tmp_path) as runs:
            await full(runs)
            with pytest.raises(BadInput, match="empty"):
                await runs.start(order("  "))
            return len(runs.queue)

    assert asyncio.run(play()) == 0


def test_runs_that_wait_are_not_started_when_the_workbench_stops_and_their_viewers_hear_so(tmp_path):
    async def play():
        async with manager(tmp_path) as runs:
            await full(runs)
            ids = [await runs.start(order()) for _ in range(3)]
            viewer = asyncio.create_task(anext(aiter_stream(runs, ids[0])))
            await asyncio.sleep(0.05)
            dropped = [ticket.run_id for ticket in runs.stop_all()]
            with pytest.raises(BadInput, match="stopping"):
                await runs.start(order())
            return ids, dropped, await viewer

    ids, dropped, told = asyncio.run(play())
    assert dropped == ids
    assert "had not begun when the workbench was stopped" in told


async def aiter_stream(runs, run_id):
    """The last thing but `end` that a viewer of a run in the queue hears."""
    parts = [part async for part in stream.queued(runs, runs.queue.find(run_id), 0)]
    yield parts[-2]


def test_closing_stops_what_runs_and_every_record_is_complete(tmp_path):
    """H5"""

    async def play():
        async with manager(tmp_path) as runs:
            run_id = await runs.start(order("slow"))
        return run_id, runs

    run_id, runs = asyncio.run(play())
    assert runs.trajectory(run_id).status == "cancelled"


def test_an_unknown_run_is_named(tmp_path):
    async def play():
        async with manager(tmp_path) as runs:
            assert not runs.stop("nope")
            with pytest.raises(BadInput, match="nope"):
                runs.trajectory("nope")

    asyncio.run(play())
