"""Whether an assignment was done: three conditions, each with its reason, and what upstream's own rule would say.

The state equals the golden state; the required information was said; every record that the golden calls touched was
touched. Differences are compared as diffs of changed records, not as whole databases.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from orchestra_lib.environment.assignment import Assignment, GoldenCall
from orchestra_lib.environment.canonical import Key, Record
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.said import is_said, upstream_said
from orchestra_lib.environment.state import Base, Diff, State
from orchestra_lib.errors import BadInput, ModelMistake
from orchestra_lib.record import record

_MOST = 4
Raw = Mapping[Key, Record]
"""Changed and new records as they stand."""


@record
class Verdict:
    """The three conditions, whether all hold, and why not. `upstream` is what tau2's rule says of the same episode.

    `conduct` is what the episode did against the policy's lines on behaviour: told, not judged.
    """

    state_ok: bool
    said_ok: bool
    touched_ok: bool
    upstream: bool
    reasons: tuple[str, ...] = ()
    conduct: tuple[str, ...] = ()

    @property
    def success(self) -> bool:
        """All three hold."""
        return self.state_ok and self.said_ok and self.touched_ok


class Golden:
    """What the golden calls come to: the diff, the records they touched, their results, and raw changes."""

    def __init__(self, state: State, results: Sequence[Any]) -> None:
        self.state, self.results = state, tuple(results)
        self.touched, self.raw = _touched(state), _raw(state)

    @cached_property
    def diff(self) -> Diff:
        """The changed records in canonical form, worked out when first asked for."""
        return self.state.diff()


def replay(world: World, calls: Sequence[GoldenCall], state: State | None = None) -> tuple[State, tuple[Any, ...]]:
    """Run calls in order. Raises `ModelMistake` for the first that cannot be done."""
    state = state or world.state()
    return state, tuple(world.operations.run(state, call.operation, call.arguments) for call in calls)


def golden_of(
    world: World,
    assignment: Assignment,
    state: State | None = None,
    about: Callable[[GoldenCall], None] = lambda call: None,
) -> Golden:
    """Execute the golden calls, each told before it runs. Raises `BadInput` that names the call which fails."""
    state, results = state or world.state(), []
    for place, call in enumerate(assignment.golden):
        about(call)
        try:
            results.append(world.operations.run(state, call.operation, call.arguments))
        except ModelMistake as mistake:
            raise BadInput(f"{assignment.id}: golden call {place + 1} ({call.operation}): {mistake}") from None
    return Golden(state, results)


class Judge:
    """Judges episodes of one assignment; the golden calls run once, or have run."""

    def __init__(self, world: World, assignment: Assignment, golden: Golden | None = None) -> None:
        self.assignment, self.golden = assignment, golden or golden_of(world, assignment)

    def __call__(self, state: State, messages: Sequence[str]) -> Verdict:
        """`messages` are what the agent said to the user, the final answer with it."""
        reasons = [*self._state(state), *self._touched(state)]
        state_ok, touched_ok = self.same(state), not self._touched(state)
        unsaid = [one for one in self.assignment.required if not is_said(one, messages)]
        if unsaid:
            reasons.append(f"not said: {', '.join(_named(one.what, one.value, one.unit) for one in unsaid[:_MOST])}")
        upstream = _raw(state) == self.golden.raw and all(
            upstream_said(one, messages) for one in self.assignment.required
        )
        return Verdict(
            state_ok=state_ok, said_ok=not unsaid, touched_ok=touched_ok, upstream=upstream, reasons=tuple(reasons)
        )

    def succeeds(self, state: State, messages: Sequence[str]) -> bool:
        """Whether all three hold, and nothing else: for filters that ask it thousands of times."""
        return (
            not self.golden.touched - state.read - state.seen - state.written
            and self.same(state)
            and all(is_said(one, messages) for one in self.assignment.required)
        )

    def same(self, state: State) -> bool:
        """The first condition alone; whole diffs are compared only where a glance does not tell."""
        raw = _raw(state)
        if raw == self.golden.raw:
            return True
        return not _other_records(state.base, raw, self.golden.raw) and state.diff() == self.golden.diff

    def _state(self, state: State) -> list[str]:
        if self.same(state):
            return []
        diff, golden = state.diff(), self.golden.diff
        missing = sorted(key for key in golden if key not in diff)
        extra = sorted(key for key in diff if key not in golden)
        other = sorted(key for key in diff if key in golden and diff[key] != golden[key])
        parts = (("should have changed", missing), ("should not have changed", extra), ("changed otherwise", other))
        return [f"{words}: {_keys(keys)}" for words, keys in parts if keys]

    def _touched(self, state: State) -> list[str]:
        missing = self.golden.touched - state.read - state.seen - state.written
        return [f"never looked at: {_keys(sorted(missing))}"] if missing else []


def judge(world: World, assignment: Assignment, state: State, messages: Sequence[str]) -> Verdict:
    """One verdict; who judges many episodes of an assignment keeps a `Judge`."""
    return Judge(world, assignment)(state, messages)


def _touched(state: State) -> frozenset[Key]:
    """What was asked for by key or changed; records that the calls themselves made have no fixed key."""
    records = state.base.records
    return frozenset(place for place in state.read | state.written if place[1] in records[place[0]])


def _raw(state: State) -> Raw:
    base = state.base.records
    return {place: one for place, one in state.overlay.items() if base[place[0]].get(place[1]) != one}


def _other_records(base: Base, raw: Raw, golden: Raw) -> bool:
    """Whether one of two states has another number of new records, or alone changed a record that was there."""
    left, right = raw.keys() - golden.keys(), golden.keys() - raw.keys()
    new = [sorted(table for table, key in places if key not in base.records[table]) for places in (left, right)]
    return new[0] != new[1] or any(
        base.forms[table].differ(one[table, key], base.records[table][key], ())
        for places, one in ((left, raw), (right, golden))
        for table, key in places
        if key in base.records[table]
    )


def _keys(keys: Sequence[Key]) -> str:
    named = ", ".join(f"{table} {key}" for table, key in keys[:_MOST])
    return f"{named} and {len(keys) - _MOST} more" if len(keys) > _MOST else named


def _named(what: str, value: object, unit: str | None) -> str:
    said = f"{value} {unit}" if unit and unit not in "$€£" else f"{unit or ''}{value}"
    return f"{what} ({said})" if what else said
