"""Tools over tau2's models, which share nothing with the engine, say of every call what the engine says."""

from random import Random
from types import SimpleNamespace

import pydantic
import pytest

from benchmarks.tau2_tools import PlainTools, Room, models_of
from orchestra_lib.environment.domain import domain_names, load_world
from orchestra_lib.environment.trying import Caller
from orchestra_lib.errors import ModelMistake

LIB = SimpleNamespace(BaseModel=pydantic.BaseModel, create_model=pydantic.create_model)


def room_of(world):
    models = {one.name: models_of(LIB, one.fields, one.one.title()) for one in world.domain.tables}
    made = {
        name: {key: model(**world.records[name][key]) for key in world.records[name]} for name, model in models.items()
    }
    return Room(PlainTools(world.domain), SimpleNamespace(**made), models)


def plain(data):
    """Results without what is null, which a model has in full and a record may lack."""
    if isinstance(data, pydantic.BaseModel):
        data = data.model_dump()
    if isinstance(data, dict):
        return {name: plain(one) for name, one in data.items() if one is not None}
    return [plain(one) for one in data] if isinstance(data, list | tuple) else data


@pytest.mark.parametrize("name", domain_names())
def test_each_call_is_done_or_refused_alike(name):
    world = load_world(name)
    room, state, caller, random = room_of(world), world.state(), Caller(world, seed=3), Random(3)
    went = 0
    for _ in range(150):
        call = caller.call(random.choice(world.domain.operations))
        try:
            wanted = plain(world.operations.run(state, call.operation, call.arguments))
        except ModelMistake:
            with pytest.raises(ModelMistake):
                room.run(call.operation, call.arguments)
        else:
            went += 1
            assert plain(room.run(call.operation, call.arguments)) == wanted, call
    for table in world.domain.tables:
        assert [plain(one) for one in room.tables[table.name].values()] == [
            plain(one) for one in state.records(table.name)
        ]
    assert went
