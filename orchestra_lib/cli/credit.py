"""`orchestra credit`: what each tool is worth to an orchestrator, and how often cheap tools would have done."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from orchestra_lib.calibration import Share
from orchestra_lib.cli.evaluate import stoppable
from orchestra_lib.cli.evaluation_told import Progress, foretell
from orchestra_lib.cli.options import preference_flags, tool_names
from orchestra_lib.cli.terminal import dollars, note, print_json, print_table
from orchestra_lib.codec import to_data
from orchestra_lib.configuration import resolve
from orchestra_lib.errors import BadInput
from orchestra_lib.evaluation.credit import (
    ALL,
    WORTH,
    CreditReport,
    cheap_of,
    credit_report,
    plan_credit,
    sets_of,
)
from orchestra_lib.evaluation.intervals import Difference
from orchestra_lib.evaluation.plan import Cell, Conditions, Plan
from orchestra_lib.evaluation.running import Outlook, Wanted
from orchestra_lib.evaluation.study import conduct
from orchestra_lib.evaluation.suites import NAMES, load_suite
from orchestra_lib.paths import home
from orchestra_lib.tool import ToolKind
from orchestra_lib.training import conducting
from orchestra_lib.workbench import Workbench


def credit(
    suite: Annotated[str, typer.Argument(help=f"{', '.join(NAMES)}, domains:NAME, or a file of questions.")],
    orchestrator: Annotated[
        list[str] | None,
        typer.Option(help="A name from `orchestra models`; conductor if left out. Repeat it to compare."),
    ] = None,
    tools: Annotated[str | None, typer.Option(help="The tools, by comma; those of the suite if left out.")] = None,
    cheap: Annotated[
        str | None, typer.Option(help="Cheap tools, by comma; if left out, those at half the dearest's price or less.")
    ] = None,
    path: Annotated[Path | None, typer.Option(help="Your copy of the suite.")] = None,
    columns: Annotated[str | None, typer.Option(help="A file's columns of other names: question=q,answer=a.")] = None,
    limit: Annotated[int | None, typer.Option(help="So many tasks, drawn by --draw; else all.")] = None,
    draw: Annotated[int, typer.Option(help="The seed by which tasks are drawn, or simulated ones made.")] = 0,
    seeds: Annotated[int, typer.Option(help="Play each task so often with each set of tools.")] = 1,
    concurrency: Annotated[int, typer.Option(help="So many runs at once.")] = 4,
    budget_usd: Annotated[float | None, typer.Option(help="USD at most for all of it.")] = None,
    prefer: Annotated[list[str] | None, typer.Option(help="NAME=WEIGHT, as `orchestra run` takes it.")] = None,
    prices: Annotated[str, typer.Option(help="Price table.")] = "nominal",
    judge: Annotated[str | None, typer.Option(help="A model that grades what no check can decide.")] = None,
    out: Annotated[Path | None, typer.Option(help="A folder for its evaluations, to go on with them.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate what it would take.")] = False,
    json: Annotated[bool, typer.Option("--json", help="The whole report as JSON, with the runs behind it.")] = False,
) -> None:
    """Play every task with all tools, without each of them, and with every set of cheap ones."""
    loaded = load_suite(suite, home(), path=path, limit=limit, draw=draw, columns=columns)
    named = tool_names(tools)
    wanted = Wanted(
        suite=loaded,
        conditions=Conditions(
            suite=loaded.name, tools=loaded.tools if named is None else named, prices=prices, judge=judge,
            preference=resolve(None, [], {"task": "any", **preference_flags(prefer)}).preference,
        ),
        orchestrators=tuple(orchestrator or ("conductor",)),
        seeds=seeds, concurrency=concurrency, budget_usd=budget_usd,
    )  # fmt: skip
    report = asyncio.run(_played(wanted, tool_names(cheap), out, dry_run=dry_run))
    if report is None:
        return
    if json:
        print_json(to_data(report))
    else:
        _show(report)
    note(f"runs with {ALL} are tagged {report.evaluations[ALL]}; --json names the runs and the tag of every set")
    if not report.complete:
        raise typer.Exit(1)


async def _played(
    wanted: Wanted, cheap: tuple[str, ...] | None, out: Path | None, *, dry_run: bool
) -> CreditReport | None:
    cancel = stoppable()
    workbench = Workbench(home())
    conducting.join(workbench.roster, workbench.home)
    try:
        first = Cell(orchestrator=wanted.orchestrators[0], item=wanted.suite.items[0], seed=0)
        setting = workbench.setting(Plan(id="ev-check", conditions=wanted.conditions).order(first))
        own = [spec for spec in setting.tools if spec.kind is not ToolKind.DOMAIN]
        asked = wanted.conditions.tools or tuple(spec.name for spec in own)
        if len(asked) != len(own):
            raise BadInput(f"--tools {','.join(asked)} names a tool twice; name each once")
        specs = dict(zip(asked, own, strict=True))
        small = cheap_of(specs, setting.prices) if cheap is None else cheap
        sets = sets_of(asked, small)
        study = plan_credit(wanted, sets, home=workbench.home, out=out)

        def begins(outlooks: Sequence[Outlook]) -> bool:
            foretell(study, outlooks)
            return not dry_run

        played = await conduct(workbench, study, begins=begins, told=Progress(), cancel=cancel)
        if played is None:
            return None
        names = {name: spec.name for name, spec in specs.items()}
        return credit_report(workbench.store, study, played, sets, small, names)
    finally:
        await workbench.close()


def _show(report: CreditReport) -> None:
    head = ("orchestrator", "tool", "called", "accuracy", "cost ¢", "minutes", "reward", "lost", "won")
    rows = [
        (
            one.orchestrator, one.tool, _share(one.called), *(_difference(one.differences[what]) for what in WORTH),
            str(len(one.lost)), str(len(one.won)),
        )
        for one in report.credits
    ]  # fmt: skip
    print_table(head, rows)
    print()
    if report.irreducible:
        print(f"of the runs solved with all tools, the share that no set of {', '.join(report.cheap)} solved:")
        print_table(
            ("orchestrator", "solved", "needed more", "undecided"),
            [(one.orchestrator, str(one.solved), _share(one.share), str(one.unknown)) for one in report.irreducible],
        )
    else:
        print("no tool is cheap beside the dearest, as far as prices are known; name some with --cheap")
    print()
    print(
        f"{report.suite}: {report.tasks} tasks x {len(report.seeds)}; with all tools less without this one, on the "
        "same tasks; intervals of 95 % by bootstrap over tasks, p by sign flips after Holm; "
        f"spent {dollars(report.spent_usd)}"
    )
    if report.simulated:
        print("note: simulated experts were on offer; these figures are simulated")
    if report.nominal:
        print("note: costs are of a nominal price table, nobody is billed them")
    if not report.complete:
        print("note: some runs were not played or met a fault; the same command goes on")


def _share(one: Share) -> str:
    return "—" if one.rate is None else f"{one.rate:.0%} [{one.low:.0%}, {one.high:.0%}] of {one.of}"


def _difference(one: Difference) -> str:
    if one.mean is None:
        return "—"
    sides = "" if one.low is None else f" [{one.low:+.2g}, {one.high:+.2g}]"
    return f"{one.mean:+.3g}{sides} p {one.p_holm:.2g}"


COMMANDS: dict[str, Callable[..., None]] = {"credit": credit}
