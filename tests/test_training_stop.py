"""A run on several processes that is stopped ends after the same step on each, whichever of them was told to."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from toy_training import settings

from orchestra_lib.training.run_folder import RunFolder, State

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.timeout(600)
def test_a_signal_to_the_main_process_alone_ends_all_with_a_checkpoint(tmp_path):
    settings(tmp_path)
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}", "OMP_NUM_THREADS": "1"}
    environ["ORCHESTRA_HOME"] = str(tmp_path)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--rdzv-backend=c10d"]
    command += ["--rdzv-endpoint=localhost:0", "-m", "orchestra_lib", "train", str(tmp_path / "toy.toml")]
    command += ["--set", f"output_dir={str(tmp_path / 'run')!r}", "--set", "grpo.steps=5000"]
    run = RunFolder(tmp_path / "run")
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as both:
        try:
            while both.poll() is None and not run.steps():
                time.sleep(0.2)
            os.kill(run.status.pid, signal.SIGTERM)
            _, said = both.communicate(timeout=400)
        finally:
            both.kill()
    assert both.returncode == 0, said
    assert run.status.state is State.STOPPED
    assert max(run.checkpoints()) == run.status.step == run.steps()[-1].step < 5000
