"""Runs that are played beside the queue, many at once: graded, journalled, stored and tagged as they end."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from orchestra_lib import grading
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.unfolding import unfold
from orchestra_lib.workbench import Workbench

Played = Callable[[], Awaitable[Trajectory]]
"""Plays one run and keeps it."""


async def kept(workbench: Workbench, run: Trajectory) -> Trajectory:
    """A run that has ended, in the journal and in the store, with its grade where a check can give one."""
    workbench.journal.put(unfold(run))
    workbench.journal.sync()
    workbench.store.add(run)
    if grading.due(run):
        await workbench.grade(run.id, grading.Wish())
        return workbench.store.get(run.id)
    return run


async def play_all(
    workbench: Workbench, todo: Sequence[Played], *, tags: Sequence[str], jobs: int
) -> AsyncGenerator[Trajectory, None]:
    """Play them, so many at once, and yield each as it is stored.

    What was played is tagged also when the rest is cancelled. Raises what playing raises.
    """
    places = asyncio.Semaphore(jobs)

    async def one(play: Played) -> Trajectory:
        async with places:
            return await play()

    going = [asyncio.create_task(one(play)) for play in todo]
    played: list[str] = []
    try:
        for ended in asyncio.as_completed(going):
            run = await ended
            played.append(run.id)
            yield run
    finally:
        for task in going:
            task.cancel()
        await asyncio.gather(*going, return_exceptions=True)
        for tag in tags if played else ():
            workbench.store.tag(played, tag)
