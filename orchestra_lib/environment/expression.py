"""Predicates and values as data: JSON expressions checked against types, then compiled to Python functions.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from orchestra_lib.environment import code as forms
from orchestra_lib.environment.code import Code, Piece
from orchestra_lib.environment.kinds import ANY, BOOLEAN, LIST, NULL, Kind, Type, comparable
from orchestra_lib.environment.names import roots
from orchestra_lib.environment.operators import LOOPS, OPERATORS, element
from orchestra_lib.environment.schema import Domain, Expression, Field, FieldType, Table
from orchestra_lib.errors import BadInput

Scope = dict[str, Any]
"""Names to values while an expression is evaluated; `STATE` stands among them for the records."""

Evaluate = Callable[[Scope], Any]

MAXLOOPS = 3
"""So many loops and scans may stand within one another: each multiplies what an evaluation takes."""

MAXDEPTH = 32
"""So many expressions may stand within one another; Python itself reads about sixty."""

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
        self._loops = self._depth = 0
        if not _MOMENT.fullmatch(domain.now):
            raise BadInput(f"{domain.name}: now = {domain.now!r}; write the fixed clock as 2026-05-04T09:00:00, in UTC")
        self._now = domain.now

    def compile(self, expression: Expression, names: Mapping[str, Type], where: str) -> tuple[Evaluate, Type]:
        """The expression as a function of a scope, and its type."""
        code = Code(scoped=True, state=STATE)
        piece, kind = self.write(code, expression, names, where)
        code.line(f"return {piece.text}")
        return code.function(), kind

    def predicate(self, expression: Expression, names: Mapping[str, Type], where: str) -> Evaluate:
        """A condition as a function of a scope. Raises `BadInput` also for an expression that is none."""
        code = Code(scoped=True, state=STATE)
        code.line(f"return {self.condition(code, expression, names, where).text}")
        return code.function()

    def write(self, code: Code, expression: Expression, names: Mapping[str, Type], where: str) -> tuple[Piece, Type]:
        """The expression as a piece of a function in the making, and its type."""
        with self._deeper(where):
            return self._write(code, expression, names, where)

    @contextmanager
    def _deeper(self, where: str) -> Iterator[None]:
        self._depth += 1
        try:
            if self._depth > MAXDEPTH:
                raise BadInput(f"{where}: more than {MAXDEPTH} expressions within one another; use lets")
            yield
        finally:
            self._depth -= 1

    @contextmanager
    def _looping(self, where: str) -> Iterator[None]:
        if self._loops == MAXLOOPS:
            raise BadInput(f"{where}: more than {MAXLOOPS} loops within one another; use fewer")
        self._loops += 1
        try:
            yield
        finally:
            self._loops -= 1

    def _write(self, code: Code, expression: Expression, names: Mapping[str, Type], where: str) -> tuple[Piece, Type]:
        match expression:
            case str() if expression[:1] == "$" and expression[1:2].isidentifier():
                return self._path(code, expression, names, where)
            case str() if expression[:1] == "@" and expression[1:2].isidentifier():
                return _constant(code, self._parameter(expression[1:], where))
            case None | bool() | int() | float() | str():
                return _constant(code, expression)
            case []:
                return Piece(text="[]", sure=True), LIST
            case [str() as head, *rest]:
                return self._form(code, head, rest, names, f"{where}[{head!r}]")
            case Mapping():
                return self._object(code, expression, names, where)
            case _:
                raise BadInput(f"{where}: {expression!r} is no expression; start a list with an operator")

    def write_key(
        self, code: Code, expression: Expression, names: Mapping[str, Type], where: str
    ) -> tuple[Piece, Type]:
        """An expression for the key of a record. Raises `BadInput` also for one that can be none."""
        piece, kind = self.write(code, expression, names, where)
        if kind.kind in (Kind.LIST, Kind.OBJECT):
            raise BadInput(f"{where}: a key is a text, this is {kind.kind}; name one record")
        return piece, kind

    @property
    def policy(self) -> str:
        """The values of the policy's parameters, as one text."""
        return repr({name: one.value for name, one in self._parameters.items()})

    def key(self, table: str) -> str:
        """The name of a table's key field."""
        return self._keys[table]

    def condition(self, code: Code, expression: Expression, names: Mapping[str, Type], where: str) -> Piece:
        """A condition as a piece. Raises `BadInput` also for an expression that is none."""
        piece, kind = self.write(code, expression, names, where)
        if kind.kind not in (Kind.BOOLEAN, Kind.ANY):
            raise BadInput(f"{where}: a condition is expected, this is {kind.kind}; compare it with something")
        return piece

    def require(self, code: Code, expression: Expression, names: Mapping[str, Type], where: str, refusal: str) -> None:
        """Statements that raise unless a condition holds. Parts and items are tried one by one, with no list made."""
        with self._deeper(where):
            match expression:
                case ["and", _, *_]:
                    for place, part in enumerate(expression[1:]):
                        self.require(code, part, names, f"{where}['and'][{place}]", refusal)
                case ["all", *rest]:
                    with self._looping(where):
                        items, _, name, inside = self._listed(code, "all", rest, names, f"{where}['all']")
                        with code.block(
                            f"for {code.variable(name)} in {items.text if items.sure else f'{items.text} or ()'}:"
                        ):
                            self.require(code, rest[2], inside, f"{where}['all'].each", refusal)
                case _:
                    with code.block(f"if not {self.condition(code, expression, names, where).text}:"):
                        code.line(f"raise {refusal}")

    def _parameter(self, name: str, where: str) -> Any:
        if name not in self._parameters:
            raise BadInput(f"{where}: no policy parameter @{name}; known are {_some(self._parameters)}")
        return self._parameters[name].value

    def _path(self, code: Code, text: str, names: Mapping[str, Type], where: str) -> tuple[Piece, Type]:
        root, *steps = text[1:].split(".")
        if root in ("now", "today") and not steps:
            return (
                (code.constant(self._now), Type(kind=Kind.DATETIME)) if root == "now"
                else (code.constant(self._now[:10]), Type(kind=Kind.DATE))
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
        return forms.walk(code, code.name(root), steps), replace(kind, optional=optional)

    def _object(self, code: Code, data: Mapping[str, Any], names: Mapping[str, Type], where: str) -> tuple[Piece, Type]:
        parts = {key: self.write(code, value, names, f"{where}.{key}") for key, value in data.items()}
        fields = {key: kind for key, (_, kind) in parts.items()}
        return forms.mapping(code, {key: one for key, (one, _) in parts.items()}), Type(kind=Kind.OBJECT, fields=fields)

    def _form(
        self, code: Code, head: str, rest: Sequence[Any], names: Mapping[str, Type], where: str
    ) -> tuple[Piece, Type]:
        if head == "const" and len(rest) == 1:
            return _constant(code, rest[0])
        if head == "record":
            return self._record(code, rest, names, where)
        if head == "records" or head in LOOPS:
            with self._looping(where):
                return (self._records if head == "records" else self._loop)(code, head, rest, names, where)
        parts = [self.write(code, part, names, f"{where}[{place}]") for place, part in enumerate(rest)]
        pieces, kinds = tuple(one for one, _ in parts), tuple(kind for _, kind in parts)
        if head in _LAZY:
            return _lazy(code, head, pieces, kinds, where)
        if head == "at" and len(pieces) == 2:
            return _at(code, pieces, kinds[0], where)
        if head == "list":
            return forms.listed(code, pieces), replace(LIST, item=kinds[0] if kinds else ANY)
        operator = OPERATORS.get(head)
        if operator is None:
            known = _some([*OPERATORS, *_LAZY, *LOOPS, "at", "list", "const", "record", "records"])
            raise BadInput(f"{where}: unknown operator {head!r}; known are {known}")
        low, high = operator.arity
        if not low <= len(pieces) <= high:
            many = low if low == high else f"{low} or more"
            raise BadInput(f"{where}: {head!r} takes {many} parts, not {len(pieces)}")
        try:
            kind = operator.check(kinds)
        except TypeError as error:
            raise BadInput(f"{where}: {error}") from None
        return forms.operator(code, head, operator.run, pieces), kind

    def _table(self, rest: Sequence[Any], parts: int, form: str, where: str) -> tuple[str, Type]:
        if len(rest) != parts or not isinstance(rest[0], str) or rest[0] not in self.tables:
            raise BadInput(f"{where}: write {form} with one of the tables {_some(self.tables)}")
        return rest[0], self.tables[rest[0]]

    def _record(self, code: Code, rest: Sequence[Any], names: Mapping[str, Type], where: str) -> tuple[Piece, Type]:
        table, kind = self._table(rest, 2, '["record", table, key]', where)
        key, _ = self.write_key(code, rest[1], names, f"{where}.key")
        text = f"{code.state}.find({code.constant(table).text}, {key.text})"
        return Piece(text=text), replace(kind, optional=True)

    def _records(
        self, code: Code, head: str, rest: Sequence[Any], names: Mapping[str, Type], where: str
    ) -> tuple[Piece, Type]:
        table, kind = self._table(rest, 3, '["records", table, name, condition]', where)
        name, place = _name(rest[1], names, where), code.constant(table).text
        row = code.variable(name, sure=True)
        holds = self.condition(code, rest[2], {**names, name: kind}, f"{where}.condition")
        rows, equal = f"{code.state}.records({place})", _equal_field(name, rest[2])
        if equal is not None:  # an index spares the others
            wanted, _ = self.write(code, equal[1], names, f"{where}.condition")
            rows = f"{code.state}.among({place}, {code.constant(equal[0]).text}, {wanted.text})"
        before, rows = forms.iterable(code, Piece(text=rows, sure=True))
        return forms.looped(before, f"[{row} for {row} in {rows} if {holds.text}]"), replace(LIST, item=kind)

    def _loop(
        self, code: Code, head: str, rest: Sequence[Any], names: Mapping[str, Type], where: str
    ) -> tuple[Piece, Type]:
        items, kind, name, inside = self._listed(code, head, rest, names, where)
        one = code.variable(name)
        before, listed = forms.iterable(code, items)
        if head in ("any", "all", "filter", "count"):
            body, value = self.condition(code, rest[2], inside, f"{where}.each"), BOOLEAN
        else:
            body, value = self.write(code, rest[2], inside, f"{where}.each")
        kept = head in ("filter", "count")
        each = f"[{one if kept else body.text} for {one} in {listed}{f' if {body.text}' if kept else ''}]"
        reduce = LOOPS[head]
        text = each if reduce is None else f"{code.constant(reduce).text}({each})"
        return replace(forms.looped(before, text), sure=head not in ("least", "most")), _loop_type(head, kind, value)

    def _listed(
        self, code: Code, head: str, rest: Sequence[Any], names: Mapping[str, Type], where: str
    ) -> tuple[Piece, Type, str, Mapping[str, Type]]:
        """The list of a loop with its type, the name of an item, and the names within."""
        if len(rest) != 3:
            raise BadInput(f'{where}: write ["{head}", name, list, expression over $name]')
        name = _name(rest[0], names, where)
        items, kind = self.write(code, rest[1], names, f"{where}.list")
        if kind.kind not in (Kind.LIST, Kind.ANY):
            raise BadInput(f"{where}: a list is expected, this is {kind.kind}")
        return items, kind, name, {**names, name: kind.item or ANY}


def _at(code: Code, parts: Sequence[Piece], kind: Type, where: str) -> tuple[Piece, Type]:
    """The object of a list with that key, or null."""
    if kind.key is None:
        raise BadInput(f"{where}: the list has no key; give its field a `key`, or use filter and first")
    return forms.of_key(code, parts[0], parts[1], kind.key), element((kind,))


def _equal_field(name: str, condition: Expression) -> tuple[str, Expression] | None:
    """A field that the condition wants equal to something that does not depend on the record: an index finds it."""
    match condition:
        case ["==", str() as path, wanted] if path.startswith(f"${name}.") and path.count(".") == 1:
            return None if name in roots(wanted) else (path.partition(".")[2], wanted)
        case ["and", *parts]:
            return next((found for part in parts if (found := _equal_field(name, part))), None)
        case _:
            return None


def _name(name: Any, names: Mapping[str, Type], where: str) -> str:
    if not isinstance(name, str) or not name.isidentifier() or name in names or name in ("now", "today"):
        raise BadInput(f"{where}: {name!r} is no new name; take one that nothing else has, without $")
    return name


def _constant(code: Code, value: Any) -> tuple[Piece, Type]:
    return code.constant(value), type_of_value(value)


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


def _lazy(code: Code, head: str, parts: Sequence[Piece], kinds: Sequence[Type], where: str) -> tuple[Piece, Type]:
    conditions = kinds if head != "if" else kinds[:1]
    for place, kind in enumerate(conditions):
        if kind.kind not in (Kind.BOOLEAN, Kind.ANY):
            raise BadInput(f"{where}[{place}]: a condition is expected, this is {kind.kind}")
    if head != "if":
        return forms.joined(code, head, parts), BOOLEAN
    if len(parts) != 3:
        raise BadInput(f'{where}: write ["if", condition, then, else]')
    if not comparable(kinds[1], kinds[2]):
        raise BadInput(f"{where}: the branches are {kinds[1].kind} and {kinds[2].kind}; make them one type")
    kind = kinds[2] if kinds[1].kind is Kind.NULL or kinds[2].kind is Kind.MONEY else kinds[1]
    optional = any(one.optional or one.kind is Kind.NULL for one in kinds[1:])
    return forms.chosen(*parts), replace(kind, optional=optional)


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
