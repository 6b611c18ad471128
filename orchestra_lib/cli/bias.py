"""`orchestra bias`: whom orchestrators call against what would have been best, and what their choice follows."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestra_lib.bias import Estimate, drift
from orchestra_lib.bias_records import UNKNOWN, BiasReport, Line
from orchestra_lib.bias_report import bias_report
from orchestra_lib.cli.options import Json
from orchestra_lib.cli.terminal import dollars, note, print_json, print_table
from orchestra_lib.codec import to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.families import load_families
from orchestra_lib.limits import Limits
from orchestra_lib.paper_bias import paper_bias
from orchestra_lib.paths import home
from orchestra_lib.preference import parse_preference
from orchestra_lib.profilelist import load_profiles
from orchestra_lib.store.bias_sums import Scope
from orchestra_lib.store.store import Store
from orchestra_lib.store.summary import Filter
from orchestra_lib.swapping import EXPERTS, NAMES, VERSIONS, Swap, play_swaps
from orchestra_lib.training import conducting
from orchestra_lib.workbench import Workbench

_SHOWN = 4


def bias(
    orchestrator: Annotated[str | None, typer.Option(help="Conducted by. With --swap: who is played.")] = None,
    text: Annotated[str | None, typer.Option(help="In id, task, answer or observations.")] = None,
    group: Annotated[str | None, typer.Option(help="In this group.")] = None,
    tag: Annotated[str | None, typer.Option(help="With this tag; swaps have 'bias swap'.")] = None,
    kind: Annotated[
        str | None, typer.Option(help="Simulated tasks of this kind: math, code, lookup, reasoning.")
    ] = None,
    difficulty: Annotated[str | None, typer.Option(help="Simulated tasks that are easy or hard.")] = None,
    domain: Annotated[str | None, typer.Option(help="Runs in this domain.")] = None,
    turn: Annotated[
        int | None, typer.Option(help="Only the calls of this turn; 4 is every turn from there on.")
    ] = None,
    swap: Annotated[int | None, typer.Option(help="First play so many simulated tasks with permuted offers.")] = None,
    experts: Annotated[str, typer.Option(help="--swap: the profiles on offer, by comma.")] = ",".join(EXPERTS),
    names: Annotated[str, typer.Option(help="--swap: the names they get, by comma.")] = ",".join(NAMES),
    prefer: Annotated[list[str] | None, typer.Option(help="--swap: NAME=WEIGHT. Repeat it.")] = None,
    seed: Annotated[int, typer.Option(help="--swap: which tasks.")] = 0,
    cost_limit: Annotated[float | None, typer.Option(help="--swap: USD at most for a run.")] = None,
    training: Annotated[
        Path | None, typer.Option(help="The drift over the steps of this training run instead.")
    ] = None,
    json: Json = False,
) -> None:
    """Shares of calls, self-preference and strongest-tool indices, swap controls and alarms, with 95 % intervals."""
    if training is not None:
        _drift(training, json)
        return
    if swap is not None:
        if orchestrator is None:
            raise BadInput("--swap plays somebody: name who with --orchestrator")
        wanted = Swap(
            orchestrator=orchestrator, tasks=swap, experts=_listed(experts), names=_listed(names),
            preference=parse_preference(prefer or []), seed=seed, limits=Limits(cost_usd=cost_limit),
        )  # fmt: skip
        asyncio.run(_play(wanted))
    scope = Scope(
        wanted=Filter(orchestrator=orchestrator, text=text, group=group, tag=tag, training=False),
        kind=kind, difficulty=difficulty, domain=domain, turn=turn,
    )  # fmt: skip
    with Store.open(home()) as store:
        profiles = {one.priced_as: one for one in load_profiles(home()).values()}
        found = bias_report(store, profiles, scope, families=load_families(home()))
    if json:
        print_json({**to_data(found), "paper": to_data(paper_bias())})
    else:
        _show(found)


async def _play(wanted: Swap) -> None:
    workbench = Workbench(home())
    conducting.join(workbench.roster, workbench.home)
    try:
        played = 0
        async for _ in play_swaps(workbench, wanted):
            played += 1
            if played % 50 == 0:
                note(f"{played:,} of {len(VERSIONS) * wanted.tasks:,} runs")
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
    whole = round(100 * share)
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
