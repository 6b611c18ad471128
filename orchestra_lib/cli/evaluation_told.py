"""What a terminal is told of an evaluation: what it may take, how far it is, what it came to."""

import sys
import time
from collections.abc import Sequence

from orchestra_lib.cli.terminal import dollars, note, one_line, print_table, printable
from orchestra_lib.evaluation.conducting import Step
from orchestra_lib.evaluation.joint import StudyReport
from orchestra_lib.evaluation.report import EvaluationReport
from orchestra_lib.evaluation.running import Outlook
from orchestra_lib.evaluation.sheets import Sheet, joint_sheet, part_sheets, published_sheets
from orchestra_lib.evaluation.study import Part, Study

_TOLD_EVERY_S = 5.0


def foretell(study: Study, outlooks: Sequence[Outlook]) -> None:
    """What it is and may take, before anything is played."""
    costs: list[float | None] = []
    times: list[float | None] = []
    for part, outlook in zip(study.parts, outlooks, strict=True):
        wanted, suite = part.wanted, part.wanted.suite
        left_out = "".join(f", {count:,} left out: {why}" for why, count in suite.left_out.items())
        note(f"{part.title}: {len(suite.items):,} of {suite.whole:,} tasks ({suite.source}){left_out}")
        runs = len(suite.items) * wanted.seeds * len(wanted.orchestrators)
        done = f", {outlook.done:,} done already" if outlook.done else ""
        note(f"{len(wanted.orchestrators)} orchestrators x {wanted.seeds} seeds = {runs:,} runs{done}")
        for one in outlook.estimates:
            basis = f"by {one.known} earlier runs" if one.known else "no earlier run to estimate by"
            worst = "" if one.worst_usd is None else f", at most {dollars(one.worst_usd)}"
            time_s = "unknown" if one.wall_s is None else f"about {_duration(one.wall_s)}"
            note(f"  {one.orchestrator}: {one.left:,} runs, {dollars(one.cost_usd)}{worst}, time {time_s} ({basis})")
            costs.append(one.cost_usd)
            times.append(one.wall_s)
    if len(study.parts) > 1:
        note(f"all together {_total(costs, times)}")
    if study.budget_usd is not None:
        limits = outlooks[0].plan.conditions.limits
        note(
            f"budget {dollars(study.budget_usd)}, of which {dollars(sum(one.spent_usd for one in outlooks))} is spent; "
            f"one run may cost {dollars(limits.cost_usd)} (--cost-limit)"
        )


def _total(costs: Sequence[float | None], times: Sequence[float | None]) -> str:
    """What the estimates come to; those that are unknown are counted and not taken for nothing."""
    usd, took_s = ([one for one in some if one is not None] for some in (costs, times))
    unknown = len(costs) - min(len(usd), len(took_s))
    if unknown == len(costs):
        return "unknown: there is no earlier run to estimate by"
    words = f", and {unknown} of {len(costs)} estimates are unknown" if unknown else ""
    return f"about {dollars(sum(usd))}, {_duration(sum(took_s))}{words}"


class Progress:
    """One line that is written over in a terminal, or a line every few seconds where there is none."""

    def __init__(self) -> None:
        self._began_s, self._told_s = time.monotonic(), 0.0
        self._part: Part | None = None

    def __call__(self, part: Part, step: Step) -> None:
        if part is not self._part:
            self._part, self._began_s = part, time.monotonic()
            note(part.title)
        now_s, last = time.monotonic(), step.done == step.of
        live = sys.stderr.isatty()
        if not last and now_s - self._told_s < (0.1 if live else _TOLD_EVERY_S):
            return
        self._told_s = now_s
        left_s = (now_s - self._began_s) / step.done * (step.of - step.done)
        filled = 20 * step.done // step.of
        words = (
            f"[{'#' * filled}{'.' * (20 - filled)}] {step.done:,}/{step.of:,} · {step.solved:,} solved, "
            f"{step.ungraded:,} ungraded, {step.faults:,} faults · {dollars(step.spent_usd)} · "
            f"{_duration(left_s)} left"
        )
        if live:
            print(f"\r\033[K{words}", end="\n" if last else "", file=sys.stderr, flush=True)
        else:
            note(words)


def _duration(time_s: float) -> str:
    if time_s < 90:
        return f"{time_s:.0f} s"
    return f"{time_s / 60:.0f} min" if time_s < 5400 else f"{time_s / 3600:.1f} h"


def show(found: StudyReport) -> None:
    """A study: its table, its parts, and the published figures in a block of their own."""
    _print(joint_sheet(found))
    for part in found.parts:
        print()
        print(printable(f"== {part.report.suite}{f', {part.variant}' if part.variant else ''}"))
        show_part(part.report)
    if found.published is None:
        return
    print()
    print(printable(f"== As published, not measured here: {found.published.source}"))
    for text in found.published.notes:
        print(printable(f"note: {text}"))
    for sheet in published_sheets(found.published):
        print()
        print(printable(sheet.title))
        _print(sheet)


def show_part(found: EvaluationReport) -> None:
    """One suite."""
    for at, sheet in enumerate(part_sheets(found)):
        if at:
            print()
        _print(sheet)
    print()
    print(f"spent {dollars(found.spent_usd)}; intervals are of 95 %, by bootstrap over tasks")
    for text in found.notes:
        print(printable(f"note: {text}"))
    for line in found.lines:
        for message in line.fault_messages:
            print(printable(f"fault: {line.orchestrator}: {one_line(message, 200)}"))


def _print(sheet: Sheet) -> None:
    print_table(sheet.head, sheet.rows)
    for text in sheet.notes:
        print(printable(f"note: {text}"))
