"""Trained checkpoints as orchestrators: offered by their card, loaded late, over simulated experts and nothing else."""

import asyncio
import json
import subprocess
import sys

import pytest

from orchestra_lib.errors import BadInput
from orchestra_lib.event import fold
from orchestra_lib.limits import Limits
from orchestra_lib.simulated_tasks import simulated_task
from orchestra_lib.training.conducting import TrainedPolicies, join
from orchestra_lib.workbench import Order, Workbench

TASK = simulated_task(7, 12)
FEW = Limits(max_turns=8)  # it has learned nothing, and does not come to an end by itself


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home folder with a finished run, whose policy has learned nothing."""
    from orchestra_lib.training.tiny.network import new_network, save_network

    home = tmp_path_factory.mktemp("home")
    final = home / "training" / "mine" / "final"
    save_network(new_network(3, width=32, layers=1), final, {"stage": "grpo", "step": 4})
    card = {"dialect": "chat", "stage": "grpo"}
    for name, text in (("other", json.dumps(card)), ("torn", "{"), ("bare", json.dumps(card | {"dialect": "tiny"}))):
        (home / "training" / name / "final").mkdir(parents=True)
        (home / "training" / name / "final" / "orchestra.json").write_text(text, "utf-8")
    (home / "training" / "going").mkdir()
    return home


@pytest.fixture
def bench(home):
    made = Workbench(home)
    join(made.roster, home)
    yield made
    asyncio.run(made.close())


def played(bench, **order):
    async def events():
        return [event async for event in bench.play(Order(orchestrator="trained:mine", **order))]

    return fold(asyncio.run(events()))


def test_what_is_trained_is_offered_with_its_stage_and_why_it_cannot(bench):
    offers = {offer.name: offer for offer in bench.orchestrators() if offer.name.startswith("trained:")}
    assert [*offers][-4:] == ["trained:bare", "trained:mine", "trained:other", "trained:torn"]
    mine = offers["trained:mine"]
    assert (mine.title, mine.simulated, mine.off) == ("mine (trained: GRPO, simulated)", True, None)
    assert "holds no weights" in offers["trained:bare"].off
    assert "dialect is 'chat'" in offers["trained:other"].off
    assert "cannot be read" in offers["trained:torn"].off


def test_to_list_them_needs_no_torch(home):
    code = (
        "import sys\nfrom pathlib import Path\nfrom orchestra_lib.training.conducting import TrainedPolicies\n"
        f"assert TrainedPolicies(Path({str(home / 'training')!r})).offers()\n"
        "assert not {'torch', 'transformers', 'trl'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_it_conducts_the_simulated_experts_that_nobody_had_to_name(bench):
    run = played(bench, task=TASK.text, seed=3, limits=FEW)
    assert run.setting.orchestrator == "trained:mine"
    assert {spec.name for spec in run.setting.tools} >= {"sim_strongest", "sim_small", "sim_mid"}
    assert all(spec.simulated for spec in run.setting.tools)
    assert run.turns[0].generation.token_ids
    assert run.simulated


def test_the_same_seed_makes_the_same_moves_also_beside_others(bench):
    async def both():
        async def one():
            order = Order(orchestrator="trained:mine", task=TASK.text, seed=3, limits=FEW)
            return fold([event async for event in bench.play(order)])

        return await asyncio.gather(one(), one())

    alone = played(bench, task=TASK.text, seed=3, limits=FEW)
    said = [[turn.generation.token_ids for turn in run.turns] for run in (alone, *asyncio.run(both()))]
    assert said[0] == said[1] == said[2]


@pytest.mark.parametrize("tools", [("code_interpreter",), ("sim:small", "code_interpreter"), ()])
def test_other_tools_are_refused_before_anything_starts(bench, tools):
    with pytest.raises(BadInput, match=r"trained:mine cannot conduct this: .*sim:small"):
        bench.play(Order(orchestrator="trained:mine", task=TASK.text, tools=tools))


def test_an_unknown_one_is_refused_with_the_remedy(home):
    with pytest.raises(BadInput, match="orchestra train"):
        TrainedPolicies(home / "training").policy("trained:none")
