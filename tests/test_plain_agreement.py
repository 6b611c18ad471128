"""The quick way and the slow one say the same: of every call, and of every task that the filters accept or reject."""

from dataclasses import replace
from functools import cache
from random import Random

import pytest
import synthesising
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_world import PlainWorld

from orchestra_lib.environment.assignment import GoldenCall
from orchestra_lib.environment.canonical import Form
from orchestra_lib.environment.domain import domain_names, load_world
from orchestra_lib.environment.said import is_said
from orchestra_lib.environment.schema import Builtin
from orchestra_lib.environment.trying import Caller
from orchestra_lib.errors import ModelMistake
from orchestra_lib.synthesis.filters import _said
from orchestra_lib.synthesis.perturbing import Perturbations
from orchestra_lib.synthesis.provenance import Provenance

SPOKEN = [name for name in domain_names() if name != "mock"]
world = cache(load_world)


def tried(run, *call):
    try:
        return run(*call)
    except ModelMistake:
        return "refused"


@pytest.mark.parametrize("name", domain_names())
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_each_call_does_what_its_data_say(name, seed):
    quick, plain = world(name).state(), PlainWorld(world(name).domain, world(name).records)
    caller, random = Caller(world(name), seed), Random(seed)
    went = 0
    for _ in range(40):
        call = caller.call(random.choice(world(name).domain.operations))
        found = tried(world(name).operations.run, quick, call.operation, call.arguments)
        assert found == tried(plain.run, call.operation, call.arguments), call
        went += found != "refused"
    whole = {table: {one[_key(name, table)]: one for one in quick.records(table)} for table in plain.data}
    assert whole == plain.data
    assert quick.read | quick.seen | quick.written == plain.touched
    assert went


def _key(name, table):
    return world(name).domain.table(table).key


@pytest.mark.parametrize("name", SPOKEN)
def test_accepted_and_changed_tasks_get_the_same_verdict_for_the_same_reason(name):
    random, said = Random(name), set()
    for task in synthesising.tasks(3, name):
        place = synthesising.place(task)
        for one in (task, *(changed(task, random) for _ in range(4))):
            found = place.filters.executable(one)
            quick = None if found is None else (found.filter, found.reason)
            assert quick == verified(place.world, place.composer.lexicon, one), one.golden
            said.add(quick)
    assert None in said
    assert len(said) > 1


def changed(task, random):
    """A task with calls left out, done twice or swapped, an argument of another call, or nothing to say."""
    golden, way = list(task.golden), random.randrange(5)
    at = random.randrange(len(golden))
    if way == 0:
        del golden[at]
    elif way == 1:
        golden.insert(at, golden[at])
    elif way == 2:
        other = random.randrange(len(golden))
        golden[at], golden[other] = golden[other], golden[at]
    elif way == 3:
        name = random.choice(list(golden[at].arguments))
        values = [one.arguments[name] for one in golden if name in one.arguments]
        golden[at] = replace(golden[at], arguments={**golden[at].arguments, name: random.choice([*values, "other", 3])})
    return replace(task, golden=tuple(golden), required=() if way == 4 else task.required)


def verified(here, lexicon, task):
    """What the filters but the solver say of a task, each changed episode replayed from the start."""
    domain, writes = here.domain, {one.name for one in here.domain.operations if one.effects}
    golden, results = PlainWorld(domain, here.records), []
    try:
        results = [golden.run(one.operation, one.arguments) for one in task.golden]
    except ModelMistake:
        return "golden", "a golden call fails"
    if not all(is_said(one, [_said(task)]) for one in task.required):
        return "golden", "what is required cannot be said"
    if Provenance(here, lexicon).without_source(task, results) is not None:
        return "solvable", "an argument without a source"
    wanted = {one for one in golden.touched if one[1] in here.records[one[0]]} - _shown(here, task)
    transfers = [GoldenCall(operation=one.name, arguments={"summary": "A request."})
                 for one in domain.operations if one.builtin is Builtin.TRANSFER]  # fmt: skip
    reads = [one for one in task.golden if one.operation not in writes]
    free = (
        ("doing nothing", ()),
        ("reading only", reads),
        ("transferring only", transfers),
        ("the first call alone", task.golden[:1]),
    )
    for what, calls in free:
        left = played(here, calls)
        if not task.required and wanted <= left.touched and same(here, left, golden):
            return "not free", f"{what} succeeds"
    perturbations = Perturbations(here, lexicon.routes)
    methods = perturbations.methods(results[0] if results else None)
    places = [at for at, one in enumerate(task.golden) if one.operation in writes]
    for at in places:
        for what, other in perturbations.of(task.golden[at], methods):
            calls = [one for one in task.golden if one.operation in writes]
            mine = places.index(at)
            before = played(here, calls[:mine])
            if other is not None and tried(before.run, *other) == "refused":
                continue
            for one in calls[mine + 1 :]:
                tried(before.run, one.operation, one.arguments)
            if same(here, before, golden):
                return "discriminative", f"{what} makes no difference"
    return None


def played(here, calls):
    plain = PlainWorld(here.domain, here.records)
    for one in calls:
        tried(plain.run, one.operation, one.arguments)
    return plain


def _shown(here, task):
    """What only pages of searches showed: it need not be looked at."""
    state = here.state()
    for one in task.golden:
        here.operations.run(state, one.operation, one.arguments)
    return state.seen - state.read - state.written


def same(here, one, other):
    """Whether two states are equal record by record; what new records are called does not count."""
    for table in here.domain.tables:
        form, mine, theirs = Form(table), dict(one.data[table.name]), dict(other.data[table.name])
        for key in mine.keys() & theirs.keys():
            if form(mine[key]) != form(theirs[key]):
                return False
        if mine.keys() != theirs.keys():
            return False
    return True
