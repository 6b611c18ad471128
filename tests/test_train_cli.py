"""`orchestra train`: what it refuses before torch is imported, and what it prints."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from toy_training import TOML
from typer.testing import CliRunner

from orchestra_lib.cli import app
from orchestra_lib.cli.train import train
from orchestra_lib.errors import BadInput

ROOT = Path(__file__).resolve().parent.parent


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


def test_a_run_is_summed_up_as_json(tmp_path):
    (tmp_path / "toy.toml").write_text(TOML, "utf-8")
    sets = ["--set", f"output_dir={str(tmp_path / 'run')!r}", "--set", "grpo.steps=1", "--json"]
    done = CliRunner().invoke(app, ["train", str(tmp_path / "toy.toml"), *sets])
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert (summary["state"], summary["step"], summary["folder"]) == ("finished", 1, str(tmp_path / "run"))
    assert summary["last"]["samples"] == 24
    assert "step 1/1  kept " in done.stderr
