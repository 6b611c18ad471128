"""The four filters, all executed: each says with a reason why a task is not one to train on, or nothing.

F1 golden: the calls run, twice on fresh worlds and with records in another order, agree, and are judged a success.
F2 solvable: every golden argument has a source that the agent can see, and an agent that sees no more succeeds.
F3 not free: doing nothing, reading only, transferring only and the first call alone all fail.
F4 discriminative: without one of the writes, or with it changed, the task fails.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from orchestra_lib.environment.assignment import Assignment, GoldenCall
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.operations import writes
from orchestra_lib.environment.operators import cents
from orchestra_lib.environment.said import is_said
from orchestra_lib.environment.schema import Builtin, Field, FieldType
from orchestra_lib.environment.state import State
from orchestra_lib.environment.success import Judge
from orchestra_lib.errors import BadInput, ModelMistake
from orchestra_lib.record import record
from orchestra_lib.synthesis.lexicon import Lexicon

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
        self.world, self._lexicon = world, lexicon
        self._writes = frozenset(writes(world.domain))
        mixed = {name: dict(reversed(list(one.items()))) for name, one in reversed(list(world.records.items()))}
        self._mixed = World(world.domain, mixed)
        self._transfer = next((one.name for one in world.domain.operations if one.builtin is Builtin.TRANSFER), None)
        self._parameters = {one.name: {p.name: p for p in one.parameters} for one in world.domain.operations}

    def executable(self, assignment: Assignment) -> Failure | None:
        """All filters but the solver: F1, the provenance of F2, F3, F4."""
        try:
            judge = Judge(self.world, assignment)
        except BadInput as bad:
            return Failure(filter="golden", reason="a golden call fails", detail=str(bad))
        return (
            self.golden(assignment, judge)
            or self.provenance(assignment, judge)
            or self.free(assignment, judge)
            or self.discriminative(assignment, judge)
        )

    def golden(self, assignment: Assignment, judge: Judge) -> Failure | None:
        """F1. The judge has run the calls once; they run again where records stand in another order."""
        if not all(is_said(one, [_said(assignment)]) for one in assignment.required):
            return Failure(filter="golden", reason="what is required cannot be said")
        second = self._run(self._mixed, assignment.golden)
        if second.diff() != judge.golden.diff or not judge.golden.touched <= second.read | second.seen | second.written:
            return Failure(filter="golden", reason="two replays of the golden calls differ")
        return None

    def provenance(self, assignment: Assignment, judge: Judge) -> Failure | None:
        """F2, its first half: where each golden argument may come from."""
        text = assignment.words.casefold()
        seen = set(_scalars([one.value for one in assignment.facts]))
        seen.update(one.value for one in self.world.domain.parameters)
        for call, result in zip(assignment.golden, judge.golden.results, strict=True):
            for name, value in call.arguments.items():
                field = self._parameters[call.operation][name]
                if not self._known(value, field, seen, text):
                    return Failure(
                        filter="solvable",
                        reason="an argument without a source",
                        detail=f"{call.operation}.{name} = {value!r}",
                    )
            seen.update(_scalars(result))
        return None

    def _known(self, value: Any, field: Field, seen: set[Any], text: str) -> bool:
        if field.values or field.type is FieldType.BOOLEAN or field.name == "page" or value in seen:
            return True
        if isinstance(value, list):
            return all(self._known(one, replace(field, type=FieldType.TEXT), seen, text) for one in value)
        if any(_holds(text, form) for form in self._lexicon.say(value, field)):
            return True
        now = self.world.domain.now
        if value in (now, now[:10]):
            return True
        return isinstance(value, int | float) and _is_share(value, seen)

    def solvable(self, assignment: Assignment, play: Play, *, tries: int = TRIES) -> tuple[Failure | None, int]:
        """F2, its second half: which try succeeded first, from 1; 0 and a failure when none did."""
        judge = Judge(self.world, assignment)
        for number in range(1, tries + 1):
            state, messages = play(assignment, number)
            if judge.succeeds(state, messages):
                return None, number
        return Failure(filter="solvable", reason="no try of the solver succeeds"), 0

    def free(self, assignment: Assignment, judge: Judge) -> Failure | None:
        """F3. Calls that do not write leave no diff: where the golden has one, they cannot succeed."""
        reads = [one for one in assignment.golden if one.operation not in self._writes]
        cheap: list[tuple[str, Sequence[GoldenCall]]] = []
        if not judge.golden.diff:
            cheap += [("doing nothing", ()), ("reading only", reads)]
            if self._transfer:
                call = GoldenCall(operation=self._transfer, arguments={"summary": "A request."})
                cheap.append(("transferring only", (call,)))
        cheap.append(("the first call alone", assignment.golden[:1]))
        for name, calls in cheap:
            if judge.succeeds(self._run(self.world, calls), ("Done.",)):
                return Failure(filter="not free", reason=f"{name} succeeds")
        return None

    def discriminative(self, assignment: Assignment, judge: Judge) -> Failure | None:
        """F4. Reads change no state, so only the writes are run; a changed call that is refused is one left out."""
        changes = [one for one in assignment.golden if one.operation in self._writes]
        before = self.world.state()
        methods = self._methods(assignment)
        for place, call in enumerate(changes):
            for what, other in self._changed(call, methods):
                state = before.copy()
                if other is not None and not self._goes(state, other):
                    continue
                for later in changes[place + 1 :]:
                    self._goes(state, later)
                if judge.same(state):
                    return Failure(filter="discriminative", reason=f"{what} makes no difference", detail=call.operation)
            self._goes(before, call)
        return None

    def _goes(self, state: State, call: GoldenCall) -> bool:
        try:
            self.world.operations.run(state, call.operation, call.arguments)
        except ModelMistake:
            return False
        return True

    def _changed(self, call: GoldenCall, methods: Sequence[str]) -> Iterator[tuple[str, GoldenCall | None]]:
        """A write left out, put in another's place, and with each argument changed."""
        yield "leaving a write out", None
        for name, value in call.arguments.items():
            field = self._parameters[call.operation][name]
            for other in self._others(field, value, methods):
                yield f"another {_kind(field)}", replace(call, arguments={**call.arguments, name: other})
        for one in self._swaps(call):
            yield "another operation", one

    def _swaps(self, call: GoldenCall) -> Iterator[GoldenCall]:
        for name in self._writes:
            if name != call.operation and self._parameters[name].keys() == call.arguments.keys():
                yield GoldenCall(operation=name, arguments=call.arguments)

    def _others(self, field: Field, value: Any, methods: Sequence[str]) -> Iterator[Any]:
        if field.references and isinstance(value, str):
            yield from self._siblings(field.references, value)
        elif self._lexicon.routes.is_payment(field):
            yield from (one for one in methods if one != value)
        elif field.values:
            yield from (one for one in field.values if one != value)
        elif isinstance(value, bool):
            yield not value
        elif isinstance(value, int | float):
            yield value + 1
            yield value - 1

    def _siblings(self, table: str, key: str) -> Iterator[str]:
        """Another record of the same owner, or the next one of the table."""
        rows, owner = self.world.records[table], self._lexicon.routes.tables[table].owner
        mine = rows.get(key)
        if owner and mine:
            yield from [one for one in self.world.base.index(table, owner).get(mine[owner], ()) if one != key][:1]
        names = self.world.base.index(table, self._lexicon.routes.tables[table].key)
        yield next(one for one in names if one != key)

    def _methods(self, assignment: Assignment) -> Sequence[str]:
        """The payment methods of the owner, whom the first golden call finds."""
        first = next(iter(assignment.golden), None)
        if first is None:
            return ()
        try:
            found = self.world.operations.run(self.world.state(), first.operation, first.arguments)
        except ModelMistake:
            return ()
        table = self._lexicon.routes.owner
        profile = self.world.records[table.name].get(found.get(table.key, ""), {})
        return [one["id"] for one in profile.get("payment_methods") or ()]

    def _run(self, world: World, calls: Sequence[GoldenCall]) -> State:
        state = world.state()
        for call in calls:
            with suppress(ModelMistake):
                world.operations.run(state, call.operation, call.arguments)
        return state


def _kind(field: Field) -> str:
    return "record" if field.references else "payment method" if "payment" in field.name else "value"


def _said(assignment: Assignment) -> str:
    """A message that says all that is required."""
    return " ".join(
        f"{one.what}: {one.unit}{one.value};" if one.unit == "$" else f"{one.what}: {one.value} {one.unit or ''};"
        for one in assignment.required
    )


def _scalars(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _scalars(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _scalars(one)
    elif value is not None:
        yield value


def _holds(text: str, form: str) -> bool:
    return form.casefold() in text and re.search(rf"(?<!\w){re.escape(form.casefold())}(?!\w)", text) is not None


def _is_share(value: float, seen: set[Any]) -> bool:
    """Whether an amount is a share of a seen one, at a seen rate or a half."""
    numbers = [one for one in seen if isinstance(one, int | float) and not isinstance(one, bool) and one]
    rates = [one for one in numbers if 0 < one <= 100] + [50]
    return any(abs(cents(number * rate / 100) - value) < 0.005 for number in numbers for rate in rates)
