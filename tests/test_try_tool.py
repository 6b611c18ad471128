"""A call made by hand is kept and billed like any other."""

import asyncio

import pytest
from scripted_workbench import SMALL, scripted_workbench

from orchestra_lib.errors import BadInput
from orchestra_lib.event import fold
from orchestra_lib.workbench import Order


@pytest.fixture
def workbench(tmp_path):
    workbench = scripted_workbench(tmp_path, pace_s=0.0)
    yield workbench
    workbench.store.close()


def order(tool, arguments):
    return Order(task=f"Try {tool} out", orchestrator="try-out", tools=(tool,), arguments=arguments)


def tried(workbench, tool, arguments):
    async def events():
        return [event async for event in workbench.play(order(tool, arguments))]

    return fold(asyncio.run(events()))


def test_a_try_out_is_a_run_of_one_call_in_journal_and_store(workbench):
    trajectory = tried(workbench, "coder", {"text": "b"})
    assert trajectory.status == "answered"
    assert [call.observation.text[:13] for call in trajectory.calls] == ["Doubling time"]
    assert workbench.store.get(trajectory.id) == trajectory
    assert workbench.store.list()[0].orchestrator == "try-out"


def test_it_is_billed_under_the_chosen_table(workbench):
    bill = tried(workbench, "coder", {"text": "b"}).bill()
    assert bill.cost_usd == pytest.approx(1204 * 0.04 / 1e6)
    assert workbench.price_tables()
    assert SMALL in tried(workbench, "coder", {"text": "c"}).setting.prices.prices


@pytest.mark.parametrize("arguments, words", [({}, "`text` is missing"), ({"text": 1}, "of type string")])
def test_arguments_that_do_not_fit_are_refused_before_anything_is_kept(workbench, arguments, words):
    with pytest.raises(BadInput, match=words):
        workbench.play(order("coder", arguments))
    assert workbench.store.count() == 0


@pytest.mark.parametrize("tool, words", [("sql", "is off"), ("nope", "no tool 'nope'")])
def test_a_tool_that_is_off_or_unknown_is_refused(workbench, tool, words):
    with pytest.raises(BadInput, match=words):
        workbench.play(order(tool, {"text": "x"}))


@pytest.mark.parametrize("tools, arguments", [(("coder", "generalist"), {}), ((), {}), (("coder",), None)])
def test_one_tool_and_its_arguments_are_needed(workbench, tools, arguments):
    with pytest.raises(BadInput, match="name one tool"):
        workbench.play(Order(task="x", orchestrator="try-out", tools=tools, arguments=arguments))
