"""Every domain that ships: sound, and proof against any call."""

from random import Random

import pytest

from orchestra_lib.environment.changes import snapshot
from orchestra_lib.environment.domain import domain_names, load_world
from orchestra_lib.environment.policy_text import policy_text
from orchestra_lib.environment.schema import FieldType, OperationKind
from orchestra_lib.environment.validation import validate
from orchestra_lib.errors import ModelMistake

CALLS = 40
"""Calls of each operation with arguments that fit its schema and mostly exist."""


@pytest.mark.parametrize("name", domain_names())
def test_a_shipped_domain_is_sound(name):
    world = load_world(name)
    assert [str(problem) for problem in validate(world)] == []
    words = len(policy_text(world.domain).split())
    assert 900 <= words <= 1600, words
    assert 11 <= len(world.domain.operations) <= 25


@pytest.mark.parametrize("name", domain_names())
def test_any_call_succeeds_or_is_told_and_changes_nothing(name):
    world, random = load_world(name), Random(7)
    values, done, state = _values(world.records), 0, None
    for operation in world.domain.operations:
        for number in range(CALLS):
            state = state if state is not None and number % 20 else world.state()
            arguments = {
                one.name: _value(one, world, values, random)
                for one in operation.parameters
                if not one.optional or random.random() < 0.3
            }
            before = snapshot(state)
            try:
                world.operations.run(state, operation.name, arguments)
                done += operation.kind is not OperationKind.GENERIC
            except ModelMistake:
                assert state.overlay == before, (operation.name, arguments)
    assert done > 100
    assert world.state().diff() == {}


def _values(records):
    """Every plain value of the records by the name of its field."""
    found = {}

    def walk(name, value):
        for key, part in value.items() if isinstance(value, dict) else ():
            walk(key, part)
        for part in value if isinstance(value, list) else ():
            walk(name, part)
        if value is not None and not isinstance(value, dict | list):
            found.setdefault(name, []).append(value)

    walk("", records)
    return found


def _value(field, world, values, random):
    if field.references and field.type is FieldType.TEXT:
        return random.choice([*world.records[field.references], "nothing"])
    if field.values and field.type is FieldType.TEXT:
        return random.choice(field.values)
    if field.type is FieldType.LIST:
        return [_item(field, world, values, random) for _ in range(random.randint(0, 2))]
    if field.type is FieldType.OBJECT:
        return _object(field, world, values, random)
    if field.type is FieldType.BOOLEAN:
        return random.random() < 0.5
    if field.type in (FieldType.INTEGER, FieldType.NUMBER, FieldType.MONEY):
        low = 1 if field.minimum is None else field.minimum
        drawn = random.uniform(low, field.maximum or low + 8)
        return int(drawn) if field.type is FieldType.INTEGER else round(drawn, 2)
    if field.type in (FieldType.DATE, FieldType.DATETIME):
        day = f"{world.domain.now[:8]}{random.randint(1, 28):02d}"
        return day if field.type is FieldType.DATE else f"{day}T10:00:00"
    return random.choice(values.get("id" if "payment" in field.name else field.name, ["words"]))


def _item(field, world, values, random):
    if field.fields:
        return _object(field, world, values, random)
    if field.values:
        return random.choice(field.values)
    return random.choice(values.get(field.name, ["words"])) if field.item in (None, FieldType.TEXT) else 1


def _object(field, world, values, random):
    return {one.name: _value(one, world, values, random) for one in field.fields}
