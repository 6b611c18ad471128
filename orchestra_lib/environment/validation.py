"""All that makes a domain unfit: said with its place and a remedy, everything at once."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from orchestra_lib.codec import dumps
from orchestra_lib.environment.arguments import wrong_value
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.expression import STATE, Compiler
from orchestra_lib.environment.liveness import unusable
from orchestra_lib.environment.names import parameters_in, roots
from orchestra_lib.environment.policy_text import policy_text
from orchestra_lib.environment.schema import Domain, Field, FieldType, Mode, Operation, OperationKind, Table
from orchestra_lib.errors import BadInput
from orchestra_lib.record import record


@record
class Problem:
    """One thing that is wrong: `where` as a path into the domain's files, what, and what to do about it."""

    where: str
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.remedy}"


def validate(world: World) -> tuple[Problem, ...]:
    """Every problem of a domain that compiles. Nothing is changed."""
    return tuple(_problems(world))


def _problems(world: World) -> Iterator[Problem]:
    domain = world.domain
    structure = [problem for table in domain.tables for problem in _structure(table, domain)]
    if not structure:  # the policy says what a field is of, and that must be there
        yield from _policy(domain)
    unsound = [*structure, *(problem for table in domain.tables for problem in _values(table, world))]
    yield from unsound
    if unsound:
        return  # what follows runs on the records and needs them to be what they are said to be
    for table in domain.tables:
        yield from _statuses(table, world)
        yield from _twins(table, world)
    yield from _finders(world)
    yield from _invariants(world)
    for operation, records, rules in unusable(world):
        said = f" ({', '.join(rules)})" if rules else ""
        yield Problem(
            where=f"domain.json: operations.{operation}",
            what=f"no task can use it: none of the {records} meets its rules{said}",
            remedy="add such records, or loosen a rule",
        )


def _structure(table: Table, domain: Domain) -> Iterator[Problem]:
    where, names = f"domain.json: tables.{table.name}", {field.name for field in table.fields}
    tables = {one.name for one in domain.tables}
    for kind, name in (("machine.field", table.machine and table.machine.field), ("owner", table.owner)):
        if name and name not in names:
            yield Problem(
                where=f"{where}.{kind}", what=f"{name!r} is no field", remedy=f"name one of {', '.join(names)}"
            )
    for name in table.look_alike:
        if name not in names:
            yield Problem(where=f"{where}.look_alike", what=f"{name!r} is no field", remedy="name one of its fields")
    for path, field in _each_field(table.fields):
        if field.references and field.references not in tables:
            yield Problem(
                where=f"{where}.{path}",
                what=f"it references {field.references!r}, which is no table",
                remedy=f"name one of {', '.join(sorted(tables))}",
            )


def _each_field(fields: Iterable[Field], before: str = "") -> Iterator[tuple[str, Field]]:
    for field in fields:
        yield f"{before}{field.name}", field
        yield from _each_field(field.fields, f"{before}{field.name}.")


def _values(table: Table, world: World) -> Iterator[Problem]:
    known = {field.name for field in table.fields}
    for key, one in world.records[table.name].items():
        where = f"records.json: {table.name}.{key}"
        if extra := sorted(one.keys() - known):
            yield Problem(where=f"{where}.{extra[0]}", what="no such field", remedy="remove it, or add it to the table")
        for field in table.fields:
            yield from _value(field, one.get(field.name), f"{where}.{field.name}", world)


def _value(field: Field, value: Any, where: str, world: World) -> Iterator[Problem]:
    if value is None:
        if not field.optional:
            yield Problem(where=where, what="it is missing", remedy="give it, or make the field optional")
        return
    if field.fields and isinstance(value, list if field.type is FieldType.LIST else dict):
        yield from _nested(field, value, where, world)
        return
    if wrong := wrong_value(field, value):
        yield Problem(where=where, what=f"{value!r} {wrong.rstrip('.')}", remedy="correct the value or the field")
        return
    if field.references and field.references in world.records:
        for one in value if isinstance(value, list) else [value]:
            if one not in world.records[field.references]:
                yield Problem(
                    where=where,
                    what=f"{one!r} is no key of {field.references}",
                    remedy=f"name a record of {field.references}, or add it there",
                )


def _nested(field: Field, value: Any, where: str, world: World) -> Iterator[Problem]:
    """An object, or the objects of a list."""
    known = {inner.name for inner in field.fields}
    for place, part in enumerate(value if isinstance(value, list) else [value]):
        at = f"{where}[{place}]" if isinstance(value, list) else where
        if not isinstance(part, dict):
            yield Problem(where=at, what="it must be an object", remedy="correct the value or the field")
            continue
        if extra := sorted(part.keys() - known):
            yield Problem(where=f"{at}.{extra[0]}", what="no such field", remedy="remove it, or add it to the field")
        for inner in field.fields:
            yield from _value(inner, part.get(inner.name), f"{at}.{inner.name}", world)


def _statuses(table: Table, world: World) -> Iterator[Problem]:
    machine = table.machine
    if machine is None:
        return
    where = f"domain.json: tables.{table.name}.machine"
    reached = {machine.initial, *machine.given}
    while more := {new for old in reached for new in machine.transitions.get(old, ())} - reached:
        reached |= more
    for state in machine.states:
        if state not in reached:
            yield Problem(
                where=f"{where}.{state}",
                what="the status is unreachable",
                remedy=f"add a transition to it from {machine.initial!r}, or list it under `given`",
            )
    made = {state for one in world.domain.operations for state in _set_to(one.effects, machine.field)}
    present = {one.get(machine.field) for one in world.records[table.name].values()}
    for state in machine.states:
        if state in reached and state not in {machine.initial, *machine.given} and made and not made & {state, None}:
            yield Problem(
                where=f"{where}.{state}",
                what="no operation leads to this status",
                remedy="add an operation that sets it, or list it under `given`",
            )
        if state not in present:
            yield Problem(
                where=f"records.json: {table.name}",
                what=f"no record has the {machine.field} {state!r}",
                remedy="add one, so that every status can be met",
            )


def _set_to(effects: Any, field: str) -> Iterator[str | None]:
    """The values that effects set a field of that name to; None for one that is worked out."""
    if not isinstance(effects, list | tuple):
        return
    if len(effects) == 3 and effects[0] == "set" and str(effects[1]).endswith(f".{field}"):
        plain = isinstance(effects[2], str) and effects[2][:1] not in "$@"
        yield effects[2] if plain else None
    for part in effects:
        yield from _set_to(part, field)


def _twins(table: Table, world: World) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for key, one in world.records[table.name].items():
        said = dumps({name: value for name, value in one.items() if name != table.key}, sort_keys=True)
        if said in seen:
            yield Problem(
                where=f"records.json: {table.name}.{key}",
                what=f"but for its key it is the same as {seen[said]}, and no user could tell them apart",
                remedy="change a field that a user can see, or remove one",
            )
        seen[said] = key


def _finders(world: World) -> Iterator[Problem]:
    finders = [one for one in world.domain.operations if one.query and one.query.single]
    if not any(one.query and one.query.table == world.domain.owner for one in finders):
        yield Problem(
            where="domain.json: operations",
            what=f"nothing finds who of the {world.domain.owner} is calling",
            remedy='add {"macro": "finder", "table": …, "by": [fields]}',
        )
    for one in finders:
        query = one.query
        assert query is not None
        seen: dict[tuple[Any, ...], str] = {}
        for key, row in world.records[query.table].items():
            said = tuple(row.get(part.field) for part in query.filters)
            if said in seen:
                yield Problem(
                    where=f"records.json: {query.table}.{key}",
                    what=f"{one.name} cannot tell it from {seen[said]}",
                    remedy=f"change one of its {', '.join(part.field for part in query.filters)}",
                )
            seen[said] = key


def _invariants(world: World) -> Iterator[Problem]:
    compiler, state = Compiler(world.domain), world.state()
    for place, one in enumerate(world.domain.invariants):
        where = f"invariants[{place}]"
        holds = compiler.predicate(one.holds, {"row": compiler.tables[one.table]}, where)
        for key, row in world.records[one.table].items():
            if not holds({STATE: state, "row": row}):
                yield Problem(
                    where=f"records.json: {one.table}.{key}", what=f"it breaks {where}: {one.text}", remedy="correct it"
                )


def _policy(domain: Domain) -> Iterator[Problem]:
    """Rules that no predicate carries, and words that say less or other than what is evaluated."""
    try:
        policy_text(domain)
    except BadInput as error:
        yield Problem(where="domain.json", what=str(error), remedy="name what is there")
    used: set[str] = set()
    for operation in domain.operations:
        parts = [rule.when for rule in operation.rules] + [let.value for let in operation.lets]
        for path, one in _each_field(operation.parameters):
            if one.references and one.references not in {table.name for table in domain.tables}:
                yield Problem(
                    where=f"domain.json: operations.{operation.name}.parameters.{path}",
                    what=f"it references {one.references!r}, which is no table",
                    remedy=f"name one of {', '.join(table.name for table in domain.tables)}",
                )
        used |= parameters_in([*parts, operation.effects, operation.result, operation.query and operation.query.where])
        yield from _rules(operation)
    used |= parameters_in([one.holds for one in domain.invariants])
    for parameter in domain.parameters:
        if parameter.name not in used:
            yield Problem(
                where=f"domain.json: parameters.{parameter.name}",
                what="no predicate, value or effect uses it",
                remedy=f"use @{parameter.name} in one, or remove it",
            )
    for place, fact in enumerate(domain.facts):
        if "{" not in fact.text:
            yield Problem(
                where=f"domain.json: facts[{place}]",
                what="a policy line that no data carries",
                remedy="use {@parameter}, {values:table.field} or {now}, or make it a rule with a predicate",
            )


def _rules(operation: Operation) -> Iterator[Problem]:
    for rule in operation.rules:
        where = f"domain.json: operations.{operation.name}.rules.{rule.id}"
        if not roots(rule.when):
            yield Problem(
                where=where, what="no predicate carries it", remedy="give `when` a condition on the call or its records"
            )
        if rule.silent and rule.mode is Mode.POLICY:
            yield Problem(where=where, what="nobody can know it", remedy="drop `silent`, or make it enforced")
        unsaid = sorted(name for name in parameters_in(rule.when) if rule.text and f"{{@{name}}}" not in rule.text)
        if unsaid and "{when}" not in rule.text:
            yield Problem(
                where=where,
                what=f"its text does not say @{unsaid[0]}, which its predicate uses",
                remedy=f"write {{@{unsaid[0]}}} or {{when}} in the text",
            )
    if operation.effect_text and not operation.effects:
        yield Problem(
            where=f"domain.json: operations.{operation.name}.effect_text",
            what="it tells of effects that the operation does not have",
            remedy="add the effects, or remove the text",
        )


def look_alikes(world: World, table: str) -> Mapping[tuple[Any, ...], tuple[str, ...]]:
    """The groups of two and more records that agree in the fields in which a user may confuse them."""
    fields = world.domain.table(table).look_alike
    groups: dict[tuple[Any, ...], list[str]] = {}
    for key, one in world.records[table].items() if fields else ():
        groups.setdefault(tuple(one.get(name) for name in fields), []).append(key)
    return {said: tuple(keys) for said, keys in groups.items() if len(keys) > 1}


def kinds(domain: Domain) -> Mapping[OperationKind, int]:
    """How many operations there are of each kind."""
    return {kind: sum(one.kind is kind for one in domain.operations) for kind in OperationKind}
