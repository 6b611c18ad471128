"""Records in canonical form: two are equal there exactly when nobody could tell them apart.

Numbers count by value, unordered lists as multisets; null and missing are one, and free text is left out.
"""

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from functools import partial
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


class Form:
    """Brings the records of a table into canonical form, and compares two of them."""

    def __init__(self, table: Table) -> None:
        self._fields = _read(table.fields)

    def __call__(self, record: Record) -> Canonical:
        """A record as nested tuples that are equal when the records are."""
        return _fields(self._fields, record)

    def differ(self, one: Record, other: Record, new: Collection[str], but: Container[str] = ()) -> bool:
        """Whether two records differ whatever new records, whose keys are given, end up being called.

        Fields in `but` are not compared.
        """
        for name, read in self._fields:
            left, right = one.get(name), other.get(name)
            if left is right or left == right or name in but:
                continue
            if left is None or right is None:
                return True
            if read is not None:
                left, right = read(left), read(right)
                if left == right:
                    continue
            if not new or not isinstance(left, str | tuple):
                return True
            blank = dict.fromkeys(new, NEW)
            if _renamed(left, blank) != _renamed(right, blank):
                return True
        return False


Read = Callable[[Any], Canonical] | None
"""What a field's value is compared as; None where it is compared as it is."""
Reads = Sequence[tuple[str, Read]]


def _read(fields: Sequence[Field]) -> Reads:
    return tuple((field.name, _reader(field)) for field in fields if not field.free)


def _fields(fields: Reads, data: Record) -> Canonical:
    return tuple(
        [
            (name, value if read is None else read(value))
            for name, read in fields
            if (value := data.get(name)) is not None
        ]
    )


def _reader(field: Field) -> Read:
    match field.type:
        case FieldType.INTEGER | FieldType.NUMBER | FieldType.MONEY:
            return _number
        case FieldType.OBJECT if field.fields:
            return partial(_fields, _read(field.fields))
        case FieldType.OBJECT:
            return lambda value: repr(sorted(value.items()))
        case FieldType.LIST:
            return partial(_list, partial(_fields, _read(field.fields)) if field.fields else _number, field.unordered)
        case _:
            return None


def _list(read: Callable[[Any], Canonical], unordered: bool, value: Any) -> Canonical:
    parts = tuple([read(one) for one in value])
    return tuple(sorted(parts, key=repr)) if unordered else parts


def _number(value: Any) -> Canonical:
    """Whole floats as integers, others without the tail of binary arithmetic."""
    if not isinstance(value, float):
        return value
    return int(value) if value.is_integer() else round(value, 6)
