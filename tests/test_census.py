"""The shipped domains in numbers: as many and as different as issue 6 wants them."""

from collections import Counter

import pytest

from orchestra_lib.environment.census import census
from orchestra_lib.environment.domain import domain_names, load_world
from orchestra_lib.environment.schema import Mode, OperationKind

TEN = tuple(name for name in domain_names() if name != "mock")


@pytest.fixture(scope="module")
def worlds():
    return {name: load_world(name) for name in TEN}


def test_the_figures_of_the_mock_domain():
    found = census(load_world("mock"))
    assert (found.reads, found.writes, found.generic, found.tools) == (7, 5, 2, 14)
    assert set(found.records) == {"members", "bikes", "hires"}
    assert (found.enforced, found.policy_only) == (13, 6)
    assert found.twins > 0


def test_there_are_ten_of_at_least_six_archetypes_and_two_are_held_out(worlds):
    assert len(TEN) == 10
    assert len({world.domain.archetype for world in worlds.values()}) >= 6
    assert sorted(name for name, world in worlds.items() if world.domain.split == "held_out") == [
        "education",
        "weather",
    ]
    assert len({world.domain.now for world in worlds.values()}) == 10


@pytest.mark.parametrize("name", TEN)
def test_size(name, worlds):
    found = census(worlds[name])
    assert 3 <= len(found.records) <= 5
    assert all(50 <= count <= 300 for count in found.records.values()), found.records
    assert 11 <= found.tools <= 25
    assert 900 <= found.words <= 1600
    assert found.lines >= 50
    assert found.modals >= 20


@pytest.mark.parametrize("name", TEN)
def test_reads_and_writes_are_about_as_many(name, worlds):
    found = census(worlds[name])
    assert 0.36 <= found.reads / found.tools <= 0.6
    assert 0.3 <= found.writes / found.tools <= 0.54
    assert found.generic == 2


@pytest.mark.parametrize("name", TEN)
def test_the_agent_has_rules_of_its_own_to_keep(name, worlds):
    writes = [one for one in worlds[name].domain.operations if one.kind is OperationKind.WRITE]
    alone = [one.name for one in writes if any(rule.mode is Mode.POLICY for rule in one.rules)]
    assert census(worlds[name]).policy_only >= 15
    assert len(alone) >= 0.6 * len(writes)


@pytest.mark.parametrize("name", TEN)
def test_parameters_vary_and_some_values_are_held_out(name, worlds):
    parameters = worlds[name].domain.parameters
    assert len(parameters) >= 10
    for one in parameters:
        assert one.value in one.choices, one.name
        assert one.held_out, one.name
        assert not set(one.held_out) & set(one.choices), one.name


@pytest.mark.parametrize("name", TEN)
def test_every_state_can_be_met_twice(name, worlds):
    world = worlds[name]
    for table in world.domain.tables:
        if table.machine:
            met = Counter(one[table.machine.field] for one in world.records[table.name].values())
            assert all(met[state] >= 2 for state in table.machine.states), (table.name, met)


@pytest.mark.parametrize("name", TEN)
def test_people_share_names_and_resources_look_alike(name, worlds):
    world = worlds[name]
    people = Counter((one["first_name"], one["last_name"]) for one in world.records[world.domain.owner].values())
    assert sum(count for count in people.values() if count > 1) >= 10
    assert census(world).twins >= 60
    assert sum(bool(table.look_alike) for table in world.domain.tables) >= 2


@pytest.mark.parametrize("name", TEN)
def test_nobody_is_real(name, worlds):
    for one in worlds[name].records[worlds[name].domain.owner].values():
        assert one["email"].rsplit(".", 1)[0].endswith("example")


def test_no_two_domains_are_built_alike(worlds):
    def writes(world):
        return {one.name for one in world.domain.operations if one.kind is OperationKind.WRITE}

    for first in TEN:
        for second in TEN:
            if first < second:
                shared = writes(worlds[first]) & writes(worlds[second])
                assert len(shared) <= 3, (first, second, shared)
