"""Every domain that ships: sound, usable in every part, and proof against any call."""

import pytest

from orchestra_lib.environment.changes import snapshot
from orchestra_lib.environment.domain import domain_names, load_world
from orchestra_lib.environment.policy_text import policy_text
from orchestra_lib.environment.trying import Caller, successes
from orchestra_lib.environment.validation import validate
from orchestra_lib.errors import ModelMistake

CALLS = 15


@pytest.mark.parametrize("name", domain_names())
def test_a_shipped_domain_is_sound(name):
    world = load_world(name)
    assert [str(problem) for problem in validate(world)] == []
    words = len(policy_text(world.domain).split())
    assert 900 <= words <= 1600, words
    assert 11 <= len(world.domain.operations) <= 25


@pytest.mark.parametrize("name", domain_names())
def test_every_operation_can_be_used(name):
    found = successes(load_world(name), enough=1)
    assert [operation for operation, calls in found.items() if not calls] == []


@pytest.mark.parametrize("name", domain_names())
def test_any_call_succeeds_or_is_told_and_changes_nothing(name):
    world, state = load_world(name), None
    caller = Caller(world, seed=7)
    for operation in world.domain.operations:
        for number in range(CALLS):
            state = state if state is not None and number % 8 else world.state()
            call, before = caller.call(operation), snapshot(state)
            try:
                world.operations.run(state, call.operation, call.arguments)
            except ModelMistake:
                assert state.overlay == before, call
    assert world.state().diff() == {}
