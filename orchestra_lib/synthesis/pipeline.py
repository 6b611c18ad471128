"""From a seed to accepted tasks: draw, filter, count what was rejected and why. Each task is a function of its seed.

for one in Pipeline(load_world("railway"), lexicon, seed=7).candidates():   # Assignment or Rejection, without end
accept(pipeline, n=406)                                                     # exactly n, within the quotas
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any

from orchestra_lib.environment.assignment import Assignment, AssignmentKind
from orchestra_lib.environment.domain import DOMAINS, World, load_world
from orchestra_lib.environment.schema import Domain
from orchestra_lib.errors import BadInput
from orchestra_lib.record import record
from orchestra_lib.synthesis.composing import Composer
from orchestra_lib.synthesis.filters import TRIES, Failure, Filters, Play
from orchestra_lib.synthesis.lexicon import Lexicon, load_lexicon
from orchestra_lib.synthesis.solver import Solver
from orchestra_lib.synthesis.understanding import Understanding
from orchestra_lib.synthesis.wants import Rejected

VERSION = 2
"""Goes up when the same seed gives other tasks."""

QUOTA = 0.15
"""The largest share of tasks without a write."""

_NO_WRITE = 0.12
_VARIANTS, _HELD_OUT = 3, 2
_MOST_PER_TASK = 60


@record
class Rejection:
    """A candidate that did not become a task: the stage, the reason that the report counts, and what exactly."""

    stage: str
    reason: str
    detail: str = ""


@record
class Accepted:
    """A task that passed all filters; `tried` is the solver's first successful try, from 1."""

    assignment: Assignment
    tried: int


@record
class Variant:
    """A domain under values of its policy's parameters, and the split of the tasks drawn in it."""

    changes: Mapping[str, Any]
    split: str


class Workplace:
    """One variant of a domain with all that draws and judges its tasks."""

    def __init__(self, world: World, lexicon: Lexicon) -> None:
        self.world = world
        self.composer, self.filters = Composer(world, lexicon), Filters(world, lexicon)
        self.solver = Solver(world, lexicon, Understanding(lexicon))


class Pipeline:
    """Draws and filters the tasks of one domain. `play` is another agent to solve them, such as one with a model."""

    def __init__(
        self, world: World, lexicon: Lexicon, *, seed: int, play: Play | None = None, tries: int = TRIES
    ) -> None:
        self.world, self._lexicon, self._seed, self._play, self._tries = world, lexicon, seed, play, tries
        self._places: dict[str, Workplace] = {}
        self._variants = variants(world.domain, seed)
        self._operations = [one.name for one in lexicon.routes.writes if one.name in lexicon.operations]
        if not self._operations:
            raise BadInput(f"{world.domain.name}: intents.json has no words for any of its writes")

    def candidates(self) -> Iterator[Accepted | Rejection]:
        """What becomes of each candidate, in order; it never ends."""
        for number in count():
            yield self.candidate(number)

    def candidate(self, number: int) -> Accepted | Rejection:
        """What becomes of one candidate; the same number always gives the same."""
        seed = f"{self._seed}/{self.world.domain.name}/{number}"
        random = Random(seed)  # noqa: S311 -- invented tasks, not secret
        variant = random.choice(self._variants)
        place = self.place(variant.changes)
        try:
            drawn = place.composer.compose(
                seed,
                name=f"{self.world.domain.name}-{number:05d}",
                operation=self._operations[number % len(self._operations)],
                acts=random.random() >= _NO_WRITE,
                split=variant.split,
            )
        except Rejected as rejected:
            return Rejection(stage="drawn", reason=str(rejected))
        assignment = replace(drawn, parameters=dict(variant.changes))
        failure = place.filters.executable(assignment)
        tried = 0
        if failure is None:
            failure, tried = place.filters.solvable(assignment, self._play or place.solver.play, tries=self._tries)
        if failure is not None:
            return _rejection(failure)
        return Accepted(assignment=assignment, tried=tried)

    def place(self, changes: Mapping[str, Any]) -> Workplace:
        """The workplace for values of the policy's parameters, made once."""
        key = repr(sorted(changes.items()))
        if key not in self._places:
            world = self.world.with_parameters(changes) if changes else self.world
            self._places[key] = Workplace(world, self._lexicon)
        return self._places[key]


def pipeline_of(name: str, *, seed: int, play: Play | None = None) -> Pipeline:
    """The pipeline of a shipped domain. Raises `BadInput` where domain or words are missing."""
    world = load_world(name)
    return Pipeline(world, load_lexicon(world.domain, DOMAINS / name / "intents.json"), seed=seed, play=play)


def variants(domain: Domain, seed: int) -> Sequence[Variant]:
    """The domain as it is (twice as often), with values that training may see, and with held-out ones."""
    random = Random(f"{seed}/{domain.name}/parameters")  # noqa: S311 -- as above
    own, kept = domain.split or "train", "held_out" if domain.split == "held_out" else "eval"
    found = [Variant(changes={}, split=own)] * (_VARIANTS + 1)
    for _ in range(_VARIANTS):
        found.append(Variant(changes=_drawn(domain, random, held_out=False), split=own))
    for _ in range(_HELD_OUT):
        found.append(Variant(changes=_drawn(domain, random, held_out=True), split=kept))
    return found


def _drawn(domain: Domain, random: Random, *, held_out: bool) -> Mapping[str, Any]:
    changes = {}
    for one in domain.parameters:
        options = one.held_out if held_out else one.choices
        if options and random.random() < 0.5:
            value = random.choice(options)
            if value != one.value:
                changes[one.name] = value
    return changes


def accept(
    pipeline: Pipeline, n: int, candidates: Iterable[Accepted | Rejection] | None = None
) -> Iterator[Accepted | Rejection]:
    """Candidates until `n` are accepted; those above the quota of tasks without a write, or told before, are rejected.

    `candidates` are the pipeline's own, in order, where somebody else draws them. Raises `BadInput` when the domain
    does not give so many.
    """
    most, accepted, idle = int(n * QUOTA), 0, 0
    without, texts = 0, set()
    for one in pipeline.candidates() if candidates is None else candidates:
        if isinstance(one, Accepted):
            still = one.assignment.kind is not AssignmentKind.WRITE
            if still and without == most:
                one = Rejection(stage="quota", reason="enough tasks without a write")
            elif one.assignment.words in texts:
                one = Rejection(stage="quota", reason="the same words as another task")
            else:
                without += still
                texts.add(one.assignment.words)
        yield one
        accepted, idle = (accepted + 1, 0) if isinstance(one, Accepted) else (accepted, idle + 1)
        if accepted == n:
            return
        if idle > _MOST_PER_TASK * 20:
            raise BadInput(f"{pipeline.world.domain.name}: {accepted} of {n} tasks, then {idle} rejections in a row")


def _rejection(failure: Failure) -> Rejection:
    return Rejection(stage=failure.filter, reason=failure.reason, detail=failure.detail)
