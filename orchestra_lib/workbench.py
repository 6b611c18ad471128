"""The workbench put together: what can be chosen, and a run from order to stored trajectory.

The command line, the app and notebooks all go through here, so that every run is checked, journalled
and stored in one way.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from orchestra_lib import chat, grading
from orchestra_lib import play as loop
from orchestra_lib.assigning import Assignments, task_of
from orchestra_lib.casting import TRY_OUT, Casting, Stage, edited
from orchestra_lib.casting import Order as Order
from orchestra_lib.casting import Visit as Visit
from orchestra_lib.environment.domain_tools import domain_prices
from orchestra_lib.episode_log import EpisodeLog
from orchestra_lib.errors import BadInput, NewerSchema
from orchestra_lib.event import (
    CallFinished,
    Event,
    Generated,
    Graded,
    RunFinished,
    RunStarted,
    TurnStarted,
    apply,
    fold,
)
from orchestra_lib.forking import restore, shared
from orchestra_lib.model.weights import WeightsStatus
from orchestra_lib.orchestrators import Offer
from orchestra_lib.preference import describe
from orchestra_lib.pricelist import find_table, load_tables
from orchestra_lib.pricing import Attempt, Price, PriceTable
from orchestra_lib.protocols import Policy, PolicySpec, Tool
from orchestra_lib.record import record
from orchestra_lib.replay.process import Answer, replay_offline
from orchestra_lib.roster import Roster
from orchestra_lib.simulated_tasks import find
from orchestra_lib.store.artefacts import Artefacts
from orchestra_lib.store.groups import checked_group
from orchestra_lib.store.journal import Journal
from orchestra_lib.store.shelf import Shelf
from orchestra_lib.store.store import Store
from orchestra_lib.task import Task
from orchestra_lib.tool import ToolSpec
from orchestra_lib.trajectory import Setting, Trajectory
from orchestra_lib.unfolding import unfold

Mark = Callable[[Trajectory, grading.Wish], Awaitable[grading.Marked]]
"""Says what a run came to, as `Workbench.mark` does."""
_STEP_S = 0.1
"""So long at most what a turn has brought waits for its end where nobody watches: one of quick tools is one write."""


@record
class _Prepared:
    setting: Setting
    policy: Policy
    tools: tuple[Tool, ...]
    history: tuple[Event, ...] = ()


class Workbench:
    """Everything under one home folder.

    `now` gives aware UTC and `new_id` run ids; tests pass their own. Runs are kept under `records` instead where that
    is given: what a worker plays is its own until the home folder takes it in.
    """

    def __init__(
        self,
        home: Path,
        *,
        records: Path | None = None,
        roster: Roster | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        new_id: Callable[[], str] | None = None,
    ) -> None:
        self.home = home
        kept = records or home
        self.journal = Journal(kept)
        self.artefacts = Artefacts(kept)
        self.store = Store(kept)
        self._shelf = Shelf(self.store)
        self.roster = roster or Roster(home)
        self.assignments = Assignments(home)
        self.casting = Casting(self.roster, self.assignments)
        self._now, self._new_id = now, new_id or new_run_id

    def orchestrators(self) -> tuple[Offer, ...]:
        """Who can conduct, and why some cannot now."""
        return self.roster.orchestrators()

    def tools(self) -> tuple[tuple[ToolSpec, str | None], ...]:
        """Every tool, and why it is off (None: it is on)."""
        return self.roster.tools()

    def price_tables(self) -> tuple[PriceTable, ...]:
        """The tables at hand, read anew so that an edited file counts at once."""
        return tuple(load_tables(self.home).values())

    def setting(self, order: Order) -> Setting:
        """What a run of this order would be started with. Raises `BadInput` as `play` does."""
        return self._prepare(order, self._new_id()).setting

    def play(
        self,
        order: Order,
        *,
        run_id: str | None = None,
        cancel: asyncio.Event | None = None,
        visit: Visit | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Check an order and return the events of its run, journalled as they come and stored at the end.

        `visit` is what the caller of a served run brings to it.

        Raises `BadInput` here, before anything starts; `StoreFault` while iterating, when a record
        cannot be kept: the run is stopped then.
        """
        return self._record(
            self._prepare(order, run_id or self._new_id(), visit), cancel or asyncio.Event(), self._shelf.put
        )

    def kind(self, order: Order) -> Callable[[Order, str, asyncio.Event], AsyncGenerator[Event, None]]:
        """`play` for many orders that differ from this one by task, reference, check and seed alone.

        Who conducts, with which tools and at which prices, is looked up once and not for every run. A run that has
        ended is in its journal; that all are in the store is for `stored` to see to. Raises `BadInput` as `play` does,
        while iterating also the `StoreFault` of an earlier run that could not be stored.
        """
        first = self._prepare(order, self._new_id())

        def begin(order: Order, run_id: str, cancel: asyncio.Event) -> AsyncGenerator[Event, None]:
            task = _task(order)
            grading.check_task(task)
            setting = replace(first.setting, run_id=run_id, started_at=self._now(), task=task, seed=order.seed)
            return self._record(replace(first, setting=setting), cancel, self._shelf.leave, watched=False)

        return begin

    async def stored(self) -> None:
        """Wait until every run of `kind` that has ended is in the store. Raises `StoreFault`."""
        await self._shelf.settled()

    async def _record(
        self,
        prepared: _Prepared,
        cancel: asyncio.Event,
        store: Callable[[Trajectory], Awaitable[None]],
        *,
        watched: bool = True,
    ) -> AsyncGenerator[Event, None]:
        """The events of a run, kept before they are told. Where nobody watches, a turn is told at once, and the end and
        its grade go to the disk together."""
        setting, policy, tools = await self._restored(prepared), prepared.policy, prepared.tools
        log, kept, trajectory = EpisodeLog(setting, time.monotonic), list[Event](), None
        stream = loop.play(
            setting, policy, tools, artefacts=self.artefacts, cancel=cancel, history=prepared.history, log=log
        )
        if setting.assigned is not None:
            await asyncio.to_thread(self.assignments.keep, setting.assigned)
        try:
            async with aclosing(stream) as events:
                writer = None
                try:
                    async for event in events:
                        # Opened only now: a run that refuses to start leaves no record.
                        writer = writer or self.journal.open(setting.run_id)
                        if not watched:
                            await log.step(event, _STEP_S)
                        # What came in one moment is written at once.
                        happened = (event, *log.at_hand(end=not watched))
                        ends = not watched and isinstance(happened[-1], RunFinished)
                        await writer.keep(*happened, soon=ends and grading.due(log.trajectory))
                        kept += happened
                        for event in happened:  # the last one is what a grade follows
                            yield event
                    trajectory = log.trajectory  # the fold of all that was kept
                    if writer is not None and grading.due(trajectory):
                        graded = await self._graded(trajectory, event, log)
                        await writer.keep(graded)
                        trajectory = apply(trajectory, graded)
                        yield graded
                finally:
                    if writer is not None:
                        writer.close()
        finally:
            if kept:
                await store(fold(kept) if trajectory is None else trajectory)

    async def _graded(self, trajectory: Trajectory, after: Event, log: EpisodeLog) -> Graded:
        """The grade of a run that has just ended, while its journal is still open; its time is of the run's clock."""
        marked = await self.mark(trajectory, grading.Wish())
        t_s = max(after.t_s, log.now())
        return Graded(seq=after.seq + 1, t_s=t_s, grade=marked.grade, attempts=marked.attempts, fault=marked.fault)

    async def grade(self, run_id: str, wish: grading.Wish, *, mark: Mark | None = None) -> Graded:
        """Have a stored run graded, and keep what came of it; `mark` is who says so, in place of this workbench.

        Raises `BadInput` as `grading.grade` does and for an unknown run, `StoreFault`; a grader's fault is kept.
        """
        trajectory = await asyncio.to_thread(self.store.get, run_id)
        marked = await (mark or self.mark)(trajectory, wish)
        return await asyncio.to_thread(self._keep_grade, trajectory, marked)

    async def mark(self, trajectory: Trajectory, wish: grading.Wish) -> grading.Marked:
        """What a grader says of a run; nothing is kept. Raises `BadInput` as `grading.grade` does."""
        environment = None if trajectory.setting.assigned is None else self.assignments
        return await grading.grade(
            trajectory, wish, models=self.roster.chat_model, now=self._now, environment=environment
        )

    def grade_by_person(self, run_id: str, who: str, outcome: str, reason: str | None = None) -> Graded:
        """Keep what a person says of a run. Raises `BadInput` for an unknown run, one that goes on, and bad words."""
        marked = grading.by_person(who, outcome, reason, at=self._now())
        return self.store.grade(run_id, marked.grade)

    def _keep_grade(self, trajectory: Trajectory, marked: grading.Marked) -> Graded:
        prices = None
        if marked.attempts:
            with suppress(BadInput):  # the table is no longer there: what the judge cost is unknown
                table = self._table(trajectory.setting.prices.name)
                prices = table.only(attempt.priced_as for attempt in marked.attempts)
        return self.store.grade(trajectory.id, marked.grade, marked.attempts, prices=prices, fault=marked.fault)

    async def _restored(self, prepared: _Prepared) -> Setting:
        """The setting, once the tools remember what they did in the turns that the run begins with."""
        setting = prepared.setting
        if setting.fork is None or not prepared.history:
            return setting
        turns = fold((RunStarted(seq=1, t_s=0.0, setting=setting), *prepared.history)).turns
        try:
            said = await restore(prepared.tools, turns, setting.run_id)
        except BaseException:
            for tool in prepared.tools:
                await tool.release(setting.run_id)
            raise
        return replace(setting, fork=replace(setting.fork, restored=said))

    def _origin(self, order: Order, stage: Stage | None) -> tuple[Task, tuple[Event, ...]]:
        """The task of an order, and the events that the run begins with."""
        task = _task(order) if stage is None else task_of(stage.world, stage.assignment, order.protocol)
        if order.fork is None:
            if order.call is not None:
                raise BadInput("an edited call belongs to a fork; name the run and the turn")
            return task, ()
        events = self.events(order.fork.run_id)
        parent = fold(events[:1]).setting
        if parent.conversation is not None and order.orchestrator not in {one.name for one in self.orchestrators()}:
            raise BadInput(
                f"run {parent.run_id} was imported: its orchestrator {order.orchestrator!r} is not here to go on; name "
                "another (--orchestrator conductor)"
            )
        return replace(task, id=parent.task.id), shared(events, order.fork)

    def events(self, run_id: str) -> list[Event]:
        """The events of a stored run, also of one without a journal. Raises `BadInput` when there is none."""
        try:
            return self.journal.read(run_id)
        except NewerSchema:
            raise
        except BadInput:
            return unfold(self.store.get(run_id))

    def replay(self, run_id: str, *, keep: bool = False) -> tuple[Answer, str | None]:
        """Play a run again from its record, in a process without a network; with `keep` as a run, whose id comes too.

        Blocks. Raises `BadInput` for an unknown run and one that cannot be replayed.
        """
        events = self.events(run_id)
        found = replay_offline(events, self.home, self._bounds(fold(events).setting))
        if not keep:
            return found, None
        origin = f"replay of {run_id}"
        setting = replace(found.trajectory.setting, run_id=self._new_id(), started_at=self._now(), origin=origin)
        kept = replace(found.trajectory, setting=setting)
        with self.journal.open(kept.id) as writer:
            for event in unfold(kept):
                writer.append(event)
        self.store.add(kept)
        return found, kept.id

    def _bounds(self, setting: Setting) -> PolicySpec | None:
        """What bounds a turn of a run's orchestrator, which only a limit in USD asks for; None where nobody knows."""
        if setting.limits.cost_usd is None or setting.orchestrator == TRY_OUT:
            return None
        try:
            if setting.protocol == chat.PROTOCOL:
                return self.roster.orchestrator(setting.orchestrator).spec
            return self.roster.ensemble(setting.orchestrator)[0].spec
        except BadInput:
            return None

    def _prepare(self, order: Order, run_id: str, visit: Visit | None = None) -> _Prepared:
        stage = self.casting.stage(order)
        task, history = self._origin(order, stage)
        history = history if visit is None else visit.history
        grading.check_task(task)
        policy, tools = self.casting.cast(order, stage, visit)
        policy = edited(policy, tools, order.call, history)
        known = {spec.name for spec, _ in self.tools()} | {tool.spec.name for tool in tools}
        for name in order.preference.tools:
            if name not in known:
                raise BadInput(f"preference for an unknown tool {name!r}; the tools are {', '.join(sorted(known))}")
        table = self._table(order.prices)
        if stage is not None:
            table = replace(table, prices={**domain_prices(stage.world), **table.prices})
        if visit is not None:
            table = replace(table, prices={**table.prices, **_by_caller(visit)})
        if any(tool.spec.states_its_time for tool in tools):
            tools = self.roster.experts.told(tools, table)
            table = self.roster.experts.priced(table, [tool.spec for tool in tools])
        specs = tuple(tool.spec for tool in tools)
        if any(spec.third_party for spec in specs):
            table = self.roster.mcp.priced(table, specs)
        priced = [name for spec in specs for name in spec.priced_names] + (
            [policy.spec.priced_as] if policy.spec.priced_as else []
        )
        priced += [attempt.priced_as for attempt in _attempts(history)]
        setting = Setting(
            run_id=run_id,
            started_at=self._now(),
            task=task,
            orchestrator=order.orchestrator,
            protocol=policy.spec.protocol,
            preference=order.preference,
            sentence=describe(order.preference, {spec.name: spec.title for spec in specs}),
            tools=specs,
            prices=table.only(priced),
            limits=order.limits,
            seed=order.seed,
            group=None if order.group is None else checked_group(order.group),
            fork=order.fork and replace(order.fork, edited=order.call is not None, restored=()),
            assigned=None if stage is None else stage.assigned,
            given_turns=0 if visit is None else sum(isinstance(event, TurnStarted) for event in visit.history),
        )
        return _Prepared(setting=setting, policy=policy, tools=tools, history=history)

    def _table(self, name: str) -> PriceTable:
        """The table with the prices of today; one that was replaced is named by its date."""
        return find_table(self.home, name).at(self._now().date())

    def weights(self) -> tuple[WeightsStatus, ...]:
        """Where the weights of the embedded models stand."""
        return self.roster.models.statuses()

    async def start_background(self, on_progress: Callable[[WeightsStatus], None] | None = None) -> None:
        """Fetch weights while everything else works already; never raises for the world's faults."""
        await self.roster.prepare(on_progress)

    async def close(self) -> None:
        """Stop the models' processes and let go of the store."""
        await self.roster.close()
        self.store.close()


def _by_caller(visit: Visit) -> dict[str, Price]:
    """The price rows of a caller's tools."""
    free = Price(call_usd=0.0, source="the caller runs it and bears what it costs")
    return {tool.spec.name: free for tool in visit.tools}


def _task(order: Order) -> Task:
    """The task of an order; a simulated one knows its own reference."""
    known = find(order.task) if order.reference is None and order.check is None else None
    return Task(text=order.task, reference=order.reference, check=order.check) if known is None else known.task


def _attempts(events: Sequence[Event]) -> Iterator[Attempt]:
    for event in events:
        match event:
            case Generated(generation=generation):
                yield from generation.attempts
            case CallFinished(attempts=attempts):
                yield from attempts


_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_run_id() -> str:
    """A new id that sorts by time: 10 characters of milliseconds, 6 random ones (a short ULID)."""
    ticks = time.time_ns() // 1_000_000
    stamp = "".join(_ALPHABET[ticks >> shift & 31] for shift in range(45, -1, -5))
    return stamp + "-" + "".join(secrets.choice(_ALPHABET) for _ in range(6))
