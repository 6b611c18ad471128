"""`orchestra train`: what it refuses before torch is imported, and what it prints."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from toy_training import TOML
from typer.testing import CliRunner

from orchestra_lib.cli import app
from orchestra_lib.cli.train import train
from orchestra_lib.errors import BadInput
from orchestra_lib.training.run_folder import RunFolder

ROOT = Path(__file__).resolve().parent.parent
AGAIN = """
import contextlib, json, os, socket, sys
from pathlib import Path
from orchestra_lib.cli.train import train

def refused(self, address):
    raise AssertionError(f"connects to {address}")

socket.socket.connect = refused
folder = Path(sys.argv[1])
where = [f"output_dir={str(folder / 'run')!r}", "trackio=true", "checkpoint.keep=9"]
with contextlib.redirect_stdout(sys.stderr):
    train(folder / "toy.toml", where, None, False, True)
(folder / "run" / "steps.jsonl").write_text("".join((folder / "run" / "steps.jsonl").open().readlines()[:3]))
import shutil
shutil.rmtree(folder / "run" / "checkpoint-4")
with contextlib.redirect_stdout(sys.stderr):
    train(None, None, folder / "run", False, True)
import trackio
from trackio.sqlite_storage import SQLiteStorage
runs = list(trackio.Api().runs("orchestra"))
rows = [row for run in runs for row in SQLiteStorage.get_logs("orchestra", run.name, run_id=run.id)]
files = sorted(one.name for one in (folder / "run" / "trackio").glob("*.db"))
print(json.dumps({"rows": rows, "config": runs[0].config, "files": files}))
"""


def test_bad_input_is_refused_without_waiting_for_torch(tmp_path):
    (tmp_path / "mine.toml").write_text(TOML + "stepz = 3\n", "utf-8")
    code = (
        "import sys; from orchestra_lib.cli import main; sys.argv = ['orchestra', 'train', sys.argv[1]]\ntry: main()\n"
    )
    code += "finally: print('torch' in sys.modules)"
    command = [sys.executable, "-c", code, str(tmp_path / "mine.toml")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout) == (2, "False\n")
    assert done.stderr.startswith(f"orchestra: {tmp_path / 'mine.toml'}: checkpoint.stepz: Unexpected keyword")


@pytest.mark.parametrize(
    ("config", "resume", "named"),
    [
        (False, False, "name a file of settings"),
        (True, True, "name a file of settings"),
        (False, True, r"has no config\.toml, so it is no training run"),
    ],
)
def test_one_file_or_one_run_is_named(tmp_path, config, resume, named):
    with pytest.raises(BadInput, match=named):
        train(tmp_path / "mine.toml" if config else None, None, tmp_path if resume else None, False, False)


def test_a_run_is_summed_up_as_json(tmp_path, monkeypatch):
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path / "home"))
    (tmp_path / "toy.toml").write_text(TOML, "utf-8")
    sets = ["--set", f"output_dir={str(tmp_path / 'run')!r}", "--set", "grpo.steps=1", "--json"]
    done = CliRunner().invoke(app, ["train", str(tmp_path / "toy.toml"), *sets])
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert (summary["state"], summary["step"], summary["folder"]) == ("finished", 1, str(tmp_path / "run"))
    assert summary["last"]["samples"] == 24
    assert "step 1/1  kept " in done.stderr


def test_steps_are_read_back_from_trackio_and_stand_once_after_a_resume(tmp_path):
    """In a process of its own, as trackio is bound to a folder when it is imported; HTTP is refused."""
    (tmp_path / "toy.toml").write_text(TOML, "utf-8")
    (tmp_path / "again.py").write_text(AGAIN, "utf-8")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("TRACKIO_", "HF_TOKEN"))}
    environ |= {
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}",
        "HF_HOME": str(tmp_path / "hub"),
        "ORCHESTRA_HOME": str(tmp_path),
    }
    command = [sys.executable, str(tmp_path / "again.py"), str(tmp_path)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    steps = RunFolder(tmp_path / "run").steps()
    assert [row["step"] for row in told["rows"]] == [1, 2, 3, 4]
    for row, step in zip(told["rows"], steps, strict=True):
        assert (row["accuracy"], row["cost_usd"], row["loss"]) == (step.accuracy, step.cost_usd, step.loss)
        assert row["excluded/flat_group"] == step.excluded["flat_group"]
        assert ("kl" in row, "compliance/latency" in row) == (False, False)  # unknown is no number
    assert told["config"]["grpo"]["rollouts"] == 6
    assert told["files"] == ["orchestra.db"]
