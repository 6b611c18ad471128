"""Studies: several evaluations under one head, played one after the other within one budget, and one report of all."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from orchestra_lib.errors import BadInput
from orchestra_lib.evaluation.conducting import Step
from orchestra_lib.evaluation.plan import Plan
from orchestra_lib.evaluation.playing import Cells
from orchestra_lib.evaluation.report import EvaluationReport
from orchestra_lib.evaluation.running import Outlook, Wanted, evaluate, place
from orchestra_lib.evaluation.tables import ADHERENCE, Choice, variants
from orchestra_lib.record import record
from orchestra_lib.workbench import Workbench


@record
class Part:
    """One evaluation of a study: a suite under the conditions that `label` names, empty where none are particular."""

    label: str
    wanted: Wanted
    folder: Path

    @property
    def title(self) -> str:
        return f"{self.wanted.suite.name}{f', {self.label}' if self.label else ''}"


@record
class Study:
    """Evaluations of the same orchestrators, for a table of the paper or none. `base` is whom adherence is beside."""

    table: str | None
    parts: tuple[Part, ...]
    base: str | None = None

    @property
    def budget_usd(self) -> float | None:
        """What all parts together may cost."""
        return self.parts[0].wanted.budget_usd


@record
class Played:
    """A part and what it came to."""

    part: Part
    report: EvaluationReport


def plan_study(
    table: str | None, suites: Sequence[Wanted], choice: Choice, *, home: Path, out: Path | None = None
) -> Study:
    """The parts of a study: every suite under every variant of the table.

    Each lies where `orchestra eval` of the suite alone under these conditions lies, so that what one of them has
    played the other need not; with `out` all lie in that folder. Raises `BadInput`.
    """
    base = None
    if table == ADHERENCE:
        base = choice.base or suites[0].orchestrators[0]
        if base not in suites[0].orchestrators:
            raise BadInput(f"--base {base} is none of the orchestrators; name it with --orchestrator too")
    elif choice.base is not None:
        raise BadInput(f"--base is whom adherence is measured beside; leave it out, or ask for --table {ADHERENCE}")
    parts = []
    for suite in suites:
        for label, conditions in variants(table, suite.conditions, choice):
            wanted = replace(suite, conditions=conditions)
            parts.append(Part(label=label, wanted=wanted, folder=place(home, wanted)))
    if out is not None:
        alone = len(parts) == 1
        parts = [replace(part, folder=out if alone else out / part.folder.name) for part in parts]
    return Study(table=table, parts=tuple(parts), base=base)


async def conduct(
    workbench: Workbench,
    study: Study,
    *,
    begins: Callable[[Sequence[Outlook]], bool],
    told: Callable[[Part, Step], None],
    cancel: asyncio.Event | None = None,
    players: Callable[[Plan], Cells] | None = None,
) -> list[Played] | None:
    """Play what is left of every part; None when `begins`, told what all of them may take, says not to begin.

    `players` gives who plays the runs elsewhere, by the plan of a part; None: this workbench.
    Everything is checked before anything is played. Raises as `evaluate` does; what has been played stays.
    """
    outlooks: list[Outlook] = []
    for part in study.parts:
        await evaluate(workbench, part.wanted, part.folder, begins=_noted(outlooks), told=lambda step: None)
    if not begins(outlooks):
        return None
    spent_usd = [outlook.spent_usd for outlook in outlooks]
    played = []
    for at, part in enumerate(study.parts):
        report = await evaluate(
            workbench, part.wanted, part.folder, begins=lambda outlook: True, cancel=cancel,
            told=_telling(told, part), players=players, elsewhere_usd=sum(spent_usd) - spent_usd[at],
        )  # fmt: skip
        assert report is not None
        spent_usd[at] = report.spent_usd
        played.append(Played(part=part, report=report))
    return played


def _noted(outlooks: list[Outlook]) -> Callable[[Outlook], bool]:
    def begins(outlook: Outlook) -> bool:
        outlooks.append(outlook)
        return False

    return begins


def _telling(told: Callable[[Part, Step], None], part: Part) -> Callable[[Step], None]:
    return lambda step: told(part, step)
