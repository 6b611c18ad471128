"""The golden calls, run once with a note of what each looked at: where a changed episode goes on as they did.

Filters replay a task in dozens of variants. A write reads only what it looked at; once no later write looks at what a
variant left otherwise, the rest of that replay would be the golden one, and its verdict is decided.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from orchestra_lib.environment.assignment import Assignment, GoldenCall
from orchestra_lib.environment.canonical import NEW, Key, Record
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.operations import Operations
from orchestra_lib.environment.state import Base, State
from orchestra_lib.environment.success import Judge, golden_of
from orchestra_lib.errors import ModelMistake
from orchestra_lib.record import record

Looked = frozenset[Key | str]
"""Records by table and key, and whole tables by name."""
Other = tuple[str, Mapping[str, Any]]
"""An operation and its arguments, in the place of a golden call."""
Apart = tuple[Key, Record | None, Record | None]
"""A record as a state has it and as the golden one has it."""


class Watched(State):
    """A state that notes what is looked at."""

    __slots__ = ("looked",)

    def __init__(self, base: Base) -> None:
        super().__init__(base)
        self.looked: set[Key | str] = set()

    def find(self, table: str, key: Any) -> Record | None:
        """A record, noted also where it is missing."""
        place = (table, key)
        self.looked.add(place)
        found = self.overlay.get(place)
        return self.base.records[table].get(key) if found is None else found

    def get(self, table: str, key: Any) -> Record:
        """The same. Raises as usual."""
        self.looked.add((table, key))
        return super().get(table, key)

    def records(self, table: str) -> Iterable[Record]:
        """All records of a table."""
        self.looked.add(table)
        return super().records(table)

    def matching(self, table: str, field: str, value: Any) -> Iterable[Record]:
        """Those with a value: a change anywhere in the table may make one more."""
        self.looked.add(table)
        return super().matching(table, field, value)

    def among(self, table: str, field: str, value: Any) -> Iterable[Record]:
        """The same."""
        self.looked.add(table)
        return super().among(table, field, value)

    def insert(self, table: str, record: Record) -> Record:
        """A new record, whose key tells how many there were."""
        self.looked.add(table)
        return super().insert(table, record)


@record
class Step:
    """A golden write with the states before and after it, what it changed, and what later writes look at.

    `changing` is what those may change, whatever they find: by table the names of fields, `NEW` for new records.
    """

    call: GoldenCall
    before: State
    after: State
    changed: frozenset[Key]
    later: Looked
    changing: Mapping[str, AbstractSet[str]]


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
                snapshots.append(state.branch() if notes else state.copy())
            running = call

        self.judge = Judge(world, assignment, golden_of(world, assignment, state, note))
        note(None)
        self.first = snapshots[1] if len(snapshots) > 1 else state
        """The state that the first call alone leaves."""
        self.unwritten = notes[0][1] if notes else state
        """The state before the first write."""
        self.steps = tuple(_steps(notes, state, world.operations))

    def tells(self, place: int, other: Other | None) -> bool:
        """Whether the judge tells an episode in which another call, or none, stands in a write's place.

        A call that is refused is one left out: that is told, or not, of the episode without it.
        """
        step, state = self.steps[place], self.steps[place].before
        if other is None:
            return self._tells(state, place, step.changed)
        if not self._goes(state, *other):
            return True
        told = self._tells(state, place, step.changed.union(state.changed()))
        state.rollback()
        return told

    def _tells(self, now: State, place: int, perhaps: frozenset[Key]) -> bool:
        """The same of a state right after the place; `perhaps` are the records that may differ from the golden's."""
        going = False
        while True:
            step = self.steps[place]
            others = _apart(now, step, perhaps)
            if _any_told(now, step, others):
                return True
            apart = [one for one, _, _ in others]
            if not apart:
                return False
            place += 1
            if place == len(self.steps):
                return not self.judge.same(now)
            if not going:
                now, going = now.branch(), True
            call = self.steps[place].call
            went = self._goes(now, call.operation, call.arguments)
            perhaps = self.steps[place].changed.union(apart, now.changed() if went else ())

    def _goes(self, state: State, operation: str, arguments: Mapping[str, Any]) -> bool:
        try:
            self._world.operations.run(state, operation, arguments)
        except ModelMistake:
            return False
        return True


def _apart(now: State, step: Step, perhaps: Iterable[Key]) -> Sequence[Apart]:
    """The records that a state and the golden one do not have alike."""
    mine, theirs, records = now.overlay, step.after.overlay, now.base.records
    found: list[Apart] = []
    for one in perhaps:
        left, right = mine.get(one), theirs.get(one)
        if left is right:
            continue
        if left is None:
            left = records[one[0]].get(one[1])
        if right is None:
            right = records[one[0]].get(one[1])
        if left != right:
            found.append((one, left, right))
    return found


def _any_told(now: State, step: Step, apart: Sequence[Apart]) -> bool:
    """Whether the judge tells one of these records from the golden one, and nothing can change it any more.

    That is so of all where no later write looks at any of them, else of fields that no later write changes.
    """
    later, base = step.later, now.base
    going = any(one in later or one[0] in later for one, _, _ in apart)
    made = now.made | step.after.made if now.made or step.after.made else ()
    new = [key for _, key in made]
    for (table, key), mine, theirs in apart:
        but = step.changing.get(table, ()) if going else ()
        if NEW in but and key not in base.records[table]:
            continue
        if mine is None or theirs is None or base.forms[table].differ(mine, theirs, new, but):
            return True
    return False


def _steps(
    notes: list[tuple[GoldenCall, State, frozenset[Key], Looked]], last: State, operations: Operations
) -> Iterator[Step]:
    later: Looked = frozenset()
    changing: dict[str, AbstractSet[str]] = {}
    after, found = last, []
    for call, before, changed, looked in reversed(notes):
        found.append(Step(call=call, before=before, after=after, changed=changed, later=later, changing=changing))
        later, after, changing = later | looked, before, dict(changing)
        for table, fields in operations.written(call.operation).items():
            changing[table] = changing.get(table, frozenset()) | fields
    return reversed(found)
