"""Two processes over gloo train as one does, and a group is never split between them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file
from toy_training import settings

from orchestra_lib.store.rollouts import read, step_files
from orchestra_lib.training.run_folder import RunFolder
from orchestra_lib.training.running import train

ROOT = Path(__file__).resolve().parent.parent


def launched(folder, *sets):
    """`orchestra train` on two processes."""
    settings(folder)
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}", "OMP_NUM_THREADS": "1"}
    environ["ORCHESTRA_HOME"] = str(folder)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--master-port=0", "--rdzv-backend"]
    command += ["c10d", "--rdzv-endpoint=localhost:0", "-m", "orchestra_lib", "train", str(folder / "toy.toml")]
    for one in (f"output_dir={str(folder / 'run')!r}", *sets):
        command += ["--set", one]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=500)


@pytest.mark.timeout(600)
def test_two_processes_train_as_one_does(tmp_path):
    (tmp_path / "two").mkdir()
    (tmp_path / "one").mkdir()
    done = launched(tmp_path / "two", "grpo.steps=2", "grpo.learning_rate=1e-4")
    assert done.returncode == 0, done.stderr
    train(settings(tmp_path / "one", "grpo.steps=2", "grpo.learning_rate=1e-4"))
    two, one = (RunFolder(tmp_path / name / "run") for name in ("two", "one"))
    kept = [file for file in step_files(tmp_path / "two" / "rollouts" / two.stored_as) if file.step == 1]
    assert [len(read(file)[0]) for file in kept] == [12, 12]
    for ours, theirs in zip(two.steps(), one.steps(), strict=True):
        assert (ours.samples, ours.kept, ours.excluded, ours.groups) == (24, theirs.kept, theirs.excluded, 4)
        assert ours.tool_shares == theirs.tool_shares
        assert ours.grad_norm == pytest.approx(theirs.grad_norm, rel=1e-3)
    weights, expected = (load_file(run.path / "final" / "model.safetensors") for run in (two, one))
    assert all(weights[name].allclose(expected[name], atol=1e-4) for name in expected)


@pytest.mark.timeout(600)
def test_a_group_that_would_be_split_is_refused_before_anything_is_played(tmp_path):
    done = launched(tmp_path, "grpo.prompts=3")
    assert done.returncode != 0
    named = "orchestra: grpo.prompts = 3 over 2 processes splits a group of 6: rewards compare whole groups; take 4"
    assert named in done.stderr
    assert not RunFolder(tmp_path / "run").steps()
