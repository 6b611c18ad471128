"""Playing the cells of an evaluation: so many at once, within the budget, until all are done or nothing can go on."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from orchestra_lib.check import CheckKind
from orchestra_lib.evaluation.facts import Facts, last_of, runs_of
from orchestra_lib.evaluation.plan import Cell, Plan, run_id
from orchestra_lib.evaluation.playing import Cells, Played
from orchestra_lib.evaluation.purse import Purse
from orchestra_lib.grading import Wish, due
from orchestra_lib.record import record
from orchestra_lib.trajectory import StopReason
from orchestra_lib.workbench import Workbench

STRIKES = 5
"""So many runs in a row that ended by a fault give an orchestrator up: its endpoint is down, or never was there."""
_TAG_EVERY = 1_000
"""Each saying reaches the disk; what a kill leaves untagged is tagged when the evaluation goes on."""


@record
class Step:
    """How far an evaluation is, after one more run."""

    done: int
    of: int
    solved: int
    ungraded: int
    faults: int
    spent_usd: float
    last: str


class Conducting:
    """Has cells played, by `cells`, and keeps count of them. `told` hears of every run that has ended.

    `given_up` says of which orchestrators the rest was left out, and why; `short` whether the budget ended it.
    """

    def __init__(
        self,
        workbench: Workbench,
        plan: Plan,
        purse: Purse,
        cells: Cells,
        *,
        concurrency: int,
        told: Callable[[Step], None],
    ) -> None:
        self._workbench, self._plan, self._purse, self._cells = workbench, plan, purse, cells
        self._concurrency, self._told = concurrency, told
        self._strikes: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._untagged: list[str] = []
        self.given_up: dict[str, str] = {}
        self.short = False

    async def play(self, cells: Sequence[Cell], known: Mapping[str, Facts], cancel: asyncio.Event) -> None:
        """Play every cell, once more than `known` has attempts at it.

        Setting `cancel` ends what goes on; those runs are played again another time. Raises `BadInput` and
        `StoreFault`; what is done stays.
        """
        waiting = iter(cells)

        async def worker() -> None:
            for cell in waiting:
                if cell.orchestrator in self.given_up:
                    continue
                if cancel.is_set() or self.short:
                    return
                if not await self._purse.admit():
                    self.short = True
                    return
                before = known.get(cell.key)
                await self._one(cell, self._free_id(cell, before.attempt + 1 if before else 1), cancel, len(cells))

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._concurrency, len(cells))):
                    group.create_task(worker())
        except* Exception as errors:  # one line for whoever reads it, and a bug as a bug
            raise _first(errors) from None
        finally:
            await self._tag()

    def _free_id(self, cell: Cell, attempt: int) -> str:
        """What the next run of a cell is called: a kill may have left a journal without a single whole line."""
        while self._workbench.journal.stamp(name := run_id(self._plan, cell, attempt)) is not None:
            attempt += 1
        return name

    async def _one(self, cell: Cell, run: str, cancel: asyncio.Event, of: int) -> None:
        played: Played | None = None
        try:
            played = await self._cells.play(cell, run, cancel)
        finally:
            await self._purse.settle(None if played is None else played.cost_usd)
        self._untagged += played.run_ids
        if len(self._untagged) >= _TAG_EVERY:
            await self._tag()
        self._count(cell, played)
        self._told(
            Step(
                done=self._counts["done"],
                of=of,
                solved=self._counts["solved"],
                ungraded=self._counts["ungraded"],
                faults=self._counts["faults"],
                spent_usd=self._purse.spent_usd,
                last=cell.orchestrator,
            )
        )

    def _count(self, cell: Cell, seen: Played) -> None:
        faulted = seen.stop is StopReason.FAULT
        self._counts.update(
            done=1, solved=seen.outcome is True, faults=faulted, ungraded=seen.outcome is None and not faulted
        )
        if seen.stop is StopReason.CANCELLED:
            return
        self._strikes[cell.orchestrator] = self._strikes[cell.orchestrator] + 1 if faulted else 0
        if self._strikes[cell.orchestrator] >= STRIKES and cell.orchestrator not in self.given_up:
            self.given_up[cell.orchestrator] = seen.fault.message if seen.fault else "its runs end by faults"

    async def _tag(self) -> None:
        """Tag what has been played, once its rows are in the store: tagging would read the journals that are not."""
        runs, self._untagged = self._untagged, []
        await self._workbench.stored()
        if runs:
            await asyncio.to_thread(tag_runs, self._workbench, self._plan, runs)


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error that is none of many."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def tag_runs(workbench: Workbench, plan: Plan, runs: Sequence[str]) -> None:
    """Tag runs with their suite and their evaluation."""
    for tag in plan.tags:
        workbench.store.tag(runs, tag)


async def mended(workbench: Workbench, plan: Plan, cells: Sequence[Cell]) -> None:
    """Finish what an interruption left undone between the end of a run and its grade or its tags."""
    runs = runs_of(workbench.store, plan)
    tagged = await asyncio.to_thread(workbench.store.tags_of, [one.run_id for _, one in runs])
    bare = [one.run_id for _, one in runs if not {*plan.tags} <= {*tagged.get(one.run_id, ())}]
    if bare:
        await asyncio.to_thread(tag_runs, workbench, plan, bare)
    judge, last = plan.conditions.judge, last_of(runs)
    for cell in cells:
        one = last.get(cell.key)
        if one is None or not one.ended or one.outcome is not None:
            continue
        if not one.graders and due(await asyncio.to_thread(workbench.store.get, one.run_id)):
            graded = await workbench.grade(one.run_id, Wish())
            if graded.grade is not None and graded.grade.outcome is not None:
                continue
        if judge is not None and f"{CheckKind.MODEL}:{judge}" not in one.graders:
            await workbench.grade(one.run_id, Wish(by=f"model:{judge}"))
