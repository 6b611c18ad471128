"""The four filters, all executed: each says with a reason why a task is not one to train on, or nothing.

F1 golden: the calls run, twice on fresh worlds and with records in another order, agree, and are judged a success.
F2 solvable: every golden argument has a source that the agent can see, and an agent that sees no more succeeds.
F3 not free: doing nothing, reading only, transferring only and the first call alone all fail.
F4 discriminative: without one of the writes, or with it changed, the task fails.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import dropwhile

from orchestra_lib.environment.assignment import Assignment, GoldenCall
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.operations import writes
from orchestra_lib.environment.said import is_said
from orchestra_lib.environment.schema import Builtin
from orchestra_lib.environment.state import State
from orchestra_lib.environment.success import Judge
from orchestra_lib.errors import BadInput, ModelMistake
from orchestra_lib.record import record
from orchestra_lib.synthesis.lexicon import Lexicon
from orchestra_lib.synthesis.perturbing import Perturbations
from orchestra_lib.synthesis.provenance import Provenance
from orchestra_lib.synthesis.rehearsal import Rehearsal

Play = Callable[[Assignment, int], tuple[State, Sequence[str]]]
"""An agent that tries an assignment: the state it leaves and what it said; the number seeds the try."""

TRIES = 8


@record
class Failure:
    """The filter that a task did not pass, why in general, and what exactly."""

    filter: str
    reason: str
    detail: str = ""


class Filters:
    """The filters over one world, under the domain's own parameters or others."""

    def __init__(self, world: World, lexicon: Lexicon) -> None:
        self.world = world
        self._writes = frozenset(writes(world.domain))
        self._transfers = [
            GoldenCall(operation=one.name, arguments={"summary": "A request."})
            for one in world.domain.operations
            if one.builtin is Builtin.TRANSFER
        ]
        self._provenance = Provenance(world, lexicon)
        self._perturbations = Perturbations(world, lexicon.routes)

    def executable(self, assignment: Assignment) -> Failure | None:
        """All filters but the solver: F1, the provenance of F2, F3, F4."""
        try:
            rehearsal = self.rehearsed(assignment)
        except BadInput as bad:
            return Failure(filter="golden", reason="a golden call fails", detail=str(bad))
        return (
            self.golden(assignment, rehearsal.judge)
            or self.provenance(assignment, rehearsal.judge)
            or self.free(assignment, rehearsal)
            or self.discriminative(rehearsal)
        )

    def rehearsed(self, assignment: Assignment) -> Rehearsal:
        """The golden calls, run. Raises `BadInput` for one that fails."""
        return Rehearsal(self.world, assignment, self._writes)

    def golden(self, assignment: Assignment, judge: Judge) -> Failure | None:
        """F1. The judge has run the calls once; they run again where records stand in another order."""
        said = [_said(assignment)]
        if not all(is_said(one, said) for one in assignment.required):
            return Failure(filter="golden", reason="what is required cannot be said")
        second = self._run(self.world.reordered, assignment.golden)
        if not judge.same(second) or judge.golden.touched - second.read - second.seen - second.written:
            return Failure(filter="golden", reason="two replays of the golden calls differ")
        return None

    def provenance(self, assignment: Assignment, judge: Judge) -> Failure | None:
        """F2, its first half: each golden argument has a source that the agent can see."""
        without = self._provenance.without_source(assignment, judge.golden.results)
        return (
            None
            if without is None
            else Failure(filter="solvable", reason="an argument without a source", detail=without)
        )

    def solvable(self, assignment: Assignment, play: Play, *, tries: int = TRIES) -> tuple[Failure | None, int]:
        """F2, its second half: which try succeeded first, from 1; 0 and a failure when none did."""
        judge = Judge(self.world, assignment)
        for number in range(1, tries + 1):
            state, messages = play(assignment, number)
            if judge.succeeds(state, messages):
                return None, number
        return Failure(filter="solvable", reason="no try of the solver succeeds"), 0

    def free(self, assignment: Assignment, rehearsal: Rehearsal) -> Failure | None:
        """F3. Reads change no record: where a world as it was is told from the golden one, no read is run again."""
        judge, untouched = rehearsal.judge, self.world.state()
        cheap = [("doing nothing", untouched)]
        if judge.same(untouched):
            later = dropwhile(lambda one: one.operation not in self._writes, assignment.golden)
            reads = [one for one in later if one.operation not in self._writes]
            cheap.append(("reading only", self._run(self.world, reads, rehearsal.unwritten.copy())))
            cheap.append(("transferring only", self._run(self.world, self._transfers)))
        cheap.append(("the first call alone", rehearsal.first))
        for name, state in cheap:
            if judge.succeeds(state, ("Done.",)):
                return Failure(filter="not free", reason=f"{name} succeeds")
        return None

    def discriminative(self, rehearsal: Rehearsal) -> Failure | None:
        """F4. Reads change no state, so only the writes are run; a changed call that is refused is one left out."""
        methods = self._perturbations.methods(next(iter(rehearsal.judge.golden.results), None))
        for place, step in enumerate(rehearsal.steps):
            for what, other in self._perturbations.of(step.call, methods):
                if not rehearsal.tells(place, other):
                    return Failure(
                        filter="discriminative", reason=f"{what} makes no difference", detail=step.call.operation
                    )
        return None

    def _run(self, world: World, calls: Iterable[GoldenCall], state: State | None = None) -> State:
        state = state or world.state()
        for call in calls:
            try:
                world.operations.run(state, call.operation, call.arguments)
            except ModelMistake:
                continue
        return state


def _said(assignment: Assignment) -> str:
    """A message that says all that is required."""
    return " ".join(
        f"{one.what}: {one.unit}{one.value};" if one.unit == "$" else f"{one.what}: {one.value} {one.unit or ''};"
        for one in assignment.required
    )
