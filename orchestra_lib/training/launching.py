"""A training run as a process of its own: started, stopped, resumed from elsewhere, and outliving whoever started it.

What was started stands in a file of its own under the home folder, so that the next program finds it again: a process
is known by its id together with the moment it began, since ids are given anew. Its output goes to a log beside that.
"""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from orchestra_lib.codec import from_data, to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.json_writing import dumps, spoken
from orchestra_lib.paths import DATA
from orchestra_lib.record import record
from orchestra_lib.training.run_folder import CONFIG, RunFolder, State

CONFIGS = DATA.parent / "configs"
"""The settings that ship, a TOML file for each scale."""

TRAINING = "training"
"""The folder of run folders under the home folder."""

LOCK = ".lock"
"""Held by whoever trains in a folder."""

_LAUNCHES = "launches"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
_SET = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)=(.*)", re.ASCII | re.DOTALL)
_MOST_SETS, _MOST_SET_CHARS, _LOG_BYTES = 64, 2_000, 16_384
_OURS = ("output_dir", "name")


@record
class Launch:
    """A process that was started for a run. `began` is the system's own mark of its start, None where it gives none."""

    name: str
    folder: str
    command: tuple[str, ...]
    pid: int
    began: str | None
    started_at: datetime
    resumed: bool = False


def configs() -> dict[str, Path]:
    """The settings that ship, by name."""
    return {file.stem: file for file in sorted(CONFIGS.glob("*.toml"))}


def checked_name(name: str) -> str:
    """The name of a run, which is the name of its folder. Raises `BadInput`."""
    if not _NAME.fullmatch(name):
        raise BadInput(f"a run cannot be called {name[:80]!r}; use up to 64 of a-z, 0-9, '.', '_', '-', no sign first")
    return name


def checked_sets(sets: Sequence[str]) -> tuple[str, ...]:
    """Settings as `a.b=c`, one by one. Raises `BadInput` for anything else; what they mean the trainer checks."""
    if len(sets) > _MOST_SETS:
        raise BadInput(f"{len(sets)} settings; give at most {_MOST_SETS} here, or write a TOML file")
    for text in sets:
        found = _SET.fullmatch(text)
        if found is None or "\0" in text or len(text) > _MOST_SET_CHARS:
            raise BadInput(f"a setting reads a.b=c, and not {text[:80]!r}")
        if found[1] in _OURS:
            raise BadInput(f"{found[1]} follows from the run's name; leave it out of the settings")
    return tuple(sets)


class Launcher:
    """Starts training on this machine for one home folder. `program` begins every command of a training, `measurer` of
    an evaluation; tests pass their own."""

    def __init__(
        self,
        home: Path,
        *,
        program: Sequence[str] = (sys.executable, "-m", "orchestra_lib", "train"),
        measurer: Sequence[str] = (sys.executable, "-m", "orchestra_lib.training.evaluating"),
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.home, self._environ = home, environ
        self._program, self._measurer = tuple(program), tuple(measurer)
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._measured: dict[Path, subprocess.Popen[bytes]] = {}

    @property
    def folder(self) -> Path:
        """Where the run folders lie."""
        return self.home / TRAINING

    def start(self, config: str, name: str, sets: Sequence[str] = (), *, beside: bool = False) -> Launch:
        """Train by a config that ships, with `sets` over it, into a new folder of this name.

        Raises `BadInput` for an unknown config, a name that is taken, settings that are none, and, unless it may go on
        `beside` others, while another training goes on.
        """
        known = configs()
        if config not in known:
            raise BadInput(f"there is no config {config[:80]!r}; there are {', '.join(known) or 'none'}")
        folder = self.folder / checked_name(name)
        if folder.exists():
            raise BadInput(f"there is a run {name!r} already; resume it, or take another name")
        settings = (*checked_sets(sets), f"output_dir={spoken(str(folder))}")
        self._alone(beside)
        return self._launch(name, folder, (str(known[config]), *_flags(settings)), resumed=False)

    def resume(self, folder: Path, *, beside: bool = False) -> Launch:
        """Go on with a run that was stopped or broke off, from its last checkpoint. Raises `BadInput` as `start`."""
        if not (folder / CONFIG).is_file():
            raise BadInput(f"{folder} has no config.toml to go on by; start the run anew")
        if self.pid(folder) is not None:
            raise BadInput(f"{folder.name} is going on already")
        self._alone(beside)
        return self._launch(folder.name, folder, ("--resume", str(folder)), resumed=True)

    def stop(self, folder: Path) -> int:
        """Ask a run to finish its step, write a checkpoint and end; returns its process id.

        Raises `BadInput` when it does not go on here.
        """
        pid = self.pid(folder)
        if pid is None:
            raise BadInput(f"{folder.name} does not go on on this machine; there is nothing to stop")
        os.kill(pid, signal.SIGTERM)
        return pid

    def evaluate(self, folder: Path) -> int:
        """Measure a trained policy on held-out draws, beside whatever else goes on; returns the process id.

        Raises `BadInput` while that goes on already.
        """
        if self.evaluating(folder):
            raise BadInput(f"{folder.name} is being evaluated already; wait until it is done")
        process = self._spawn((*self._measurer, str(folder)), self._log(f"{folder.name}.evaluation"))
        self._measured[folder] = process
        return process.pid

    def evaluating(self, folder: Path) -> bool:
        """Whether an evaluation that this program started goes on."""
        return (process := self._measured.get(folder)) is not None and process.poll() is None

    def evaluation_problem(self, folder: Path) -> str | None:
        """The last line of an evaluation that failed; None where none did."""
        process = self._measured.get(folder)
        if process is None or not process.poll():
            return None
        lines = _lines(self._log(f"{folder.name}.evaluation"))
        return lines[-1] if lines else f"it ended with exit code {process.returncode} and wrote nothing"

    def pid(self, folder: Path) -> int | None:
        """The process of a run that goes on here, from whichever program it was started; None when there is none."""
        launch = self.launch(folder)
        if launch is not None and self._alive(launch.pid, launch.began):
            return launch.pid
        return _pid_in(folder)

    def running(self) -> tuple[str, ...]:
        """The names of the runs that go on here."""
        folders = {Path(launch.folder) for launch in self.launches()}
        if self.folder.is_dir():
            folders |= {one for one in self.folder.iterdir() if one.is_dir()}
        return tuple(sorted(one.name for one in folders if self.pid(one) is not None))

    def launches(self) -> tuple[Launch, ...]:
        """What was started from here, the newest first."""
        found = [one for file in (self.home / _LAUNCHES).glob("*.json") if (one := _read(file)) is not None]
        return tuple(sorted(found, key=lambda one: one.started_at, reverse=True))

    def launch(self, folder: Path) -> Launch | None:
        """How this run was last started from here; None when it was not."""
        found = _read(self._file(folder.name))
        return found if found is not None and Path(found.folder) == folder else None

    def log(self, folder: Path) -> tuple[str, ...]:
        """The last lines that the process of a run wrote; none when it was not started from here."""
        return () if self.launch(folder) is None else _lines(self._log(folder.name))

    def _alone(self, beside: bool) -> None:
        if not beside and (others := self.running()):
            raise BadInput(
                f"{', '.join(others)} is training already, and two share this machine's cores; stop it, or start "
                "this one beside it"
            )

    def _launch(self, name: str, folder: Path, arguments: Sequence[str], *, resumed: bool) -> Launch:
        command = (*self._program, *arguments)
        process = self._spawn(command, self._log(name))
        self._children[process.pid] = process
        launch = Launch(
            name=name, folder=str(folder), command=command, pid=process.pid, began=_began(process.pid),
            started_at=datetime.now(UTC), resumed=resumed,
        )  # fmt: skip
        part = self._file(name).with_suffix(".part")
        part.write_text(dumps(to_data(launch)), "utf-8")
        part.replace(self._file(name))
        return launch

    def _spawn(self, command: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
        log.parent.mkdir(parents=True, exist_ok=True)
        environ = {**self._environ, "ORCHESTRA_HOME": str(self.home), "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
        try:
            with log.open("wb") as out:
                return subprocess.Popen(  # a list and never a shell: each setting is one argument
                    command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=environ,
                    start_new_session=True,  # the end of the app, or Ctrl-C in its terminal, is not the run's end
                )  # fmt: skip
        except OSError as error:
            raise BadInput(f"training could not be started: {error.strerror or error}") from None

    def _alive(self, pid: int, began: str | None) -> bool:
        child = self._children.get(pid)
        if child is not None:
            return child.poll() is None
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        now = _began(pid)
        return now is None or now == began

    def _file(self, name: str) -> Path:
        return self.home / _LAUNCHES / f"{name}.json"

    def _log(self, name: str) -> Path:
        return self.home / _LAUNCHES / f"{name}.log"


def _flags(settings: Sequence[str]) -> list[str]:
    return [part for text in settings for part in ("--set", text)]


def _lines(log: Path) -> tuple[str, ...]:
    """The last lines of a log; none where there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LOG_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ()
    return tuple(line.rstrip()[-400:] for line in re.split(r"[\r\n]+", text) if line.strip())[-40:]


def _read(file: Path) -> Launch | None:
    try:
        found: Launch = from_data(json.loads(file.read_text("utf-8")), Launch, where=str(file))
    except (OSError, ValueError, BadInput):
        return None
    return found


def _pid_in(folder: Path) -> int | None:
    """The process that holds a run folder, started from a terminal or another program; None when none does."""
    try:
        status = RunFolder(folder).status
        if status is None or status.state not in (State.STARTING, State.RUNNING):
            return None
        descriptor = os.open(folder / LOCK, os.O_RDONLY)
    except (OSError, BadInput):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return status.pid
    finally:
        os.close(descriptor)
    return None


def _began(pid: int) -> str | None:
    """When a process began in the system's own ticks; None where that cannot be told or it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return "ended" if fields[0] == "Z" else fields[19]
