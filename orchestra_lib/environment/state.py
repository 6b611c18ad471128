"""The state of an episode: an immutable base that all episodes share, and what this one changed.

A record is copied when an operation first changes it; nothing that was handed out changes afterwards. `diff` is what
was changed in canonical form: equal diffs of one base mean equal states. `full_hash` says the same slowly.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestra_lib.environment.canonical import Canonical, Form, labelled
from orchestra_lib.environment.canonical import Key as Key
from orchestra_lib.environment.canonical import Record as Record
from orchestra_lib.environment.schema import Domain, Table
from orchestra_lib.errors import ModelMistake
from orchestra_lib.json_writing import spoken

Records = Mapping[str, Mapping[str, Record]]
Diff = Mapping[Key, Canonical]
"""Changed records in canonical form; of several new ones each has a label for its key."""
Asked = tuple[Any, ...]
"""A search and what it was given."""


_PAGES = 4096
"""So many results of searches are remembered."""


class Base:
    """The records of a domain as every episode finds them; never changed. Build once, share."""

    def __init__(self, domain: Domain, records: Records, *, kin: "Base | None" = None) -> None:
        """`kin` has the same records and tables: what depends on them alone is shared with it."""
        self.domain = domain
        self.records = records
        self.tables: Mapping[str, Table] = {table.name: table for table in domain.tables}
        self.forms: Mapping[str, Form] = kin.forms if kin else {table.name: Form(table) for table in domain.tables}
        self.pages: dict[Asked, tuple[Any, frozenset[Key]]] = kin.pages if kin else {}
        self._sorted: Mapping[str, bool] = (
            kin._sorted if kin else {name: list(one) == sorted(one) for name, one in records.items()}
        )
        self._texts: dict[int, str] = kin._texts if kin else {}
        self._values: dict[int, frozenset[Any]] = kin._values if kin else {}
        self._kept: dict[int, Any] = kin._kept if kin else self._by_id()
        self._canonical: dict[Key, Canonical] = kin._canonical if kin else {}
        self._indexes: dict[tuple[str, str], dict[Any, tuple[str, ...]]] = kin._indexes if kin else {}
        self._next = {name: _highest(records.get(name, {}), table.prefix) + 1 for name, table in self.tables.items()}

    def index(self, table: str, field: str) -> Mapping[Any, tuple[str, ...]]:
        """The keys of the base by the value of a plain field, made when first asked for."""
        made = self._indexes.get((table, field))
        if made is None:
            found: dict[Any, list[str]] = {}
            for key, one in self.records[table].items():
                found.setdefault(one.get(field), []).append(key)
            made = self._indexes[table, field] = {value: tuple(keys) for value, keys in found.items()}
        return made

    def count(self, table: str, field: str, value: Any) -> int:
        """How many records of the base have a value in a plain field."""
        return len(self.index(table, field).get(value, ()))

    def is_sorted(self, table: str) -> bool:
        """Whether the base has the records of a table in the order of their keys."""
        return self._sorted[table]

    def keep_page(self, asked: Asked, page: Any, places: frozenset[Key]) -> None:
        """Remember what a search finds in an untouched table, and the records that it shows."""
        if len(self.pages) >= _PAGES:
            self.pages.clear()
            self._texts.clear()
            self._values.clear()
            self._kept.clear()
            self._kept.update(self._by_id())
        self.pages[asked] = page, places
        self.keep(page)

    def text(self, result: Any) -> str:
        """A result as JSON for a model; that of an unchanged record or a remembered page is written once."""
        text = self._texts.get(id(result))
        if text is None:
            text = spoken(result)
            if id(result) in self._kept:  # it lives on, so its id is no other's
                self._texts[id(result)] = text
        return text

    def values(self, result: Any) -> frozenset[Any]:
        """The plain values in a result, looked for once as above; those of a page are those of its rows."""
        found = self._values.get(id(result))
        if found is None:
            rows = result.get("results") if isinstance(result, dict) else None
            if isinstance(rows, list):
                rest = (value for name, value in result.items() if name != "results")
                found = plain_values(list(rest)).union(*map(self.values, rows))
            else:
                found = plain_values(result)
            if id(result) in self._kept:
                self._values[id(result)] = found
        return found

    def keep(self, result: Any) -> None:
        """Let a result that is not changed live on, so that its text and values are worked out once."""
        self._kept[id(result)] = result

    def _by_id(self) -> dict[int, Record]:
        return {id(one): one for records in self.records.values() for one in records.values()}

    def number(self, table: str) -> int:
        """The number of the first new record of a table."""
        return self._next[table]

    def canonical(self, place: Key) -> Canonical:
        """A record of the base in canonical form, made once."""
        made = self._canonical.get(place)
        if made is None:
            table, key = place
            made = self._canonical[place] = self.forms[table](self.records[table][key])
        return made


def plain_values(data: Any) -> frozenset[Any]:
    """All that is neither an object nor a list, wherever it stands in plain data."""
    found: set[Any] = set()
    unread = [data]
    while unread:
        one = unread.pop()
        for part in one.values() if isinstance(one, dict) else one if isinstance(one, list | tuple) else (one,):
            if isinstance(part, dict | list | tuple):
                unread.append(part)
            else:
                found.add(part)
    return frozenset(found)


def _highest(records: Mapping[str, Any], prefix: str | None) -> int:
    if prefix is None:
        return 0
    numbers = (key.removeprefix(prefix) for key in records if key.startswith(prefix))
    return max((int(number) for number in numbers if number.isdecimal()), default=0)


class State:
    """One episode's view of a base. Not for several threads at once.

    `read` are the records that were asked for by key or found as the one that matches, `seen` those that a search
    showed, `written` those that were changed, all since the start and of calls that went well. `made` are the
    new ones.
    """

    __slots__ = ("_before", "_inserted", "base", "made", "overlay", "read", "seen", "written")

    def __init__(self, base: Base) -> None:
        self.base = base
        self.overlay: dict[Key, Record] = {}
        self.read: set[Key] = set()
        self.seen: set[Key] = set()
        self.written: set[Key] = set()
        self.made: set[Key] = set()
        self._inserted: dict[str, int] = {}
        self._before: dict[Key, Record | None] = {}

    def copy(self) -> "State":
        """The same state to go on from in another way; neither sees what the other does."""
        new = State(self.base)
        new.overlay, new._inserted = dict(self.overlay), dict(self._inserted)
        new.read, new.seen, new.written = set(self.read), set(self.seen), set(self.written)
        new.made = set(self.made)
        return new

    def branch(self) -> "State":
        """The same records to go on from in another way, of which nothing counts as read, seen or written yet."""
        new = State(self.base)
        new.overlay, new.made, new._inserted = dict(self.overlay), set(self.made), dict(self._inserted)
        return new

    def find(self, table: str, key: Any) -> Record | None:
        """A record, or None."""
        found = self.overlay.get((table, key)) if self.overlay else None
        return self.base.records[table].get(key) if found is None else found

    def get(self, table: str, key: Any) -> Record:
        """A record that a call asks for. Raises `ModelMistake` when there is none."""
        place = (table, key)
        found = self.overlay.get(place) if self.overlay else None
        if found is None:
            found = self.base.records[table].get(key)
            if found is None:
                one = self.base.tables[table].one
                raise ModelMistake(f"There is no {one} {str(key)[:80]!r}. Look it up first.")
        self.read.add(place)
        return found

    def records(self, table: str) -> Iterable[Record]:
        """All records of a table as they are now, the base's order first."""
        base = self.base.records[table]
        changed = {key: one for (name, key), one in self.overlay.items() if name == table} if self.overlay else None
        return {**base, **changed}.values() if changed else base.values()

    def matching(self, table: str, field: str, value: Any) -> Iterable[Record]:
        """The records with a value in a plain field, unchanged ones first; an index serves the base."""
        base, overlay = self.base.records[table], self.overlay
        keys = self.base.index(table, field).get(value, ())
        found = [base[key] for key in keys if (table, key) not in overlay]
        return found + [one for (name, _), one in overlay.items() if name == table and one.get(field) == value]

    def among(self, table: str, field: str, value: Any) -> Iterable[Record]:
        """At least the records with a value in a plain field, in the order of `records`; an index spares the rest."""
        if isinstance(value, list | dict):
            return self.records(table)
        base, overlay = self.base.records[table], self.overlay
        keys = self.base.index(table, field).get(value, ())
        changed = {key: one for (name, key), one in overlay.items() if name == table} if overlay else None
        if not changed:
            return [base[key] for key in keys]
        others = [key for key, one in changed.items() if one.get(field) == value and key not in keys]
        if any(key in base for key in others):  # its place among the others is no longer known
            return self.records(table)
        return [changed[key] if key in changed else base[key] for key in (*keys, *others)]

    def begin(self) -> None:
        """Start an operation: what it changes can be taken back."""
        self._before = {}

    def rollback(self) -> None:
        """Take back what the operation changed."""
        for key, old in self._before.items():
            if old is None:
                del self.overlay[key]
                self.written.discard(key)
                table, name = key
                if name not in self.base.records[table]:
                    self._inserted[table] -= 1
                    self.made.discard(key)
            else:
                self.overlay[key] = old
        self._before = {}

    def changed(self) -> Sequence[Key]:
        """What the operation changed so far."""
        return tuple(self._before)

    def edit(self, table: str, key: str) -> Record:
        """A record that may be changed until the operation ends: a copy, made once an operation."""
        place = (table, key)
        if place in self._before:
            return self.overlay[place]
        before = self.overlay.get(place)
        old = before if before is not None else self.base.records[table][key]
        self._before[place] = before
        self.overlay[place] = new = dict(old)  # effects replace what is nested, never change it
        self.written.add(place)
        return new

    def insert(self, table: str, record: Record) -> Record:
        """Put a new record in, under the next key."""
        spec = self.base.tables[table]
        before = self._inserted.get(table, 0)
        key = f"{spec.prefix}{self.base.number(table) + before:0{spec.digits}d}"
        self._inserted[table] = before + 1
        new = {**record, spec.key: key}
        place = (table, key)
        self._before[place] = None
        self.overlay[place] = new
        self.written.add(place)
        self.made.add(place)
        return new

    def diff(self) -> Diff:
        """What differs from the base. New records are labelled by what they say: their order is no difference."""
        base, found, said = self.base, {}, {}
        for place, one in self.overlay.items():
            table, key = place
            now = base.forms[table](one)
            if key not in base.records[table]:
                said[place] = now
            elif now != base.canonical(place):
                found[place] = now
        return found | said if len(said) < 2 else labelled(found, said)

    def full_hash(self) -> str:
        """The SHA-256 of all records in canonical form."""
        base = self.base
        whole = {(table, key): base.canonical((table, key)) for table, keys in base.records.items() for key in keys}
        for place, one in self.overlay.items():
            whole[place] = base.forms[place[0]](one)
        return hashlib.sha256(repr(sorted(whole.items())).encode("utf-8", "replace")).hexdigest()
