"""The slow way, for comparison: a domain's operations read as data at every call, on records that are copied whole.

Nothing is compiled, indexed, remembered or shared, and no code of `operations`, `code`, `effects`, `querying`, `state`
or `rehearsal` is used: only what the single operators compute.
"""

import pickle

from benchmarks.tau2_tools import meets, reduced
from orchestra_lib.environment.arguments import Checker
from orchestra_lib.environment.calculation import calculate
from orchestra_lib.environment.operators import OPERATORS
from orchestra_lib.environment.schema import Builtin, Mode
from orchestra_lib.errors import ModelMistake


class PlainWorld:
    """One episode in a domain."""

    def __init__(self, domain, records):
        self.domain, self.data = domain, _copied(records)
        self.tables = {one.name: one for one in domain.tables}
        self.parameters = {one.name: one.value for one in domain.parameters}
        self.next = {
            one.name: max((int(key.removeprefix(one.prefix)) for key in records[one.name]), default=0) + 1
            for one in domain.tables
            if one.prefix
        }
        self.touched = set()

    def run(self, name, arguments):
        """The result of a call. Raises `ModelMistake`, and then nothing has changed."""
        operation = self.domain.operation(name)
        before = pickle.dumps((self.data, self.next)) if operation.effects else None
        try:
            return _copied(self._run(operation, arguments))
        except ModelMistake:
            if before is not None:
                self.data, self.next = pickle.loads(before)
                self.touched = {one for one in self.touched if one[1] in self.data[one[0]]}
            raise

    def _run(self, operation, arguments):
        Checker(operation)(arguments)
        names = {**{one.name: None for one in operation.parameters}, **arguments}
        for load in operation.loads:
            key = self.value(load.key, names)
            names[load.name] = None if key is None else self._get(load.table, key)
        for let in operation.lets:
            names[let.name] = self.value(let.value, names)
        for rule in operation.rules:
            if rule.mode is Mode.ENFORCED and not self.value(rule.when, names):
                raise ModelMistake(rule.id)
        if operation.query:
            return self._search(operation.query, names)
        if operation.builtin is Builtin.CALCULATE:
            return {"result": calculate(names["expression"])}
        if operation.builtin is Builtin.TRANSFER:
            return {"transferred": True}
        changed = []
        self._effects(operation.effects, names, changed)
        for table, key in changed:
            for one in self.domain.invariants:
                if one.table == table and not self.value(one.holds, {"row": self.data[table][key]}):
                    raise ModelMistake(one.text)
        if operation.result is not None:
            return self.value(operation.result, names)
        made = [one[2] for one in operation.effects if one[0] == "insert"] + [one.name for one in operation.loads]
        return names[made[0]]

    def _get(self, table, key):
        if key not in self.data[table]:
            raise ModelMistake(f"no {table} {key}")
        self.touched.add((table, key))
        return self.data[table][key]

    def _search(self, query, names):
        rows = [row for _, row in sorted(self.data[query.table].items())]
        for one in query.filters:
            wanted = names.get(one.parameter)
            if wanted is not None:
                rows = [row for row in rows if meets(row.get(one.field), wanted, one.compare)]
        if query.where is not None:
            rows = [row for row in rows if self.value(query.where, {**names, "row": row})]
        key = self.tables[query.table].key
        if query.single:
            if len(rows) != 1:
                raise ModelMistake(f"{len(rows)} match")
            self.touched.add((query.table, rows[0][key]))
            return {key: rows[0][key]}
        wish = names.get("sort_by")
        if wish:
            field = wish.removeprefix("-")
            known = sorted((row for row in rows if row.get(field) is not None), key=lambda row: row[field])
            if wish.startswith("-"):
                known = sorted(known, key=lambda row: row[field], reverse=True)
            rows = known + [row for row in rows if row.get(field) is None]
        page, size = names.get("page") or 1, query.page_size
        pages = max(1, -(-len(rows) // size))
        if page > pages:
            raise ModelMistake("beyond")
        shown = rows[(page - 1) * size : page * size]
        self.touched |= {(query.table, row[key]) for row in shown}
        if query.show:
            shown = [{name: row.get(name) for name in dict.fromkeys((key, *query.show))} for row in shown]
        return {"total": len(rows), "page": page, "pages": pages, "results": shown}

    def value(self, expression, names):
        """What an expression comes to."""
        if isinstance(expression, str):
            if expression in ("$now", "$today"):
                return self.domain.now if expression == "$now" else self.domain.now[:10]
            if expression[:1] == "@" and expression[1:2].isidentifier():
                return self.parameters[expression[1:]]
            if expression[:1] == "$" and expression[1:2].isidentifier():
                root, *steps = expression[1:].split(".")
                found = names[root]
                for step in steps:
                    found = None if found is None else found.get(step)
                return found
            return expression
        if isinstance(expression, dict):
            return {key: self.value(part, names) for key, part in expression.items()}
        if not isinstance(expression, list | tuple) or not expression:
            return expression
        head, *rest = expression
        return self._form(head, rest, names)

    def _form(self, head, rest, names):
        if head == "const":
            return rest[0]
        if head == "record":
            return self.data[rest[0]].get(self.value(rest[1], names))
        if head == "records":
            rows = self.data[rest[0]].values()
            return [row for row in rows if self.value(rest[2], {**names, rest[1]: row})]
        if head in ("any", "all", "filter", "count", "sum", "map", "least", "most"):
            items = self.value(rest[1], names) or ()
            return reduced(head, [(one, self.value(rest[2], {**names, rest[0]: one})) for one in items])
        if head == "if":
            return self.value(rest[1] if self.value(rest[0], names) else rest[2], names)
        if head in ("and", "or"):
            return (all if head == "and" else any)(self.value(part, names) for part in rest)
        parts = [self.value(part, names) for part in rest]
        if head == "list":
            return parts
        if head == "at":
            path = next(one for one in (rest[0], *rest[0][1:]) if isinstance(one, str) and one.startswith("$"))
            fields = [one for table in self.domain.tables for one in table.fields]
            key = next(one.key for one in fields if one.key and one.name == path.rpartition(".")[2])
            return next((one for one in parts[0] or () if one.get(key) == parts[1]), None)
        return OPERATORS[head].run(*parts)

    def _effects(self, effects, names, changed):
        for head, *rest in effects:
            if head == "insert":
                names[rest[1]] = self._insert(rest[0], {k: self.value(v, names) for k, v in rest[2].items()}, changed)
            elif head == "let":
                names[rest[0]] = self.value(rest[1], names)
            elif head == "load":
                names[rest[0]] = self._get(rest[1], self.value(rest[2], names))
            elif head == "for":
                for one in list(self.value(rest[1], names) or ()):
                    names[rest[0]] = one
                    self._effects(rest[2], names, changed)
            elif head == "if":
                chosen = rest[1] if self.value(rest[0], names) else (rest[2] if len(rest) > 2 else ())
                self._effects(chosen, names, changed)
            else:
                self._change(head, rest, names, changed)

    def _change(self, head, rest, names, changed):
        path = rest[1] if head in ("drop", "update") else rest[0]
        root, *steps = path[1:].split(".")
        old = self.value(path, names)
        if head == "set":
            new = self.value(rest[1], names)
        elif head == "add":
            new = self.value(["+", path, rest[1]], names)
        elif head == "subtract":
            new = self.value(["+", path, ["-", 0, rest[1]]], names)
        elif head == "append":
            new = [*(old or ()), self.value(rest[1], names)]
        elif head == "drop":
            new = [one for one in old or () if not self.value(rest[2], {**names, rest[0]: one})]
        else:
            new = [self._updated(rest, one, {**names, rest[0]: one}) for one in old or ()]
        record = names[root]
        if record is None:
            raise ModelMistake("nothing to change")
        table = next(name for name, rows in self.data.items() if any(row is record for row in rows.values()))
        machine, key = self.tables[table].machine, record[self.tables[table].key]
        if machine and steps == [machine.field] and new != old and new not in machine.transitions.get(old, ()):
            raise ModelMistake(f"{old} to {new}")
        if (table, key) not in changed:
            changed.append((table, key))
        self.touched.add((table, key))
        for step in steps[:-1]:
            record[step] = record = dict(record.get(step) or {})
        record[steps[-1]] = _copied(new)

    def _updated(self, rest, one, names):
        if not self.value(rest[2], names):
            return one
        return {**one, **{key: self.value(value, names) for key, value in rest[3].items()}}

    def _insert(self, table, given, changed):
        spec = self.tables[table]
        key = f"{spec.prefix}{self.next[table]:0{spec.digits}d}"
        self.next[table] += 1
        new = {**{one.name: None for one in spec.fields}, **_copied(given)}
        if spec.machine:
            new[spec.machine.field] = new[spec.machine.field] or spec.machine.initial
        new[spec.key] = key
        self.data[table][key] = new
        changed.append((table, key))
        self.touched.add((table, key))
        return new


def _copied(data):
    return pickle.loads(pickle.dumps(data))
