"""The operations of a domain as tools over a tau2 database of models, written without any of our engine.

No code of `operations`, `code`, `effects`, `querying` or `state` is used: no overlay, index, page or diff is shared.
Each expression of an operation is made a closure once, so that a call reads no declaration; records are models that
are changed in place, as tau2's own tools change theirs, and a search looks at every record of its table.
"""

from orchestra_lib.environment.arguments import Checker
from orchestra_lib.environment.calculation import calculate
from orchestra_lib.environment.operators import OPERATORS
from orchestra_lib.environment.schema import Builtin, Compare, FieldType, Mode
from orchestra_lib.errors import ModelMistake

_TYPES = {FieldType.INTEGER: int, FieldType.NUMBER: float, FieldType.MONEY: float, FieldType.BOOLEAN: bool}
_LOOPS = ("any", "all", "filter", "count", "sum", "map", "least", "most")


def models_of(lib, fields, name):
    """A model with a model for each object in it, as tau2 writes its records."""
    return lib.create_model(name, __base__=lib.BaseModel, **{one.name: (_type(lib, one, name), None) for one in fields})


def _type(lib, field, name):
    inner = models_of(lib, field.fields, f"{name}{field.name.title()}") if field.fields else None
    if field.type is FieldType.LIST:
        return list[inner or _TYPES.get(field.item, str)] | None
    return (inner or (dict if field.type is FieldType.OBJECT else _TYPES.get(field.type, str))) | None


class PlainTools:
    """The tools of one domain; each takes a `Room` and arguments."""

    def __init__(self, domain):
        self.domain = domain
        self.tables = {one.name: one for one in domain.tables}
        self._parameters = {one.name: one.value for one in domain.parameters}
        self._keys = {one.name: one.key for table in domain.tables for one in table.fields if one.key}
        self.invariants = [(one.table, self.value(one.holds), one.text) for one in domain.invariants]
        self.of = {one.name: self._tool(one) for one in domain.operations}

    def _tool(self, operation):
        check, given = Checker(operation), dict.fromkeys(one.name for one in operation.parameters)
        loads = [(one.name, one.table, self.value(one.key)) for one in operation.loads]
        lets = [(one.name, self.value(one.value)) for one in operation.lets]
        rules = [(one.id, self.value(one.when)) for one in operation.rules if one.mode is Mode.ENFORCED]
        finish = self._finish(operation)

        def tool(room, arguments):
            check(arguments)
            names = {**given, **arguments}
            for name, table, key in loads:
                found = key(room, names)
                names[name] = None if found is None else room.get(table, found)
            for name, value in lets:
                names[name] = value(room, names)
            for rule, holds in rules:
                if not holds(room, names):
                    raise ModelMistake(rule)
            return finish(room, names)

        return tool

    def _finish(self, operation):
        if operation.query:
            return self._search(operation.query)
        if operation.builtin is Builtin.CALCULATE:
            return lambda room, names: {"result": calculate(names["expression"])}
        if operation.builtin is Builtin.TRANSFER:
            return lambda room, names: {"transferred": True}
        effects = self._effects(operation.effects)
        made = [one[2] for one in operation.effects if one[0] == "insert"] + [one.name for one in operation.loads]
        result = self.value(f"${made[0]}" if operation.result is None else operation.result)

        def finish(room, names):
            effects(room, names)
            room.check()
            return result(room, names)

        return finish

    def _search(self, query):
        tests = [(one.field, one.parameter, one.compare) for one in query.filters]
        where, key = None if query.where is None else self.value(query.where), self.tables[query.table].key
        shown = tuple(dict.fromkeys((key, *query.show))) if query.show else ()

        def search(room, names):
            asked = [(field, names[one], compare) for field, one, compare in tests if names.get(one) is not None]
            rows = [
                row
                for row in room.tables[query.table].values()
                if all(meets(getattr(row, field), wanted, compare) for field, wanted, compare in asked)
                and (where is None or where(room, {**names, "row": row}))
            ]
            if query.single:
                if len(rows) != 1:
                    raise ModelMistake(f"{len(rows)} match")
                return {key: getattr(rows[0], key)}
            rows.sort(key=lambda row: getattr(row, key))
            if wish := names.get("sort_by"):
                field = wish.removeprefix("-")
                known = [row for row in rows if getattr(row, field) is not None]
                known.sort(key=lambda row: getattr(row, field), reverse=wish.startswith("-"))
                rows = known + [row for row in rows if getattr(row, field) is None]
            page, size = int(names.get("page") or 1), query.page_size
            if page > (pages := max(1, -(-len(rows) // size))):
                raise ModelMistake("beyond")
            part = rows[(page - 1) * size : page * size]
            results = [{name: getattr(row, name) for name in shown} for row in part] if shown else part
            return {"total": len(rows), "page": page, "pages": pages, "results": results}

        return search

    def value(self, expression):
        """What an expression comes to, as a function of a room and names."""
        if isinstance(expression, str):
            return self._text(expression)
        if isinstance(expression, dict):
            parts = {key: self.value(part) for key, part in expression.items()}
            return lambda room, names: {key: part(room, names) for key, part in parts.items()}
        if not isinstance(expression, list | tuple) or not expression:
            return lambda room, names: expression
        head, *rest = expression
        if head in _LOOPS:
            return self._loop(head, *rest)
        return self._form(head, rest)

    def _text(self, text):
        if text in ("$now", "$today"):
            known = self.domain.now if text == "$now" else self.domain.now[:10]
            return lambda room, names: known
        if text[:1] == "@" and text[1:2].isidentifier():
            known = self._parameters[text[1:]]
            return lambda room, names: known
        if text[:1] != "$" or not text[1:2].isidentifier():
            return lambda room, names: text
        root, *steps = text[1:].split(".")
        return lambda room, names: _walk(names[root], steps)

    def _loop(self, head, name, items, inside):
        items, inside = self.value(items), self.value(inside)
        return lambda room, names: reduced(
            head, [(one, inside(room, {**names, name: one})) for one in items(room, names) or ()]
        )

    def _form(self, head, rest):
        if head == "const":
            return lambda room, names: rest[0]
        if head == "record":
            key = self.value(rest[1])
            return lambda room, names: room.tables[rest[0]].get(key(room, names))
        if head == "records":
            holds = self.value(rest[2])
            return lambda room, names: [
                row for row in room.tables[rest[0]].values() if holds(room, {**names, rest[1]: row})
            ]
        parts = [self.value(part) for part in rest]
        if head == "if":
            return lambda room, names: parts[1](room, names) if parts[0](room, names) else parts[2](room, names)
        if head in ("and", "or"):
            among = all if head == "and" else any
            return lambda room, names: among(part(room, names) for part in parts)
        if head == "list":
            return lambda room, names: [part(room, names) for part in parts]
        if head == "at":
            path = next(one for one in (rest[0], *rest[0][1:]) if isinstance(one, str) and one.startswith("$"))
            return _at(*parts, self._keys[path.rpartition(".")[2]])
        run = OPERATORS[head].run
        return lambda room, names: run(*[part(room, names) for part in parts])

    def _effects(self, effects):
        made = [getattr(self, f"_{head}", None) or self._change(head) for head, *_ in effects]
        made = [one(*effect[1:]) for one, effect in zip(made, effects, strict=True)]

        def run(room, names):
            for one in made:
                one(room, names)

        return run

    def _insert(self, table, name, fields):
        given = self.value(fields)
        return lambda room, names: names.__setitem__(name, room.insert(table, given(room, names)))

    def _let(self, name, value):
        made = self.value(value)
        return lambda room, names: names.__setitem__(name, made(room, names))

    def _load(self, name, table, key):
        made = self.value(key)
        return lambda room, names: names.__setitem__(name, room.get(table, made(room, names)))

    def _for(self, name, items, effects):
        listed, inside = self.value(items), self._effects(effects)

        def run(room, names):
            for one in list(listed(room, names) or ()):
                names[name] = one
                inside(room, names)

        return run

    def _if(self, condition, then, other=()):
        holds, then, other = self.value(condition), self._effects(then), self._effects(other)
        return lambda room, names: (then if holds(room, names) else other)(room, names)

    def _change(self, head):
        """One of the effects that set what a path leads to."""

        def made(*rest):
            path = rest[1] if head in ("drop", "update") else rest[0]
            root, *steps = path[1:].split(".")
            new = self._new(head, rest, self.value(path))
            return lambda room, names: room.change(names[root], steps, new(room, names))

        return made

    def _new(self, head, rest, old):
        if head == "drop":
            holds = self.value(rest[2])
            return lambda room, names: [
                one for one in old(room, names) or () if not holds(room, {**names, rest[0]: one})
            ]
        if head == "update":
            holds, fields = self.value(rest[2]), self.value(rest[3])

            def updated(room, names):
                inside = [(one, {**names, rest[0]: one}) for one in old(room, names) or ()]
                return [
                    one.model_copy(update=fields(room, scope)) if holds(room, scope) else one for one, scope in inside
                ]

            return updated
        if head == "append":
            value = self.value(rest[1])
            return lambda room, names: [*(old(room, names) or ()), value(room, names)]
        if head == "set":
            return self.value(rest[1])
        return self.value(["+", rest[0], rest[1] if head == "add" else ["-", 0, rest[1]]])


class Room:
    """The database of one episode, changed in place; a refused call takes back what it changed."""

    def __init__(self, tools, db, models):
        self._tools, self._models = tools, models
        self.tables = {name: getattr(db, name) for name in models}
        self._next = {
            one.name: max((int(key.removeprefix(one.prefix)) for key in self.tables[one.name]), default=0) + 1
            for one in tools.domain.tables
            if one.prefix
        }
        self._made, self._changed, self._before = [], [], []

    def run(self, name, arguments):
        """The result of a call. Raises `ModelMistake`, and then nothing has changed."""
        self._made, self._changed, self._before = [], [], []
        try:
            return self._tools.of[name](self, arguments)
        except BaseException:
            for one, before in reversed(self._before):
                one.__dict__.update(before)
            for table, key in self._made:
                del self.tables[table][key]
                self._next[table] -= 1
            raise

    def get(self, table, key):
        """A record that a call asks for."""
        if key not in self.tables[table]:
            raise ModelMistake(f"no {table} {key}")
        return self.tables[table][key]

    def insert(self, table, given):
        """A new record under the next key."""
        spec = self._tools.tables[table]
        key = f"{spec.prefix}{self._next[table]:0{spec.digits}d}"
        self._next[table] += 1
        given = {**given, spec.key: key}
        if spec.machine:
            given[spec.machine.field] = given.get(spec.machine.field) or spec.machine.initial
        self._made.append((table, key))
        new = self.tables[table][key] = self._models[table].model_validate(given, from_attributes=True)
        return new

    def change(self, one, steps, new):
        """Set what a path from a record leads to; a status moves as its machine allows."""
        if one is None:
            raise ModelMistake("nothing to change")
        table = next(name for name, model in self._models.items() if isinstance(one, model))
        spec = self._tools.tables[table]
        if spec.machine and steps == [spec.machine.field]:
            old = getattr(one, steps[0])
            if new not in (old, *spec.machine.transitions.get(old, ())):
                raise ModelMistake(f"{old} to {new}")
        *way, last = steps
        holder = _walk(one, way)
        self._changed.append((table, getattr(one, spec.key)))
        self._before.append((holder, dict(holder.__dict__)))
        type(holder).__pydantic_validator__.validate_assignment(holder, last, new)

    def check(self):
        """The invariants of what was changed."""
        for table, key in (*self._made, *self._changed):
            for name, holds, text in self._tools.invariants:
                if name == table and not holds(self, {"row": self.tables[table][key]}):
                    raise ModelMistake(text)


def _walk(found, steps):
    for step in steps:
        found = None if found is None else getattr(found, step)
    return found


def _at(items, key, field):
    def found(room, names):
        wanted = key(room, names)
        return next((one for one in items(room, names) or () if getattr(one, field) == wanted), None)

    return found


def meets(value, wanted, compare):
    """Whether a value meets the condition of a search."""
    match compare:
        case Compare.IS:
            return value == wanted
        case Compare.AT_LEAST:
            return value is not None and value >= wanted
        case Compare.AT_MOST:
            return value is not None and value <= wanted
        case _:
            return str(wanted).casefold() in value.casefold() if isinstance(value, str) else wanted in (value or ())


def reduced(head, pairs):
    """What a loop comes to, of the items and what each gave."""
    values = [value for _, value in pairs]
    known = [value for value in values if value is not None]
    match head:
        case "any" | "all":
            return any(values) if head == "any" else all(values)
        case "filter" | "count":
            kept = [one for one, value in pairs if value]
            return kept if head == "filter" else len(kept)
        case "map":
            return values
        case "sum":
            total = sum(known)
            return round(total, 6) if isinstance(total, float) else total
        case _:
            return (min if head == "least" else max)(known, default=None)
