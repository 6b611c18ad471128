"""A call that Ray repeats, as its worker sees it: what the one before had come to is found, nothing is done twice."""

import asyncio

import pytest
from engine_workers import scripted

from orchestra_lib.engine.crew import Post, mark_of
from orchestra_lib.engine.player import Player, take_home
from orchestra_lib.evaluation.plan import Cell, Conditions, Plan
from orchestra_lib.evaluation.suites import Item
from orchestra_lib.store.journal import INTERRUPTED
from orchestra_lib.store.store import Store
from orchestra_lib.workbench import Order

ORDER = Order(task="Six times seven?", orchestrator="right", tools=("code_interpreter",), reference="42")
PLAN = Plan(id="ev-1", conditions=Conditions(suite="s", tools=("code_interpreter",)))
CELL = Cell(orchestrator="right", item=Item(id="1", text="Six times seven?", reference="42"), seed=0)


@pytest.fixture
def player(tmp_path):
    made = Player(Post(home=str(tmp_path), mark=mark_of(tmp_path), name="aa-1"), scripted)
    yield made
    asyncio.run(made.close(True))


def cut(player, run_id, lines):
    """Leave so many lines of a journal, as a kill does."""
    path = player._folder.journal.path(run_id)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))


def again(player, *cuts):
    """The same cell, begun anew after each kill that left so many lines of the last run."""

    async def go():
        brought = await player.play_cell(PLAN, CELL, "ev-1-k")
        for lines in cuts:
            cut(player, brought.run_id, lines)
            brought = await player.play_cell(PLAN, CELL, "ev-1-k")
        return brought

    return asyncio.run(go())


def test_a_run_that_had_ended_is_handed_over_as_it_is(player):
    first, second = again(player), again(player)
    assert second == first
    assert (second.run_id, second.played.outcome, len(second.parcels)) == ("ev-1-k", True, 1)


def test_one_that_was_cut_off_is_played_again_and_both_come_home(player, tmp_path):
    brought = again(player, 3)
    assert [one.run_id for one in brought.parcels] == ["ev-1-k", "ev-1-k.2"]
    assert brought.played.run_ids == ("ev-1-k", "ev-1-k.2")
    assert brought.played.outcome is True
    take_home(brought, tmp_path)
    with Store.open(tmp_path) as store:
        assert [fault.kind for fault in store.get("ev-1-k").faults] == [INTERRUPTED]
        assert store.get("ev-1-k.2").outcome is True


def test_a_verdict_that_was_missing_is_made_up_for(player):
    whole = len(again(player).parcels[0].journal.splitlines())
    brought = again(player, whole - 1)
    assert (brought.run_id, brought.played.outcome) == ("ev-1-k", True)
    assert b'"kind":"graded"' in brought.parcels[0].journal


def test_an_empty_journal_is_in_nobodys_way(player):
    brought = again(player, 0, 3)
    assert (brought.run_id, brought.played.outcome) == ("ev-1-k.3", True)
    assert [one.run_id for one in brought.parcels] == ["ev-1-k.2", "ev-1-k.3"]


def test_a_rollout_too(player):
    async def go():
        first = await player.play(ORDER, "run")
        cut(player, "run", 3)
        return first, await player.play(ORDER, "run")

    first, second = asyncio.run(go())
    assert (first.run_id, second.run_id, len(second.parcels)) == ("run", "run.2", 2)


def test_without_a_shared_folder_a_node_uses_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path / "own"))
    made = Player(Post(home=str(tmp_path / "driver"), mark="of another disk", name="aa-1"), scripted)
    place = asyncio.run(made.place())
    assert (place.shared, made._folder.path.parents[1]) == (False, tmp_path / "own")
    asyncio.run(made.close(True))
