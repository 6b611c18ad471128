"""Calls with arguments that fit and mostly exist: to show that every operation can be used, and to shake a domain.

An argument comes from the records that the call's own references lead to, then from any record's field of that name,
then from its type. Everything is drawn from the seed.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from random import Random
from typing import Any

from orchestra_lib.environment.assignment import GoldenCall
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.operators import moment
from orchestra_lib.environment.schema import Builtin, Field, FieldType, Operation
from orchestra_lib.environment.state import State
from orchestra_lib.errors import ModelMistake

Pool = Mapping[str, Sequence[Any]]
_NUMBERS = (FieldType.INTEGER, FieldType.NUMBER, FieldType.MONEY)
_DAYS = (-20, 40)
_OPTIONAL = 0.25
_ABSENT = 0.05
_NEAR = 0.85
_MENTIONED = 0.5


class Caller:
    """Draws calls of a world's operations."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._random = Random(seed)  # noqa: S311 -- invented calls, not secret
        self._anywhere = pool(records for table in world.records.values() for records in table.values())

    def call(self, operation: Operation) -> GoldenCall:
        """A call of an operation, valid by its schema."""
        if operation.builtin is Builtin.CALCULATE:
            return GoldenCall(
                operation=operation.name, arguments={"expression": f"{self._random.randint(1, 99)} * 1.5"}
            )
        if operation.query and operation.query.single:
            return self._finding(operation)
        chosen = [one for one in operation.parameters if not one.optional or self._random.random() < _OPTIONAL]
        arguments: dict[str, Any] = {}
        for one in chosen:
            if _is_key(one):
                arguments[one.name] = self._key(one, pool(self._reached(arguments, operation)))
        near = pool(self._reached(arguments, operation))
        for one in chosen:
            if one.name not in arguments:
                arguments[one.name] = self._value(one, near)
        return GoldenCall(operation=operation.name, arguments={one.name: arguments[one.name] for one in chosen})

    def _finding(self, operation: Operation) -> GoldenCall:
        """A finder's arguments belong together: those of one record."""
        query = operation.query
        assert query is not None
        row = self._random.choice(list(self._world.records[query.table].values()))
        return GoldenCall(operation=operation.name, arguments={one.parameter: row[one.field] for one in query.filters})

    def _key(self, field: Field, near: Pool) -> Any:
        """A key, often one that a record named so far mentions."""
        keys = list(self._keys(field))
        if near and self._random.random() < _MENTIONED:
            mentioned = [value for values in near.values() for value in values if value in self._keys(field)]
            keys = mentioned or keys
        return "nothing" if not keys or self._random.random() < _ABSENT else self._random.choice(keys)

    def _keys(self, field: Field) -> Mapping[str, Any]:
        return self._world.records[field.references or ""]

    def _reached(self, arguments: Mapping[str, Any], operation: Operation) -> Iterator[Any]:
        """The records that the call names, and those that these name."""
        records = self._world.records
        for field in operation.parameters:
            found = records[field.references or ""].get(arguments[field.name]) if field.name in arguments else None
            if found is None:
                continue
            yield found
            for one in self._world.domain.table(field.references or "").fields:
                if one.references and one.type is FieldType.TEXT:
                    yield records[one.references].get(str(found.get(one.name)))

    def _value(self, field: Field, near: Pool) -> Any:
        random = self._random
        if field.type is FieldType.LIST:
            return [self._item(field, near) for _ in range(random.randint(1, 2))]
        if field.type is FieldType.OBJECT:
            return self._object(field, near)
        if field.values and field.type is FieldType.TEXT:
            return random.choice(field.values)
        if field.type is FieldType.BOOLEAN:
            return random.random() < 0.5
        names = [field.name, *(["id"] if "payment" in field.name else []), field.name.partition("_")[2]]
        for known in (near, self._anywhere):
            if random.random() < _NEAR and (name := next((one for one in names if one in known), None)):
                return _fitting(field, random.choice(known[name]))
        return self._new(field)

    def _new(self, field: Field) -> Any:
        random = self._random
        if field.type in _NUMBERS:
            low = 1 if field.minimum is None else field.minimum
            drawn = random.uniform(low, low + 8 if field.maximum is None else field.maximum)
            return int(drawn) if field.type is FieldType.INTEGER else round(drawn, 2)
        if field.type in (FieldType.DATE, FieldType.DATETIME):
            when = moment(self._world.domain.now) + timedelta(days=random.randint(*_DAYS))
            return when.date().isoformat() if field.type is FieldType.DATE else when.isoformat(timespec="seconds")
        return (
            f"user{random.randint(1, 999)}@example.org" if "mail" in field.name else f"words {random.randint(1, 999)}"
        )

    def _item(self, field: Field, near: Pool) -> Any:
        if field.fields:
            return self._object(field, near)
        if field.references and field.references in self._world.records:
            return self._key(field, near)
        return self._value(Field(name=field.name, type=field.item or FieldType.TEXT, values=field.values), near)

    def _object(self, field: Field, near: Pool) -> dict[str, Any]:
        return {
            one.name: self._key(one, near) if _is_key(one) else self._value(one, near)
            for one in field.fields
            if not one.optional
        }


def _is_key(field: Field) -> bool:
    return field.references is not None and field.type is FieldType.TEXT


def _fitting(field: Field, value: Any) -> Any:
    """A value that another field of the name holds, as this one takes it."""
    if field.type in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return 1
        low = value if field.minimum is None else max(value, field.minimum)
        bounded = low if field.maximum is None else min(low, field.maximum)
        return int(bounded) if field.type is FieldType.INTEGER else bounded
    if field.type is FieldType.DATE:
        return str(value)[:10]
    return value if isinstance(value, str) else str(value)


def pool(values: Any) -> Pool:
    """Every plain value in records, by the name of the field that holds it."""
    found: dict[str, list[Any]] = {}

    def walk(name: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, part in value.items():
                walk(key, part)
        elif isinstance(value, list | tuple):
            for part in value:
                walk(name, part)
        elif value is not None:
            found.setdefault(name, []).append(value)

    for one in values:
        walk("", one)
    return found


def successes(
    world: World, *, seed: int = 7, tries: int = 4000, enough: int = 3
) -> Mapping[str, tuple[GoldenCall, ...]]:
    """Calls that went well, up to `enough` of each operation within so many tries, each on a fresh state."""
    caller, found = Caller(world, seed), {}
    for operation in world.domain.operations:
        went_well: list[GoldenCall] = []
        for _ in range(tries):
            call = caller.call(operation)
            if len(went_well) < enough and _goes(world, call, world.state()):
                went_well.append(call)
            if len(went_well) == enough:
                break
        found[operation.name] = tuple(went_well)
    return found


def _goes(world: World, call: GoldenCall, state: State) -> bool:
    try:
        world.operations.run(state, call.operation, call.arguments)
    except ModelMistake:
        return False
    return True
