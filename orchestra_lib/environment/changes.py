"""What an operation or an episode changed, field by field, as pages and reports show it."""

from collections.abc import Iterator, Mapping
from typing import Any

from orchestra_lib.environment.state import Key, State
from orchestra_lib.record import record

Snapshot = Mapping[Key, Mapping[str, Any]]


@record
class Change:
    """One field of a record before and after, such as `payments[1].amount`; `path` is empty for a new record."""

    table: str
    key: str
    path: str
    before: Any
    after: Any


def snapshot(state: State) -> Snapshot:
    """The changed records as they are now; later writes change nothing of it."""
    return dict(state.overlay)


def changes(state: State, since: Snapshot | None = None) -> tuple[Change, ...]:
    """What differs from the base, or from an earlier snapshot of the same state."""
    return tuple(_changes(state, since or {}))


def _changes(state: State, since: Snapshot) -> Iterator[Change]:
    for (table, key), after in state.overlay.items():
        before = since.get((table, key)) or state.base.records[table].get(key)
        if before is None:
            yield Change(table=table, key=key, path="", before=None, after=after)
        elif before is not after:
            for path, old, new in _fields(before, after, ""):
                yield Change(table=table, key=key, path=path, before=old, after=new)


def _fields(before: Mapping[str, Any], after: Mapping[str, Any], at: str) -> Iterator[tuple[str, Any, Any]]:
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _fields(old, new, f"{at}{name}.")
        elif isinstance(old, list) and isinstance(new, list):
            yield from _items(old, new, f"{at}{name}")
        else:
            yield f"{at}{name}", old, new


def _items(before: list[Any], after: list[Any], at: str) -> Iterator[tuple[str, Any, Any]]:
    """Place by place: effects append, drop or update, and seldom reorder."""
    for place in range(max(len(before), len(after))):
        old = before[place] if place < len(before) else None
        new = after[place] if place < len(after) else None
        if old == new:
            continue
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _fields(old, new, f"{at}[{place}].")
        else:
            yield f"{at}[{place}]", old, new
