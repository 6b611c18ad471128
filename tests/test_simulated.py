"""A simulated expert in the real loop: right by the reference, billed, timed, marked, and the same again."""

import asyncio
import dataclasses

import pytest
from simulating import expert, played, profile

from orchestra_lib.billing import Bill
from orchestra_lib.cli.terminal import call_time
from orchestra_lib.errors import ProviderFault
from orchestra_lib.grouping import group
from orchestra_lib.policy.baseline import cheapest, strongest
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.protocols import SituatedTool
from orchestra_lib.replay.replaying import replay
from orchestra_lib.report import report
from orchestra_lib.simulated_tasks import simulated_task, simulated_tasks
from orchestra_lib.store.artefacts import Artefacts
from orchestra_lib.task import Task
from orchestra_lib.toolkit.simulated import Placed, SimulatedExpert
from orchestra_lib.unfolding import unfold

TASK = simulated_task(7, 0).task


def ask(name, times=1):
    return Scripted([*([(name, {"question": "What is it?"})] for _ in range(times)), "done"])


def said(trajectory):
    return [call.observation.text for call in trajectory.calls]


def test_it_answers_with_the_reference_or_with_another_plausible_answer():
    known, clueless = expert("known", 1.0), expert("clueless", 0.0)
    assert said(played(ask("sim_known"), [known], TASK)) == ["Answer: 770"]
    (wrong,) = said(played(ask("sim_clueless"), [clueless], TASK))
    assert wrong.removeprefix("Answer: ") in simulated_task(7, 0).others


def test_the_same_seed_gives_the_same_run_and_each_call_its_own_lot():
    one = expert("one", 0.5)
    runs = [played(ask("sim_one", 6), [one], TASK, seed=seed, run_id=f"run-{n}") for n, seed in enumerate((3, 3, 4))]
    assert said(runs[0]) == said(runs[1]) != said(runs[2])
    assert len(set(said(runs[0]))) > 1
    assert [call.attempts for call in runs[0].calls] == [call.attempts for call in runs[1].calls]


def test_calls_of_one_turn_and_of_several_are_numbered_alike():
    one = expert("one", 0.5)
    calls = [("sim_one", {"question": f"try {n}"}) for n in range(4)]
    at_once = said(played(Scripted([calls, "x"]), [one], TASK, seed=5))
    in_turn = said(played(Scripted([*([call] for call in calls), "x"]), [one], TASK, seed=5))
    assert at_once == in_turn


def test_without_a_seed_every_run_has_its_own_lots_and_an_experts_own_seed_wins():
    def answers(seed):
        one = SimulatedExpert(profile("one", 0.5), seed=seed)
        return {tuple(said(played(ask("sim_one", 3), [one], TASK, run_id=f"run-{n}"))) for n in range(5)}

    assert len(answers(None)) > 1
    assert len(answers(9)) == 1


def test_seconds_are_stated_and_billed_and_not_waited_for():
    trajectory = played(ask("sim_one"), [expert("one", 1.0, latency_s=40.0)], TASK, seed=1)
    (attempt,) = trajectory.calls[0].attempts
    assert trajectory.finished_s < 5 < attempt.wall_s
    assert trajectory.latency_s == pytest.approx(attempt.wall_s, abs=1)
    assert report(trajectory)["calls"][0]["latency_s"] == pytest.approx(attempt.wall_s)
    assert call_time(trajectory.calls[0], trajectory.setting) == f"{attempt.wall_s:.1f} s sim"
    bill: Bill = trajectory.bill()
    tokens = attempt.usage.input_tokens + attempt.usage.output_tokens
    assert bill.cost_usd == pytest.approx(tokens * 2.0 / 1e6)
    assert attempt.usage.estimated


def test_of_calls_side_by_side_the_longest_counts():
    experts = [expert("a", 1.0, latency_s=10.0), expert("b", 1.0, latency_s=30.0)]
    question = {"question": "?"}
    at_once = played(Scripted([[("sim_a", question), ("sim_b", question)], "x"]), experts, TASK, seed=1)
    stated = [call.attempts[0].wall_s for call in at_once.calls]
    assert at_once.latency_s == pytest.approx(max(stated), abs=1)
    in_turn = played(Scripted([[("sim_a", question)], [("sim_b", question)], "x"]), experts, TASK, seed=1)
    assert in_turn.latency_s == pytest.approx(sum(stated), abs=1)


def test_it_can_take_its_time():
    one = SimulatedExpert(profile("one", 1.0, latency_s=0.05), sleeps=True)
    trajectory = played(ask("sim_one"), [one], TASK, seed=1)
    (call,) = trajectory.calls
    assert call.observation.latency_s >= call.attempts[0].wall_s
    assert trajectory.latency_s == pytest.approx(trajectory.finished_s, abs=0.01)


def test_everything_about_it_says_simulated():
    one = expert("one")
    trajectory = played(ask("sim_one"), [one], TASK)
    assert trajectory.simulated
    assert (one.spec.simulated, "simulated" in one.spec.title, "Simulated" in one.spec.description) == (True,) * 3
    assert isinstance(one, SituatedTool)


def test_under_a_dealt_name_a_model_reads_nothing_of_which_profile_it_is():
    one = SimulatedExpert(profile("onyx"), name="expert_b")
    assert (one.spec.name, one.spec.title) == ("expert_b", "expert_b (simulated)")
    assert "nyx" not in one.spec.description
    assert said(played(ask("expert_b"), [one], TASK, seed=2)) == said(
        played(ask("sim_onyx"), [expert("onyx")], TASK, seed=2)
    )


def test_an_endpoint_that_fails_is_the_worlds_fault_and_costs_nothing():
    trajectory = played(ask("sim_one"), [expert("one", fault_rate=1.0)], TASK)
    assert [fault.kind for fault in trajectory.faults] == ["provider"]
    assert trajectory.bill().cost_usd == 0.0


def test_a_task_without_a_reference_is_refused_plainly():
    trajectory = played(ask("sim_one"), [expert("one")], Task(text="Who are you?"))
    assert "no reference" in trajectory.faults[0].message
    assert trajectory.bill().cost_usd == 0.0


def test_a_kind_it_knows_nothing_of_is_a_failed_call_and_a_kind_may_be_told():
    task = Task(text="What is 2 + 2?", reference="4")
    one = profile("one", 1.0)
    trajectory = played(ask("sim_one"), [SimulatedExpert(one)], task)
    assert (str(trajectory.calls[0].observation.status), trajectory.faults) == ("error", ())
    told = SimulatedExpert(one, place=lambda task: Placed(kind="math", difficulty="easy"))
    assert said(played(ask("sim_one"), [told], task)) == ["Answer: 4"]
    other = SimulatedExpert(dataclasses.replace(one, otherwise=1.0))
    assert said(played(ask("sim_one"), [other], task)) == ["Answer: 4"]


def test_a_run_with_it_replays_to_the_byte(tmp_path):
    trajectory = played(ask("sim_one", 4), [expert("one", 0.5)], TASK, seed=1)
    assert replay(unfold(trajectory), Artefacts(tmp_path)).difference is None


def test_called_by_itself_it_knows_a_simulated_task_by_its_words():
    one = expert("one", 1.0)
    assert asyncio.run(one.call({"question": TASK.text}, run_id="x")).text == "Answer: 770"
    with pytest.raises(ProviderFault, match="no reference"):
        asyncio.run(one.call({"question": "Why?"}, run_id="x"))


def test_a_group_is_rewarded_by_stated_seconds():
    experts = [expert("slow", 1.0, latency_s=60.0, usd=9.0), expert("quick", 1.0, latency_s=1.0, usd=0.1)]
    runs = [
        dataclasses.replace(played(policy, experts, TASK, seed=1, run_id=name), outcome=True)
        for name, policy in (("a", strongest()), ("b", cheapest()))
    ]
    slow, quick = group(runs)
    assert slow.latency_s > 10 > quick.latency_s
    assert slow.simulated


def test_accuracy_by_kind_is_what_the_profile_says():
    skills = {
        "math": {"easy": 1.0, "hard": 0.0},
        "code": {"any": 1.0},
        "lookup": {"any": 0.0},
        "reasoning": {"any": 1.0},
    }
    one = expert("one", skills=skills)
    for task in simulated_tasks(11, 16):
        (answer,) = said(played(ask("sim_one"), [one], task.task, seed=0))
        right = answer == f"Answer: {task.reference}"
        assert right == (skills[task.kind].get(task.difficulty, skills[task.kind].get("any")) == 1.0)
