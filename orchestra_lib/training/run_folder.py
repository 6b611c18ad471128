"""The folder of one training run: its settings, its state, its steps and some of its rollouts, for whoever watches.

`status.json` is replaced whole and `steps.jsonl` appended to, so that a reader never meets half a value but perhaps a
last line that is still being written, which it leaves for the next time.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from orchestra_lib.codec import dumps, from_data, to_data
from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.record import record
from orchestra_lib.training.steps import Step

CONFIG, STATUS, STEPS, ROLLOUTS, FINAL, EVALUATION = (
    "config.toml", "status.json", "steps.jsonl", "rollouts", "final", "evaluation.json",
)  # fmt: skip
_CHECKPOINT = "checkpoint-"


class State(StrEnum):
    """How a run stands; one that is `stopped` or `failed`, or whose process is gone, can be resumed."""

    STARTING = "starting"
    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"


@record
class Status:
    """The state of a run. `steps` is how many are wanted; `message` says why it stopped or failed."""

    state: State
    pid: int
    step: int = 0
    steps: int
    message: str = ""
    started_at: datetime
    heartbeat_at: datetime


class RunFolder:
    """Reads and writes one run. Writing raises `StoreFault` with what the disk says."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def stored_as(self) -> str:
        """What the run is called in the store: by its folder's name, and apart from others that are called alike."""
        name = re.sub(r"[^A-Za-z0-9._-]", "-", self.path.name)[:40].lstrip("._-") or "run"
        return f"{name}-{hashlib.sha256(str(self.path.resolve()).encode()).hexdigest()[:8]}"

    @property
    def status(self) -> Status | None:
        """The state, None before the first one is written. Raises `BadInput` for a file that is none."""
        text = self._text(STATUS)
        if text is None:
            return None
        try:
            data = json.loads(text)
        except ValueError as error:
            raise BadInput(f"{self.path / STATUS} is no JSON ({error}); the run cannot be followed") from None
        status: Status = from_data(data, Status, where=str(self.path / STATUS))
        return status

    def steps(self) -> tuple[Step, ...]:
        """The steps that are written whole. Raises `BadInput` naming the line that is none."""
        return tuple(self._steps())

    def config(self) -> str:
        """The resolved settings as TOML. Raises `BadInput` where there are none."""
        text = self._text(CONFIG)
        if text is None:
            raise BadInput(f"{self.path} has no {CONFIG}, so it is no training run; name the folder of one")
        return text

    def checkpoints(self) -> dict[int, Path]:
        """The complete checkpoints by their step, ascending."""
        named = ((one.name.removeprefix(_CHECKPOINT), one) for one in self.path.glob(f"{_CHECKPOINT}*"))
        return dict(sorted((int(step), one) for step, one in named if step.isdecimal()))

    def rollouts(self, step: int) -> Path:
        """The file of a step's rollouts, which `orchestra import` takes; it may not exist."""
        return self.path / ROLLOUTS / f"step-{step:06d}.jsonl"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the folder to this process while the block runs. Raises `BadInput` when another one trains in it."""
        with self._writing():
            self.path.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BadInput(f"another process trains in {self.path}; stop it, or take another output_dir") from None
            yield
        finally:
            os.close(descriptor)

    def write_config(self, toml: str) -> None:
        self._replace(CONFIG, toml)

    def write_status(self, status: Status) -> None:
        self._replace(STATUS, dumps(to_data(status)) + "\n")

    def add_step(self, step: Step) -> None:
        """Append one line, whole on the disk when this returns."""
        with self._writing(), (self.path / STEPS).open("ab") as file:
            file.write((dumps(to_data(step)) + "\n").encode())
            file.flush()
            os.fsync(file.fileno())

    def write_rollouts(self, step: int, rows: Sequence[Any]) -> None:
        """The rollouts of a step that are kept, as rows of plain data."""
        (self.path / ROLLOUTS).mkdir(parents=True, exist_ok=True)
        self._replace(f"{ROLLOUTS}/{self.rollouts(step).name}", "".join(dumps(row) + "\n" for row in rows))

    def forget_after(self, step: int) -> None:
        """Drop what was written after a step, before a run goes on from its checkpoint."""
        kept = [dumps(to_data(one)) + "\n" for one in self._steps() if one.step <= step]
        self._replace(STEPS, "".join(kept))
        for file in (self.path / ROLLOUTS).glob("step-*.jsonl"):
            if int(file.stem.removeprefix("step-")) > step:
                file.unlink()
        for number, folder in self.checkpoints().items():
            if number > step:
                shutil.rmtree(folder)

    def _steps(self) -> Iterator[Step]:
        text = self._text(STEPS) or ""
        for number, line in enumerate(text.split("\n")[:-1], start=1):  # behind the last line feed: not yet whole
            try:
                data = json.loads(line)
            except ValueError as error:
                raise BadInput(f"{self.path / STEPS} line {number} is no JSON ({error}); remove it") from None
            step: Step = from_data(data, Step, where=f"{self.path / STEPS} line {number}")
            yield step

    def _text(self, name: str) -> str | None:
        try:
            return (self.path / name).read_text("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{self.path / name} cannot be read ({error})") from None

    def _replace(self, name: str, text: str) -> None:
        file = self.path / name
        part = file.with_name(f".{file.name}.part")
        with self._writing():
            self.path.mkdir(parents=True, exist_ok=True)
            with part.open("w", encoding="utf-8", newline="\n") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            part.replace(file)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreFault(f"cannot write to {self.path}: {error.strerror or error}; make room and resume") from None


def now() -> datetime:
    """The present in UTC."""
    return datetime.now(UTC)
