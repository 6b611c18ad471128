"""The folder of a run: written whole or not at all, read while it grows."""

import subprocess
import sys

import pytest

from benchmarks.soaking.small_files import disk_of
from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.training.run_folder import RunFolder, State, Status, now
from orchestra_lib.training.steps import Step


def step(number, **told):
    return Step(step=number, at=now(), samples=8, kept=6, groups=1, flat_groups=0, **told)


def status(**told):
    return Status(state=State.RUNNING, pid=1, steps=9, started_at=now(), heartbeat_at=now(), **told)


def test_what_is_written_is_read(tmp_path):
    folder = RunFolder(tmp_path / "new" / "run")
    assert (folder.status, folder.steps(), folder.checkpoints()) == (None, (), {})
    told = status(step=3, message="on")
    folder.write_status(told)
    folder.write_config("scale = 'toy'\n")
    steps = [step(1, accuracy=0.5), step(2, alarms=("collapse",), tool_shares={"a": 1.0})]
    for one in steps:
        folder.add_step(one)
    folder.write_rollouts(2, [{"id": "x"}])
    assert (folder.status, folder.steps(), folder.config()) == (told, tuple(steps), "scale = 'toy'\n")
    assert folder.rollouts(2).read_text() == '{"id":"x"}\n'
    assert not list(folder.path.rglob("*.part"))


def test_a_line_that_is_being_written_waits(tmp_path):
    folder = RunFolder(tmp_path)
    folder.write_status(status())
    folder.add_step(step(1))
    with (tmp_path / "steps.jsonl").open("a") as file:
        file.write('{"step": 2, "at": "20')
    assert [one.step for one in folder.steps()] == [1]
    folder.forget_after(1)
    folder.add_step(step(2))
    assert [one.step for one in folder.steps()] == [1, 2]


def test_a_run_that_goes_on_forgets_what_came_after_its_checkpoint(tmp_path):
    folder = RunFolder(tmp_path)
    for number in (1, 2, 3):
        folder.add_step(step(number))
        folder.write_rollouts(number, [])
    for name in ("checkpoint-2", "checkpoint-3", "checkpoint-half", ".part"):
        (tmp_path / name).mkdir()
    folder.forget_after(2)
    assert [one.step for one in folder.steps()] == [1, 2]
    assert list(folder.checkpoints()) == [2]
    assert (folder.rollouts(2).exists(), folder.rollouts(3).exists()) == (True, False)


def test_what_cannot_be_read_is_named(tmp_path):
    folder = RunFolder(tmp_path)
    with pytest.raises(BadInput, match=r"has no config\.toml, so it is no training run"):
        folder.config()
    (tmp_path / "steps.jsonl").write_text("{}\nnot\n")
    with pytest.raises(BadInput, match=r"steps\.jsonl line 1: step"):
        folder.steps()
    (tmp_path / "status.json").write_text("{")
    with pytest.raises(BadInput, match=r"status\.json is no JSON"):
        _ = folder.status


def test_two_processes_do_not_train_in_one_folder(tmp_path):
    code = (
        "import sys; from pathlib import Path; from orchestra_lib.training.run_folder import RunFolder\n"
        "try:\n with RunFolder(Path(sys.argv[1])).held(): print('held')\n"
        "except Exception as error: print(error)"
    )
    with RunFolder(tmp_path).held():
        other = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "another process trains in" in other.stdout
    with RunFolder(tmp_path).held():
        pass


def test_a_full_disk_is_a_fault_that_says_so_and_spoils_nothing(tmp_path):
    folder = RunFolder(tmp_path)
    folder.write_status(before := status())
    with disk_of(64), pytest.raises(StoreFault, match=r"cannot write to .*make room and resume"):
        folder.write_status(status(message="x" * 500))
    assert folder.status == before
