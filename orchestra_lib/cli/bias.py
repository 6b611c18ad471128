"""`orchestra bias`: whom orchestrators call against what would have been best, and what their choice follows."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from math import floor
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestra_lib.bias import Estimate, drift
from orchestra_lib.bias_records import UNKNOWN, BiasReport, Line
from orchestra_lib.bias_report import bias_report
from orchestra_lib.cli.options import Group, Json, StorePlace, Text, opened
from orchestra_lib.cli.terminal import dollars, note, print_json, print_table
from orchestra_lib.codec import to_data
from orchestra_lib.description_swaps import ARMS, DescriptionSwap, play_description_swaps, version_labels
from orchestra_lib.errors import BadInput
from orchestra_lib.families import load_families
from orchestra_lib.limits import Limits
from orchestra_lib.paper_bias import paper_bias
from orchestra_lib.paths import home
from orchestra_lib.preference import parse_preference
from orchestra_lib.profilelist import load_profiles
from orchestra_lib.roster import Roster
from orchestra_lib.store.bias_sums import Scope
from orchestra_lib.store.summary import Filter
from orchestra_lib.swapping import EXPERTS, NAMES, VERSIONS, Swap, play_swaps
from orchestra_lib.training import conducting
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.workbench import Workbench

_SHOWN = 4


def bias(
    orchestrator: Annotated[
        str | None, typer.Option(help="Only runs conducted by this orchestrator. With --swap: who is played.")
    ] = None,
    text: Text = None,
    group: Group = None,
    tag: Annotated[str | None, typer.Option(help="Only runs with this tag; swaps have 'bias swap'.")] = None,
    kind: Annotated[
        str | None, typer.Option(help="Simulated tasks of this kind: math, code, lookup, reasoning.")
    ] = None,
    difficulty: Annotated[str | None, typer.Option(help="Simulated tasks that are easy or hard.")] = None,
    domain: Annotated[str | None, typer.Option(help="Runs in this domain.")] = None,
    turn: Annotated[
        int | None, typer.Option(help="Only the calls of this turn; 4 is every turn from there on.")
    ] = None,
    swap: Annotated[
        str | None,
        typer.Option(help="First play: a number of simulated tasks with permuted offers, or descriptions of --tool."),
    ] = None,
    experts: Annotated[str, typer.Option(help="--swap: the profiles on offer, by comma.")] = ",".join(EXPERTS),
    names: Annotated[str, typer.Option(help="--swap: the names they get, by comma.")] = ",".join(NAMES),
    prefer: Annotated[list[str] | None, typer.Option(help="--swap: NAME=WEIGHT. Repeat it.")] = None,
    seed: Annotated[int, typer.Option(help="--swap: which tasks.")] = 0,
    cost_limit: Annotated[float | None, typer.Option(help="--swap: USD at most for a run.")] = None,
    tool: Annotated[str | None, typer.Option(help="--swap descriptions: whose description is swapped.")] = None,
    between: Annotated[
        str, typer.Option(help="--swap descriptions: two versions by comma, shipped being the one that ships.")
    ] = "shipped,1",
    tools: Annotated[
        str | None, typer.Option(help="--swap descriptions: who is on offer, by comma; else all that are on.")
    ] = None,
    tasks: Annotated[
        str | None, typer.Option(help="--swap descriptions: FILE.jsonl, simulated or a suite; else those that ship.")
    ] = None,
    limit: Annotated[int, typer.Option(help="--swap descriptions: so many tasks, each played three times.")] = 20,
    training: Annotated[
        Path | None, typer.Option(help="The drift over the steps of this training run instead.")
    ] = None,
    store: StorePlace = None,
    json: Json = False,
) -> None:
    """Shares of calls, self-preference and strongest-tool indices, swap controls and alarms, with 95 % intervals."""
    if training is not None:
        _drift(training, json)
        return
    if swap is not None:
        if orchestrator is None:
            raise BadInput("--swap plays somebody: name who with --orchestrator")
        wishes, limits = parse_preference(prefer or []), Limits(cost_usd=cost_limit)
        if swap == "descriptions":
            if tool is None:
                raise BadInput("--swap descriptions swaps those of one model: name it with --tool")
            first, _, other = between.partition(",")
            offered = None if tools is None else tuple(word.strip() for word in tools.split(",") if word.strip())
            pair = (first.strip(), other.strip())
            words = DescriptionSwap(
                orchestrator=orchestrator, tool=tool, between=pair, tasks=limit, source=tasks, seed=seed,
                tools=offered, preference=wishes, limits=limits,
            )  # fmt: skip
            asyncio.run(_play(lambda workbench: play_description_swaps(workbench, words), ARMS * limit))
        else:
            if not swap.isdecimal():
                raise BadInput(f"--swap {swap[:40]!r}: give a number of tasks, or descriptions")
            wanted = Swap(
                orchestrator=orchestrator, tasks=int(swap), experts=_listed(experts), names=_listed(names),
                preference=wishes, seed=seed, limits=limits,
            )  # fmt: skip
            asyncio.run(_play(lambda workbench: play_swaps(workbench, wanted), len(VERSIONS) * wanted.tasks))
    scope = Scope(
        wanted=Filter(orchestrator=orchestrator, text=text, group=group, tag=tag, training=False),
        kind=kind, difficulty=difficulty, domain=domain, turn=turn,
    )  # fmt: skip
    with opened(store) as there:
        profiles = {one.priced_as: one for one in load_profiles(home()).values()}
        found = bias_report(there, profiles, scope, families=load_families(home()))
    if json:
        print_json({**to_data(found), "paper": to_data(paper_bias())})
    else:
        _show(found)


async def _play(begin: Callable[[Workbench], AsyncGenerator[Trajectory, None]], of: int) -> None:
    workbench = Workbench(home())
    conducting.join(workbench.roster, workbench.home)
    try:
        played = 0
        async for _ in begin(workbench):
            played += 1
            if played % 50 == 0 or (of < 200 and played % 10 == 0):
                note(f"{played:,} of {of:,} runs")
    finally:
        await workbench.close()


def _listed(text: str) -> tuple[str, ...]:
    return tuple(word.strip().removeprefix("sim:") for word in text.split(",") if word.strip())


def _show(found: BiasReport) -> None:
    if not found.lines:
        note("no runs in this scope; play some, or begin with: orchestra bias --swap 40 --orchestrator strongest")
        return
    simulated = f", {found.simulated_calls:,} answered by a simulated profile" if found.simulated_calls else ""
    note(f"{found.runs:,} runs, {found.calls:,} calls{simulated}; 95 % intervals, tasks as units; best = best per task")
    head = ("orchestrator", "calls", "tasks", "strongest − best", "own family − best", "most called")
    print_table(head, [_line(line) for line in found.lines])
    print()
    print_table(("orchestrator", "its family", "calls by family"), [_kin(line) for line in found.lines])
    for line in found.lines:
        if (alarm := line.alarm) is not None:
            best = "unknown" if alarm.best is None else f"{_points(alarm.best, False)} %"
            shown = points(alarm.share, signed=False)
            note(f"collapse: {line.orchestrator} sends {shown} of its calls to {alarm.model}; best choice {best}")
    if found.moves:
        print()
        rows = [[one.orchestrator, one.aspect, points(one.moved), str(one.moved.tasks)] for one in found.moves]
        print_table(("orchestrator", "swapped", "moved", "tasks"), rows)
    if found.effects:
        print()
        _effects(found)
    print()
    rows = [
        [one.orchestrator, points(one.accuracy, signed=False), dollars(one.usd.value), "yes" if one.front else ""]
        for one in found.results
    ]
    print_table(("orchestrator", "accuracy", "cost of a task", "Pareto front"), rows)


def _line(line: Line) -> list[str]:
    most = [
        f"{cell.name} {points(cell.share, signed=False)}{' ▲' if cell.over else ''}" for cell in line.cells[:_SHOWN]
    ]
    indices = [
        points(found) if found.value is not None else f"— {line.why.get(what, '')}".strip()
        for what, found in (("strongest_index", line.strongest_index), ("own_index", line.own_index))
    ]
    return [line.orchestrator, f"{line.calls:,}", f"{line.tasks:,}", *indices, ", ".join(most)]


def _effects(found: BiasReport) -> None:
    labels = version_labels(Roster(home()))
    head = ("orchestrator", "described", "from", "to", "first calls", "shift", "again", "tasks")
    rows = [
        [one.orchestrator, one.model, *(labels.get((one.model, mark), mark) for mark in (one.first, one.other)),
         f"{points(one.before, signed=False)} → {points(one.after, signed=False)}",
         points(one.shift), points(one.control), str(one.shift.tasks)]
        for one in found.effects
    ]  # fmt: skip
    print_table(head, rows)


def _kin(line: Line) -> list[str]:
    shares = [f"{cell.name} {points(cell.share, signed=False)}" for cell in line.families]
    return [line.orchestrator, line.family or UNKNOWN, ", ".join(shares)]


def points(found: Estimate, *, signed: bool = True) -> str:
    """A share or an index in points with its interval; a dash where it is unknown."""
    if found.value is None:
        return "—"
    value = _points(found.value, signed)
    if found.low is None or found.high is None:
        return f"{value} %" if not signed else value
    ends = ", ".join(_points(end, signed) for end in (found.low, found.high))
    return f"{value} [{ends}]" if signed else f"{value} % [{ends}]"


def _points(share: float, signed: bool) -> str:
    whole = floor(100 * share + 0.5)  # halves go up, as on the page
    return (f"{whole:+}" if signed and whole else str(whole)).replace("-", "\u2212")


def _drift(folder: Path, json: bool) -> None:
    found = drift_of(folder)
    if json:
        print_json(found)
        return
    change = Estimate(**found["change"])
    note(f"{len(found['steps']):,} steps; last fifth less first fifth, strongest tool: {points(change)} points")
    shown = [*zip(found["steps"], found["shares"], strict=True)]
    every = max(1, len(shown) // 20)
    print_table(("step", "strongest"), [[str(s), points(Estimate(**e), signed=False)] for s, e in shown[::every]])


def drift_of(folder: Path) -> dict[str, Any]:
    """The share of the strongest over a training run's steps, as plain data. Raises `BadInput` for no run."""
    from orchestra_lib.training.run_folder import STEPS, RunFolder

    run = RunFolder(folder)
    if not (folder / STEPS).is_file():
        raise BadInput(f"{folder} has no {STEPS}, so no training run is in it; name the folder of one")
    data: dict[str, Any] = to_data(drift([(one.step, one.strongest_share, one.samples) for one in run.steps()]))
    return data


COMMANDS: dict[str, Callable[..., None]] = {"bias": bias}
