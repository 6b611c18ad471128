"""Prompt caches of shared beginnings, kept on disk, so that a second start need not read them again.

A small model on one core reads some 30 tokens a second: a beginning of 1,000 tokens costs half a
minute cold and 10 milliseconds from here. Only what was announced as shared is kept, never a task.
"""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from orchestra_lib.codec import dumps
from orchestra_lib.model.registry import Entry

KEPT = 6
"""Files kept per model; the oldest go. A thousand tokens take about 30 MB at 1.5B."""
_TIMEOUT_S = 60.0


class Beginnings:
    """The files of one model. A file that the server will not take counts as absent."""

    def __init__(self, folder: Path, model: str, gguf: Path) -> None:
        self.folder = folder
        self._model = model
        self._gguf = gguf

    def restore(self, entry: Entry, slot: int, messages: Sequence[Mapping[str, Any]]) -> bool:
        """Load a beginning into a slot; False when it is not here."""
        name = self._name(messages)
        return (self.folder / name).is_file() and self._ask(entry, slot, "restore", name)

    def save(self, entry: Entry, slot: int, messages: Sequence[Mapping[str, Any]]) -> None:
        """Keep what the slot has just read. A disk that is full only costs the time saved."""
        name = self._name(messages)
        draft = f"{name}.{entry.pid}.tmp"
        with suppress(OSError):
            if self._ask(entry, slot, "save", draft):
                (self.folder / draft).replace(self.folder / name)
            (self.folder / draft).unlink(missing_ok=True)
            files = sorted(self.folder.glob(f"{self._model}-*.kv"), key=lambda file: file.stat().st_mtime)
            for old in files[:-KEPT]:
                old.unlink(missing_ok=True)

    def _name(self, messages: Sequence[Mapping[str, Any]]) -> str:
        about = self._gguf.stat()
        parts = [version("xllamacpp"), about.st_size, about.st_mtime_ns, [dict(message) for message in messages]]
        return f"{self._model}-{hashlib.sha256(dumps(parts).encode()).hexdigest()[:32]}.kv"

    def _ask(self, entry: Entry, slot: int, action: str, name: str) -> bool:
        return entry.post(f"/slots/{slot}?action={action}", {"filename": name}, timeout_s=_TIMEOUT_S)
