"""Training as processes: started with a list of arguments, stopped with a checkpoint, found by another program."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from training_folders import run_folder

from orchestra_lib.errors import BadInput
from orchestra_lib.training import launching
from orchestra_lib.training.launching import Launcher, checked_name, checked_sets
from orchestra_lib.training.run_folder import RunFolder, State

HERE = Path(__file__).parent
PROGRAM = (sys.executable, str(HERE / "training_program.py"))
ENVIRON = {**os.environ, "PYTHONPATH": str(HERE.parent)}
SLOW = ("grpo.steps=400", "pace=0.05")


@pytest.fixture
def launcher(tmp_path, monkeypatch):
    configs = tmp_path / "configs"
    configs.mkdir()
    (configs / "tiny.toml").write_text("# Tiny.\nname = 'tiny'\nscale = 'tiny'\n", "utf-8")
    monkeypatch.setattr(launching, "CONFIGS", configs)
    made = Launcher(tmp_path / "home", program=PROGRAM, environ=ENVIRON)
    yield made
    for name in made.running():
        os.kill(made.pid(made.folder / name), signal.SIGKILL)
    for child in made._children.values():
        child.wait(10)


def until(what, seconds=30):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(0.02)
    return found


def state_of(folder):
    status = RunFolder(folder).status
    return None if status is None else status.state


def test_a_run_is_started_apart_from_its_starter_and_ends_by_itself(launcher):
    launch = launcher.start("tiny", "one", ("grpo.steps=2",))
    assert os.getsid(launch.pid) == launch.pid != os.getsid(0)
    assert launch.command[-2:] == ("--set", f'output_dir="{launcher.folder / "one"}"')
    until(lambda: launcher.pid(launcher.folder / "one") is None)
    assert state_of(launcher.folder / "one") is State.FINISHED
    assert launcher.log(launcher.folder / "one")[-1] == "step 2"
    with pytest.raises(BadInput, match="a run 'one' already"):
        launcher.start("tiny", "one")


def test_a_stop_leaves_a_checkpoint_and_a_resume_goes_on_from_it(launcher):
    folder = launcher.folder / "two"
    launcher.start("tiny", "two", SLOW)
    until(lambda: len(RunFolder(folder).steps()) > 1)
    launcher.stop(folder)
    until(lambda: launcher.pid(folder) is None)
    stopped = max(RunFolder(folder).checkpoints())
    assert state_of(folder) is State.STOPPED
    launcher.resume(folder)
    until(lambda: len(RunFolder(folder).steps()) > stopped + 1)
    assert [one.step for one in RunFolder(folder).steps()][: stopped + 1] == list(range(1, stopped + 2))
    with pytest.raises(BadInput, match="going on already"):
        launcher.resume(folder)
    launcher.stop(folder)


def test_another_program_finds_the_run_and_stops_it(launcher, tmp_path):
    folder = launcher.folder / "three"
    launch = launcher.start("tiny", "three", SLOW)
    later = Launcher(tmp_path / "home", program=PROGRAM, environ=ENVIRON)
    assert later.pid(folder) == launch.pid
    assert later.running() == ("three",)
    until(lambda: state_of(folder) is State.RUNNING)
    assert later.stop(folder) == launch.pid
    until(lambda: launcher.pid(folder) is None)
    assert later.pid(folder) is None


def test_a_run_of_a_terminal_is_known_by_who_holds_its_folder(tmp_path):
    folder = tmp_path / "home" / "training" / "run"
    run_folder(folder, steps=9, done=3, rollouts=(), pid=os.getpid())
    launcher = Launcher(tmp_path / "home")
    assert launcher.pid(folder) is None  # nobody holds it: its process has gone
    with RunFolder(folder).held():
        assert launcher.pid(folder) == os.getpid()
    assert launcher.pid(folder) is None


def test_one_trains_at_a_time_unless_it_is_said_otherwise(launcher):
    launcher.start("tiny", "four", SLOW)
    with pytest.raises(BadInput, match="four is training already"):
        launcher.start("tiny", "five", SLOW)
    launcher.start("tiny", "five", SLOW, beside=True)
    assert launcher.running() == ("five", "four")


def test_what_a_person_wrote_is_one_argument_and_no_command(launcher, tmp_path):
    nasty = f"note=$(touch {tmp_path}/owned); `touch {tmp_path}/owned` && 'x"
    launch = launcher.start("tiny", "six", (nasty, "grpo.steps=1"))
    assert launch.command.count(nasty) == 1
    until(lambda: launcher.pid(launcher.folder / "six") is None)
    assert state_of(launcher.folder / "six") is State.FINISHED
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("name", ["", "..", ".x", "a/b", "A", "-x", "x" * 65, "a b", "é"])
def test_a_name_is_the_name_of_a_folder_and_nothing_else(name):
    with pytest.raises(BadInput, match="cannot be called"):
        checked_name(name)


@pytest.mark.parametrize(
    ("sets", "what"),
    [
        (("--resume",), "reads a.b=c"),
        (("a-b=1",), "reads a.b=c"),
        (("a=\0",), "reads a.b=c"),
        (("output_dir=/etc",), "follows from the run's name"),
        (("a=1",) * 65, "65 settings"),
    ],
)
def test_settings_are_named_values(sets, what):
    with pytest.raises(BadInput, match=what):
        checked_sets(sets)


def test_an_unknown_config_and_a_folder_that_is_no_run_are_refused(launcher, tmp_path):
    with pytest.raises(BadInput, match="there are tiny"):
        launcher.start("../../etc/passwd", "seven")
    with pytest.raises(BadInput, match="has no config"):
        launcher.resume(tmp_path)
    with pytest.raises(BadInput, match="nothing to stop"):
        launcher.stop(tmp_path)
    assert not launcher.folder.exists()
