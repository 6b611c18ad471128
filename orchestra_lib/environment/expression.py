"""Predicates and values as data: JSON expressions checked against types, then compiled to closures.

    "pending", 3, true, null     themselves           ["const", x]        any JSON as it is
    "$order.status"              a name's field       "@free_hours"       a parameter of the policy
    "$now", "$today"             the fixed clock      {"a": …, "b": …}    an object
    ["list", a, b]               a list               [operator, a, b]    see `operators.py` for all of them
    ["record", "orders", key]    a record or null     ["records", "orders", "r", condition on $r]
    ["at", list, key]            the object of a keyed list, or null
    ["sum", "i", list, value of $i], and in the same form any, all, filter, map, count, least, most
    ["if", c, a, b], ["and", …], ["or", …], ["not", a]

Evaluation is total: a comparison with null is false (`==` and `!=` apart), arithmetic with null is null, and so is a
division by zero. What is wrong with an expression is said when it is compiled, with its place.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestra_lib.environment import closures
from orchestra_lib.environment.closures import Evaluate as Evaluate
from orchestra_lib.environment.closures import Scope as Scope
from orchestra_lib.environment.kinds import ANY, BOOLEAN, LIST, NULL, Kind, Type, comparable
from orchestra_lib.environment.names import roots
from orchestra_lib.environment.operators import LOOPS, OPERATORS, element
from orchestra_lib.environment.schema import Domain, Expression, Field, FieldType, Table
from orchestra_lib.errors import BadInput

MAXLOOPS = 3
"""So many loops and scans may stand within one another: each multiplies what an evaluation takes."""

_MOMENT = re.compile(r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d")
STATE = ""
"""The key of the state in a scope: no name is empty."""

_FIELD_KINDS = {kind: Kind(kind.value) for kind in FieldType}


def type_of_field(field: Field) -> Type:
    """What an expression may do with a field."""
    kind = _FIELD_KINDS[field.type]
    inner = {part.name: type_of_field(part) for part in field.fields} if field.fields else None
    item = None
    if kind is Kind.LIST:
        item = Type(kind=Kind.OBJECT, fields=inner) if inner else Type(kind=_FIELD_KINDS[field.item or FieldType.TEXT])
        inner = None
    return Type(
        kind=kind,
        fields=inner,
        item=item,
        key=field.key,
        optional=field.optional,
        values=field.values,
        named=field.words,
    )


def type_of_table(table: Table) -> Type:
    """A record of a table as an expression sees it."""
    fields = {field.name: type_of_field(field) for field in table.fields}
    return Type(kind=Kind.OBJECT, fields=fields, named=table.one, table=table.name)


class Compiler:
    """Compiles the expressions of one domain. Raises `BadInput` that names the place, what is wrong and the remedy."""

    def __init__(self, domain: Domain) -> None:
        self.tables = {table.name: type_of_table(table) for table in domain.tables}
        self._keys = {table.name: table.key for table in domain.tables}
        self._parameters = {one.name: one for one in domain.parameters}
        self._loops = 0
        if not _MOMENT.fullmatch(domain.now):
            raise BadInput(f"{domain.name}: now = {domain.now!r}; write the fixed clock as 2026-05-04T09:00:00, in UTC")
        self._now = domain.now

    def compile(self, expression: Expression, names: Mapping[str, Type], where: str) -> tuple[Evaluate, Type]:
        """The expression as a function of a scope, and its type."""
        match expression:
            case str() if expression[:1] == "$" and expression[1:2].isidentifier():
                return self._path(expression, names, where)
            case str() if expression[:1] == "@" and expression[1:2].isidentifier():
                return _constant(self._parameter(expression[1:], where))
            case None | bool() | int() | float() | str():
                return _constant(expression)
            case []:
                return (lambda _: []), LIST
            case [str() as head, *rest]:
                return self._form(head, rest, names, f"{where}[{head!r}]")
            case Mapping():
                return self._object(expression, names, where)
            case _:
                raise BadInput(f"{where}: {expression!r} is no expression; start a list with an operator")

    def key_of(self, expression: Expression, names: Mapping[str, Type], where: str) -> tuple[Evaluate, Type]:
        """An expression for the key of a record. Raises `BadInput` also for one that can be none."""
        run, kind = self.compile(expression, names, where)
        if kind.kind in (Kind.LIST, Kind.OBJECT):
            raise BadInput(f"{where}: a key is a text, this is {kind.kind}; name one record")
        return run, kind

    def key(self, table: str) -> str:
        """The name of a table's key field."""
        return self._keys[table]

    def predicate(self, expression: Expression, names: Mapping[str, Type], where: str) -> Evaluate:
        """A condition. Raises `BadInput` also for an expression that is none."""
        run, kind = self.compile(expression, names, where)
        if kind.kind not in (Kind.BOOLEAN, Kind.ANY):
            raise BadInput(f"{where}: a condition is expected, this is {kind.kind}; compare it with something")
        return run

    def _parameter(self, name: str, where: str) -> Any:
        if name not in self._parameters:
            raise BadInput(f"{where}: no policy parameter @{name}; known are {_some(self._parameters)}")
        return self._parameters[name].value

    def _path(self, text: str, names: Mapping[str, Type], where: str) -> tuple[Evaluate, Type]:
        root, *steps = text[1:].split(".")
        if root in ("now", "today") and not steps:
            return (
                (closures.always(self._now), Type(kind=Kind.DATETIME)) if root == "now"
                else (closures.always(self._now[:10]), Type(kind=Kind.DATE))
            )  # fmt: skip
        if root not in names:
            raise BadInput(f"{where}: nothing is named ${root}; known are {_some(names)}")
        kind, optional = names[root], names[root].optional
        for step in steps:
            if kind.kind is Kind.ANY:
                break
            if kind.fields is None or step not in kind.fields:
                known = _some(kind.fields or {})
                raise BadInput(f"{where}: {text} has no {step!r}; {kind.named or kind.kind} has {known}")
            kind = kind.fields[step]
            optional = optional or kind.optional
        return closures.walk(root, steps), replace(kind, optional=optional)

    def _object(self, data: Mapping[str, Any], names: Mapping[str, Type], where: str) -> tuple[Evaluate, Type]:
        parts = {key: self.compile(value, names, f"{where}.{key}") for key, value in data.items()}
        runs = tuple((key, run) for key, (run, _) in parts.items())
        fields = {key: kind for key, (_, kind) in parts.items()}
        return (lambda scope: {key: run(scope) for key, run in runs}), Type(kind=Kind.OBJECT, fields=fields)

    def _form(self, head: str, rest: Sequence[Any], names: Mapping[str, Type], where: str) -> tuple[Evaluate, Type]:
        if head == "const" and len(rest) == 1:
            return _constant(rest[0])
        if head in ("record", "records") or head in LOOPS:
            if self._loops == MAXLOOPS:
                raise BadInput(f"{where}: more than {MAXLOOPS} loops within one another; use fewer")
            self._loops += head != "record"
            try:
                form = self._loop if head in LOOPS else self._records
                return form(head, rest, names, where)
            finally:
                self._loops -= head != "record"
        parts = [self.compile(part, names, f"{where}[{place}]") for place, part in enumerate(rest)]
        runs, kinds = tuple(run for run, _ in parts), tuple(kind for _, kind in parts)
        if head in _LAZY:
            return _lazy(head, runs, kinds, where)
        if head == "at" and len(runs) == 2:
            return _at(runs[0], runs[1], kinds[0], where)
        if head == "list":
            kind = replace(LIST, item=kinds[0] if kinds else ANY)
            if all(map(_is_constant, rest)):
                return closures.always([run({}) for run in runs]), kind
            return (lambda scope: [run(scope) for run in runs]), kind
        operator = OPERATORS.get(head)
        if operator is None:
            known = _some([*OPERATORS, *_LAZY, *LOOPS, "at", "list", "const", "record", "records"])
            raise BadInput(f"{where}: unknown operator {head!r}; known are {known}")
        low, high = operator.arity
        if not low <= len(runs) <= high:
            raise BadInput(f"{where}: {head!r} takes {low if low == high else f'{low} or more'} parts, not {len(runs)}")
        try:
            kind = operator.check(kinds)
        except TypeError as error:
            raise BadInput(f"{where}: {error}") from None
        return _compared(head, rest, runs) or closures.applied(head, operator.run, runs), kind

    def _records(self, head: str, rest: Sequence[Any], names: Mapping[str, Type], where: str) -> tuple[Evaluate, Type]:
        if not rest or rest[0] not in self.tables or len(rest) != (2 if head == "record" else 3):
            form = '["record", table, key]' if head == "record" else '["records", table, name, condition]'
            raise BadInput(f"{where}: write {form} with one of the tables {_some(self.tables)}")
        table, kind = rest[0], self.tables[rest[0]]
        if head == "record":
            key, _ = self.key_of(rest[1], names, f"{where}.key")
            return (lambda scope: scope[STATE].find(table, key(scope))), replace(kind, optional=True)
        name = _name(rest[1], names, where)
        holds = self.predicate(rest[2], {**names, name: kind}, f"{where}.condition")

        def scan(scope: Scope) -> list[Any]:
            return [one for one in scope[STATE].records(table) if holds(_with(scope, name, one))]

        equal = _equal_field(name, rest[2])
        if equal is None:
            return scan, replace(LIST, item=kind)
        field, wanted = equal[0], self.compile(equal[1], names, f"{where}.condition")[0]

        def look_up(scope: Scope) -> list[Any]:
            rows = scope[STATE].among(table, field, wanted(scope))
            return [one for one in rows if holds(_with(scope, name, one))]

        return look_up, replace(LIST, item=kind)

    def _loop(self, head: str, rest: Sequence[Any], names: Mapping[str, Type], where: str) -> tuple[Evaluate, Type]:
        if len(rest) != 3:
            raise BadInput(f'{where}: write ["{head}", name, list, expression over $name]')
        name = _name(rest[0], names, where)
        items, kind = self.compile(rest[1], names, f"{where}.list")
        if kind.kind not in (Kind.LIST, Kind.ANY):
            raise BadInput(f"{where}: a list is expected, this is {kind.kind}")
        inside = {**names, name: kind.item or ANY}
        holds = head in ("any", "all", "filter", "count")
        if holds:
            body, value = self.predicate(rest[2], inside, f"{where}.each"), BOOLEAN
        else:
            body, value = self.compile(rest[2], inside, f"{where}.each")
        reduce = LOOPS[head]

        def run(scope: Scope) -> Any:
            return reduce([(one, body(_with(scope, name, one))) for one in items(scope) or ()])

        return run, _loop_type(head, kind, value)


def _at(items: Evaluate, key: Evaluate, kind: Type, where: str) -> tuple[Evaluate, Type]:
    """The object of a list with that key, or null."""
    if kind.key is None:
        raise BadInput(f"{where}: the list has no key; give its field a `key`, or use filter and first")
    return closures.of_key(items, key, kind.key), element((kind,))


def _compared(head: str, rest: Sequence[Expression], runs: Sequence[Evaluate]) -> Evaluate | None:
    """A field of a name compared with a constant, where that is what it is."""
    if len(rest) != 2 or not isinstance(rest[0], str) or not _is_constant(rest[1]):
        return None
    root, *steps = rest[0][1:].split(".")
    return (
        closures.field_compared(head, root, steps[0], runs[1]({})) if rest[0][:1] == "$" and len(steps) == 1 else None
    )


def _is_constant(expression: Expression) -> bool:
    """Whether an expression has one value whatever the scope: a literal, a policy parameter, a list of such."""
    if isinstance(expression, str):
        return expression[:1] != "$" or not expression[1:2].isidentifier()
    if isinstance(expression, list | tuple):
        return expression[:1] in (["list"], ("list",)) and all(map(_is_constant, expression[1:]))
    return not isinstance(expression, Mapping)


def _equal_field(name: str, condition: Expression) -> tuple[str, Expression] | None:
    """A field that the condition wants equal to something that does not depend on the record: an index finds it."""
    match condition:
        case ["==", str() as path, wanted] if path.startswith(f"${name}.") and path.count(".") == 1:
            return None if name in roots(wanted) else (path.partition(".")[2], wanted)
        case ["and", *parts]:
            return next((found for part in parts if (found := _equal_field(name, part))), None)
        case _:
            return None


def _with(scope: Scope, name: str, value: Any) -> Scope:
    """The scope with a name of a loop in it; no other name is the same, so that nothing is hidden."""
    scope[name] = value
    return scope


def _name(name: Any, names: Mapping[str, Type], where: str) -> str:
    if not isinstance(name, str) or not name.isidentifier() or name in names or name in ("now", "today"):
        raise BadInput(f"{where}: {name!r} is no new name; take one that nothing else has, without $")
    return name


def _constant(value: Any) -> tuple[Evaluate, Type]:
    return closures.always(value), type_of_value(value)


def type_of_value(value: Any) -> Type:
    """The type of a JSON literal."""
    match value:
        case None:
            return NULL
        case bool():
            return BOOLEAN
        case int():
            return Type(kind=Kind.INTEGER)
        case float():
            return Type(kind=Kind.NUMBER)
        case str():
            return Type(kind=Kind.TEXT)
        case list() | tuple():
            return replace(LIST, item=type_of_value(value[0]) if value else ANY)
        case _:
            return Type(kind=Kind.OBJECT, fields={key: type_of_value(part) for key, part in dict(value).items()})


_LAZY = ("and", "or", "if")


def _lazy(head: str, runs: Sequence[Evaluate], kinds: Sequence[Type], where: str) -> tuple[Evaluate, Type]:
    conditions = kinds if head != "if" else kinds[:1]
    for place, kind in enumerate(conditions):
        if kind.kind not in (Kind.BOOLEAN, Kind.ANY):
            raise BadInput(f"{where}[{place}]: a condition is expected, this is {kind.kind}")
    if head == "and":
        return closures.both(runs), BOOLEAN
    if head == "or":
        return closures.either(runs), BOOLEAN
    if len(runs) != 3:
        raise BadInput(f'{where}: write ["if", condition, then, else]')
    if not comparable(kinds[1], kinds[2]):
        raise BadInput(f"{where}: the branches are {kinds[1].kind} and {kinds[2].kind}; make them one type")
    condition, then, other = runs
    kind = kinds[2] if kinds[1].kind is Kind.NULL or kinds[2].kind is Kind.MONEY else kinds[1]
    optional = any(one.optional or one.kind is Kind.NULL for one in kinds[1:])
    return (lambda scope: then(scope) if condition(scope) else other(scope)), replace(kind, optional=optional)


def _loop_type(head: str, items: Type, value: Type) -> Type:
    if head in ("any", "all"):
        return BOOLEAN
    if head == "filter":
        return items
    if head == "count":
        return Type(kind=Kind.INTEGER)
    if head == "map":
        return replace(LIST, item=value)
    return replace(value, optional=head != "sum")


def _some(names: Any) -> str:
    listed = list(names)
    return ", ".join(listed[:24]) + (" …" if len(listed) > 24 else "") or "none"
