"""What a write does, as data: effects checked and compiled like expressions, run in order on a state.

    ["set", "$order.status", value]                 ["add" | "subtract", "$room.free", amount]
    ["append", "$order.lines", value]               ["drop", "i", "$order.lines", condition on $i]
    ["update", "i", "$order.lines", condition, {field: value}]
    ["insert", "orders", "order", {field: value}]   a new record, from then on `$order`; its key is made
    ["let", "name", value]                          ["load", "name", "table", key]
    ["for", "name", list, [effects]]                ["if", condition, [effects], [effects]]

A path starts at a name that holds a record of a table. A status moves only as its table's machine allows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestra_lib.environment.expression import STATE, Compiler, Evaluate, Scope, type_of_field
from orchestra_lib.environment.kinds import ANY, NUMERIC, Kind, Type, comparable
from orchestra_lib.environment.schema import Domain, Table
from orchestra_lib.errors import BadInput, ModelMistake

Run = Callable[[Scope], None]
Names = dict[str, Type]
_FORMS = ("set", "add", "subtract", "append", "drop", "update", "insert", "let", "load", "for", "if")


class Effects:
    """Compiles the effects of one domain. Raises `BadInput` that names the place, what is wrong and the remedy."""

    def __init__(self, domain: Domain, compiler: Compiler) -> None:
        self._compiler = compiler
        self._tables: Mapping[str, Table] = {table.name: table for table in domain.tables}

    def compile(self, effects: Sequence[Any], names: Names, where: str) -> Run:
        """All of them as one function; `names` grows by what they bind."""
        runs = tuple(self._one(effect, names, f"{where}[{place}]") for place, effect in enumerate(effects))

        def run(scope: Scope) -> None:
            for one in runs:
                one(scope)

        return run

    def _one(self, effect: Any, names: Names, where: str) -> Run:
        if not isinstance(effect, list | tuple) or not effect or effect[0] not in _FORMS:
            raise BadInput(f"{where}: {effect!r} is no effect; start a list with one of {', '.join(_FORMS)}")
        head, *rest = effect
        try:
            made: Run = getattr(self, f"_{head}")(*rest, names=names, where=f"{where}[{head!r}]")
        except TypeError as error:
            if "positional argument" not in str(error):
                raise
            raise BadInput(f"{where}: {head!r} does not take {len(rest)} parts; see the forms of effects") from None
        return made

    def _set(self, path: Any, value: Any, *, names: Names, where: str) -> Run:
        root, steps, kind = self._place(path, names, where)
        run = self._fitting(value, kind, names, where)
        machine = self._tables[names[root].table or ""].machine
        if machine and steps == [machine.field]:
            return self._move(root, machine.transitions, machine.field, run, names)
        edit = self._editor(root, steps[:-1], names)
        last = steps[-1]

        def change(scope: Scope) -> None:
            new = run(scope)
            edit(scope)[last] = new

        return change

    def _move(
        self, root: str, transitions: Mapping[str, Sequence[str]], field: str, run: Evaluate, names: Names
    ) -> Run:
        edit, one = self._editor(root, (), names), names[root].named

        def move(scope: Scope) -> None:
            new, old = run(scope), scope[root].get(field)
            if new != old and new not in transitions.get(old, ()):
                raise ModelMistake(f"The {one} is {old}; from there it cannot become {new}.")
            edit(scope)[field] = new

        return move

    def _add(self, path: Any, amount: Any, *, names: Names, where: str) -> Run:
        _, _, kind = self._place(path, names, where)
        if kind.kind not in NUMERIC:
            raise BadInput(f"{where}: {path} is {kind.kind}, a number is expected")
        return self._set(path, ["+", path, amount], names=names, where=where)

    def _subtract(self, path: Any, amount: Any, *, names: Names, where: str) -> Run:
        return self._add(path, ["-", 0, amount], names=names, where=where)

    def _append(self, path: Any, value: Any, *, names: Names, where: str) -> Run:
        root, steps, kind = self._list(path, names, where)
        run = self._fitting(value, kind.item or ANY, names, where)
        edit, last = self._editor(root, steps[:-1], names), steps[-1]

        def append(scope: Scope) -> None:
            new = run(scope)
            holder = edit(scope)
            holder[last] = [*(holder.get(last) or ()), new]

        return append

    def _drop(self, name: Any, path: Any, condition: Any, *, names: Names, where: str) -> Run:
        root, steps, _ = self._list(path, names, where)
        kept, _ = self._compiler.compile(["filter", name, path, ["not", condition]], names, where)
        edit, last = self._editor(root, steps[:-1], names), steps[-1]

        def drop(scope: Scope) -> None:
            left = kept(scope)
            edit(scope)[last] = left

        return drop

    def _update(self, name: Any, path: Any, condition: Any, fields: Any, *, names: Names, where: str) -> Run:
        root, steps, kind = self._list(path, names, where)
        item = kind.item or ANY
        inside = {**names, name: item}
        holds = self._compiler.predicate(condition, inside, f"{where}.condition")
        runs = self._values(fields, item, inside, where)
        edit, last = self._editor(root, steps[:-1], names), steps[-1]

        def update(scope: Scope) -> None:
            changed: list[Any] = []
            for one in _followed(scope[root], steps) or ():
                scope[name] = one
                changed.append({**one, **{key: run(scope) for key, run in runs}} if holds(scope) else one)
            edit(scope)[last] = changed

        return update

    def _insert(self, table: Any, name: Any, fields: Any, *, names: Names, where: str) -> Run:
        spec = self._tables.get(table)
        if spec is None or spec.prefix is None:
            known = ", ".join(one.name for one in self._tables.values() if one.prefix) or "none"
            raise BadInput(f"{where}: no records can be inserted into {table!r}; tables with a `prefix`: {known}")
        if not isinstance(name, str) or not name.isidentifier() or name in names:
            raise BadInput(f"{where}: {name!r} is no new name for the record")
        kind = self._compiler.tables[table]
        runs = self._values(fields, kind, names, where)
        status = (spec.machine.field, spec.machine.initial) if spec.machine else None
        given = {key for key, _ in runs} | ({status[0]} if status else set()) | {spec.key}
        for field in spec.fields:
            if field.name not in given and not field.optional:
                raise BadInput(f"{where}: a new {spec.one} needs {field.name!r}; give it, or make the field optional")
        blank = {field.name: None for field in spec.fields}
        names[name] = kind

        def insert(scope: Scope) -> None:
            new = {**blank, **{key: run(scope) for key, run in runs}}
            if status and not new[status[0]]:
                new[status[0]] = status[1]
            scope[name] = scope[STATE].insert(table, new)

        return insert

    def _let(self, name: Any, value: Any, *, names: Names, where: str) -> Run:
        run, kind = self._compiler.compile(value, names, where)
        self._bind(name, kind, names, where)

        def let(scope: Scope) -> None:
            scope[name] = run(scope)

        return let

    def _load(self, name: Any, table: Any, key: Any, *, names: Names, where: str) -> Run:
        if table not in self._tables:
            raise BadInput(f"{where}: no table {table!r}; known are {', '.join(self._tables)}")
        run, _ = self._compiler.key_of(key, names, f"{where}.key")
        self._bind(name, self._compiler.tables[table], names, where)

        def load(scope: Scope) -> None:
            scope[name] = scope[STATE].get(table, run(scope))

        return load

    def _for(self, name: Any, items: Any, effects: Any, *, names: Names, where: str) -> Run:
        run, kind = self._compiler.compile(items, names, f"{where}.list")
        if kind.kind not in (Kind.LIST, Kind.ANY):
            raise BadInput(f"{where}: a list is expected, this is {kind.kind}")
        inside = dict(names)
        self._bind(name, kind.item or ANY, inside, where)
        body = self.compile(effects, inside, f"{where}.do")

        def each(scope: Scope) -> None:
            for one in tuple(run(scope) or ()):
                scope[name] = one
                body(scope)

        return each

    def _if(self, condition: Any, then: Any, other: Any = (), *, names: Names, where: str) -> Run:
        holds = self._compiler.predicate(condition, names, f"{where}.condition")
        yes = self.compile(then, dict(names), f"{where}.then")
        no = self.compile(other, dict(names), f"{where}.else")
        return lambda scope: yes(scope) if holds(scope) else no(scope)

    def _bind(self, name: Any, kind: Type, names: Names, where: str) -> None:
        if not isinstance(name, str) or not name.isidentifier() or name in ("now", "today"):
            raise BadInput(f"{where}: {name!r} is no name")
        names[name] = kind

    def _place(self, path: Any, names: Names, where: str) -> tuple[str, list[str], Type]:
        """What a path leads to: the name of its record, the fields on the way, the type of the last."""
        if not isinstance(path, str) or not path.startswith("$") or "." not in path:
            raise BadInput(f"{where}: {path!r} is no place; write $name.field with the name of a record")
        _, kind = self._compiler.compile(path, names, where)
        root, *steps = path[1:].split(".")
        if names[root].table is None:
            raise BadInput(f"{where}: ${root} is no record of a table; load it first")
        return root, steps, kind

    def _list(self, path: Any, names: Names, where: str) -> tuple[str, list[str], Type]:
        root, steps, kind = self._place(path, names, where)
        if kind.kind is not Kind.LIST:
            raise BadInput(f"{where}: {path} is {kind.kind}, a list is expected")
        return root, steps, kind

    def _fitting(self, value: Any, kind: Type, names: Names, where: str) -> Evaluate:
        """A value for a place of a type."""
        run, given = self._compiler.compile(value, names, f"{where}.value")
        if not comparable(given, kind):
            raise BadInput(f"{where}: {given.kind} cannot stand where {kind.named or 'the field'} is {kind.kind}")
        if kind.values and isinstance(value, str) and value[:1] not in "$@" and value not in kind.values:
            raise BadInput(f"{where}: {value!r} is none of {', '.join(kind.values)}")
        if kind.kind is Kind.OBJECT and isinstance(value, Mapping):
            self._values(value, kind, names, where)
        return run

    def _values(self, fields: Any, kind: Type, names: Names, where: str) -> tuple[tuple[str, Evaluate], ...]:
        if not isinstance(fields, Mapping):
            raise BadInput(f"{where}: an object of fields is expected, not {fields!r}")
        known = kind.fields or {}
        for name in fields:
            if known and name not in known:
                raise BadInput(f"{where}: {kind.named or 'the object'} has no {name!r}; it has {', '.join(known)}")
        return tuple(
            (name, self._fitting(value, known.get(name, ANY), names, f"{where}.{name}"))
            for name, value in fields.items()
        )

    def _editor(self, root: str, steps: Sequence[str], names: Names) -> Callable[[Scope], dict[str, Any]]:
        """The object that a path's last field stands in, as one that may be changed."""
        table = names[root].table or ""
        key, one = self._tables[table].key, self._tables[table].one

        def edit(scope: Scope) -> dict[str, Any]:
            old = scope[root]
            if old is None:
                raise ModelMistake(f"There is no {one} that this could change.")
            holder: dict[str, Any] = scope[STATE].edit(table, old[key])
            if holder is not old:  # every name of the record sees the change
                for name, value in scope.items():
                    if value is old:
                        scope[name] = holder
                scope[root] = holder
            for step in steps:
                holder[step] = dict(holder.get(step) or {})
                holder = holder[step]
            return holder

        return edit


def _followed(value: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        value = None if value is None else value.get(step)
    return value


def parameter_types(domain: Domain, parameters: Sequence[Any]) -> Names:
    """The names that an operation starts with."""
    return {one.name: replace(type_of_field(one), named=one.words) for one in parameters}
