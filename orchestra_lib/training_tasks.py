"""Training tasks: questions with answers, of several kinds, on which a model is tried out before it is described."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from orchestra_lib.errors import BadInput
from orchestra_lib.evaluation.suites import FRAMES, GSM8K, HLE, SIMULATED, SUFFIXES, load_suite
from orchestra_lib.paths import DATA
from orchestra_lib.published.questions import form_of, load_questions
from orchestra_lib.published.rows import read_rows
from orchestra_lib.record import record
from orchestra_lib.simulated_tasks import simulated_tasks

SHIPPED = DATA / "training_tasks" / "questions.jsonl"
MOST = 200
"""So many tasks of one description at most."""
_SUITES = (FRAMES, GSM8K, HLE)


@record
class TrainingTask:
    """One question. `kind` is what the file says it is about, else the name of the file or suite."""

    id: str
    kind: str
    text: str
    reference: str


@record
class TrainingSample:
    """Tasks drawn from a `source`, kinds in turn, of the `whole` that it has."""

    source: str
    seed: int
    whole: int
    tasks: tuple[TrainingTask, ...]


def training_sample(source: str | None, home: Path, *, count: int, seed: int) -> TrainingSample:
    """`count` tasks by lot: of the tasks that ship (None), of `simulated`, of a suite of questions, or of a file.

    Every kind gives as many as the others while it has some. Raises `BadInput` naming what cannot be read.
    """
    if not 1 <= count <= MOST:
        raise BadInput(f"{count} tasks cannot be tried; take 1 to {MOST}")
    if source == SIMULATED:
        made = [
            TrainingTask(id=x.id, kind=x.kind, text=x.text, reference=x.reference) for x in simulated_tasks(seed, count)
        ]
        return TrainingSample(source=SIMULATED, seed=seed, whole=count, tasks=tuple(made))
    name, tasks = _read(source, home)
    return TrainingSample(source=name, seed=seed, whole=len(tasks), tasks=_spread(tasks, count, seed))


def _read(source: str | None, home: Path) -> tuple[str, Sequence[TrainingTask]]:
    if source is None:
        return "the tasks that ship", _of_file(SHIPPED)
    if Path(source).suffix in SUFFIXES:
        return Path(source).name, _of_file(Path(source))
    if source not in _SUITES:
        raise BadInput(
            f"a model is not tried out on {source[:80]!r}: give a file of questions with answers, or "
            f"{', '.join((SIMULATED, *_SUITES))}; work in a domain is an orchestrator's"
        )
    items = load_suite(source, home).items
    return source, [TrainingTask(id=x.id, kind=source, text=x.text, reference=x.reference or "") for x in items]


def _of_file(file: Path) -> Sequence[TrainingTask]:
    """The questions of a file; a column `kind` tells what each is about."""
    rows = read_rows(file)
    if not rows:
        raise BadInput(f"{file} has no rows; give a file with one question a line")
    form = form_of(rows, file)
    if any("kind" in row.data for row in rows):
        form = replace(form, subject="kind")
    found = load_questions(file, form).rows
    if not found:
        raise BadInput(f"{file} has no question with an answer; give one that has")
    return [TrainingTask(id=x.id, kind=x.subject or file.stem, text=x.question, reference=x.answer) for x in found]


def _spread(tasks: Sequence[TrainingTask], count: int, seed: int) -> tuple[TrainingTask, ...]:
    dice = random.Random(f"training tasks/{seed}")  # noqa: S311  # a lot, not a secret
    by_kind: dict[str, list[TrainingTask]] = defaultdict(list)
    for task in dice.sample(tasks, len(tasks)):
        by_kind[task.kind].append(task)
    turns = [(turn, at) for at, kind in enumerate(by_kind) for turn in range(len(by_kind[kind]))]
    kinds = list(by_kind.values())
    return tuple(kinds[at][turn] for turn, at in sorted(turns)[:count])
