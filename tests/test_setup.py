"""K1, K2: a fresh machine gets what was tested, and every command that we show to people exists."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import LONGEST

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
FILES = sorted(ROOT.glob("requirements*.txt"))
PIN = re.compile(r"[A-Za-z0-9_.-]+(\[[a-z0-9,-]+\])?==[0-9][\w.]*( ;.*)?")
BUILD = {"setuptools", "wheel"}
NEEDS_A_GPU = {"vllm", "deepspeed", "flash-attn", "bitsandbytes", "triton", "mpi4py"}


def lines(file):
    return [line for raw in file.read_text("utf-8").splitlines() if (line := raw.partition("#")[0].strip())]


def names(file):
    return {line.partition("==")[0].partition("[")[0].lower() for line in lines(file) if not line.startswith("-r")}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_everything_that_is_installed_has_one_version(file):
    """K1"""
    assert [line for line in lines(file) if not (line.startswith("-r ") or PIN.fullmatch(line))] == []


def test_what_comes_along_is_held_too():
    """K1: the packages that ours draw in are pinned by the constraints."""
    held = {line.partition("==")[0].lower().replace("_", "-") for line in lines(ROOT / "constraints.txt")}
    wanted = names(ROOT / "requirements.txt") | names(ROOT / "requirements-dev.txt")
    assert {name.replace("_", "-") for name in wanted} - BUILD <= held
    assert all(PIN.fullmatch(line) for line in lines(ROOT / "constraints.txt"))


def test_the_app_and_its_tests_need_no_gpu():
    """K1, K2: no GPU library, and no cluster, stands between a fresh machine and a first run."""
    for name in ("requirements.txt", "requirements-dev.txt", "constraints.txt"):
        assert not NEEDS_A_GPU & names(ROOT / name)


def test_the_app_and_the_command_line_start_without_loading_torch():
    """K1: what training needs is installed with the app, and loaded when somebody trains or a trained policy plays."""
    program = (
        "import sys, app.main, orchestra_lib.cli; print(sorted({'torch', 'transformers', 'trl'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_tested_python_is_the_one_that_is_asked_for():
    """K1"""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    assert wanted == ">=3.11"
    assert "Python 3.11 or newer" in README
    assert "Python 3.11 or newer" in (ROOT / "Makefile").read_text("utf-8")


def test_every_target_in_the_readme_exists():
    """K2: and none of them asks for a cluster."""
    shown = set(re.findall(r"^make ([a-z-]+)", README, re.MULTILINE))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert shown
    assert shown <= targets
    assert not re.search(r"\b(srun|sbatch|slurm)\b", README + (ROOT / "Makefile").read_text("utf-8"), re.IGNORECASE)


def test_every_script_and_file_that_a_command_needs_is_here():
    """K3: nothing that is run has to be found elsewhere."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    needed = set(re.findall(r"\bscripts[./][\w./-]+|\b(?:requirements|constraints)[\w-]*\.txt", makefile))
    assert needed
    for name in needed:
        path = ROOT / (name.replace(".", "/", 1) + ".py" if name.startswith("scripts.") else name)
        assert path.exists(), name


def test_the_files_that_start_first_are_there():
    """A name that went stale would leave its file to the end, and one worker alone with it."""
    assert [name for name in LONGEST if not (ROOT / "tests" / f"test_{name}.py").exists()] == []
