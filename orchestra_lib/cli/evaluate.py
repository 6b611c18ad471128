"""`orchestra eval`: orchestrators on suites, with intervals, paired tests, a budget, resume, and the paper's tables."""

import asyncio
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from orchestra_lib import chat
from orchestra_lib.cli.engine import AddressOption, Engine, EngineOption, WorkersOption, players, scene_of, where
from orchestra_lib.cli.evaluation_told import Progress, foretell, show, show_part
from orchestra_lib.cli.options import MaxTurns, TimeLimit, TokenLimit, preference_flags, tool_names
from orchestra_lib.cli.terminal import note, print_json
from orchestra_lib.codec import to_data
from orchestra_lib.configuration import resolve
from orchestra_lib.engine.crew import Crew
from orchestra_lib.engine.player import RemoteCells
from orchestra_lib.errors import BadInput
from orchestra_lib.evaluation.joint import StudyReport, joint
from orchestra_lib.evaluation.keeping import keep_study
from orchestra_lib.evaluation.plan import Conditions, tags_of
from orchestra_lib.evaluation.running import Outlook, Wanted
from orchestra_lib.evaluation.study import Study, conduct, plan_study
from orchestra_lib.evaluation.suite_list import load_suites
from orchestra_lib.evaluation.suites import NAMES
from orchestra_lib.evaluation.tables import PUBLISHED_TURNS, TABLES, WISHES, Choice, suites_of
from orchestra_lib.paths import home
from orchestra_lib.training import conducting
from orchestra_lib.workbench import Workbench


def evaluation(
    suites: Annotated[
        list[str] | None, typer.Argument(help=f"{', '.join(NAMES)}, domains:NAME, files of questions: one or several.")
    ] = None,
    table: Annotated[
        str | None, typer.Option(help=f"A table of the paper with your runs: {', '.join(TABLES)}.")
    ] = None,
    orchestrator: Annotated[
        list[str] | None,
        typer.Option(help="A name from `orchestra models`; conductor if left out. Repeat it to compare."),
    ] = None,
    path: Annotated[
        list[str] | None, typer.Option(help="Your copy of the suite; of several, SUITE=FILE. Repeat it.")
    ] = None,
    columns: Annotated[str | None, typer.Option(help="A file's columns of other names: question=q,answer=a.")] = None,
    tau2: Annotated[Path | None, typer.Option(help="toolscale: a domain's folder in tau2's form.")] = None,
    toolkit: Annotated[
        str | None, typer.Option(help="toolscale: its tools in your checkout, tools.py:ClassName. Runs your code.")
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            help="So many tasks, drawn by --draw, else all; more hold the fewer. Of one suite alone SUITE=N. Repeat it."
        ),
    ] = None,
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
    time_limit: TimeLimit = None,
    token_limit: TokenLimit = None,
    max_turns: MaxTurns = None,
    protocol: Annotated[str, typer.Option(help="chat or toolorchestra.")] = chat.PROTOCOL,
    prefer: Annotated[list[str] | None, typer.Option(help="NAME=WEIGHT, as `orchestra run` takes it.")] = None,
    tools: Annotated[str | None, typer.Option(help="Only these, by comma, as `orchestra run` takes them.")] = None,
    prices: Annotated[str, typer.Option(help="Price table.")] = "nominal",
    judge: Annotated[str | None, typer.Option(help="A model that grades what no check can decide.")] = None,
    user: Annotated[str | None, typer.Option(help="A model that plays the user in domains; else rules do.")] = None,
    turns: Annotated[str | None, typer.Option(help="--table turns: the most turns, by comma.")] = None,
    unseen_tools: Annotated[
        str | None, typer.Option(help="--table unseen-tools: tools that were not trained on, by comma.")
    ] = None,
    unseen_prices: Annotated[
        list[str] | None, typer.Option(help="--table unseen-prices: a price table beside --prices. Repeat it.")
    ] = None,
    wish: Annotated[
        list[str] | None, typer.Option(help="--table adherence: NAME=WEIGHT,…, one preference. Repeat it.")
    ] = None,
    base: Annotated[
        str | None, typer.Option(help="--table adherence: the orchestrator to compare with; the first if left out.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The evaluation's folder, to go on with it; one under the home if left out.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate what it would take.")] = False,
    engine: EngineOption = Engine.LOCAL,
    ray_address: AddressOption = None,
    workers: WorkersOption = None,
    json: Annotated[bool, typer.Option("--json", help="The whole report as JSON.")] = False,
) -> None:
    """Measure orchestrators on suites. The same command goes on where it was interrupted."""
    limits = {"cost_usd": cost_limit, "time_s": time_limit, "tokens": token_limit, "max_turns": max_turns}
    flags = {f"limits.{name}": value for name, value in limits.items() if value is not None}
    if budget_usd is not None and cost_limit is not None and cost_limit > budget_usd:
        raise BadInput(
            f"--cost-limit {cost_limit:g} for one run is above --budget-usd {budget_usd:g} for all of them; "
            "lower the first or raise the second"
        )
    choice = _choice(table, turns, unseen_tools, unseen_prices, wish, base)
    given = resolve(None, [], {"task": "any", **flags, **preference_flags(prefer)})
    named = tool_names(tools)
    wanted = [
        Wanted(
            suite=suite,
            conditions=Conditions(
                suite=suite.name, protocol=protocol, tools=suite.tools if named is None else named,
                preference=given.preference, prices=prices, limits=given.limits, user=user, judge=judge,
            ),
            orchestrators=tuple(orchestrator or ("conductor",)),
            seeds=seeds, first_seed=first_seed, concurrency=concurrency, budget_usd=budget_usd,
        )
        for suite in load_suites(
            suites_of(table, suites or ()), home(), paths=path or (), limits=limit or (), draw=draw, columns=columns,
            tau2=tau2, toolkit=toolkit,
        )
    ]  # fmt: skip
    study = plan_study(table, wanted, choice, home=home(), out=out)
    place = where(engine, ray_address, workers)
    with players(None if dry_run else place, concurrency, scene=scene_of(tau2, toolkit)) as crew:
        found = uvloop.run(_played(study, out, crew, dry_run=dry_run))  # a twentieth less CPU with hundreds at once
    if found is None:
        return
    report, folder = found
    alone = report.parts[0].report if table is None and len(report.parts) == 1 else None
    if json:
        print_json(to_data(alone or report))
    elif alone is not None:
        show_part(alone)
    else:
        show(report)
    note(f"{folder}: report.json, report.md and report.html, which needs nothing beside itself")
    for part in report.parts:
        note(f"{part.report.suite}: runs are tagged {' and '.join(tags_of(part.report.id, part.report.suite))}")
    if not report.complete:
        raise typer.Exit(1)


def _choice(
    table: str | None,
    turns: str | None,
    tools: str | None,
    prices: Sequence[str] | None,
    wishes: Sequence[str] | None,
    base: str | None,
) -> Choice:
    """What a table varies. Raises `BadInput` for what belongs to another table."""
    belongs = {
        "turns": ("--turns", turns), "unseen-tools": ("--unseen-tools", tools),
        "unseen-prices": ("--unseen-prices", prices), "adherence": ("--wish", wishes),
    }  # fmt: skip
    for name, (flag, value) in belongs.items():
        if value and table != name:
            raise BadInput(f"{flag} belongs to --table {name}; leave it out, or ask for that table")
    try:
        counts = PUBLISHED_TURNS if turns is None else tuple(int(one) for one in turns.split(","))
    except ValueError:
        raise BadInput(f"--turns {turns!r}: give whole numbers by comma, for example 10,20,50,100") from None
    return Choice(
        turns=counts, tools=tool_names(tools), prices=tuple(prices or ()), wishes=tuple(wishes or WISHES), base=base
    )


def stoppable() -> asyncio.Event:
    """What Ctrl-C sets the first time, in the loop that runs; the second ends the program."""
    cancel, loop = asyncio.Event(), asyncio.get_running_loop()

    def stop() -> None:
        note("stopping: runs that go on are cut off and played again another time; Ctrl-C once more ends at once")
        cancel.set()
        loop.remove_signal_handler(signal.SIGINT)

    loop.add_signal_handler(signal.SIGINT, stop)
    return cancel


async def _played(
    study: Study, out: Path | None, crew: Crew | None, *, dry_run: bool
) -> tuple[StudyReport, Path] | None:
    cancel = stoppable()
    workbench = Workbench(home())
    conducting.join(workbench.roster, workbench.home)

    def begins(outlooks: Sequence[Outlook]) -> bool:
        foretell(study, outlooks)
        return not dry_run

    try:
        played = await conduct(
            workbench, study, begins=begins, told=Progress(), cancel=cancel,
            players=None if crew is None else partial(RemoteCells, crew, again=_again),
        )  # fmt: skip
        if played is None:
            return None
        command = shlex.join(["orchestra", *sys.argv[1:]])
        report = joint(workbench.store, study, played, now=datetime.now(UTC), command=command)
        return report, keep_study(workbench.home, study, report, out)
    finally:
        await workbench.close()


def _again(run_id: str) -> None:
    note(f"a worker died over a run, which was played again as {run_id}")


COMMANDS: dict[str, Callable[..., None]] = {"eval": evaluation}
