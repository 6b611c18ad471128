"""Calibrating a judge: what it says of answers that people have labelled."""

import json as json_lines
from collections.abc import Sequence
from pathlib import Path

from orchestra_lib.calibration import Agreement, Calibration, Flips, Share, calibration
from orchestra_lib.cli.progress import in_turn
from orchestra_lib.cli.terminal import VERDICTS, note, one_line, print_json, print_table, printable
from orchestra_lib.codec import from_data, to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.judge.calibrating import Labelled, Rated, rate
from orchestra_lib.paths import home
from orchestra_lib.workbench import Workbench


async def against_people(by: str, sources: Sequence[str], jobs: int, *, json: bool) -> None:
    """Have a judge rate labelled answers and print how far it can be trusted. Raises `BadInput`."""
    if not by.startswith("model:"):
        raise BadInput("--calibrate compares a model with people: name it with --by model:NAME")
    if len(sources) != 1:
        raise BadInput("--calibrate takes one source: a FILE.jsonl of labelled answers, or the word runs")
    workbench = Workbench(home())
    try:
        labelled = _stored(workbench) if sources[0] == "runs" else read_labelled(Path(sources[0]))
        model = workbench.roster.chat_model(by.removeprefix("model:"))

        async def one(item: Labelled) -> Rated:
            return await rate(model, item)

        rated = await in_turn(
            labelled,
            one,
            jobs,
            lambda done: f"human {VERDICTS[done.rating.human]}, judge {VERDICTS[done.rating.judge]}",
        )
    finally:
        await workbench.close()
    found = calibration([one.rating for one in rated])
    faults = [fault for one in rated for fault in one.faults]
    if json:
        print_json({"by": by, **to_data(found), "faults": faults, "requests": sum(len(one.attempts) for one in rated)})
        return
    _show_calibration(by, found, faults)


def read_labelled(path: Path) -> list[Labelled]:
    """Labelled answers, one JSON object a line: `task`, `answer`, `human`, and `reference` where there is one.

    Raises `BadInput` that names the line.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}") from None
    labelled = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            data = json_lines.loads(line)
        except ValueError as error:
            raise BadInput(f"{path} line {number}: no JSON ({error})") from None
        labelled.append(from_data(data, Labelled, where=f"{path} line {number}"))
    if not labelled:
        raise BadInput(f"{path} has no labelled answer; write one JSON object a line")
    return labelled


def _stored(workbench: Workbench) -> list[Labelled]:
    """The stored answers that a person has graded; of several grades a person's last one."""
    labelled = []
    for trajectory in workbench.store.each():
        said = [one.outcome for one in trajectory.grades if one.by.startswith("person:")]
        human = said[-1] if said else None
        if human is not None and trajectory.answer is not None:
            task = trajectory.setting.task
            one = Labelled(task=task.text, reference=task.reference, answer=trajectory.answer, human=human)
            labelled.append(one)
    if not labelled:
        raise BadInput("no stored run with an answer was graded by a person; grade some with --by person:NAME first")
    return labelled


def _show_calibration(by: str, found: Calibration, faults: Sequence[str]) -> None:
    length = found.length
    rows = [
        ("agreement with people", _share(found.agreement.share), _agreed(found.agreement)),
        ("swapped order turns it", _share(found.swap.share), _flipped(found.swap)),
        ("padding turns it", _share(found.padding.share), _flipped(found.padding)),
        ("agreement, short answers", _share(length.short.share), f"up to {length.split_chars:g} characters"),
        ("agreement, long answers", _share(length.long.share), "longer ones"),
        ("called solved, short", _share(length.short_solved), f"people: {_share(length.short_human)}"),
        ("called solved, long", _share(length.long_solved), f"people: {_share(length.long_human)}"),
    ]
    print_table((printable(by), f"of {found.ratings} labelled", ""), rows)
    for fault in faults[:5]:
        note(f"no verdict: {one_line(fault, 200)}")
    if len(faults) > 5:
        note(f"and {len(faults) - 5:,} more without a verdict")


def _share(part: Share) -> str:
    if part.rate is None or part.low is None or part.high is None:
        return "—"
    return f"{part.rate:.0%} ({part.low:.0%} to {part.high:.0%}) of {part.of}"


def _agreed(part: Agreement) -> str:
    kappa = "—" if part.kappa is None else f"{part.kappa:.2f}"
    return f"kappa {kappa}, {part.unknown} without a verdict"


def _flipped(part: Flips) -> str:
    return f"{part.to_solved} to solved, {part.to_not_solved} to not solved, {part.unknown} unknown"
