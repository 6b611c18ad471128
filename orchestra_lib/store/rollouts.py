"""The rollouts of training, a file for each step: the truth for them, as journals are for other runs.

A step is written when it has ended, whole or not at all; the query store is not opened for it. Whoever has that
open takes the file in at the next look. The files lie under `rollouts/TRAINING/step-000012.jsonl`, with `.1` and on
before the ending where several processes keep a part each.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from orchestra_lib.codec import from_line, to_line
from orchestra_lib.durability import sync_folder
from orchestra_lib.errors import BadInput, NewerSchema, StoreFault
from orchestra_lib.record import record
from orchestra_lib.store.journal import RUN_ID
from orchestra_lib.trajectory import Trajectory

_FILE = re.compile(r"step-(\d{6,9})(?:\.\d{1,4})?\.jsonl")


@record
class Worth:
    """What a rollout came to in its step, None where unknown, as after a fault. `why` says why it was not kept."""

    reward: float | None
    advantage: float | None
    kept: bool
    why: str = ""


@record
class StepFile:
    """Where the rollouts of a step lie, or a process's part of them."""

    training: str
    step: int
    path: Path

    @property
    def name(self) -> str:
        """What the file is called in the store."""
        return f"{self.training}/{self.path.name}"


@record
class Line:
    """One line of such a file."""

    worth: Worth
    trajectory: Trajectory


@record
class Rollout:
    """Which step of which training run a run was played for, in which file it lies, and what it came to."""

    file: StepFile
    worth: Worth


class StepRollouts:
    """The files of one training run. Raises `BadInput` for a name that no folder should have."""

    def __init__(self, home: Path, training: str) -> None:
        if not RUN_ID.fullmatch(training):
            raise BadInput(f"{training[:80]!r} is no name of a training run: use letters, digits, '.', '_' and '-'")
        self.folder = home / "rollouts" / training

    def put(self, step: int, rollouts: Iterable[tuple[Trajectory, Worth]], *, part: int = 0) -> None:
        """Keep the rollouts of a step, in place of those that were kept of it; on disk for good when this returns.

        Raises `BadInput` for a rollout that has not ended, for an id that is no name and for one that comes twice,
        and `StoreFault`; what was there before is then as it was.
        """
        name = f"step-{step:06d}{f'.{part}' if part else ''}.jsonl"
        path, made = self.folder / name, self.folder / f".{name}.{os.getpid()}.part"
        data = "".join(_lines(rollouts)).encode()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with made.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            made.replace(path)
            sync_folder(self.folder)
            sync_folder(self.folder.parent)
        except OSError as error:
            raise StoreFault(f"cannot keep the rollouts of step {step} in {path}: {error.strerror}") from error
        finally:
            made.unlink(missing_ok=True)

    def forget_after(self, step: int) -> None:
        """Remove the files of later steps, before a run goes on from a checkpoint. Raises `StoreFault`."""
        try:
            for file in step_files(self.folder):
                if file.step > step:
                    file.path.unlink(missing_ok=True)
            if self.folder.exists():
                sync_folder(self.folder)
        except OSError as error:
            raise StoreFault(f"cannot remove later rollouts from {self.folder}: {error.strerror}") from error


def step_files(folder: Path) -> list[StepFile]:
    """The files of one training run, by step and part. Raises OSError; none where there is no folder."""
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    matched = ((name, _FILE.fullmatch(name)) for name in names)
    return [StepFile(training=folder.name, step=int(match[1]), path=folder / name) for name, match in matched if match]


def read(file: StepFile) -> tuple[list[Line], str | None]:
    """Its lines, and what is wrong with those that cannot be read, None for nothing. Raises OSError, `NewerSchema`."""
    found, faults = list[Line](), list[str]()
    for number, line in enumerate(file.path.read_bytes().split(b"\n")[:-1], start=1):
        try:
            found.append(from_line(line.decode(), Line, where=f"{file.path} line {number}"))
        except NewerSchema:
            raise
        except (BadInput, UnicodeDecodeError) as error:
            faults.append(str(error))
    more = f" (and {len(faults) - 1:,} more such lines)" if len(faults) > 1 else ""
    return found, f"{faults[0]}{more}" if faults else None


def _lines(rollouts: Iterable[tuple[Trajectory, Worth]]) -> Iterator[str]:
    seen = set[str]()
    for trajectory, worth in rollouts:
        if trajectory.stop is None:
            raise BadInput(f"rollout {trajectory.id[:80]!r} has not ended; keep it when it has")
        if not RUN_ID.fullmatch(trajectory.id) or trajectory.id in seen:
            raise BadInput(f"{trajectory.id[:80]!r} is no id of a rollout, or comes twice; give each its own name")
        seen.add(trajectory.id)
        yield to_line(Line(worth=worth, trajectory=trajectory), brief=True) + "\n"
