"""What workers of an engine have played: kept in a folder for each of them, until the home folder has taken it in.

A worker holds `flock` on its folder, `workers/NAME/` of a home folder, as long as its process lives. What lies in a
folder that nobody holds is taken in by id: runs that had ended as they are, others as cut off, which their bills tell.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.record import record
from orchestra_lib.store.artefacts import Artefacts
from orchestra_lib.store.journal import Journal
from orchestra_lib.tool import ArtefactRef, File
from orchestra_lib.trajectory import Trajectory

WORKERS = "workers"
_LOCK = ".lock"


@record
class Parcel:
    """One run on its way from a worker to the home folder: its journal, and the files that its calls produced."""

    run_id: str
    journal: bytes
    files: tuple[File, ...] = ()


class WorkerFolder:
    """The folder of one worker, for this process alone until `close`. Raises `StoreFault` when it is not to be had."""

    def __init__(self, home: Path, name: str) -> None:
        self.path = home / WORKERS / name
        try:
            self._lock = _locked(self.path)
        except OSError as error:
            raise StoreFault(f"the worker's folder {self.path} cannot be used: {error.strerror}") from error
        self.journal = Journal(self.path)

    def attempts(self, run_id: str) -> tuple[str, ...]:
        """What was played here under this id: itself, and the tries after it that `next_id` names."""
        found = []
        while self.journal.stamp(run_id) is not None:
            found.append(run_id)
            run_id = next_id(run_id)
        return tuple(found)

    def parcel(self, run_id: str) -> Parcel | None:
        """A run of this folder, closed as cut off when nobody writes it; None when not even its start was written."""
        return _packed(self.path, run_id)

    def close(self, *, remove: bool) -> None:
        """Let go of the folder; `remove` it when all that it holds has been taken in."""
        if remove:
            shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def next_id(run_id: str) -> str:
    """What a run is called when it is played once more: `NAME.2`, `NAME.3` and so on."""
    name, dot, number = run_id.rpartition(".")
    return f"{name}.{int(number) + 1}" if dot and number.isdigit() else f"{run_id}.2"


def unpack(parcels: Sequence[Parcel], home: Path) -> tuple[str, ...]:
    """Take runs in; they are on disk for good when this returns. Gives the ids of those that were new.

    Raises `StoreFault`; the rest can be taken in again.
    """
    journal, artefacts = Journal(home), Artefacts(home)
    new = []
    for one in parcels:
        for file in one.files:
            artefacts.put(file)
        if journal.adopt(one.run_id, one.journal):
            new.append(one.run_id)
    if new:
        journal.sync()
    return tuple(new)


def gather(home: Path) -> tuple[str, ...]:
    """Take in what workers that are gone have left, and remove their folders. Gives the ids of runs that were new.

    Folders of living workers stay as they are. Raises `StoreFault`.
    """
    new: list[str] = []
    for folder in sorted((home / WORKERS).glob("*/")):
        with _free(folder) as free:
            if not free:
                continue
            for run_id in Journal(folder).stamps():
                packed = _packed(folder, run_id)
                new += unpack([packed], home) if packed is not None else ()
            shutil.rmtree(folder, ignore_errors=True)
    return tuple(new)


def _locked(folder: Path) -> int:
    """The lock of a folder; waits for a worker before us in it, which may be about to die."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        fcntl.flock(lock, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), (folder / _LOCK).stat()):
                return lock
        os.close(lock)  # somebody has just taken the folder in and removed it


@contextlib.contextmanager
def _free(folder: Path) -> Iterator[bool]:
    """Whether no living worker holds a folder; while the block runs none can."""
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except FileNotFoundError:  # another program has just taken it in
        yield False
        return
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(lock)


def _packed(folder: Path, run_id: str) -> Parcel | None:
    journal = Journal(folder)
    journal.recover([run_id])
    reading = journal.load(run_id)
    trajectory = journal.trajectory(run_id)
    if trajectory is None:
        return None
    content = journal.path(run_id).read_bytes()[: reading.size_bytes]
    return Parcel(run_id=run_id, journal=content, files=tuple(_files(folder, trajectory)))


def _files(folder: Path, trajectory: Trajectory) -> Iterator[File]:
    artefacts, seen = Artefacts(folder), set()
    for ref in _refs(trajectory):
        if ref.sha256 not in seen:
            seen.add(ref.sha256)
            with contextlib.suppress(BadInput):  # it was never kept: the run is told as it is
                yield File(name=ref.name, media_type=ref.media_type, data=artefacts.get(ref.sha256))


def _refs(trajectory: Trajectory) -> Iterator[ArtefactRef]:
    for call in trajectory.calls:
        if call.observation is not None:
            yield from call.observation.artefacts
            if call.observation.full is not None:
                yield call.observation.full
