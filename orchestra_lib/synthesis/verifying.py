"""Replays tasks that lie in files and runs all four filters on each, whoever made them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from orchestra_lib.environment.assignment import Assignment, read_assignments
from orchestra_lib.environment.domain import DOMAINS, load_world
from orchestra_lib.errors import BadInput
from orchestra_lib.record import record
from orchestra_lib.synthesis.filters import Failure
from orchestra_lib.synthesis.lexicon import words_in
from orchestra_lib.synthesis.pipeline import Workplace
from orchestra_lib.synthesis.proposing.tasks import is_proposed

_MOST_PLACES = 64


@record
class Checked:
    """A task of a file, what it failed, and whether the solver could read its domain's users at all."""

    file: Path
    assignment: Assignment
    failure: Failure | None = None
    solver: bool = True


def files_of(path: Path) -> Sequence[Path]:
    """The JSONL file, or those of a folder. Raises `BadInput` where there is none."""
    found = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not found:
        raise BadInput(f"{path}: no .jsonl file in this folder; `orchestra synth --out {path}` writes some")
    return found


def verify(files: Sequence[Path], folder: Path = DOMAINS) -> Iterator[Checked]:
    """Every task with what it failed. Raises `BadInput` for a file that holds no tasks."""
    places: dict[str, Workplace] = {}
    for file in files:
        for one in read_assignments(file):
            try:
                place = _place(one, places, folder)
            except BadInput as bad:
                failure = Failure(filter="golden", reason="its domain cannot be loaded", detail=str(bad))
                yield Checked(file=file, assignment=one, failure=failure)
                continue
            reads = bool(place.composer.lexicon.operations) and not is_proposed(one)  # it reads its own phrases alone
            failed = place.filters.executable(one)
            if failed is None and reads:
                failed, _ = place.filters.solvable(one, place.solver.play)
            yield Checked(file=file, assignment=one, failure=failed, solver=reads)


def _place(assignment: Assignment, places: dict[str, Workplace], folder: Path) -> Workplace:
    key = f"{assignment.domain} {sorted(assignment.parameters.items())!r}"
    if key not in places:
        if len(places) >= _MOST_PLACES:
            places.clear()
        world = load_world(assignment.domain, folder)
        if assignment.parameters:
            world = world.with_parameters(assignment.parameters)
        lexicon = words_in(world.domain, folder / assignment.domain)
        places[key] = Workplace(world, lexicon)
    return places[key]
