"""One cell of an evaluation, from its run to its verdict: in this process, or wherever an engine plays it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Protocol

from orchestra_lib import chat
from orchestra_lib.casting import Order
from orchestra_lib.errors import Fault
from orchestra_lib.evaluation.plan import Cell, Plan
from orchestra_lib.evaluation.toolscale import Scene
from orchestra_lib.event import CallFinished, Event, Generated, Graded, RunFinished, RunStarted
from orchestra_lib.grading import Wish, due
from orchestra_lib.grouping import NO_REWARD
from orchestra_lib.pricing import Attempt, PriceTable, cost_usd, total
from orchestra_lib.record import record
from orchestra_lib.trajectory import StopReason, Trajectory
from orchestra_lib.workbench import Workbench


@record
class Played:
    """What the run of a cell has come to. `cost_usd` is that of its judge too, None when a part is unknown.

    `run_ids` are its runs that are kept, the last one being what counts: several where workers died over it and it was
    played again, none where nothing of it came back.
    """

    run_ids: tuple[str, ...]
    stop: StopReason | None = None
    fault: Fault | None = None
    outcome: bool | None = None
    cost_usd: float | None = None


class Cells(Protocol):
    """Plays the cells of one evaluation."""

    async def play(self, cell: Cell, run_id: str, cancel: asyncio.Event) -> Played: ...


class LocalCells:
    """Plays them in a workbench of this process."""

    def __init__(self, workbench: Workbench, plan: Plan, scene: Scene | None = None) -> None:
        self._workbench, self._plan, self._scene = workbench, plan, scene
        self._kinds: dict[str, Callable[[Order, str, asyncio.Event], AsyncGenerator[Event, None]]] = {}

    async def play(self, cell: Cell, run_id: str, cancel: asyncio.Event) -> Played:
        """Play a cell and have it judged. Raises `BadInput` and `StoreFault`; what an error ends stays as it is."""
        seen = Witness()
        async with aclosing(self._begin(cell, run_id, cancel)) as events:
            async for event in events:
                seen.see(event)
        if (graded := await self._judged(cell, run_id, seen)) is not None:
            seen.grade(graded)
        return seen.played(run_id)

    async def found(self, cell: Cell, ended: Trajectory) -> Played:
        """A run of a cell that had ended before, with the verdict that it may not have come to."""
        seen = Witness()
        for event in await asyncio.to_thread(self._workbench.journal.read, ended.id):
            seen.see(event)
        if due(ended):
            seen.grade(await self._workbench.grade(ended.id, Wish()))
        if (graded := await self._judged(cell, ended.id, seen)) is not None:
            seen.grade(graded)
        return seen.played(ended.id)

    def _begin(self, cell: Cell, run_id: str, cancel: asyncio.Event) -> AsyncGenerator[Event, None]:
        """The events of a cell's run. Runs of questions over `chat` are all of one kind for each orchestrator."""
        order = self._plan.order(cell)
        if cell.item.assignment is not None or order.protocol != chat.PROTOCOL:
            return self._workbench.play(order, run_id=run_id, cancel=cancel)
        if cell.orchestrator not in self._kinds:
            self._kinds[cell.orchestrator] = self._workbench.kind(order)
        return self._kinds[cell.orchestrator](order, run_id, cancel)

    async def _judged(self, cell: Cell, run_id: str, seen: "Witness") -> Graded | None:
        """The verdict of the scene, or of the judge where no check could decide; None where there is no need."""
        judge, golden = self._plan.conditions.judge, cell.item.golden
        if seen.outcome is not None or seen.stop in NO_REWARD:
            return None
        if judge is None and (self._scene is None or golden is None):
            return None
        await self._workbench.stored()  # or its rows without a grade might come after those with it
        if self._scene is not None and golden is not None:
            grade = await self._scene.verdict(golden, run_id)
            return await asyncio.to_thread(self._workbench.store.grade, run_id, grade)
        return await self._workbench.grade(run_id, Wish(by=f"model:{judge}"))


class Witness:
    """What one run has come to, as its events tell; cheaper than a whole trajectory."""

    def __init__(self) -> None:
        self.stop: StopReason | None = None
        self.fault: Fault | None = None
        self.outcome: bool | None = None
        self._prices: PriceTable | None = None
        self._attempts: list[Attempt] = []
        self._judge_usd: list[float | None] = []

    def see(self, event: Event) -> None:
        match event:
            case RunStarted(setting=setting):
                self._prices = setting.prices
            case Generated(generation=generation):
                self._attempts += generation.attempts
            case CallFinished(attempts=attempts):
                self._attempts += attempts
            case RunFinished(stop=stop, fault=fault):
                self.stop, self.fault = stop, fault
            case Graded() as graded:
                self.grade(graded)

    def grade(self, graded: Graded) -> None:
        """A verdict, and what a judge took for it."""
        table = graded.prices or self._prices
        self._judge_usd += [None if table is None else cost_usd(a, table.find(a.priced_as)) for a in graded.attempts]
        if graded.grade is not None:
            self.outcome = graded.grade.outcome

    def played(self, run_id: str) -> Played:
        """All of it."""
        return Played(
            run_ids=(run_id,), stop=self.stop, fault=self.fault, outcome=self.outcome, cost_usd=self._cost_usd
        )

    @property
    def _cost_usd(self) -> float | None:
        table = self._prices
        if table is None:
            return None
        return total([*(cost_usd(one, table.find(one.priced_as)) for one in self._attempts), *self._judge_usd])
