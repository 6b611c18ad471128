"""A ToolScale domain as plain data: its tables with their machines, its operations with their rules, its records."""

from collections.abc import Iterator, Mapping
from typing import Any

from orchestra_lib.codec import to_data
from orchestra_lib.environment.census import census
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.policy_text import policy_text
from orchestra_lib.environment.prose import Prose, value_words
from orchestra_lib.environment.schema import Field, Machine, Operation, Table
from orchestra_lib.environment.validation import look_alikes

Data = dict[str, Any]
MOST_RECORDS = 50
"""On one page of a table's records."""
_SETS = ("set", "add", "subtract", "append")
_LOOPS = ("drop", "update")


def domain_line(world: World, tasks: int) -> Data:
    """What the list of domains says of one."""
    return {**to_data(census(world)), "tasks": tasks}


def domain_view(world: World) -> Data:
    """Tables with their machines, operations with their rules, parameters, policy."""
    domain = world.domain
    return {
        **to_data(census(world)),
        "description": domain.description,
        "tables": [_table(table, world) for table in domain.tables],
        "operations": [_operation(one, world) for one in domain.operations],
        "policy_parameters_list": [
            {"name": one.name, "value": value_words(one), "what": one.description, "choices": list(one.choices),
             "held_out": list(one.held_out)}
            for one in domain.parameters
        ],
        "invariants": [Prose(domain).fill(one.text) for one in domain.invariants],
        "policy": policy_text(domain),
    }  # fmt: skip


def _table(table: Table, world: World) -> Data:
    rows = world.records[table.name]
    return {
        "name": table.name,
        "one": table.one,
        "description": table.description,
        "key": table.key,
        "owner": table.owner,
        "records": len(rows),
        "look_alike": list(table.look_alike),
        "twins": sum(map(len, look_alikes(world, table.name).values())),
        "fields": [_field(one) for one in table.fields],
        "machine": table.machine and _machine(table.machine, rows),
    }


def _machine(machine: Machine, rows: Mapping[str, Mapping[str, Any]]) -> Data:
    states = [one.get(machine.field) for one in rows.values()]
    return {
        "field": machine.field,
        "initial": machine.initial,
        "states": [
            {"name": name, "records": states.count(name), "given": name in machine.given} for name in machine.states
        ],
        "moves": [[old, new] for old, following in machine.transitions.items() for new in following],
    }


def _field(field: Field) -> Data:
    return {
        "name": field.name,
        "type": f"list of {field.item or 'objects'}" if field.type == "list" else str(field.type),
        "references": field.references,
        "values": list(field.values),
        "unit": field.unit,
        "optional": field.optional,
        "unordered": field.unordered,
        "free": field.free,
        "description": field.description,
        "fields": [_field(one) for one in field.fields],
    }


def _operation(one: Operation, world: World) -> Data:
    prose = Prose(world.domain)
    reads = {load.table for load in one.loads} | ({one.query.table} if one.query else set())
    return {
        "name": one.name,
        "kind": str(one.kind),
        "heading": one.heading,
        "description": one.description,
        "parameters": [_field(field) for field in one.parameters],
        "reads": sorted(reads),
        "writes": sorted(set(_written(one.effects, world, one.name))),
        "rules": [
            {"id": rule.id, "mode": str(rule.mode), "silent": rule.silent, "text": prose.rule(rule)}
            for rule in one.rules
        ],
        "effects": [
            *(prose.fill(let.text) for let in one.lets if let.text),
            *(prose.fill(text) for text in one.effect_text),
        ],
    }


def _written(effects: Any, world: World, operation: str) -> Iterator[str]:
    """The tables whose records effects change or insert."""
    names = world.operations.types(operation)
    for effect in effects if isinstance(effects, list | tuple) else ():
        match effect:
            case [str() as head, str() as path, *_] if head in _SETS:
                yield from _table_of(path, names)
            case [str() as head, _, str() as path, *_] if head in _LOOPS:
                yield from _table_of(path, names)
            case ["insert", str() as table, *_]:
                yield table
            case ["for", _, _, inner]:
                yield from _written(inner, world, operation)
            case ["if", _, *branches]:
                for branch in branches:
                    yield from _written(branch, world, operation)


def _table_of(path: str, names: Mapping[str, Any]) -> Iterator[str]:
    kind = names.get(path.removeprefix("$").partition(".")[0])
    if kind is not None and kind.table:
        yield kind.table


def records_view(world: World, table: Table, wanted: str, offset: int, *, twins_only: bool) -> Data:
    """A page of a table's records that hold a text, with who else looks like each."""
    alike = {key: keys for keys in look_alikes(world, table.name).values() for key in keys}
    words = wanted.casefold().split()
    found = [
        (key, row)
        for key, row in world.records[table.name].items()
        if (not twins_only or key in alike) and all(word in str(list(row.values())).casefold() for word in words)
    ]
    if twins_only:
        found.sort(key=lambda pair: alike[pair[0]])
    shown = found[offset : offset + MOST_RECORDS]
    return {
        "rows": [
            {"key": key, "row": row, "alike": [one for one in alike.get(key, ()) if one != key]} for key, row in shown
        ],
        "total": len(found),
        "offset": offset,
        "page": MOST_RECORDS,
        "alike_in": list(table.look_alike),
    }
