"""Runs on the axis of what their experts state: as long as lists and rewards say, in the same order."""

from dataclasses import replace
from pathlib import Path

import pytest
from simulating import played

from orchestra_lib.comparing import deltas
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.profilelist import load_profiles
from orchestra_lib.simulated_tasks import simulated_task
from orchestra_lib.stated_time import as_stated
from orchestra_lib.toolkit.simulated import SimulatedExpert

TASK = simulated_task(7, 12).task
TURNS = [("sim_strongest", "sim_small"), ("sim_small",)]


@pytest.fixture
def run():
    profiles = load_profiles(Path("nowhere"))
    experts = [SimulatedExpert(profiles[name]) for name in ("strongest", "small")]
    script = [[(name, {"question": TASK.text}) for name in names] for names in TURNS]
    return played(Scripted([*script, TASK.reference]), experts, TASK, run_id="run", seed=3)


def test_a_run_lasts_what_lists_and_rewards_count(run):
    stretched = as_stated(run)
    assert stretched.finished_s == pytest.approx(run.latency_s) != run.finished_s
    assert as_stated(stretched).finished_s == pytest.approx(run.latency_s)
    for before, after in zip(run.calls, stretched.calls, strict=True):
        assert after.observation.latency_s == pytest.approx(before.stated_s)


def test_a_comparison_counts_the_same_seconds(run):
    time = {one["name"]: one for one in deltas(run, run, ())}["Time"]
    assert (time["a"], time["b"]) == (run.latency_s, run.latency_s)


def test_what_follows_a_turn_comes_after_its_longest_call(run):
    first, second, last = as_stated(run).turns
    ends = [call.observation.finished_s for call in first.calls]
    assert max(ends) <= first.finished_s + 1e-9
    assert first.finished_s <= second.started_s <= second.calls[0].observation.started_s
    assert second.calls[0].observation.finished_s <= last.started_s


def test_a_run_whose_tools_take_their_time_is_as_it_was(run):
    live = tuple(replace(spec, simulated=False) for spec in run.setting.tools)
    other = replace(run, setting=replace(run.setting, tools=live))
    assert as_stated(other) is other
