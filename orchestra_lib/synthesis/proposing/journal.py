"""What was asked of a model and what came of it, appended line by line: a run that was killed goes on from here."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orchestra_lib.codec import from_data, to_text
from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.json_writing import dumps
from orchestra_lib.pricing import Attempt
from orchestra_lib.record import record
from orchestra_lib.store.journal_file import write_all


@record
class Try:
    """One request of a slot and what came of it.

    `reason` says why it was rejected, None when it was accepted; `said` is the beginning of the reply. `last` closes
    the slot: it was accepted, or nothing more is tried. With a `fault` the world is to blame and the slot stays open.
    """

    slot: str
    number: int
    reason: str | None = None
    said: str = ""
    proposal: Mapping[str, Any] | None = None
    attempts: tuple[Attempt, ...] = ()
    last: bool = False
    fault: bool = False


class Journal:
    """The tries of one run in one file, which nobody else writes meanwhile. Use it in a `with` block.

    `facts` say what the run is about; a journal that was begun with others is refused. A half line at the end, which
    a kill leaves, is cut off. Raises `BadInput` for a file that is no such journal, `StoreFault` when it cannot be
    written.
    """

    def __init__(self, file: Path, facts: Mapping[str, Any]) -> None:
        self._file = file
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise StoreFault(f"cannot open the journal {file}: {error.strerror}") from None
        try:
            self._lock()
            self.tries = self._read(facts)
        except BaseException:
            os.close(self._descriptor)
            raise
        self.before = len(self.tries)
        """So many of the tries were made by earlier runs."""

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def add(self, one: Try) -> None:
        """Keep a try; it is on disk when this returns."""
        self._write(to_text(one))
        self.tries.append(one)

    def closed(self, slot: str) -> Try | None:
        """The try that closed a slot, None while it is open."""
        return next((one for one in self.tries if one.slot == slot and one.last), None)

    def attempts(self) -> Iterator[Attempt]:
        """The ledger of the whole journal, earlier runs with it."""
        for one in self.tries:
            yield from one.attempts

    def _lock(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(f"{self._file}: another run writes it; wait for it, or name another folder") from None

    def _read(self, facts: Mapping[str, Any]) -> list[Try]:
        data = self._file.read_bytes()
        whole = data.rpartition(b"\n")[0]
        lines = whole.decode("utf-8", "replace").split("\n") if whole else []
        os.ftruncate(self._descriptor, len(whole) + bool(lines))
        if not lines:
            self._write(dumps({"proposing": facts}))
            return []
        first = self._parsed(lines[0], 1)
        if first != {"proposing": json.loads(dumps(facts))}:
            raise BadInput(
                f"{self._file} was begun for something else: {dumps(first)[:300]}; name another folder, or remove it"
            )
        return [
            from_data(self._parsed(line, number), Try, where=f"{self._file}:{number}")
            for number, line in enumerate(lines[1:], 2)
        ]

    def _parsed(self, line: str, number: int) -> Any:
        try:
            return json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{self._file}:{number}: not JSON ({error}); remove the file to begin anew") from None

    def _write(self, line: str) -> None:
        try:
            write_all(self._descriptor, f"{line}\n".encode())
            os.fsync(self._descriptor)
        except OSError as error:
            raise StoreFault(f"cannot write the journal {self._file}: {error.strerror}") from None
