"""What a write does, as data: effects checked and compiled like expressions, run in order on a state.

    ["set", "$order.status", value]                 ["add" | "subtract", "$room.free", amount]
    ["append", "$order.lines", value]               ["drop", "i", "$order.lines", condition on $i]
    ["update", "i", "$order.lines", condition, {field: value}]
    ["insert", "orders", "order", {field: value}]   a new record, from then on `$order`; its key is made
    ["let", "name", value]                          ["load", "name", "table", key]
    ["for", "name", list, [effects]]                ["if", condition, [effects], [effects]]

A path starts at a name that holds a record of a table. A status moves only as its table's machine allows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestra_lib.environment.canonical import NEW
from orchestra_lib.environment.code import Code, Piece, iterable, mapping, walk
from orchestra_lib.environment.expression import Compiler, type_of_field
from orchestra_lib.environment.kinds import ANY, NUMERIC, Kind, Type, comparable
from orchestra_lib.environment.schema import Domain, Table
from orchestra_lib.errors import BadInput, ModelMistake

Names = dict[str, Type]
MAXDEPTH = 8
"""So many `for` and `if` may stand within one another; Python itself takes twenty loops."""

_FORMS = ("set", "add", "subtract", "append", "drop", "update", "insert", "let", "load", "for", "if")


class Effects:
    """Writes the effects of one domain into functions in the making. Raises `BadInput` that names the place, what is
    wrong and the remedy.
    """

    def __init__(self, domain: Domain, compiler: Compiler) -> None:
        self._compiler = compiler
        self._tables: Mapping[str, Table] = {table.name: table for table in domain.tables}
        self._depth = 0

    def write(self, code: Code, effects: Sequence[Any], names: Names, where: str) -> None:
        """All of them in order; `names` grows by what they bind."""
        if self._depth > MAXDEPTH:
            raise BadInput(f"{where}: more than {MAXDEPTH} effects within one another; use fewer")
        self._depth += 1
        try:
            for place, effect in enumerate(effects):
                self._one(code, effect, names, f"{where}[{place}]")
        finally:
            self._depth -= 1

    def _one(self, code: Code, effect: Any, names: Names, where: str) -> None:
        if not isinstance(effect, list | tuple) or not effect or effect[0] not in _FORMS:
            raise BadInput(f"{where}: {effect!r} is no effect; start a list with one of {', '.join(_FORMS)}")
        head, *rest = effect
        try:
            getattr(self, f"_{head}")(*rest, code=code, names=names, where=f"{where}[{head!r}]")
        except TypeError as error:
            if "positional argument" not in str(error):
                raise
            raise BadInput(f"{where}: {head!r} does not take {len(rest)} parts; see the forms of effects") from None

    def _set(self, path: Any, value: Any, *, code: Code, names: Names, where: str) -> None:
        root, steps, kind = self._place(code, path, names, where)
        piece = self._fitting(code, value, kind, names, where)
        machine = self._tables[names[root].table or ""].machine
        new = _first(code, piece)
        if machine and steps == [machine.field]:
            self._move(code, root, new, names)
        holder = self._edit(code, root, steps, names)
        code.line(f"{holder}[{code.constant(steps[-1]).text}] = {new.text}")

    def _move(self, code: Code, root: str, new: Piece, names: Names) -> None:
        """A status may stay as it is, or become what its machine allows."""
        machine = self._tables[names[root].table or ""].machine
        assert machine
        self._present(code, root, names)
        old, moves = walk(code, code.name(root), [machine.field]), machine.transitions
        refusal = f"{code.constant(_unmoved).text}({code.constant(names[root].named).text}, {old.text}, {new.text})"
        if (values := code.values([new])) is not None:
            allowed = {values[0], *(one for one, following in moves.items() if values[0] in following)}
            test = f"{old.text} not in {code.constant(frozenset(allowed)).text}"
        else:
            first, again = code.held(old)
            test = f"{first} != {new.text} and {new.text} not in {code.constant(moves).text}.get({again}, ())"
        with code.block(f"if {test}:"):
            code.line(f"raise {refusal}")

    def _add(self, path: Any, amount: Any, *, code: Code, names: Names, where: str) -> None:
        _, _, kind = self._place(code, path, names, where)
        if kind.kind not in NUMERIC:
            raise BadInput(f"{where}: {path} is {kind.kind}, a number is expected")
        self._set(path, ["+", path, amount], code=code, names=names, where=where)

    def _subtract(self, path: Any, amount: Any, *, code: Code, names: Names, where: str) -> None:
        self._add(path, ["-", 0, amount], code=code, names=names, where=where)

    def _append(self, path: Any, value: Any, *, code: Code, names: Names, where: str) -> None:
        root, steps, kind = self._list(code, path, names, where)
        new = _first(code, self._fitting(code, value, kind.item or ANY, names, where))
        holder = self._edit(code, root, steps, names)
        last = code.constant(steps[-1]).text
        code.line(f"{holder}[{last}] = [*({holder}.get({last}) or ()), {new.text}]")

    def _drop(self, name: Any, path: Any, condition: Any, *, code: Code, names: Names, where: str) -> None:
        root, steps, _ = self._list(code, path, names, where)
        kept, _ = self._compiler.write(code, ["filter", name, path, ["not", condition]], names, where)
        left = _first(code, kept)
        holder = self._edit(code, root, steps, names)
        code.line(f"{holder}[{code.constant(steps[-1]).text}] = {left.text}")

    def _update(
        self, name: Any, path: Any, condition: Any, fields: Any, *, code: Code, names: Names, where: str
    ) -> None:
        root, steps, kind = self._list(code, path, names, where)
        item = kind.item or ANY
        inside = {**names, name: item}
        items = _first(code, walk(code, code.name(root), steps))
        changed = code.temporary()
        code.line(f"{changed} = []")
        one = code.variable(name)
        with code.block(f"for {one} in {items.text} or ():"):
            holds = self._compiler.condition(code, condition, inside, f"{where}.condition")
            given = self._values(code, fields, item, inside, where)
            new = mapping(code, given).text
            code.line(f"{changed}.append({{**{one}, **{new}}} if {holds.text} else {one})")
        holder = self._edit(code, root, steps, names)
        code.line(f"{holder}[{code.constant(steps[-1]).text}] = {changed}")

    def _insert(self, table: Any, name: Any, fields: Any, *, code: Code, names: Names, where: str) -> None:
        spec = self._tables.get(table)
        if spec is None or spec.prefix is None:
            known = ", ".join(one.name for one in self._tables.values() if one.prefix) or "none"
            raise BadInput(f"{where}: no records can be inserted into {table!r}; tables with a `prefix`: {known}")
        if not isinstance(name, str) or not name.isidentifier() or name in names:
            raise BadInput(f"{where}: {name!r} is no new name for the record")
        kind = self._compiler.tables[table]
        given = self._values(code, fields, kind, names, where)
        status = spec.machine.field if spec.machine else None
        for field in spec.fields:
            if field.name not in (*given, status, spec.key) and not field.optional:
                raise BadInput(f"{where}: a new {spec.one} needs {field.name!r}; give it, or make the field optional")
        if spec.machine and status:
            initial = code.constant(spec.machine.initial)
            said = given.get(status)
            given[status] = initial if said is None else Piece(text=f"({said.text} or {initial.text})")
        names[name] = kind
        blank = {field.name: Piece(text="None") for field in spec.fields}
        new = mapping(code, {**blank, **given})
        variable = code.variable(name, sure=True)
        code.line(f"{variable} = {code.state}.insert({code.constant(table).text}, {new.text})")
        code.edited.add(name)
        code.written[table].add(NEW)

    def _let(self, name: Any, value: Any, *, code: Code, names: Names, where: str) -> None:
        piece, kind = self._compiler.write(code, value, names, where)
        self._bind(name, kind, names, where)
        code.line(f"{code.variable(name)} = {piece.text}")

    def _load(self, name: Any, table: Any, key: Any, *, code: Code, names: Names, where: str) -> None:
        if table not in self._tables:
            raise BadInput(f"{where}: no table {table!r}; known are {', '.join(self._tables)}")
        piece, _ = self._compiler.write_key(code, key, names, f"{where}.key")
        self._bind(name, self._compiler.tables[table], names, where)
        code.line(f"{code.variable(name, sure=True)} = {code.state}.get({code.constant(table).text}, {piece.text})")

    def _for(self, name: Any, items: Any, effects: Any, *, code: Code, names: Names, where: str) -> None:
        piece, kind = self._compiler.write(code, items, names, f"{where}.list")
        if kind.kind not in (Kind.LIST, Kind.ANY):
            raise BadInput(f"{where}: a list is expected, this is {kind.kind}")
        inside = dict(names)
        self._bind(name, kind.item or ANY, inside, where)
        before, listed = iterable(code, piece)
        if before:
            code.line(before.replace(" := ", " = ", 1))
        with code.block(f"for {code.variable(name)} in {code.constant(tuple).text}({listed}):"):
            code.sure.clear()  # a later round finds what an earlier one has bound
            code.edited.clear()
            self.write(code, effects, inside, f"{where}.do")
        code.sure.clear()
        code.edited.clear()

    def _if(self, condition: Any, then: Any, other: Any = (), *, code: Code, names: Names, where: str) -> None:
        holds = self._compiler.condition(code, condition, names, f"{where}.condition")
        sure, edited = set(code.sure), set(code.edited)
        left = []
        for head, effects, what in ((f"if {holds.text}:", then, "then"), ("else:", other, "else")):
            if head == "else:" and not effects:
                left.append((sure, edited))
                continue
            code.sure, code.edited = set(sure), set(edited)
            with code.block(head):
                self.write(code, effects, dict(names), f"{where}.{what}")
            left.append((code.sure, code.edited))
        code.sure, code.edited = left[0][0] & left[1][0], left[0][1] & left[1][1]

    def _bind(self, name: Any, kind: Type, names: Names, where: str) -> None:
        if not isinstance(name, str) or not name.isidentifier() or name in ("now", "today"):
            raise BadInput(f"{where}: {name!r} is no name")
        names[name] = kind

    def _place(self, code: Code, path: Any, names: Names, where: str) -> tuple[str, list[str], Type]:
        """What a path leads to: the name of its record, the fields on the way, the type of the last."""
        if not isinstance(path, str) or not path.startswith("$") or "." not in path:
            raise BadInput(f"{where}: {path!r} is no place; write $name.field with the name of a record")
        _, kind = self._compiler.write(code, path, names, where)
        root, *steps = path[1:].split(".")
        if names[root].table is None:
            raise BadInput(f"{where}: ${root} is no record of a table; load it first")
        return root, steps, kind

    def _list(self, code: Code, path: Any, names: Names, where: str) -> tuple[str, list[str], Type]:
        root, steps, kind = self._place(code, path, names, where)
        if kind.kind is not Kind.LIST:
            raise BadInput(f"{where}: {path} is {kind.kind}, a list is expected")
        return root, steps, kind

    def _fitting(self, code: Code, value: Any, kind: Type, names: Names, where: str) -> Piece:
        """A value for a place of a type."""
        piece, given = self._compiler.write(code, value, names, f"{where}.value")
        if not comparable(given, kind):
            raise BadInput(f"{where}: {given.kind} cannot stand where {kind.named or 'the field'} is {kind.kind}")
        if kind.values and isinstance(value, str) and value[:1] not in "$@" and value not in kind.values:
            raise BadInput(f"{where}: {value!r} is none of {', '.join(kind.values)}")
        if kind.kind is Kind.OBJECT and isinstance(value, Mapping):
            self._values(code, value, kind, names, where)
        return piece

    def _values(self, code: Code, fields: Any, kind: Type, names: Names, where: str) -> dict[str, Piece]:
        if not isinstance(fields, Mapping):
            raise BadInput(f"{where}: an object of fields is expected, not {fields!r}")
        known = kind.fields or {}
        for name in fields:
            if known and name not in known:
                raise BadInput(f"{where}: {kind.named or 'the object'} has no {name!r}; it has {', '.join(known)}")
        return {
            name: self._fitting(code, value, known.get(name, ANY), names, f"{where}.{name}")
            for name, value in fields.items()
        }

    def _present(self, code: Code, root: str, names: Names) -> None:
        """A record that is null cannot be changed; behind this it is none."""
        if root not in code.sure:
            missing = f"There is no {self._tables[names[root].table or ''].one} that this could change."
            with code.block(f"if {code.name(root).text} is None:"):
                code.line(f"raise {code.constant(ModelMistake).text}({code.constant(missing).text})")
            code.sure.add(root)

    def _edit(self, code: Code, root: str, steps: Sequence[str], names: Names) -> str:
        """The object that a path's last field stands in, as one that may be changed."""
        table = names[root].table or ""
        self._present(code, root, names)
        variable = code.name(root).text
        if root not in code.edited:
            key = code.constant(self._tables[table].key).text
            edit = f"{code.state}.edit({code.constant(table).text}, {variable}[{key}])"
            # every name of the record sees the change
            others = [one for one in names if one != root and one in code.variables and _may_be(names[one], table)]
            if others:
                old = code.temporary()
                code.line(f"{old} = {variable}")
            code.line(f"{variable} = {edit}")
            for other in map(code.name, others):
                with code.block(f"if {other.text} is {old}:"):
                    code.line(f"{other.text} = {variable}")
            code.edited.add(root)
        code.written[table].add(steps[0])
        for step in map(code.constant, steps[:-1]):
            inner = code.temporary()
            code.line(
                f"{variable}[{step.text}] = {inner} = {code.constant(dict).text}({variable}.get({step.text}) or ())"
            )
            variable = inner
        return variable


def _may_be(kind: Type, table: str) -> bool:
    """Whether a name of this type may stand for a record of a table."""
    return kind.kind in (Kind.OBJECT, Kind.ANY, Kind.NULL) and kind.table in (None, table)


def _first(code: Code, piece: Piece) -> Piece:
    """A piece worked out before what follows."""
    if piece.simple:
        return piece
    kept = code.temporary()
    code.line(f"{kept} = {piece.text}")
    return Piece(text=kept, simple=True, sure=piece.sure, truth=piece.truth)


def _unmoved(one: str, old: Any, new: Any) -> ModelMistake:
    return ModelMistake(f"The {one} is {old}; from there it cannot become {new}.")


def parameter_types(domain: Domain, parameters: Sequence[Any]) -> Names:
    """The names that an operation starts with."""
    return {one.name: replace(type_of_field(one), named=one.words) for one in parameters}
