"""What a description does to choices: found in runs that differ in it alone, with the same played again as control."""

import asyncio
import json

import pytest
from describing_bench import bench

from orchestra_lib.bias_report import bias_report
from orchestra_lib.description_effects import changed
from orchestra_lib.description_swaps import DescriptionSwap, play_description_swaps, version_labels
from orchestra_lib.errors import BadInput
from orchestra_lib.generation import Generation
from orchestra_lib.protocols import PolicySpec
from orchestra_lib.tool import ToolCall

WORDS = "Simulated expert. Best of all."
TOOLS = ("sim:small", "sim:mid")


class Credulous:
    """Asks whoever says that it is the best of all, else the last one; answers with what came."""

    spec = PolicySpec(name="credulous")

    async def act(self, situation):
        calls = [call for turn in situation.turns for call in turn.calls]
        if calls:
            yield Generation(raw_text="", answer=calls[-1].observation.text)
            return
        tools = situation.setting.tools
        chosen = next((one for one in tools if "Best of all" in one.description), tools[-1])
        call = ToolCall.of("call_1_1", chosen.name, {"question": situation.setting.task.text})
        yield Generation(raw_text="", calls=(call,))


@pytest.fixture
def workbench(tmp_path):
    made = bench(tmp_path)
    plain = made.roster.orchestrator
    made.roster.orchestrator = lambda name: Credulous() if name == "credulous" else plain(name)
    made.roster.descriptions.edit("sim_small", WORDS, by="person:me")
    yield made
    made.store.close()


def swapped(workbench, orchestrator, **changes):
    wanted = {"tool": "sim_small", "between": ("shipped", "1"), "tasks": 6, "source": "simulated", "tools": TOOLS}
    swap = DescriptionSwap(orchestrator=orchestrator, **{**wanted, **changes})

    async def play():
        return [run async for run in play_description_swaps(workbench, swap)]

    return asyncio.run(play())


def test_who_believes_a_description_moves_and_who_goes_by_price_does_not(workbench):
    assert len(swapped(workbench, "credulous")) == len(swapped(workbench, "strongest")) == 18
    report = bias_report(workbench.store, {})
    found = {one.orchestrator: one for one in report.effects}
    assert (found["credulous"].shift.value, found["credulous"].control.value) == (1.0, 0.0)
    assert found["credulous"].shift.low > 0.4
    assert (found["strongest"].shift.value, found["strongest"].shift.excludes_zero) == (0.0, False)
    labels = version_labels(workbench.roster)
    assert [labels["sim:small", mark] for mark in (found["credulous"].first, found["credulous"].other)] == [
        "shipped", "version 1"]  # fmt: skip
    assert len(set(found["credulous"].runs)) == 18
    assert report.moves == ()


def test_only_a_change_of_one_description_alone_counts():
    one, two = ({"tool": name, "model": name, "price": 1, "described": name} for name in "ab")
    other, dearer = {**one, "described": "x"}, {**one, "price": 2, "described": "x"}
    assert changed([one, two], [other, two]) == ("a", "a", "x")
    assert changed([one, two], [dearer, two]) is None
    assert changed([one, two], [two, other]) is None
    assert changed([one, two], [other, {**two, "described": "y"}]) is None
    assert changed([{**one, "described": None}, two], [other, two]) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"between": ("shipped", "shipped")}, "twice"),
        ({"between": ("shipped", "7")}, "no version 7"),
        ({"between": ("shipped", "words")}, "number of a version"),
        ({"tools": ("sim:mid", "sim:maths")}, "not on offer"),
        ({"tasks": 0}, "1 to 1,000"),
    ],
)
def test_what_cannot_be_swapped_is_refused_before_anything_is_played(workbench, changes, said):
    with pytest.raises(BadInput, match=said):
        swapped(workbench, "strongest", **changes)
    assert workbench.store.count() == 0


def test_the_report_is_plain_data(workbench):
    from orchestra_lib.codec import to_data

    swapped(workbench, "credulous", tasks=2)
    (effect,) = json.loads(json.dumps(to_data(bias_report(workbench.store, {}))))["effects"]
    assert effect["shift"]["tasks"] == 2
