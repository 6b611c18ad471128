"""One JSONL file per run, appended event by event: the truth that everything else is rebuilt from.

A writer holds `flock` on its file, so that the run counts as running exactly as long as its
process lives; the lock vanishes with the process, also after `kill -9`. What was acknowledged
at the end of a turn is on disk. A last line that was cut by a crash is dropped and counted.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from pathlib import Path
from types import TracebackType

from orchestra_lib.codec import event_from_line, event_to_line
from orchestra_lib.durability import sync_folder
from orchestra_lib.errors import BadInput, Fault, NewerSchema, OrchestraError, StoreFault
from orchestra_lib.event import (
    CallStarted,
    Event,
    Graded,
    RunFinished,
    RunStarted,
    Streamed,
    TurnFinished,
    closing,
    fold,
)
from orchestra_lib.grade import Grade
from orchestra_lib.pricing import Attempt, PriceTable
from orchestra_lib.record import record
from orchestra_lib.store.journal_file import held, last_kind, taken, write_all
from orchestra_lib.store.journal_sync import together
from orchestra_lib.trajectory import Trajectory

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
"""What a run may be called; its journal has that name."""
INTERRUPTED = "interrupted"
"""The kind of fault that ends a run whose process died."""
_TRANSIENT = (Streamed, CallStarted)
_DURABLE = (RunStarted, TurnFinished, RunFinished, Graded)
_ENDED = ("run_finished", "graded")
"""The last event of a journal that needs no closing."""
_log = logging.getLogger(__name__)


@record
class Stamp:
    """Size in bytes and modification time of a journal: another stamp means other content."""

    size: int
    mtime_ns: int


@record
class Reading:
    """The events of a journal, how many bytes they take, and how many bytes of a torn line follow."""

    events: tuple[Event, ...]
    size_bytes: int
    torn_bytes: int


class JournalWriter:
    """Appends the events of one run. A failed `append` leaves no half line and can be repeated."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor: int | None = descriptor
        self._size = 0
        self._torn = False
        self._named = False  # whether the name is on disk too, without which the content would be lost

    def append(self, *events: Event) -> None:
        """Write events; on disk for good after `run_started`, `turn_finished`, `run_finished`, `graded`.

        `streamed` and `call_started` are for those who watch, and are not kept. All are written or none.
        Raises `StoreFault`.
        """
        before = self._size
        if self._write(events):
            try:
                os.fsync(self._open())
                if not self._named:
                    sync_folder(self._path.parent)
            except OSError as error:
                raise self._undone(before, error) from error
            self._named = True

    async def keep(self, *events: Event, soon: bool = False) -> None:
        """`append` for an event loop: others go on while the disk makes sure. Raises `StoreFault`.

        `soon` leaves that to the next one that makes sure: these are acknowledged together with those.
        """
        before = self._size
        if not self._write(events) or soon:
            return
        sure = together().sure((self._open(), None if self._named else self._path.parent))
        try:
            await asyncio.shield(sure)
        except asyncio.CancelledError:
            await asyncio.wait({sure})  # the file must stay open until then
            raise
        except OSError as error:
            raise self._undone(before, error) from error
        self._named = True

    def _write(self, events: Sequence[Event]) -> bool:
        """Write events, and say whether the disk has to make sure of them. Raises `StoreFault`."""
        lines = [event_to_line(event).encode() + b"\n" for event in events if not isinstance(event, _TRANSIENT)]
        if not lines:
            return False
        descriptor, data = self._open(), b"".join(lines)
        try:
            if self._torn:
                os.ftruncate(descriptor, self._size)
                self._torn = False
            write_all(descriptor, data)
        except OSError as error:
            raise self._undone(self._size, error) from error
        self._size += len(data)
        return any(isinstance(event, _DURABLE) for event in events)

    def _open(self) -> int:
        if self._descriptor is None:
            raise StoreFault(f"the journal {self._path.name} is closed")
        return self._descriptor

    def _undone(self, size: int, error: OSError) -> StoreFault:
        """The file is as it was with so many bytes, now or before the next write."""
        self._torn, self._size = True, size
        with contextlib.suppress(OSError):
            os.ftruncate(self._open(), size)
        return StoreFault(f"cannot write the journal {self._path}: {error.strerror}")

    def close(self) -> None:
        """Let go of the run; without a `run_finished` it then counts as interrupted, without any event it never was."""
        if self._descriptor is not None:
            if self._size == 0:
                with contextlib.suppress(OSError):
                    self._path.unlink()
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> "JournalWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class Journal:
    """The journals of one home folder, under `journals/`."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "journals"

    def open(self, run_id: str) -> JournalWriter:
        """Begin the journal of a new run. Raises `BadInput` for an id that is no name or is taken, `StoreFault`."""
        path = self.path(run_id)
        how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        try:
            try:
                descriptor = os.open(path, how, 0o644)
            except FileNotFoundError:
                self.folder.mkdir(parents=True, exist_ok=True)
                descriptor = os.open(path, how, 0o644)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except FileExistsError:
            raise BadInput(f"a run {run_id!r} exists already; choose another id") from None
        except OSError as error:
            raise StoreFault(f"cannot create the journal {path}: {error.strerror}") from error
        return JournalWriter(path, descriptor)

    def put(self, events: Sequence[Event]) -> bool:
        """A run that ended elsewhere, whole or not at all; False when a run of its id is there already.

        Its content is on disk when this returns, its name after `sync`. Raises `BadInput` for an id that is no name,
        ValueError without a `RunStarted`, and `StoreFault`.
        """
        return self.adopt(fold(events[:1]).id, b"".join(event_to_line(event).encode() + b"\n" for event in events))

    def adopt(self, run_id: str, content: bytes) -> bool:
        """`put` for a journal as it stands on another disk: its bytes, ending with a whole line."""
        path = self.path(run_id)
        part = self.folder / f".{run_id}.{os.getpid()}.part"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.link(part, path)
        except FileExistsError:
            return False
        except OSError as error:
            raise StoreFault(f"cannot write the journal {path}: {error.strerror}") from error
        finally:
            part.unlink(missing_ok=True)
        return True

    def sync(self) -> None:
        """Make sure that the names of the journals are on disk. Raises `StoreFault`."""
        try:
            sync_folder(self.folder)
        except OSError as error:
            raise StoreFault(f"cannot write {self.folder}: {error.strerror}") from error

    def read(self, run_id: str) -> list[Event]:
        """The kept events of a run; see `load`."""
        return list(self.load(run_id).events)

    def beginning(self, run_id: str, most: int) -> list[Event]:
        """The first events of a run, at most so many: of a long one they are there long before all of it is read.

        Raises as `load`.
        """
        path = self.path(run_id)
        try:
            with path.open("rb") as file:
                lines = [line[:-1] for line in islice(file, most) if line.endswith(b"\n")]
        except FileNotFoundError:
            raise BadInput(f"there is no run {run_id!r}; `orchestra list` shows the runs") from None
        except OSError as error:
            raise StoreFault(f"cannot read the journal {path}: {error.strerror}") from error
        return list(_events(lines, path, run_id))

    def load(self, run_id: str) -> Reading:
        """Read a journal, also while it is being written.

        Raises `BadInput` for an unknown run, `NewerSchema`, and `StoreFault` naming the file and
        line that cannot be read.
        """
        path = self.path(run_id)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise BadInput(f"there is no run {run_id!r}; `orchestra list` shows the runs") from None
        except OSError as error:
            raise StoreFault(f"cannot read the journal {path}: {error.strerror}") from error
        *lines, torn = content.split(b"\n")
        events = _events(lines, path, run_id)
        return Reading(events=events, size_bytes=len(content) - len(torn), torn_bytes=len(torn))

    def trajectory(self, run_id: str) -> Trajectory | None:
        """The run as its journal tells it; None when not even its start was written. Raises as `load`."""
        events = self.load(run_id).events
        try:
            return fold(events) if events else None
        except (ValueError, IndexError) as error:
            raise StoreFault(f"{self.path(run_id)}: events out of order ({error})") from error

    def stamps(self, but: AbstractSet[str] = frozenset()) -> dict[str, Stamp]:
        """Every run that has a journal, with the stamp of its file; the runs of `but` are left out unseen."""
        try:
            names = {name.removesuffix(".jsonl") for name in os.listdir(self.folder) if name.endswith(".jsonl")}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StoreFault(f"cannot read {self.folder}: {error.strerror}") from error
        named = filter(RUN_ID.fullmatch, names - but)
        return {run_id: stamp for run_id in named if (stamp := self.stamp(run_id))}

    def stamp(self, run_id: str) -> Stamp | None:
        """The stamp of one journal; None when there is none."""
        try:
            stat = self.path(run_id).stat()
        except OSError:
            return None
        return Stamp(size=stat.st_size, mtime_ns=stat.st_mtime_ns)

    def is_live(self, run_id: str) -> bool:
        """Whether a living process, this one included, is writing the run."""
        with taken(self.path(run_id)) as descriptor:
            return descriptor is None

    def changed_ns(self) -> int | None:
        """When a journal was last added, by the folder's own time in ns; None when there is no folder."""
        try:
            return self.folder.stat().st_mtime_ns
        except OSError:
            return None

    def recover(self, run_ids: Iterable[str] | None = None) -> tuple[str, ...]:
        """Close the runs (None: all) that nobody writes any more, so that they read as `fault` and not as running.

        Returns the ids of the runs closed. A journal that cannot be read or written is left as it is.
        """
        return tuple(filter(self._close_interrupted, self.stamps() if run_ids is None else run_ids))

    def _close_interrupted(self, run_id: str) -> bool:
        path = self.path(run_id)
        try:
            if last_kind(path) in _ENDED:
                return False
            with taken(path) as descriptor:
                return descriptor is not None and self._append_interrupted(run_id, descriptor)
        except FileNotFoundError:
            return False
        except (OrchestraError, OSError) as error:
            _log.warning("run %s stays unfinished: %s", run_id, error)
            return False

    def _append_interrupted(self, run_id: str, descriptor: int) -> bool:
        reading = self.load(run_id)
        if not reading.events or _has_ended(reading):
            return False
        last = reading.events[-1]
        message = "cut off: its process ended, or gave the run up, before it was done; what happened is kept"
        fault = Fault(where="run", kind=INTERRUPTED, message=message)
        events = closing(fold(reading.events), seq=last.seq + 1, t_s=last.t_s, fault=fault)
        os.ftruncate(descriptor, reading.size_bytes)
        write_all(descriptor, b"".join(event_to_line(event).encode() + b"\n" for event in events))
        os.fsync(descriptor)
        return True

    def grade(
        self,
        run_id: str,
        grade: Grade | None,
        attempts: Sequence[Attempt] = (),
        *,
        prices: PriceTable | None = None,
        fault: Fault | None = None,
    ) -> Graded:
        """Add a grade, or the fault of a grader, to a run that has ended; on disk for good when this returns.

        Returns the event that was added. Raises `BadInput` for an unknown run and one that still goes on, `StoreFault`.
        """
        path = self.path(run_id)
        self.recover([run_id])
        if not _has_ended(self.load(run_id)):
            raise BadInput(f"run {run_id} still goes on; grade it when it has ended")
        try:
            with held(path) as descriptor:
                reading = self.load(run_id)
                last = reading.events[-1]
                t_s = last.t_s
                if grade is not None:
                    started_at = fold(reading.events[:1]).setting.started_at
                    t_s = max(t_s, round((grade.at - started_at).total_seconds(), 6))
                event = Graded(
                    seq=last.seq + 1, t_s=t_s, grade=grade, attempts=tuple(attempts), prices=prices, fault=fault
                )
                os.ftruncate(descriptor, reading.size_bytes)  # half a grade, which a crash or a full disk left
                write_all(descriptor, event_to_line(event).encode() + b"\n")
                os.fsync(descriptor)
        except OSError as error:
            raise StoreFault(f"cannot write the journal {path}: {error.strerror}") from error
        return event

    def path(self, run_id: str) -> Path:
        """Where the journal of a run lies, or would. Raises `BadInput` for an id that is no name."""
        if not RUN_ID.fullmatch(run_id):
            raise BadInput(f"{run_id!r} is no run id: use up to 128 letters, digits, '.', '_' and '-'")
        return self.folder / f"{run_id}.jsonl"


def _has_ended(reading: Reading) -> bool:
    """Grades may follow the end of a run, and a grade may be torn."""
    return any(isinstance(event, RunFinished) for event in reversed(reading.events))


def _events(lines: Sequence[bytes], path: Path, run_id: str) -> tuple[Event, ...]:
    """The events of the first lines of a run's journal. Raises `NewerSchema`, `StoreFault`."""
    events = tuple(_event(line, f"{path} line {number}") for number, line in enumerate(lines, start=1))
    if events and not (isinstance(events[0], RunStarted) and events[0].setting.run_id == run_id):
        raise StoreFault(f"{path} line 1: not the start of run {run_id!r}")
    return events


def _event(line: bytes, where: str) -> Event:
    try:
        return event_from_line(line.decode(), where=where)
    except NewerSchema:
        raise
    except (BadInput, UnicodeDecodeError) as error:
        raise StoreFault(f"{where} cannot be read: {error}") from error
