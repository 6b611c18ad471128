"""The same task, twice: before and after under one wish and the same lots, both kept; why it cannot be said."""

import asyncio

import pytest
from training_folders import run_folder

from app.training_twice import obstacle, play_twice
from orchestra_lib.errors import BadInput
from orchestra_lib.simulated_tasks import find
from orchestra_lib.training.conducting import TrainedPolicies
from orchestra_lib.workbench import Workbench


def test_one_task_is_played_before_and_after_under_the_same_lots(tmp_path):
    from orchestra_lib.training.tiny.network import new_network, save_network

    bench, folder = Workbench(tmp_path), tmp_path / "training" / "one"
    policies = TrainedPolicies(tmp_path / "training", tmp_path / "ships")
    bench.roster.others.append(policies)
    run_folder(folder, done=3, rollouts=())
    assert "it comes with the run's end" in obstacle(folder, policies)
    save_network(new_network(0, width=32, layers=1), folder / "final", {"stage": "grpo"})
    assert "(tiny-warm-start) is none of the policies" in obstacle(folder, policies)
    save_network(new_network(1, width=32, layers=1), tmp_path / "ships" / "tiny-warm-start", {"stage": "warm_start"})
    assert obstacle(folder, policies) is None

    async def play():
        try:
            with pytest.raises(BadInput, match="use one of cost"):
                await play_twice(bench, folder, policies, number=5, wish="beauty")
            return await play_twice(bench, folder, policies, number=5, wish="latency")
        finally:
            await bench.close()

    played = asyncio.run(play())
    assert find(played["task"]).text == played["task"]
    with Workbench(tmp_path).store as store:
        runs = [store.get(side["run"]["id"]) for side in played["sides"]]
    assert [run.setting.orchestrator for run in runs] == ["trained:tiny-warm-start", "trained:one"]
    for same in ("seed", "tools", "preference", "task"):
        assert getattr(runs[0].setting, same) == getattr(runs[1].setting, same)
    for side, run in zip(played["sides"], runs, strict=True):
        assert (side["cost_usd"], side["latency_s"], side["outcome"]) == (
            run.bill().cost_usd,
            run.latency_s,
            run.outcome,
        )
        assert side["run"]["simulated"] is True
