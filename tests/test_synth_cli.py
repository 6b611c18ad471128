"""`orchestra synth` and `orchestra tasks verify`: from a seed to files that verify; tampering is named, exit code 1."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from orchestra_lib.cli import app

ORDER = ("--domains", "railway,weather", "--n", "6", "--seed", "7")


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Call `orchestra …` in this process."""
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path / "home"))
    return lambda *arguments: CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A small set of tasks, drawn once, and what the command said."""
    folder = tmp_path_factory.mktemp("drawn") / "set"
    result = CliRunner().invoke(app, ["synth", *ORDER, "--out", str(folder)])
    assert result.exit_code == 0, result.output
    return folder, result


@pytest.fixture
def written(drawn, tmp_path):
    """A copy of it that a test may spoil."""
    return shutil.copytree(drawn[0], tmp_path / "set")


def digests(folder):
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


def spoil(file, change):
    """Change the first task of a file, and give its id."""
    first, *rest = file.read_text("utf-8").splitlines()
    task = json.loads(first)
    change(task)
    file.write_text("\n".join([json.dumps(task), *rest]) + "\n", "utf-8")
    return task["id"]


def test_the_funnel_and_the_metrics_are_printed(drawn):
    folder, result = drawn
    assert "6 tasks in 2 domains, seed 7" in result.stdout
    assert "writes among golden calls" in result.stdout
    assert "tau2 retail" in result.stdout
    assert "railway: 3 of 3" in result.stderr
    assert set(digests(folder)) == {"railway.jsonl", "weather.jsonl", "report.json"}


def test_the_same_seed_gives_the_same_bytes(run, written, tmp_path):
    assert run("synth", *ORDER, "--out", tmp_path / "again").exit_code == 0
    assert digests(written) == digests(tmp_path / "again")


def test_a_run_that_was_killed_goes_on_to_the_same_bytes(run, written, tmp_path):
    out = tmp_path / "killed"
    command = [sys.executable, "-m", "orchestra_lib", "synth", *ORDER, "--out", str(out)]
    killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ})
    while not (out / "report.json").exists() and killed.poll() is None:  # the first domain is done
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    kept = (out / "railway.jsonl").stat().st_mtime_ns
    assert run("synth", *ORDER, "--out", out).exit_code == 0
    assert (out / "railway.jsonl").stat().st_mtime_ns == kept, "a finished domain is not drawn again"
    assert digests(out) == digests(written)


def test_what_was_written_verifies(run, written):
    result = run("tasks", "verify", written, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "path": str(written), "tasks": 6, "without_solver": 0, "failures": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    "change, why",
    [
        (lambda task: task["golden"].clear(), "solvable"),
        (lambda task: task.update(golden=task["golden"][:1], required=[]), "not free"),
        (lambda task: task["golden"].append(task["golden"][-1]), "golden"),
        (lambda task: task["golden"][0]["arguments"].update(email="nobody@example.com"), "golden"),
        (lambda task: task.update(instruction="Hello.", facts=[], followups=[]), "solvable"),
        (lambda task: task["golden"].append(task["golden"][0]), None),
    ],
)
def test_a_tampered_task_is_named(run, written, change, why):
    name = spoil(written / "railway.jsonl", change)
    result = run("tasks", "verify", written / "railway.jsonl", "--json")
    failures = json.loads(result.stdout)["failures"]
    if why is None:
        assert (result.exit_code, failures) == (0, [])  # one more look-up is no other task
        return
    assert result.exit_code == 1
    assert [one["id"] for one in failures] == [name]
    assert failures[0]["filter"] == why


def test_a_failure_is_a_line_with_file_and_reason(run, written):
    file = written / "weather.jsonl"
    name = spoil(file, lambda task: task.update(golden=[], required=[]))
    result = run("tasks", "verify", written)
    assert result.exit_code == 1
    assert f"{name}: not free: doing nothing succeeds" in result.stdout
    assert str(file) in result.stdout
    assert "6 tasks, 1 failed" in result.stdout


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("--domains", "atlantis"), "no such domain"),
        (("--domains", "mock"), "no such domain with words"),
        (("--domains", "all", "--n", "3"), "at least one task for each domain"),
        (("--new-domain", "a zoo"), "needs a model"),
    ],
)
def test_an_order_that_cannot_be_is_refused_in_a_line(run, tmp_path, arguments, words):
    result = run("synth", "--out", tmp_path / "none", *arguments)
    assert result.exit_code != 0
    assert words in str(result.exception)
    assert not (tmp_path / "none").exists()


def test_a_file_that_holds_no_tasks_is_bad_input(run, tmp_path):
    (tmp_path / "tasks.jsonl").write_text('{"id": 3}\n', "utf-8")
    result = run("tasks", "verify", tmp_path / "tasks.jsonl")
    assert result.exit_code != 0
    assert "tasks.jsonl:1" in str(result.exception)
