"""A rehearsal decides of every changed episode what replaying it to the end would say."""

from contextlib import suppress

import pytest
import synthesising

from orchestra_lib.environment.assignment import GoldenCall
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.state import State
from orchestra_lib.errors import ModelMistake
from orchestra_lib.synthesis.perturbing import Perturbations
from orchestra_lib.synthesis.rehearsal import Rehearsal, Watched


def rehearsed(task):
    place = synthesising.place(task)
    writes = frozenset(one.name for one in place.composer.routes.writes)
    return place, Rehearsal(place.world, task, writes)


def replayed(world, calls) -> State:
    state = world.state()
    for call in calls:
        with suppress(ModelMistake):
            world.operations.run(state, call.operation, call.arguments)
    return state


@pytest.mark.parametrize("name", ["railway", "finance", "ecommerce"])
def test_it_says_what_a_whole_replay_says(name):
    told, cases = set(), 0
    for task in synthesising.tasks(8, name):
        place, rehearsal = rehearsed(task)
        perturbations = Perturbations(place.world, place.composer.routes)
        methods = perturbations.methods(rehearsal.judge.golden.results[0])
        changes = [step.call for step in rehearsal.steps]
        for at, step in enumerate(rehearsal.steps):
            # Writes of other tasks stand in too: some of them are equal to the golden one in what they leave.
            others = [other for _, other in perturbations.of(step.call, methods)]
            others += [(one.operation, one.arguments) for one in changes]
            for other in others:
                instead = [] if other is None else [GoldenCall(operation=other[0], arguments=other[1])]
                if instead and not _goes(place.world, changes[:at], instead[0]):
                    instead = []
                    expected = True
                else:
                    left = replayed(place.world, [*changes[:at], *instead, *changes[at + 1 :]])
                    expected = not rehearsal.judge.same(left)
                assert rehearsal.tells(at, other) is expected, (task.id, at, other)
                told.add(expected)
                cases += 1
    assert told == {True, False}
    assert cases > 60


def _goes(world, before, call):
    state = replayed(world, before)
    try:
        world.operations.run(state, call.operation, call.arguments)
    except ModelMistake:
        return False
    return True


def test_its_states_are_those_of_the_golden_calls():
    task = max(synthesising.tasks(12), key=lambda one: one.difficulty.get("writes", 0))
    place, rehearsal = rehearsed(task)
    assert rehearsal.first.read == replayed(place.world, task.golden[:1]).read
    assert not rehearsal.unwritten.overlay
    assert [step.call for step in rehearsal.steps] == [
        one for one in task.golden if one.operation in {write.name for write in place.composer.routes.writes}
    ]
    for step, following in zip(rehearsal.steps, rehearsal.steps[1:], strict=False):
        assert step.after.overlay == following.before.overlay
        assert step.changed
    assert not rehearsal.steps[-1].later


def test_what_is_looked_at_is_noted():
    world = synthesising.pipeline().world
    state = Watched(world.base)
    key = next(iter(world.records["bookings"]))
    state.get("bookings", key)
    state.find("bookings", "none")
    assert state.looked == {("bookings", key), ("bookings", "none")}
    list(state.among("claims", "booking_id", key))
    list(state.matching("passengers", "zip", "1"))
    list(state.records("departures"))
    assert state.looked >= {"claims", "passengers", "departures"}


@pytest.mark.parametrize("name", ["railway", "medicine"])
def test_a_remembered_page_is_what_a_search_finds_now(name):
    """Pages are shared between episodes; a fresh world has none, and must show the same after each write."""
    for task in synthesising.tasks(8, name):
        world = synthesising.place(task).world
        fresh, state = World(world.domain, world.records).state(), world.state()
        for call in task.golden:
            fresh.base.pages.clear()
            ran = [world.operations.run(one, call.operation, call.arguments) for one in (state, fresh)]
            assert ran[0] == ran[1], call
            assert (state.seen, state.read) == (fresh.seen, fresh.read), call
