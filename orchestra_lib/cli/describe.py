"""`orchestra describe`: a model tried out on training tasks and described by another one; versions of descriptions."""

import asyncio
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from orchestra_lib.calibration import Share
from orchestra_lib.cli.options import Json
from orchestra_lib.cli.terminal import dollars, note, one_line, print_json, print_table, printable, seconds
from orchestra_lib.codec import to_data
from orchestra_lib.describing import Request
from orchestra_lib.describing import describe as write
from orchestra_lib.descriptions import PERSON, SHIPPED, Description, DescriptionBook, Measured
from orchestra_lib.errors import BadInput
from orchestra_lib.language_models import CODER
from orchestra_lib.model_trials import Trial, subject
from orchestra_lib.paths import home
from orchestra_lib.profilefit import Quantiles
from orchestra_lib.roster import Roster
from orchestra_lib.workbench import Workbench


def describe(
    model: Annotated[
        str | None, typer.Argument(help="A tool that is a model, or a model by its name; left out: what is there.")
    ] = None,
    by: Annotated[str, typer.Option(help="Who writes: an endpoint, openai:MODEL, or an embedded model.")] = CODER,
    tasks: Annotated[
        str | None, typer.Option(help="FILE.jsonl of questions, simulated, frames, gsm8k or hle; else those that ship.")
    ] = None,
    n: Annotated[int, typer.Option(help="How many tasks, kinds in turn.")] = 10,
    seed: Annotated[int, typer.Option(help="The seed by which tasks are drawn.")] = 0,
    prices: Annotated[str, typer.Option(help="Price table.")] = "nominal",
    budget_usd: Annotated[float | None, typer.Option(help="USD at most, for runs and writer together.")] = None,
    anew: Annotated[bool, typer.Option(help="Play tasks again that were played.")] = False,
    text: Annotated[str | None, typer.Option("--set", help="Keep this text as a new version.")] = None,
    edit: Annotated[bool, typer.Option(help="Write a new version in your editor.")] = False,
    history: Annotated[bool, typer.Option(help="Every version with where it comes from.")] = False,
    restore: Annotated[int | None, typer.Option(help="Keep this version once more, as the newest.")] = None,
    use: Annotated[
        str | None, typer.Option(help=f"Offer the tool by this version: a number, latest, or {SHIPPED}.")
    ] = None,
    json: Json = False,
) -> None:
    """Describe a model from training tasks; or show, edit, restore and use what describes it."""
    book = DescriptionBook(home())
    if model is None:
        if text is not None or edit or history or restore is not None or use is not None:
            raise BadInput("say whose description is meant: orchestra describe MODEL …")
        _list(book, json)
        return
    if sum((text is not None, edit, history, restore is not None)) > 1:
        raise BadInput("--set, --edit, --history and --restore exclude each other; give one")
    tool = _tool(model, book)
    found: Description | None = None
    if history:
        _history(book, tool, json)
    elif text is not None or edit:
        found = book.edit(tool, _edited(book, tool) if text is None else text, by=_me())
    elif restore is not None:
        found = book.restore(tool, restore, by=_me())
    elif use is None:
        request = Request(
            model=model, by=by, source=tasks, tasks=n, seed=seed, prices=prices, budget_usd=budget_usd, anew=anew
        )
        found = asyncio.run(_write(request))
    if use is not None:
        _use(book, tool, use)
    if found is not None:
        _show(found, book, json)


def _tool(model: str, book: DescriptionBook) -> str:
    """The tool's name of a model; one that is off or gone keeps the name by which it was described."""
    if model in book.tools():
        return model
    try:
        return subject(Roster(home()), model).spec.name
    except BadInput as error:
        there = ", ".join(book.tools())
        raise BadInput(f"{error}{f'; described are {there}' if there else ''}") from None


def _me() -> str:
    return PERSON + (os.environ.get("USER") or "somebody")


def _edited(book: DescriptionBook, tool: str) -> str:
    """What a person made of the newest text, or of the one that ships, in an editor."""
    found = book.history(tool)
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise BadInput("no editor is named: set EDITOR, or give the text with --set")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "description.txt"
        file.write_text((found[-1].text if found else _shipped(tool)) + "\n", "utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(file)], check=True)  # the person's own editor
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise BadInput(
                f"the editor {editor[:80]!r} failed ({error}); set EDITOR, or give the text with --set"
            ) from None
        return file.read_text("utf-8", "replace")


def _shipped(tool: str) -> str:
    return Roster(home()).shipped_description(tool)


def _use(book: DescriptionBook, tool: str, use: str) -> None:
    if use == SHIPPED:
        book.use(tool, None)
        note(f"{tool} is offered by the description that ships")
        return
    if use != "latest" and not use.isdecimal():
        raise BadInput(f"--use {use[:40]!r}: give the number of a version, latest, or {SHIPPED}")
    number = len(book.history(tool)) if use == "latest" else int(use)
    book.use(tool, number)
    note(f"{tool} is offered by version {number} from now on")


async def _write(request: Request) -> Description:
    workbench = Workbench(home())
    done = 0

    def told(trial: Trial) -> None:
        nonlocal done
        done += 1
        verdict = {True: "right", False: "wrong", None: "ungraded"}[trial.run.outcome]
        state = "no answer" if trial.said is None else verdict
        note(f"{done}/{request.tasks}  {trial.task.kind}: {state}  {one_line(trial.said or '', 60)}")

    try:
        return await write(workbench, request, told)
    finally:
        await workbench.close()


def _show(found: Description, book: DescriptionBook, json: bool) -> None:
    if json:
        print_json(to_data(found))
        return
    print(printable(found.text))
    used = book.in_use().get(found.tool)
    offered = f"version {used}" if used else "what ships"
    note(f"version {found.version} of {found.tool}, {_origin(found)}; offered by {offered}, --use latest changes that")
    if found.evidence is not None:
        _profile(found.evidence.measured)
        costs = [dollars(cost) for cost in (found.evidence.runs_usd, found.evidence.writer_usd)]
        note(f"{len(found.evidence.runs)} runs for {costs[0]}, the writer for {costs[1]} ({found.evidence.prices})")


def _origin(found: Description) -> str:
    how = found.how if found.of is None else f"{found.how} from {found.of}"
    cut = f", cut from {found.cut_from:,} characters" if found.cut_from else ""
    return f"{how} by {found.by} at {found.at.isoformat(timespec='minutes')}{cut}"


def _profile(measured: Measured) -> None:
    rows = [[kind, *_share(one)] for kind, one in {**measured.kinds, "all": measured.right}.items()]
    print()
    print_table(("kind", "right", "of", "95 %"), rows)
    note(
        f"a call takes {_middle(measured.latency_s, seconds)} and costs {_middle(measured.cost_usd, dollars)}; "
        f"{measured.ungraded} ungraded, {measured.faults} without an answer, {measured.unpriced} unpriced"
    )


def _share(one: Share) -> list[str]:
    if one.rate is None or one.low is None or one.high is None:
        return ["—", str(one.of), "—"]
    return [f"{one.rate:.2f}", str(one.of), f"{one.low:.2f} to {one.high:.2f}"]


def _middle(one: Quantiles | None, write_: Callable[[float | None], str]) -> str:
    if one is None:
        return "—"
    ends = "" if one.low is None else f" [{write_(one.low)}, {write_(one.high)}]"
    return f"{write_(one.p50)}{ends} (n {one.of})"


def _history(book: DescriptionBook, tool: str, json: bool) -> None:
    found = book.history(tool)
    if json:
        print_json([to_data(one) for one in found])
        return
    used = book.in_use().get(tool)
    print_table(
        ("version", "in use", "where from", "text"),
        [
            [str(one.version), "yes" if one.version == used else "", _origin(one), one_line(one.text, 90)]
            for one in found
        ],
    )
    if not found:
        note(f"{tool} has the description that ships; write one: orchestra describe {tool}")


def _list(book: DescriptionBook, json: bool) -> None:
    used = book.in_use()
    latest = {tool: book.history(tool)[-1] for tool in book.tools()}
    if json:
        print_json([{**to_data(one), "in_use": used.get(tool)} for tool, one in latest.items()])
        return
    if not latest:
        note("no model is described; begin with: orchestra describe generalist")
        return
    print_table(
        ("tool", "versions", "in use", "newest"),
        [
            [tool, str(one.version), str(used.get(tool, SHIPPED)), one_line(one.text, 90)]
            for tool, one in latest.items()
        ],
    )


COMMANDS: dict[str, Callable[..., None]] = {"describe": describe}
