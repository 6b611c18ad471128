"""Plays and grades runs on a worker, and takes home what came of it: the two ends of one wire."""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import ExitStack, aclosing
from pathlib import Path

from orchestra_lib import grading
from orchestra_lib.assigning import Assignments
from orchestra_lib.casting import Order
from orchestra_lib.codec import event_from_line
from orchestra_lib.engine.crew import Crew, Place, Post, code_of, mark_of, settings_of
from orchestra_lib.errors import Fault, WorkerFault
from orchestra_lib.evaluation.plan import Cell, Plan
from orchestra_lib.evaluation.playing import LocalCells, Played
from orchestra_lib.evaluation.toolscale import Scene
from orchestra_lib.event import Event, RunStarted
from orchestra_lib.paths import home
from orchestra_lib.record import record
from orchestra_lib.store.journal import INTERRUPTED, Journal
from orchestra_lib.store.worker_folders import Parcel, WorkerFolder, next_id, unpack
from orchestra_lib.trajectory import StopReason, Trajectory
from orchestra_lib.workbench import Workbench

Furnish = Callable[[Workbench], None]
"""Adds to a workbench what stands above this floor or is a user's own: trained orchestrators, functions as tools."""


@record
class Brought:
    """What a worker brings of one order: the run that counts, and the journals of all tries."""

    run_id: str
    parcels: tuple[Parcel, ...]
    played: Played | None = None


class Player:
    """A workbench on a worker, whose runs lie in a folder of its own until they have been taken home.

    The settings, weights and domains are those of the driver's home folder where this node sees it, else of its own
    (ORCHESTRA_HOME). Keys are read from the environment of the node. A call that Ray repeats, since a worker died over
    it, finds what the one before had come to: a run that had ended is handed over as it is, one that was cut off is
    closed and played again under the next name.
    """

    def __init__(self, post: Post, furnish: Furnish, scene: Callable[[], Scene] | None = None) -> None:
        seen = Path(post.home)
        self._shared = (seen / "workers" / ".home").is_file() and mark_of(seen) == post.mark
        self._home = seen if self._shared else home()
        self._folder = WorkerFolder(self._home, post.name)
        self._workbench = Workbench(self._home, records=self._folder.path)
        furnish(self._workbench)
        self._load_scene, self._lent = scene, ExitStack()
        self._scene: Scene | None = None
        self._cells: dict[str, LocalCells] = {}
        self._cancel: asyncio.Event | None = None

    async def place(self) -> Place:
        """Where this is."""
        node, code, settings = socket.gethostname(), code_of(), settings_of(self._home)
        return Place(node=node, pid=os.getpid(), code=code, settings=settings, shared=self._shared)

    async def play(self, order: Order, run_id: str) -> Brought:
        """One rollout. Raises `BadInput` and `StoreFault` as `Workbench.play` does."""
        run_id, before, ended = await asyncio.to_thread(self._before, run_id)
        if ended is None:
            async with aclosing(self._workbench.play(order, run_id=run_id, cancel=self._stopping())) as events:
                async for _ in events:
                    pass
        elif grading.due(ended):
            await self._workbench.grade(run_id, grading.Wish())
        return await asyncio.to_thread(self._brought, run_id, before)

    async def play_cell(self, plan: Plan, cell: Cell, run_id: str) -> Brought:
        """One cell of an evaluation, judged. Raises as `LocalCells.play` does."""
        run_id, before, ended = await asyncio.to_thread(self._before, run_id)
        scene = self._scene_of(cell)
        cells = self._cells.setdefault(plan.id, LocalCells(self._workbench, plan, scene))
        if ended is not None and scene is not None and not ended.grades:  # its database died with its worker
            before, run_id, ended = (*before, run_id), next_id(run_id), None
        if ended is None:
            played = await cells.play(cell, run_id, self._stopping())
        else:
            played = await cells.found(cell, ended)
        return await asyncio.to_thread(self._brought, run_id, before, played)

    async def mark(self, trajectory: Trajectory, wish: grading.Wish) -> grading.Marked:
        """The verdict on a run, which is kept where the run is. Raises `BadInput` as `Workbench.mark` does."""
        return await self._workbench.mark(trajectory, wish)

    async def stop(self) -> None:
        """End the runs that go on; they end as cancelled."""
        self._stopping().set()

    async def close(self, remove: bool) -> None:
        """Let go of everything; `remove` the folder, when all that it held has been taken home."""
        await self._workbench.close()
        self._folder.close(remove=remove)

    def _scene_of(self, cell: Cell) -> Scene | None:
        """The scene of a cell with golden calls, whose tools are on offer to such cells alone."""
        if cell.item.golden is None:
            self._lent.close()
            self._scene = None
        elif self._scene is None and self._load_scene is not None:
            self._scene = self._load_scene()
            self._lent.enter_context(self._workbench.roster.lent(self._scene.toolkit.tools))
        return self._scene

    def _stopping(self) -> asyncio.Event:
        self._cancel = self._cancel or asyncio.Event()
        return self._cancel

    def _before(self, run_id: str) -> tuple[str, tuple[str, ...], Trajectory | None]:
        """The name to play under, the tries that were cut off, and the run under that name if it had ended."""
        tries = self._folder.attempts(run_id)
        if not tries:
            return run_id, (), None
        # A kill may have left a journal without a single whole line.
        *cut_off, last = [(name, self._folder.parcel(name) is not None) for name in tries]
        before, (name, begun) = tuple(name for name, begun in cut_off if begun), last
        if not begun:
            return next_id(name), before, None
        ended = self._workbench.store.get(name)
        if any(fault.kind == INTERRUPTED for fault in ended.faults):
            return next_id(name), (*before, name), None
        return name, before, ended

    def _brought(self, run_id: str, before: Sequence[str], played: Played | None = None) -> Brought:
        ids = (*before, run_id)
        parcels = tuple(one for name in ids if (one := self._folder.parcel(name)) is not None)
        if played is not None and before:
            costs = [played.cost_usd, *(self._workbench.store.get(name).bill().cost_usd for name in before)]
            spent = None if None in costs else sum(cost for cost in costs if cost is not None)
            played = Played(run_ids=ids, stop=played.stop, fault=played.fault, outcome=played.outcome, cost_usd=spent)
        return Brought(run_id=run_id, parcels=parcels, played=played)


class RemoteCells:
    """Plays the cells of an evaluation on a crew of `Player`s. `again` hears of runs that were played once more."""

    def __init__(self, crew: Crew, plan: Plan, again: Callable[[str], None] = lambda run_id: None) -> None:
        self._crew, self._plan, self._again = crew, plan, again
        self._watch: asyncio.Task[None] | None = None

    async def play(self, cell: Cell, run_id: str, cancel: asyncio.Event) -> Played:
        """The run of a cell, taken home when this returns; a fault where workers died over it again and again."""
        self._watch = self._watch or asyncio.create_task(stop_on(cancel, self._crew))
        try:
            brought: Brought = await self._crew.call("play_cell", self._plan, cell, run_id)
        except WorkerFault as fault:
            return Played(run_ids=(), stop=StopReason.FAULT, fault=Fault.of(fault, where="run"))
        await asyncio.to_thread(take_home, brought, self._crew.home)
        assert brought.played is not None
        if len(brought.parcels) > 1:
            self._again(brought.run_id)
        return brought.played


async def rollout(crew: Crew, order: Order, run_id: str, cancel: asyncio.Event) -> AsyncGenerator[Event, None]:
    """The events of one run, played by a crew of `Player`s and taken home; they come when it has ended.

    Raises `WorkerFault`, and as `Workbench.play` does.
    """
    watch = asyncio.create_task(stop_on(cancel, crew))
    try:
        brought: Brought = await crew.call("play", order, run_id)
    finally:
        watch.cancel()
    await asyncio.to_thread(take_home, brought, crew.home)
    for event in await asyncio.to_thread(Journal(crew.home).read, brought.run_id):
        yield event


async def marked(crew: Crew, trajectory: Trajectory, wish: grading.Wish) -> grading.Marked:
    """The verdict of a crew of `Player`s; the fault where workers died over it. Raises `BadInput` as `mark` does."""
    try:
        said: grading.Marked = await crew.call("mark", trajectory, wish)
    except WorkerFault as fault:
        return grading.Marked(fault=Fault.of(fault, where=wish.by))
    return said


async def stop_on(cancel: asyncio.Event, crew: Crew) -> None:
    """Have a crew end what it is at once `cancel` is set."""
    await cancel.wait()
    await crew.stop()


def take_home(brought: Brought, folder: Path) -> None:
    """Keep what was played in the home folder; on disk for good when this returns. Raises `StoreFault`."""
    for one in brought.parcels:
        started = event_from_line(one.journal.partition(b"\n")[0].decode(), where=f"run {one.run_id}")
        if isinstance(started, RunStarted) and started.setting.assigned is not None:
            Assignments(folder).keep(started.setting.assigned)
    unpack(brought.parcels, folder)
