"""Records in canonical form: two are equal there exactly when nobody could tell them apart.

Numbers count by value, unordered lists as multisets; null and missing are one, and free text is left out.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchestra_lib.environment.schema import Field, FieldType, Table

Record = dict[str, Any]
Key = tuple[str, str]
"""A table and the key of a record in it."""

Canonical = Any
"""A record as nested tuples of names and values."""

NEW = "<new>"


def labelled(found: dict[Key, Canonical], said: Mapping[Key, Canonical]) -> Mapping[Key, Canonical]:
    """New records under labels in the order of what they say apart from the new keys."""
    blank = dict.fromkeys((key for _, key in said), NEW)
    ordered = sorted(said, key=lambda place: (place[0], repr(_renamed(said[place], blank))))
    labels = {key: f"<{table} {number}>" for number, (table, key) in enumerate(ordered)}
    changed = {place: _renamed(one, labels) for place, one in found.items()}
    return changed | {(table, labels[key]): _renamed(said[table, key], labels) for table, key in ordered}


def _renamed(value: Canonical, names: Mapping[str, str]) -> Canonical:
    if isinstance(value, tuple):
        return tuple(_renamed(part, names) for part in value)
    return names.get(value, value) if isinstance(value, str) else value


def canonical(table: Table, record: Record) -> Canonical:
    """A record as nested tuples that are equal when the records are."""
    return _fields(table.fields, record)


def differ(table: Table, one: Record, other: Record, new: Sequence[str]) -> bool:
    """Whether two forms of a record differ whatever new records, whose keys are given, end up being called."""
    blank = dict.fromkeys(new, NEW)
    for field in table.fields:
        left, right = one.get(field.name), other.get(field.name)
        if left == right or field.free:
            continue
        mine, theirs = _fields((field,), one), _fields((field,), other)
        if mine != theirs and (not blank or _renamed(mine, blank) != _renamed(theirs, blank)):
            return True
    return False


def _fields(fields: Sequence[Field], data: Record) -> Canonical:
    return tuple(
        [
            (field.name, _PLAIN[field.type](field, value))
            for field in fields
            if (value := data.get(field.name)) is not None and not field.free
        ]
    )


def _list(field: Field, value: Any) -> Canonical:
    if field.fields:
        parts = tuple([_fields(field.fields, one) for one in value])
    else:
        parts = tuple([_number(field, one) for one in value])
    return tuple(sorted(parts, key=repr)) if field.unordered else parts


def _object(field: Field, value: Any) -> Canonical:
    return _fields(field.fields, value) if field.fields else repr(sorted(value.items()))


def _same(field: Field, value: Any) -> Canonical:
    return value


def _number(field: Field, value: Any) -> Canonical:
    """Whole floats as integers, others without the tail of binary arithmetic."""
    if not isinstance(value, float):
        return value
    return int(value) if value.is_integer() else round(value, 6)


_PLAIN: Mapping[FieldType, Callable[[Field, Any], Canonical]] = {
    **dict.fromkeys(FieldType, _same),
    FieldType.INTEGER: _number,
    FieldType.NUMBER: _number,
    FieldType.MONEY: _number,
    FieldType.LIST: _list,
    FieldType.OBJECT: _object,
}
