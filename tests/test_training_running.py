"""A run from its settings to its folder: what it writes, how it ends, and that it goes on as if nothing had been."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import toy_scale
from safetensors.torch import load_file
from toy_training import settings
from transformers.utils.logging import enable_progress_bar, is_progress_bar_enabled

from benchmarks.soaking.small_files import disk_of
from orchestra_lib.codec import to_data
from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.importing import import_file
from orchestra_lib.store.journal import Journal
from orchestra_lib.store.rollouts import read, step_files
from orchestra_lib.store.store import Store
from orchestra_lib.training.run_folder import RunFolder, State
from orchestra_lib.training.running import train
from orchestra_lib.training.settings import resolve
from orchestra_lib.training.trainer import Diverged

ROOT = Path(__file__).resolve().parent.parent
CLOCKS = {"at": None, "cpu_s": None, "rollout_cpu_s": None, "wall_s": None}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing interrupted, with what it came to."""
    folder = tmp_path_factory.mktemp("whole")
    summary = train(settings(folder, "rollouts.keep_groups=1"), home=folder)
    return RunFolder(folder / "run"), summary


def steps_of(folder):
    return [replace(step, **CLOCKS) for step in folder.steps()]


def weights_of(folder):
    return load_file(folder.path / "final" / "model.safetensors")


def rollouts_of(folder):
    """Every rollout in the store, without what no two runs share."""
    kept = folder.path.parent / "rollouts" / folder.stored_as
    assert [file.step for file in step_files(kept)] == [1, 2, 3, 4]
    lines = [line for file in step_files(kept) for line in read(file)[0]]
    turns = [[turn.generation.token_ids for turn in line.trajectory.turns] for line in lines]
    return list(zip([line.worth for line in lines], turns, strict=True))


def assert_the_same(folder, whole):
    assert steps_of(folder) == steps_of(whole)
    ours, theirs = weights_of(folder), weights_of(whole)
    assert ours.keys() == theirs.keys()
    assert all(bool((ours[name] == theirs[name]).all()) for name in ours)


def test_a_run_fills_its_folder(whole):
    folder, summary = whole
    assert (summary["state"], summary["step"], summary["steps"]) == ("finished", 4, 4)
    assert (folder.status.state, folder.status.pid) == (State.FINISHED, os.getpid())
    assert [step.step for step in folder.steps()] == [1, 2, 3, 4]
    for step in folder.steps():
        assert step.samples == 24 == step.kept + sum(step.excluded.values())
        assert (step.groups, 0 < step.rollout_cpu_s <= step.cpu_s) == (4, True)
        assert None not in (step.loss, step.grad_norm, step.entropy, step.lr, step.accuracy, step.cost_usd)
        assert step.kl is None
        assert step.compliance["latency"] is None
    assert list(folder.checkpoints()) == [2, 4]
    card = json.loads((folder.path / "final" / "orchestra.json").read_text())
    assert (card["dialect"], card["step"]) == ("toy", 4)
    assert (folder.path / "final" / "tokenizer.json").is_file()
    assert not (folder.path / ".part").exists()


def test_the_saved_settings_are_the_whole_of_them(whole):
    folder, _ = whole
    again = settings(folder.path.parent, "rollouts.keep_groups=1")
    assert resolve(folder.path / "config.toml", home=folder.path) == again


def test_kept_rollouts_are_trajectories_that_import_takes(whole, tmp_path):
    folder, _ = whole
    rows = [json.loads(line) for line in folder.rollouts(1).read_text().splitlines()]
    assert len(rows) == 6
    journal = Journal(tmp_path / "runs")
    assert import_file(folder.rollouts(1), journal).new == 6
    for row in rows:
        kept = journal.trajectory(row["trajectory"]["setting"]["run_id"])
        assert (kept.outcome, kept.setting.group) == (row["trajectory"]["outcome"], row["group"])
        assert kept.turns[0].generation.token_ids
        assert row["kept"] == (row["why"] is None)
    assert import_file(folder.rollouts(1), journal).known == 6


def test_every_rollout_is_a_trajectory_in_the_store(whole):
    folder, _ = whole
    with Store(folder.path.parent) as store:
        rows = store.query("SELECT step, count(*), sum(kept::INT) FROM rollouts GROUP BY step ORDER BY step").rows
        assert [tuple(row) for row in rows] == [(step.step, step.samples, step.kept) for step in folder.steps()]
        assert store.query("SELECT DISTINCT training FROM rollouts").rows == ((folder.stored_as,),)
        kept = [json.loads(line) for line in folder.rollouts(1).read_text().splitlines()]
        for row in kept:  # the folder's own are the same ones
            found = store.get(row["trajectory"]["setting"]["run_id"])
            assert to_data(found) == row["trajectory"]
        assert {len(group) for group in map(store.members, {row["group"] for row in kept})} == {6}


@pytest.mark.timeout(600)
def test_after_kill_9_a_run_goes_on_as_if_nothing_had_been(whole, tmp_path):
    settings(tmp_path)
    environ = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}",
        "TOY_DIES_AT": "14",
        "ORCHESTRA_HOME": str(tmp_path),
    }
    command = [sys.executable, "-m", "orchestra_lib", "train", str(tmp_path / "toy.toml")]
    command += ["--set", f"output_dir={str(tmp_path / 'run')!r}", "--set", "rollouts.keep_groups=1"]
    died = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr
    folder = RunFolder(tmp_path / "run")
    assert (folder.status.state, list(folder.checkpoints())) == (State.RUNNING, [2])
    assert [step.step for step in folder.steps()] == [1, 2, 3]
    with pytest.raises(BadInput, match="holds a run already"):
        train(settings(tmp_path, "rollouts.keep_groups=1"))
    train(settings(tmp_path, "rollouts.keep_groups=1"), resume=True, home=tmp_path)
    assert_the_same(folder, whole[0])
    assert rollouts_of(folder) == rollouts_of(whole[0])


def test_a_signal_ends_a_run_after_its_step_and_it_can_go_on(whole, tmp_path, monkeypatch):
    course = toy_scale.ToyCourse.exercise

    def asked(self, number):
        if number == 8:  # in the third step
            os.kill(os.getpid(), signal.SIGTERM)
        return course(self, number)

    monkeypatch.setattr(toy_scale.ToyCourse, "exercise", asked)
    summary = train(settings(tmp_path))
    folder = RunFolder(tmp_path / "run")
    assert (summary["state"], summary["step"], max(folder.checkpoints())) == ("stopped", 3, 3)
    assert folder.status.state is State.STOPPED
    monkeypatch.undo()
    assert train(settings(tmp_path), resume=True)["state"] == "finished"
    assert_the_same(folder, whole[0])


def test_a_full_disk_at_a_checkpoint_leaves_the_one_before_whole(whole, tmp_path, monkeypatch):
    course = toy_scale.ToyCourse.exercise
    disk = disk_of(20_000)

    def filling(self, number):
        if number == 12:  # in the fourth step
            disk.__enter__()
        return course(self, number)

    monkeypatch.setattr(toy_scale.ToyCourse, "exercise", filling)
    try:
        with pytest.raises(StoreFault, match=r"checkpoint of step 4 cannot be written.*checkpoint-2 is whole.*resume"):
            train(settings(tmp_path, "rollouts.keep_groups=0"))
    finally:
        disk.__exit__(None, None, None)
    folder = RunFolder(tmp_path / "run")
    assert (folder.status.state, list(folder.checkpoints())) == (State.FAILED, [2])
    assert not (folder.path / ".part").exists()
    monkeypatch.undo()
    train(settings(tmp_path), resume=True)
    assert_the_same(folder, whole[0])


def test_a_loss_that_is_no_number_ends_the_run_before_the_step(tmp_path):
    with pytest.raises(Diverged, match="loss of step 1 is no number: the step is not taken"):
        train(settings(tmp_path, "course.poison=true"))
    folder = RunFolder(tmp_path / "run")
    assert folder.status.state is State.FAILED
    assert "no number" in folder.status.message
    assert [(step.loss, "no number" in step.alarms[0]) for step in folder.steps()] == [(None, True)]
    assert not folder.checkpoints()


def test_weights_are_read_without_a_bar_of_their_own(tmp_path, monkeypatch):
    bars = []

    def parts(settings):
        bars.append(is_progress_bar_enabled())
        raise BadInput("enough")

    monkeypatch.setattr(toy_scale, "parts", parts)
    enable_progress_bar()
    with pytest.raises(BadInput, match="enough"):
        train(settings(tmp_path))
    assert bars == [False]


def test_a_checkpoint_of_another_tokenizer_is_refused(whole, tmp_path):
    theirs = whole[0].path / "final"
    with pytest.raises(BadInput, match=r"another tokenizer \(12 tokens, this scale has 13\)"):
        train(settings(tmp_path, f"policy.checkpoint={str(theirs)!r}", 'course.more_words=["new"]'))


def test_departures_from_the_paper_run_and_show(tmp_path):
    sets = ["grpo.kl=0.05", "grpo.clip_high=0.28", "grpo.iterations=2", "grpo.entropy=0.01", 'grpo.loss="dapo"']
    assert train(settings(tmp_path, *sets, 'grpo.malformed="penalise"'))["state"] == "finished"
    steps = RunFolder(tmp_path / "run").steps()
    assert steps[0].kl == pytest.approx(0, abs=1e-4)
    assert steps[-1].kl > 0
    assert steps[0].tool_shares == steps[1].tool_shares != steps[2].tool_shares  # two steps on the same rollouts


def test_an_alarm_can_stop_a_run(tmp_path):
    sets = ["alarms.window=1", "alarms.malformed=0.0", "alarms.stop=true"]
    summary = train(settings(tmp_path, *sets))
    assert (summary["state"], summary["step"]) == ("stopped", 1)
    assert "format drift" in summary["message"]
    assert "format drift" in RunFolder(tmp_path / "run").steps()[0].alarms[0]


def test_every_reporter_gets_what_the_rollouts_came_to(whole):
    folder, _ = whole
    history = json.loads((folder.checkpoints()[4] / "trainer_state.json").read_text())["log_history"]
    assert [entry["accuracy"] for entry in history] == [step.accuracy for step in folder.steps()]
