"""Grading stored runs by check, model or person; notes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import typer

from orchestra_lib.billing import spent_on
from orchestra_lib.cli.calibrate import against_people
from orchestra_lib.cli.engine import AddressOption, Engine, EngineOption, WorkersOption, players, where
from orchestra_lib.cli.options import Called, Conductor, Json, Status, Text
from orchestra_lib.cli.progress import in_turn
from orchestra_lib.cli.terminal import VERDICTS, dollars, note, one_line, print_json, print_table
from orchestra_lib.engine.player import marked
from orchestra_lib.errors import BadInput
from orchestra_lib.event import Graded
from orchestra_lib.grading import Wish, checked_by, graded_by, why_not, with_check
from orchestra_lib.paths import home
from orchestra_lib.store.store import Store
from orchestra_lib.store.summary import Filter
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.workbench import Mark, Workbench

MAX_JOBS = 64


def grade(
    runs: Annotated[
        list[str] | None,
        typer.Argument(help="Ids of runs; with --calibrate FILE.jsonl of labelled answers, or runs."),
    ] = None,
    by: Annotated[str, typer.Option(help="auto, exact, numeric, list, symbolic, model:NAME or person:NAME.")] = "auto",
    reference: Annotated[str | None, typer.Option(help="The expected answer, in place of the task's own.")] = None,
    outcome: Annotated[str | None, typer.Option(help="For a person: solved, not-solved or unknown.")] = None,
    reason: Annotated[str | None, typer.Option(help="Why, in a person's words.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="numeric: how far off, as a share of the reference.")] = None,
    margin: Annotated[float | None, typer.Option(help="numeric: how far off, in the reference's unit.")] = None,
    unit: Annotated[str | None, typer.Option(help="numeric: what the reference is in.")] = None,
    ordered: Annotated[bool, typer.Option("--ordered", help="list: the order counts.")] = False,
    any_item: Annotated[bool, typer.Option("--any", help="list: one of the items is enough.")] = False,
    choice: Annotated[list[str] | None, typer.Option(help="exact: an option of the question. Repeat it.")] = None,
    text: Text = None,
    orchestrator: Conductor = None,
    tool: Called = None,
    status: Status = None,
    every: Annotated[bool, typer.Option("--all", help="All runs.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Also runs that this grader has graded before.")] = False,
    jobs: Annotated[int, typer.Option(help="So many at once.")] = 4,
    engine: EngineOption = Engine.LOCAL,
    ray_address: AddressOption = None,
    workers: WorkersOption = None,
    calibrate: Annotated[bool, typer.Option("--calibrate", help="Compare a judge with what people said.")] = False,
    json: Json = False,
) -> None:
    """Grade runs that have ended; the last grade of a run counts, and all are kept."""
    if not 1 <= jobs <= MAX_JOBS:
        raise BadInput(f"--jobs {jobs}; use 1 to {MAX_JOBS}")
    by = checked_by(by)
    if by.startswith("person:") and outcome is None:
        raise BadInput("a person says the outcome: add --outcome solved, not-solved or unknown")
    if calibrate:
        asyncio.run(against_people(by, runs or [], jobs, json=json))
        return
    wish = with_check(
        Wish(by=by, reference=reference), tolerance=tolerance, margin=margin, unit=unit, ordered=ordered or None,
        need="any" if any_item else None, choices=tuple(choice) if choice else None,
    )  # fmt: skip
    narrowed = {"text": text, "orchestrator": orchestrator, "tool": tool, "status": status}
    wanted = Filter(**{name: value for name, value in narrowed.items() if value is not None})  # type: ignore[arg-type]
    if runs and (wanted != Filter() or every):
        raise BadInput("name runs, or narrow all of them by --text, --orchestrator, --tool, --status; not both")
    if not runs and wanted == Filter() and not every:
        raise BadInput("name the runs to grade, narrow all of them by --text, --orchestrator, …, or say --all")
    wanted = replace(wanted, training=False)  # those have their outcomes, and no journals to hold others
    place = where(engine, ray_address, workers)
    if place is not None and outcome is not None:
        raise BadInput("what a person says is written down here; leave --engine ray out")
    with players(place, jobs) as crew:
        mark = None if crew is None else partial(marked, crew)
        rows = asyncio.run(_grade(wish, runs, wanted, outcome, reason, again=again, jobs=jobs, mark=mark))
    if rows and all(row["refused"] for row in rows):
        rest = len(rows) - 1
        more = f" (and {rest:,} other{'s were' if rest > 1 else ' was'} refused, too)" if rest else ""
        raise BadInput(rows[0]["refused"] + more)
    _show(rows, json=json)
    if any(row["fault"] or row["refused"] for row in rows):
        raise typer.Exit(1)


async def _grade(
    wish: Wish,
    runs: Sequence[str] | None,
    wanted: Filter,
    outcome: str | None,
    reason: str | None,
    *,
    again: bool,
    jobs: int,
    mark: Mark | None,
) -> list[dict[str, Any]]:
    workbench = Workbench(home())
    try:
        if outcome is not None or reason is not None:
            return [
                await _unless_refused(run_id, lambda run_id: _by_hand(workbench, run_id, wish.by, outcome, reason))
                for run_id in _named(runs)
            ]
        if wish.by.startswith("model:"):
            workbench.roster.chat_model(wish.by.removeprefix("model:"))  # an unknown judge is told before any run
        todo, rows = [], []
        for run_id, trajectory in _found(workbench.store, runs, wanted):
            row = None
            if isinstance(trajectory, str):
                row = _row(run_id, refused=trajectory)
            elif (why := why_not(trajectory)) is not None:
                row = _row(run_id, refused=why) if runs else _row(run_id, skipped=why)
            elif left := _left_out(trajectory, wish, by_name=bool(runs), again=again):
                row = _row(run_id, skipped=left)
            rows += [row] if row else []
            todo += [] if row else [run_id]

        async def graded(run_id: str) -> dict[str, Any]:
            return _graded_row(run_id, await workbench.grade(run_id, wish, mark=mark))

        async def one(run_id: str) -> dict[str, Any]:
            return await _unless_refused(run_id, graded)

        return rows + await in_turn(todo, one, jobs, lambda row: f"{row['id']}  {_said(row)}")
    finally:
        await workbench.close()


def _found(store: Store, runs: Sequence[str] | None, wanted: Filter) -> Iterator[tuple[str, Trajectory | str]]:
    """The runs by their ids; in place of a named one that cannot be had, why."""
    for run_id in runs or ():
        try:
            yield run_id, store.get(run_id)
        except BadInput as error:
            yield run_id, str(error)
    if not runs:
        yield from ((trajectory.id, trajectory) for trajectory in store.each(wanted))


async def _unless_refused(run_id: str, grade: Callable[[str], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
    """A refusal is of that run alone: the others go on."""
    try:
        return await grade(run_id)
    except BadInput as error:
        return _row(run_id, refused=str(error))


def _named(runs: Sequence[str] | None) -> Sequence[str]:
    if not runs:
        raise BadInput("a person grades runs by name: give their ids")
    return runs


async def _by_hand(
    workbench: Workbench, run_id: str, by: str, outcome: str | None, reason: str | None
) -> dict[str, Any]:
    if outcome is None:
        raise BadInput("a reason needs an outcome: add --outcome solved, not-solved or unknown")
    event = workbench.grade_by_person(run_id, by, outcome.replace("-", "_"), reason)
    return _graded_row(run_id, event)


def _left_out(trajectory: Trajectory, wish: Wish, *, by_name: bool, again: bool) -> str | None:
    """Why a run that can be graded is not graded now."""
    if not again and graded_by(trajectory, wish):
        return "graded by it before; --again grades it anew"
    if not by_name and wish.reference is None and not wish.by.startswith("model:"):
        task = trajectory.setting.task
        if task.reference is None and task.check is None:
            return "its task has no reference"
    return None


def _row(run_id: str, **said: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(("by", "outcome", "reason", "fault", "skipped", "refused", "judge"))
    return {"id": run_id, **nothing, **said}


def _graded_row(run_id: str, event: Graded) -> dict[str, Any]:
    judge = None
    if event.attempts:
        spent = spent_on(event.attempts, event.prices) if event.prices else None
        judge = {
            "cost_usd": spent.cost_usd if spent else None,
            "nominal": event.prices.nominal if event.prices else None,
            "attempts": len(event.attempts),
        }
    if event.grade is None:
        assert event.fault is not None
        return _row(run_id, by=event.fault.where, fault=event.fault.message, judge=judge)
    given = event.grade
    return _row(run_id, by=given.by, outcome=given.outcome, reason=given.reason, judge=judge)


def _said(row: dict[str, Any]) -> str:
    if row["fault"]:
        return f"ungraded: {one_line(row['fault'], 200)}"
    if row["refused"]:
        return f"refused: {one_line(row['refused'], 200)}"
    if row["skipped"]:
        return f"left out: {row['skipped']}"
    return f"{VERDICTS[row['outcome']]}: {one_line(row['reason'] or 'no reason', 200)}"


def _show(rows: Sequence[dict[str, Any]], *, json: bool) -> None:
    if json:
        print_json(rows)
        return
    print_table(("id", "by", "verdict"), [(row["id"], row["by"] or "—", _said(row)) for row in rows])
    graded = [row for row in rows if not (row["skipped"] or row["fault"] or row["refused"])]
    counts = [f"{sum(row['outcome'] is value for row in graded)} {words}" for value, words in VERDICTS.items()]
    faults, skipped = sum(bool(row["fault"]) for row in rows), sum(bool(row["skipped"]) for row in rows)
    refused = sum(bool(row["refused"]) for row in rows)
    told = f", {refused} refused" if refused else ""
    note(f"{', '.join(counts)}, {faults} failed, {skipped} left out{told}{_spent([row['judge'] for row in rows])}")


def _spent(judged: Sequence[dict[str, Any] | None]) -> str:
    costs = [one["cost_usd"] for one in judged if one]
    if not costs:
        return ""
    nominal = " nominal" if any(one["nominal"] for one in judged if one) else ""
    known = sum(cost for cost in costs if cost is not None)
    unknown = f", {costs.count(None)} unknown" if None in costs else ""
    return f" · the judge took {dollars(known)}{nominal}{unknown}"


def write_note(
    run_id: Annotated[str, typer.Argument(help="A run's id.")],
    text: Annotated[str, typer.Argument(help="The note, in place of the one before; empty takes it away.")],
) -> None:
    """Keep a note about a run."""
    with Store.open(home()) as store:
        kept = store.write_note(run_id, text)
    note("noted" if kept else "there is no note now")


COMMANDS: dict[str, Callable[..., None]] = {"grade": grade, "note": write_note}
