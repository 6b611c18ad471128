"""Replays tasks that lie in files and runs all four filters on each, whoever made them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from orchestra_lib.environment.assignment import Assignment, read_assignments
from orchestra_lib.environment.domain import DOMAINS, World, load_world
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


def tasks_of(files: Sequence[Path]) -> Iterator[tuple[Path, Assignment]]:
    """Every task with its file. Raises `BadInput` for a file that holds no tasks."""
    return ((file, one) for file in files for one in read_assignments(file))


def verify(files: Sequence[Path], folder: Path = DOMAINS) -> Iterator[Checked]:
    """Every task with what it failed. Raises `BadInput` for a file that holds no tasks."""
    verifier = Verifier(folder)
    return (verifier.check(file, one) for file, one in tasks_of(files))


class Verifier:
    """Runs all four filters on one task after another; the worlds of those before serve those after."""

    def __init__(self, folder: Path = DOMAINS) -> None:
        self._folder = folder
        self._worlds: dict[str, World] = {}
        self._places: dict[str, Workplace] = {}

    def check(self, file: Path, one: Assignment) -> Checked:
        """What a task of a file fails."""
        try:
            place = self._place(one)
        except BadInput as bad:
            failure = Failure(filter="golden", reason="its domain cannot be loaded", detail=str(bad))
            return Checked(file=file, assignment=one, failure=failure)
        reads = bool(place.composer.lexicon.operations) and not is_proposed(one)  # it reads its own phrases alone
        failed = place.filters.executable(one)
        if failed is None and reads:
            failed, _ = place.filters.solvable(one, place.solver.play)
        return Checked(file=file, assignment=one, failure=failed, solver=reads)

    def _place(self, assignment: Assignment) -> Workplace:
        key = f"{assignment.domain} {sorted(assignment.parameters.items())!r}"
        if key not in self._places:
            if len(self._places) >= _MOST_PLACES:
                self._places.clear()
                self._worlds.clear()
            if (world := self._worlds.get(assignment.domain)) is None:
                world = self._worlds[assignment.domain] = load_world(assignment.domain, self._folder)
            if assignment.parameters:
                world = world.with_parameters(assignment.parameters)
            lexicon = words_in(world.domain, self._folder / assignment.domain)
            self._places[key] = Workplace(world, lexicon)
        return self._places[key]
