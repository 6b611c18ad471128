"""`orchestra eval`: orchestrators on the tasks of a suite, with intervals, paired tests, a budget, and resume."""

import asyncio
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from orchestra_lib import chat
from orchestra_lib.cli.running import preference_flags, tool_names
from orchestra_lib.cli.terminal import dollars, note, one_line, print_json, print_table, printable
from orchestra_lib.codec import to_data
from orchestra_lib.configuration import resolve
from orchestra_lib.errors import BadInput
from orchestra_lib.evaluation.conducting import Step
from orchestra_lib.evaluation.intervals import Difference, Figure
from orchestra_lib.evaluation.plan import REPORT, Conditions, tags_of
from orchestra_lib.evaluation.report import PAIRED, EvaluationReport, Line
from orchestra_lib.evaluation.running import Outlook, Wanted, evaluate, place
from orchestra_lib.evaluation.suites import NAMES, load_suite
from orchestra_lib.paths import home
from orchestra_lib.training import conducting
from orchestra_lib.workbench import Workbench

_TOLD_EVERY_S = 5.0
_SHOWN = 60


def evaluation(
    suite: Annotated[str, typer.Argument(help=f"{', '.join(NAMES)}, domains:NAME, or a file of questions.")],
    orchestrator: Annotated[
        list[str] | None, typer.Option(help="A name from `orchestra models`. Repeat it to compare.")
    ] = None,
    path: Annotated[Path | None, typer.Option(help="Your copy of the suite: JSONL, JSON or Parquet.")] = None,
    columns: Annotated[str | None, typer.Option(help="A file's columns of other names: question=q,answer=a.")] = None,
    tau2: Annotated[Path | None, typer.Option(help="toolscale: a domain's folder in tau2's form.")] = None,
    toolkit: Annotated[
        str | None, typer.Option(help="toolscale: its tools in your checkout, tools.py:ClassName. Runs your code.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="So many tasks, drawn by --draw; more hold the fewer.")] = None,
    draw: Annotated[int, typer.Option(help="The seed by which tasks are drawn, or simulated ones made.")] = 0,
    seeds: Annotated[int, typer.Option(help="Play each task so often, each time with a seed of its own.")] = 3,
    first_seed: Annotated[int, typer.Option(help="The first of these seeds.")] = 0,
    concurrency: Annotated[int, typer.Option(help="So many runs at once.")] = 4,
    budget_usd: Annotated[
        float | None, typer.Option(help="USD at most for all of it; a run begins only when its worst case fits.")
    ] = None,
    cost_limit: Annotated[
        float | None, typer.Option(help="USD at most for one run; --budget-usd by itself shares among those at once.")
    ] = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds at most for one run.")] = None,
    token_limit: Annotated[int | None, typer.Option(help="Tokens at most for one run.")] = None,
    max_turns: Annotated[int | None, typer.Option(help="Turns at most in one run.")] = None,
    protocol: Annotated[str, typer.Option(help="chat or toolorchestra.")] = chat.PROTOCOL,
    prefer: Annotated[list[str] | None, typer.Option(help="NAME=WEIGHT, as `orchestra run` takes it.")] = None,
    tools: Annotated[str | None, typer.Option(help="Only these, by comma, as `orchestra run` takes them.")] = None,
    prices: Annotated[str, typer.Option(help="Price table.")] = "nominal",
    judge: Annotated[str | None, typer.Option(help="A model that grades what no check can decide.")] = None,
    user: Annotated[str | None, typer.Option(help="A model that plays the user in domains; else rules do.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="The evaluation's folder, to go on with it; one under the home if left out.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate what it would take.")] = False,
    json: Annotated[bool, typer.Option("--json", help="The whole report as JSON.")] = False,
) -> None:
    """Measure orchestrators on a suite. The same command goes on where it was interrupted."""
    limits = {"cost_usd": cost_limit, "time_s": time_limit, "tokens": token_limit, "max_turns": max_turns}
    flags = {f"limits.{name}": value for name, value in limits.items() if value is not None}
    if budget_usd is not None and cost_limit is not None and cost_limit > budget_usd:
        raise BadInput(
            f"--cost-limit {cost_limit:g} for one run is above --budget-usd {budget_usd:g} for all of them; "
            "lower the first or raise the second"
        )
    tasks = load_suite(suite, home(), path=path, limit=limit, draw=draw, columns=columns, tau2=tau2, toolkit=toolkit)
    given = resolve(None, [], {"task": "any", **flags, **preference_flags(prefer)})
    named = tool_names(tools)
    wanted = Wanted(
        suite=tasks,
        conditions=Conditions(
            suite=tasks.name, protocol=protocol, tools=tasks.tools if named is None else named,
            preference=given.preference, prices=prices, limits=given.limits, user=user, judge=judge,
        ),
        orchestrators=tuple(orchestrator or ("conductor",)),
        seeds=seeds, first_seed=first_seed, concurrency=concurrency, budget_usd=budget_usd,
    )  # fmt: skip
    folder = out or place(home(), wanted)
    found = asyncio.run(_played(wanted, folder, dry_run=dry_run))
    if found is None:
        return
    if json:
        print_json(to_data(found))
    else:
        _show(found)
    note(f"{folder / REPORT}; its runs are tagged {' and '.join(tags_of(found.id, found.suite))}")
    if not found.complete:
        raise typer.Exit(1)


async def _played(wanted: Wanted, folder: Path, *, dry_run: bool) -> EvaluationReport | None:
    cancel, loop = asyncio.Event(), asyncio.get_running_loop()

    def stop() -> None:
        note("stopping: runs that go on are cut off and played again another time; Ctrl-C once more ends at once")
        cancel.set()
        loop.remove_signal_handler(signal.SIGINT)

    loop.add_signal_handler(signal.SIGINT, stop)
    workbench = Workbench(home())
    conducting.join(workbench.roster, workbench.home)

    def begins(outlook: Outlook) -> bool:
        _foretell(wanted, outlook)
        return not dry_run

    try:
        return await evaluate(workbench, wanted, folder, begins=begins, told=_Progress(), cancel=cancel)
    finally:
        await workbench.close()


def _foretell(wanted: Wanted, outlook: Outlook) -> None:
    """What it is and may take, before anything is played."""
    suite, limits = wanted.suite, outlook.plan.conditions.limits
    left_out = "".join(f", {count:,} left out: {why}" for why, count in suite.left_out.items())
    note(f"{suite.name}: {len(suite.items):,} of {suite.whole:,} tasks ({suite.source}){left_out}")
    runs = len(suite.items) * wanted.seeds * len(wanted.orchestrators)
    done = f", {outlook.done:,} done already" if outlook.done else ""
    note(f"{len(wanted.orchestrators)} orchestrators x {wanted.seeds} seeds = {runs:,} runs{done}")
    for one in outlook.estimates:
        basis = f"by {one.known} earlier runs" if one.known else "no earlier run to estimate by"
        worst = "" if one.worst_usd is None else f", at most {dollars(one.worst_usd)}"
        time_s = "unknown" if one.wall_s is None else f"about {_duration(one.wall_s)}"
        note(f"  {one.orchestrator}: {one.left:,} runs, {dollars(one.cost_usd)}{worst}, time {time_s} ({basis})")
    if wanted.budget_usd is not None:
        note(
            f"budget {dollars(wanted.budget_usd)}, of which {dollars(outlook.spent_usd)} is spent; "
            f"one run may cost {dollars(limits.cost_usd)} (--cost-limit)"
        )


class _Progress:
    """One line that is written over in a terminal, or a line every few seconds where there is none."""

    def __init__(self) -> None:
        self._began_s, self._told_s = time.monotonic(), 0.0

    def __call__(self, step: Step) -> None:
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


def _show(found: EvaluationReport) -> None:
    head = (
        "orchestrator", "accuracy", "ungraded", "cost ¢", "unknown", "minutes", "unknown", "tokens in/out", "calls",
        "faults", "runs", "stops",
    )  # fmt: skip
    print_table(head, [_row(line) for line in found.lines])
    print()
    print_table(
        ("spread over seeds", "accuracy sd (least to most)", "cost ¢ sd", "minutes sd", "tasks undecided"),
        [_spread_row(line) for line in found.lines],
    )
    if found.pairs:
        print()
        rows = [
            (f"{pair.a} - {pair.b}", *(_difference(pair.differences[what], what) for what in PAIRED))
            for pair in found.pairs
        ]
        print_table(("paired, same tasks", "accuracy", "cost ¢", "minutes"), rows)
    print()
    print(f"spent {dollars(found.spent_usd)}; intervals are of 95 %, by bootstrap over tasks; p by sign flips, Holm")
    for text in found.notes:
        print(printable(f"note: {text}"))
    for line in found.lines:
        for message in line.fault_messages:
            print(printable(f"fault: {line.orchestrator}: {one_line(message, 200)}"))


def _row(line: Line) -> Sequence[str]:
    figures = line.figures
    tokens = "/".join(_number(figures[name].mean) for name in ("input_tokens", "output_tokens"))
    stops = ", ".join(f"{name} {count}" for name, count in line.stops.items())
    return (
        f"{line.orchestrator[:_SHOWN]}{' (simulated)' if line.simulated else ''}",
        _figure(figures["accuracy"], percent=True), str(line.ungraded),
        _figure(figures["cost_cents"]), str(figures["cost_cents"].unknown),
        _figure(figures["latency_min"]), str(figures["latency_min"].unknown),
        tokens, _figure(figures["calls"]), str(line.faults), f"{line.done}/{line.runs}", stops,
    )  # fmt: skip


def _spread_row(line: Line) -> Sequence[str]:
    spreads = [line.figures[name].spread for name in PAIRED]
    accuracy = spreads[0]
    shown = "—" if accuracy is None else f"{accuracy.sd:.1%} ({accuracy.least:.1%} to {accuracy.most:.1%})"
    return (
        line.orchestrator[:_SHOWN],
        shown,
        *("—" if one is None else _number(one.sd) for one in spreads[1:]),
        str(line.undecided),
    )


def _figure(one: Figure, *, percent: bool = False) -> str:
    if one.mean is None:
        return "—"
    said = _percent if percent else _number
    return said(one.mean) + ("" if one.low is None or one.high is None else f" [{said(one.low)}, {said(one.high)}]")


def _difference(one: Difference, what: str) -> str:
    if one.mean is None:
        return "—"
    said = _percent if what == "accuracy" else _number
    sides = "" if one.low is None or one.high is None else f" [{said(one.low)}, {said(one.high)}]"
    return f"{said(one.mean)}{sides} p {one.p_holm:.2g} of {one.tasks}"


def _percent(value: float) -> str:
    return f"{value:.1%}"


def _number(value: float | None) -> str:
    if value is None:
        return "—"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


COMMANDS: dict[str, Callable[..., None]] = {"eval": evaluation}
