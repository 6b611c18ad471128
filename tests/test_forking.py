"""Forks: shared turns as they were, another way on by the same loop, tools that remember, and the tree of it all."""

import asyncio
import json
from dataclasses import replace

import pytest
from episodes import trajectory
from playing import Echo
from scripted_workbench import scripted_workbench
from test_workbench import Two

from orchestra_lib.configuration import changed, order_of, rollouts
from orchestra_lib.errors import BadInput
from orchestra_lib.event import fold
from orchestra_lib.forking import AskedCall, restore, tree_lines
from orchestra_lib.importing import import_file
from orchestra_lib.limits import Limits
from orchestra_lib.preference import Preference
from orchestra_lib.store.summary import Filter
from orchestra_lib.toolkit.code_interpreter import CodeInterpreter
from orchestra_lib.trajectory import Fork
from orchestra_lib.workbench import Order, Workbench


@pytest.fixture
def bench(tmp_path):
    workbench = scripted_workbench(tmp_path, pace_s=0.001)
    yield workbench
    asyncio.run(workbench.close())


def play(workbench, order):
    async def collect():
        return [event async for event in workbench.play(order)]

    return fold(asyncio.run(collect()))


FIGURES = Order(task="figures", orchestrator="scripted")


def forked(workbench, parent, turn, **flags):
    return play(workbench, changed(order_of(parent.setting), {"fork": {"run_id": parent.id, "turn": turn}, **flags}))


def test_the_shared_turns_stand_in_the_fork_as_they_were_and_it_goes_on(bench):
    parent = play(bench, FIGURES)
    fork = forked(bench, parent, 4, **{"preference.cost": 1.0})
    assert fork.turns[:3] == parent.turns[:3]
    assert [turn.index for turn in fork.turns] == [1, 2, 3, 4, 5, 6]
    assert fork.turns[3].started_s >= parent.turns[2].finished_s
    assert fork.setting.preference.cost == 1.0
    assert fork.setting.sentence != parent.setting.sentence
    assert fork.setting.fork == Fork(run_id=parent.id, turn=4)
    assert bench.journal.trajectory(fork.id) == fork == bench.store.get(fork.id)


def test_the_bill_is_of_the_whole_and_says_what_was_paid_before(bench):
    parent = play(bench, FIGURES)
    fork = forked(bench, parent, 4)
    paid = fork.before_fork().cost_usd
    assert 0 < paid < fork.bill().cost_usd
    assert parent.before_fork() is None
    assert fork.finished_s > parent.turns[2].finished_s


def test_an_edited_call_is_the_persons_and_then_the_orchestrator_goes_on(bench):
    parent = play(bench, FIGURES)
    call = {"tool": "coder", "arguments": {"text": "otherwise"}}
    fork = forked(bench, parent, 2, call=call)
    assert [one.call.tool for one in fork.calls] == ["local_search", "coder", "code_interpreter", "coder", "generalist"]
    assert fork.setting.fork.edited
    assert fork.turns[1].generation.attempts == ()


def test_a_repeat_of_what_was_called_before_the_fork_is_a_repeat(tmp_path):
    again = [("local_search", {"word": "hi"})]
    workbench = Workbench(tmp_path, roster=Two(again, again, again, "hi"))
    parent = play(workbench, Order(task="x", orchestrator="scripted"))
    fork = forked(workbench, parent, 3)
    assert [str(one.observation.status) for one in fork.calls] == ["ok", "ok", "rejected"]
    asyncio.run(workbench.close())


def test_limits_count_the_turns_before_the_fork(bench):
    parent = play(bench, FIGURES)
    assert forked(bench, parent, 4, **{"limits.max_turns": 4}).status == "max_turns"
    assert forked(bench, parent, 4, **{"limits.tokens": 1}).status == "token_limit"
    assert len(forked(bench, parent, 4, **{"limits.tokens": 1}).turns) == 3


@pytest.mark.parametrize(
    "flags, words",
    [
        ({"fork": {"run_id": "RUN", "turn": 9}}, "has no turn 9; its turns are 1 to 2"),
        ({"fork": {"run_id": "nothing", "turn": 1}}, "nothing"),
        ({"call": {"tool": "coder", "arguments": {"text": "x"}}}, "belongs to a fork"),
        ({"fork": {"run_id": "RUN", "turn": 1}, "call": {"tool": "spoon", "arguments": {}}}, "not on offer"),
        ({"fork": {"run_id": "RUN", "turn": 1}, "call": {"tool": "coder", "arguments": {}}}, "`text` is missing"),
        ({"fork": {"run_id": "RUN", "turn": 1}, "tools": ["sql"]}, "sql is off"),
    ],
)
def test_what_cannot_be_forked_is_refused_before_it_starts(bench, flags, words):
    parent = play(bench, Order(task="short", orchestrator="scripted"))
    if flags.get("fork", {}).get("run_id") == "RUN":
        flags = {**flags, "fork": {**flags["fork"], "run_id": parent.id}}
    with pytest.raises(BadInput, match=words):
        play(bench, changed(order_of(parent.setting), flags))
    assert bench.store.count() == 1


def test_a_fork_is_replayed_byte_for_byte(bench):
    parent = play(bench, FIGURES)
    fork = forked(bench, parent, 3, call={"tool": "coder", "arguments": {"text": "otherwise"}})
    found, kept = bench.replay(fork.id, keep=True)
    assert found.difference is None
    assert bench.store.get(kept).setting.origin == f"replay of {fork.id}"
    assert bench.store.get(kept).turns == fork.turns


@pytest.fixture
def imported(bench, tmp_path):
    """The id of a conversation that another program had."""
    rows = [{"role": "user", "content": "short"}, {"role": "assistant", "content": "done"}]
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"messages": rows}))
    import_file(file, bench.store.journal)
    return bench.store.list(Filter(orchestrator="unknown"))[0].id


def test_an_imported_run_says_why_it_cannot_be_replayed(bench, imported):
    with pytest.raises(BadInput, match=f"{imported} was imported .*another program played it"):
        bench.replay(imported)


def test_a_fork_of_an_imported_run_needs_somebody_who_is_here(bench, imported):
    setting = bench.store.get(imported).setting
    fork = {"fork": {"run_id": imported, "turn": 0}, "prices": "nominal"}
    with pytest.raises(BadInput, match="its orchestrator 'unknown' is not here to go on"):
        play(bench, changed(order_of(setting), fork))
    gone_on = play(bench, changed(order_of(setting), {**fork, "orchestrator": "scripted"}))
    assert (gone_on.setting.fork.run_id, gone_on.setting.origin) == (imported, None)


def test_the_tree_of_forks_is_found_from_any_of_its_runs(bench):
    parent = play(bench, FIGURES)
    first = forked(bench, parent, 4)
    second = forked(bench, first, 2, call={"tool": "coder", "arguments": {"text": "x"}})
    third = forked(bench, parent, 2)
    play(bench, Order(task="short", orchestrator="scripted"))
    for run in (parent, first, second, third):
        lines = tree_lines(bench.store.forks(run.id))
        assert [(depth, one.id) for depth, one in lines] == [
            (0, parent.id), (1, third.id), (1, first.id), (2, second.id)
        ]  # fmt: skip
    assert [one.edited for _, one in lines] == [False, False, False, True]
    bench.store.delete(parent.id)
    assert [depth for depth, _ in tree_lines(bench.store.forks(second.id))] == [0, 0, 1]


def test_words_of_ones_own_go_when_the_weights_they_stood_for_change():
    order = Order(task="x", preference=Preference(sentence="Be cheap."))
    assert changed(order, {"seed": 1}).preference.sentence == "Be cheap."
    assert changed(order, {"preference.cost": 0.0}).preference.sentence is None


def test_rollouts_are_one_order_with_seeds_that_go_up():
    made = rollouts(Order(task="x", seed=7, limits=Limits(max_turns=3)), 3, "g")
    assert [(one.seed, one.group, one.limits.max_turns) for one in made] == [(7, "g", 3), (8, "g", 3), (9, "g", 3)]
    with pytest.raises(BadInput, match="1 to 256"):
        rollouts(Order(task="x"), 0, "g")


class Remembering(Echo):
    memory = "the one"

    async def restore(self, run_id, calls):
        self.restored = [call.call.arguments["query"] for call in calls]
        return f"{len(calls)} remembered"


def test_a_tool_that_remembers_is_brought_to_where_it_was_and_others_say_that_they_are_not():
    turns = trajectory(turns=3).turns
    remembering, loaded = Remembering("search"), Echo("search", source="mine.py:search")
    assert asyncio.run(restore([remembering, Echo("coder")], turns, "new")) == ("search: 2 remembered",)
    assert remembering.restored == ["ü 0", "ü 1"]
    other = Remembering("coder")
    said = asyncio.run(restore([other, remembering], turns, "new"))
    assert (said, other.restored) == (("coder, search: 2 remembered",), ["ü 0", "ü 1"])
    assert "is not restored" in asyncio.run(restore([loaded], turns, "new"))[0]


def test_the_interpreter_has_its_variables_in_the_fork():
    interpreter = CodeInterpreter()
    if (reason := interpreter.availability()) is not None:
        pytest.skip(reason)

    async def go():
        made = trajectory(turns=3).calls
        codes = ["x = 40", "print(x)"]
        texts = [(await interpreter.call({"code": code}, run_id="a")).text for code in codes]
        calls = [
            replace(
                call,
                call=replace(call.call, arguments={"code": code}),
                observation=replace(call.observation, text=text),
            )
            for call, code, text in zip(made, codes, texts, strict=True)
        ]
        said = await interpreter.restore("b", calls)
        seen = await interpreter.call({"code": "x + 2"}, run_id="b")
        for run_id in "ab":
            await interpreter.release(run_id)
        return said, seen.text.strip()

    assert asyncio.run(go()) == ("2 earlier cells run again", "42")


def test_an_asked_call_is_closed_to_other_keys():
    with pytest.raises(BadInput, match="colour"):
        changed(Order(task="x"), {"call": {"tool": "a", "arguments": {}, "colour": 1}})
    assert changed(Order(task="x"), {"call": {"tool": "a", "arguments": {}}}).call == AskedCall(tool="a", arguments={})
