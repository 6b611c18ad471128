"""The golden calls, run once with a note of what each looked at: where a changed episode goes on as they did.

Filters replay a task in dozens of variants. A write reads only what it looked at; once no later write looks at what a
variant left otherwise, the rest of that replay would be the golden one, and its verdict is decided.
"""

from collections.abc import Iterator
from typing import Any

from orchestra_lib.environment.assignment import Assignment, GoldenCall
from orchestra_lib.environment.canonical import Key, Record, differ
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.state import Base, State
from orchestra_lib.environment.success import Judge, golden_of
from orchestra_lib.errors import ModelMistake
from orchestra_lib.record import record

Looked = frozenset[Key | str]
"""Records by table and key, and whole tables by name."""


class Watched(State):
    """A state that notes what is looked at."""

    __slots__ = ("looked",)

    def __init__(self, base: Base) -> None:
        super().__init__(base)
        self.looked: set[Key | str] = set()

    def find(self, table: str, key: Any) -> Record | None:
        """A record, noted also where it is missing."""
        self.looked.add((table, key))
        return super().find(table, key)

    def get(self, table: str, key: Any) -> Record:
        """The same. Raises as usual."""
        self.looked.add((table, key))
        return super().get(table, key)

    def records(self, table: str) -> Iterator[Record]:
        """All records of a table."""
        self.looked.add(table)
        return super().records(table)

    def matching(self, table: str, field: str, value: Any) -> Iterator[Record]:
        """Those with a value: a change anywhere in the table may make one more."""
        self.looked.add(table)
        return super().matching(table, field, value)

    def among(self, table: str, field: str, value: Any) -> Iterator[Record]:
        """The same."""
        self.looked.add(table)
        return super().among(table, field, value)

    def insert(self, table: str, record: Record) -> Record:
        """A new record, whose key tells how many there were."""
        self.looked.add(table)
        return super().insert(table, record)


@record
class Step:
    """A golden write with the states before and after it, what it changed, and what later writes look at."""

    call: GoldenCall
    before: State
    after: State
    changed: frozenset[Key]
    later: Looked


class Rehearsal:
    """The golden calls of an assignment, run, and the states on the way. Raises `BadInput` for a call that fails."""

    def __init__(self, world: World, assignment: Assignment, writes: frozenset[str]) -> None:
        self._world, self._writes = world, writes
        state = Watched(world.base)
        snapshots: list[State] = []
        notes: list[tuple[GoldenCall, State, frozenset[Key], Looked]] = []
        running: GoldenCall | None = None

        def note(call: GoldenCall | None) -> None:
            nonlocal running
            if running is not None and running.operation in writes:
                notes.append((running, snapshots[-1], frozenset(state.changed()), frozenset(state.looked)))
            state.looked.clear()
            if len(snapshots) < 2 or (call is not None and call.operation in writes):
                snapshots.append(state.copy())
            running = call

        self.judge = Judge(world, assignment, golden_of(world, assignment, state, note))
        note(None)
        self.first = snapshots[1] if len(snapshots) > 1 else state
        """The state that the first call alone leaves."""
        self.unwritten = notes[0][1] if notes else state
        """The state before the first write."""
        self.steps = tuple(_steps(notes, state))

    def tells(self, place: int, other: GoldenCall | None) -> bool:
        """Whether the judge tells an episode in which another call, or none, stands in a write's place.

        A call that is refused is one left out: that is told, or not, of the episode without it.
        """
        step, state = self.steps[place], self.steps[place].before
        if other is None:
            return self._tells(state, place, step.changed)
        if not self._goes(state, other):
            return True
        told = self._tells(state, place, step.changed | frozenset(state.changed()))
        state.rollback()
        return told

    def _tells(self, now: State, place: int, perhaps: frozenset[Key]) -> bool:
        """The same of a state right after the place; `perhaps` are the records that may differ from the golden's."""
        going = False
        while True:
            step = self.steps[place]
            apart = [one for one in perhaps if now.find(*one) != step.after.find(*one)]
            if not apart:
                return False
            decided = not any(one in step.later or one[0] in step.later for one in apart)
            if decided and any(_told(one, now, step.after) for one in apart):
                return True
            place += 1
            if place == len(self.steps):
                return not self.judge.same(now)
            if not going:
                now, going = now.copy(), True
            went = self._goes(now, self.steps[place].call)
            perhaps = self.steps[place].changed.union(apart, now.changed() if went else ())

    def _goes(self, state: State, call: GoldenCall) -> bool:
        try:
            self._world.operations.run(state, call.operation, call.arguments)
        except ModelMistake:
            return False
        return True


def _steps(notes: list[tuple[GoldenCall, State, frozenset[Key], Looked]], last: State) -> Iterator[Step]:
    for place, (call, before, changed, _) in enumerate(notes):
        after = notes[place + 1][1] if place + 1 < len(notes) else last
        later: Looked = frozenset[Key | str]().union(*(looked for *_, looked in notes[place + 1 :]))
        yield Step(call=call, before=before, after=after, changed=changed, later=later)


def _told(place: Key, one: State, other: State) -> bool:
    """Whether two states differ in a record that nothing changes any more."""
    table, key = place
    mine, theirs = one.find(table, key), other.find(table, key)
    if mine is None or theirs is None:
        return True
    records = one.base.records
    new = [name for owner, name in (*one.overlay, *other.overlay) if name not in records[owner]]
    return differ(one.base.tables[table], mine, theirs, new)
