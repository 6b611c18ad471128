"""The file under a journal: locked, written whole, read from its end."""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path

from orchestra_lib.errors import BadInput, StoreFault

_TAIL_BYTES = 1 << 16


def last_kind(path: Path) -> object:
    """The kind of the last whole line, read from the end: most journals are long and finished."""
    tail, start = b"", path.stat().st_size
    with path.open("rb") as file:
        while start > 0 and tail.rstrip(b"\n").count(b"\n") < 1:
            start = max(0, start - _TAIL_BYTES)
            file.seek(start)
            tail = file.read()
    if not tail.endswith(b"\n"):
        return None
    try:
        return json.loads(tail[:-1].rpartition(b"\n")[2]).get("kind")
    except (ValueError, RecursionError, AttributeError):
        return None


@contextlib.contextmanager
def taken(path: Path) -> Iterator[int | None]:
    """The file, locked for us while the block runs; None when its writer lives.

    Raises `BadInput` when there is no file, `StoreFault` when it cannot be opened.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
    except FileNotFoundError:
        raise BadInput(f"there is no run {path.stem!r}") from None
    except OSError as error:
        raise StoreFault(f"cannot open the journal {path}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
        else:
            yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def held(path: Path) -> Iterator[int]:
    """The file, locked for us as soon as whoever has it lets go: for a run whose end is written already."""
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte; a single write may take fewer."""
    while data:
        data = data[os.write(descriptor, data) :]
