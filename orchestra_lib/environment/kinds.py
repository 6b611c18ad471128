"""The types of expressions: what a value is, and which types go together."""

from collections.abc import Mapping
from enum import StrEnum

from orchestra_lib.record import record


class Kind(StrEnum):
    """`schema.FieldType` with what only expressions have."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    MONEY = "money"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"
    OBJECT = "object"
    LIST = "list"
    NULL = "null"
    ANY = "any"


NUMERIC = (Kind.INTEGER, Kind.NUMBER, Kind.MONEY)
TIMES = (Kind.DATE, Kind.DATETIME)


@record
class Type:
    """A type. `named` is what prose calls the value, `table` whose record it is, `key` what tells list items apart."""

    kind: Kind
    fields: Mapping[str, "Type"] | None = None
    item: "Type | None" = None
    key: str | None = None
    optional: bool = False
    values: tuple[str, ...] = ()
    named: str = ""
    table: str | None = None


ANY = Type(kind=Kind.ANY)
NULL = Type(kind=Kind.NULL)
BOOLEAN = Type(kind=Kind.BOOLEAN)
LIST = Type(kind=Kind.LIST)


def comparable(left: Type, right: Type) -> bool:
    """Whether two values can be equal or stand for one another: texts stand for dates, integers for money."""
    pair = {left.kind, right.kind}
    if len(pair) == 1 or pair & {Kind.ANY, Kind.NULL}:
        return True
    return pair <= set(NUMERIC) or pair in ({Kind.TEXT, Kind.DATE}, {Kind.TEXT, Kind.DATETIME})
