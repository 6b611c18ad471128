"""An evaluation from what is wanted to its report: checked, estimated, played, gone on with."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from orchestra_lib.codec import fingerprint, to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.evaluation.conducting import Conducting, Step, mended
from orchestra_lib.evaluation.facts import Estimate, Facts, estimate, last_of, runs_of
from orchestra_lib.evaluation.plan import Cell, Conditions, Plan, held, keep_report, settled
from orchestra_lib.evaluation.playing import Cells, LocalCells
from orchestra_lib.evaluation.purse import Purse, counted
from orchestra_lib.evaluation.report import EvaluationReport, report
from orchestra_lib.evaluation.suites import Suite
from orchestra_lib.json_writing import spoken
from orchestra_lib.pricelist import find_table
from orchestra_lib.pricing import worst_case_usd
from orchestra_lib.record import record
from orchestra_lib.store.store import Store
from orchestra_lib.workbench import Workbench

FOLDER = "evaluations"
"""Where evaluations lie in the home folder."""
_JUDGE_INPUT, _JUDGE_OUTPUT, _JUDGE_S = 24_000, 600, 300.0
"""What a judge reads, writes and takes at most, asked twice: the bounds of `judge.model` with a token a character."""


@record
class Wanted:
    """What is asked for. Seeds count from `first_seed`; `budget_usd` is for all runs of the folder together."""

    suite: Suite
    conditions: Conditions
    orchestrators: tuple[str, ...]
    seeds: int = 3
    first_seed: int = 0
    concurrency: int = 4
    budget_usd: float | None = None

    def __post_init__(self) -> None:
        for name in ("seeds", "concurrency"):
            if (value := getattr(self, name)) < 1:
                raise BadInput(f"{name} = {value}; it is 1 or more")
        if self.budget_usd is not None and not self.budget_usd > 0:
            raise BadInput(f"budget = ${self.budget_usd:g}; a budget is above 0, or left out")
        if not self.orchestrators:
            raise BadInput("nobody conducts: name one with --orchestrator; `orchestra models` lists them")
        twice = sorted({name for name in self.orchestrators if self.orchestrators.count(name) > 1})
        if twice:
            raise BadInput(f"--orchestrator {twice[0]} is given twice; --seeds says how often each task is played")

    @property
    def all_seeds(self) -> tuple[int, ...]:
        return tuple(range(self.first_seed, self.first_seed + self.seeds))

    @property
    def cells(self) -> list[Cell]:
        """Every run, so that an interrupted evaluation has whole seeds, and in them tasks that all have played."""
        return [
            Cell(orchestrator=name, item=item, seed=seed)
            for seed in self.all_seeds
            for item in self.suite.items
            for name in self.orchestrators
        ]


@record
class Outlook:
    """What is known before it starts: the plan, what is done already, and what the rest may take."""

    folder: Path
    plan: Plan
    done: int
    left: int
    spent_usd: float
    estimates: tuple[Estimate, ...]


def place(home: Path, wanted: Wanted) -> Path:
    """The folder of an evaluation that nobody gave one: the same conditions, the same folder."""
    return home / FOLDER / f"{wanted.suite.name.replace(':', '-')}-{fingerprint(to_data(wanted.conditions))[:8]}"


async def evaluate(
    workbench: Workbench,
    wanted: Wanted,
    folder: Path,
    *,
    begins: Callable[[Outlook], bool],
    told: Callable[[Step], None],
    cancel: asyncio.Event | None = None,
    players: Callable[[Plan], Cells] | None = None,
    elsewhere_usd: float = 0.0,
) -> EvaluationReport | None:
    """Play what is left of an evaluation and report on all of it; None when `begins` says not to begin.

    `players` gives who plays the runs elsewhere, by the plan; None: this workbench.
    `elsewhere_usd` has been spent of the same budget by other evaluations.
    Raises `BadInput` before anything is played for what cannot be: an orchestrator or a tool that there is not, a
    folder with other conditions, limits that contradict each other. Raises `StoreFault` when a record cannot be kept.
    What has been played stays and is not played again.
    """
    conditions = _capped(wanted)
    scene = wanted.suite.scene
    with workbench.roster.lent(() if scene is None else scene.toolkit.tools):
        plan = Plan(id="ev-check", conditions=conditions)
        for name in wanted.orchestrators:
            workbench.setting(plan.order(Cell(orchestrator=name, item=wanted.suite.items[0], seed=wanted.first_seed)))
        most_usd = _most_usd(workbench, conditions)
        Purse(wanted.budget_usd, most_usd)
        with held(folder):
            plan = settled(folder, conditions, limits_given=wanted.conditions.limits.cost_usd is not None)
            return await _evaluate(
                workbench, wanted, folder, plan, begins=begins, told=told, cancel=cancel, players=players,
                elsewhere_usd=elsewhere_usd,
            )  # fmt: skip


async def _evaluate(
    workbench: Workbench,
    wanted: Wanted,
    folder: Path,
    plan: Plan,
    *,
    begins: Callable[[Outlook], bool],
    told: Callable[[Step], None],
    cancel: asyncio.Event | None,
    players: Callable[[Plan], Cells] | None,
    elsewhere_usd: float,
) -> EvaluationReport | None:
    cells, most_usd = wanted.cells, _most_usd(workbench, plan.conditions)
    runs = runs_of(workbench.store, plan)
    last = last_of(runs)
    left = [cell for cell in cells if not _is_done(cell, last)]
    spent_usd = _spent_usd(workbench.store, runs, most_usd)
    purse = Purse(wanted.budget_usd, most_usd, spent_usd + elsewhere_usd)
    estimates = tuple(estimate(workbench.store, plan, left, wanted.concurrency))
    outlook = Outlook(
        folder=folder, plan=plan, done=len(cells) - len(left), left=len(left), spent_usd=spent_usd, estimates=estimates
    )
    if not begins(outlook):
        return None
    await mended(workbench, plan, cells)
    played_by = LocalCells(workbench, plan, wanted.suite.scene) if players is None else players(plan)
    conducting = Conducting(workbench, plan, purse, played_by, concurrency=wanted.concurrency, told=told)
    try:
        await conducting.play(left, last, cancel or asyncio.Event())
    finally:
        # Also of what an error has ended: the finished part is worth reading.
        runs = runs_of(workbench.store, plan)
        made = report(
            plan, wanted.suite, wanted.orchestrators, wanted.all_seeds, last_of(runs),
            spent_usd=_spent_usd(workbench.store, runs, most_usd), budget_usd=wanted.budget_usd,
            given_up=conducting.given_up, short=conducting.short,
        )  # fmt: skip
        keep_report(folder, spoken(to_data(made), indent=2))
    return made


def _is_done(cell: Cell, last: Mapping[str, Facts]) -> bool:
    """A run with golden calls that was cut off before its verdict has lost its database: it is played again."""
    one = last.get(cell.key)
    return one is not None and one.ended and (cell.item.golden is None or bool(one.graders))


def _capped(wanted: Wanted) -> Conditions:
    """The conditions with a limit for each run, where a budget needs one: what fits beside all that go on at once."""
    conditions = wanted.conditions
    if wanted.budget_usd is None or conditions.limits.cost_usd is not None:
        return conditions
    at_once = min(wanted.concurrency, len(wanted.suite.items) * wanted.seeds * len(wanted.orchestrators))
    return replace(conditions, limits=replace(conditions.limits, cost_usd=wanted.budget_usd / at_once))


def _most_usd(workbench: Workbench, conditions: Conditions) -> float | None:
    """The most that one run can cost with its judge; None without a limit. Raises `BadInput`."""
    limit = conditions.limits.cost_usd
    if limit is None or conditions.judge is None:
        return limit
    name = workbench.roster.chat_model(conditions.judge).name
    price = find_table(workbench.home, conditions.prices).find(name)
    judge = worst_case_usd(price, max_input_tokens=_JUDGE_INPUT, max_output_tokens=_JUDGE_OUTPUT, timeout_s=_JUDGE_S)
    if judge is None:
        raise BadInput(
            f"a limit of costs cannot be kept: table {conditions.prices!r} has no price for the judge {name}; add a "
            "price row, choose another judge, or leave the limit out"
        )
    return limit + judge


def _spent_usd(store: Store, runs: Sequence[tuple[str, Facts]], most_usd: float | None) -> float:
    """What all attempts cost, their judges included; an unknown cost counts as the most that it may be."""
    spent = 0.0
    for _, one in runs:
        spent += counted(one.cost_usd, one.known_usd, most_usd or 0.0)
        if any(by.startswith("model:") for by in one.graders):
            spent += sum(row.known_usd for row in store.get(one.run_id).bill().judge)
    return spent
