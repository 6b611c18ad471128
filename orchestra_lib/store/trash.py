"""Runs that were deleted and can still be had back: their journals, in `trash/` for a while.

What is purged is gone for good, with the artefacts that no other run names.
"""

import contextlib
import os
import re
import time
from pathlib import Path

from orchestra_lib.durability import sync_folder
from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.store.journal import Journal
from orchestra_lib.store.journal_file import taken

_ARTEFACT = re.compile(rb'"sha256":"([0-9a-f]{64})"')

KEPT_S = 24 * 3600.0
"""How long a deleted run can be had back, in seconds."""


class Trash:
    """The trash of one home folder."""

    def __init__(self, home: Path, journal: Journal) -> None:
        self.folder = home / "trash"
        self._journal = journal

    def take(self, run_id: str) -> None:
        """Move the journal of a run here. Raises `BadInput` for an unknown run and one that is still written."""
        path = self._journal.path(run_id)
        with taken(path) as descriptor:
            if descriptor is None:
                raise BadInput(f"run {run_id} is still going on; stop it first")
            self._move(path, self._kept(run_id))
            os.utime(self._kept(run_id))  # the day that it is kept begins now

    def give_back(self, run_id: str) -> None:
        """Put the journal of a run back where it was. Raises `BadInput` when it is not here."""
        kept, path = self._kept(run_id), self._journal.path(run_id)
        if not kept.exists():
            raise BadInput(f"run {run_id!r} is not in the trash; what was deleted over a day ago is gone")
        if path.exists():
            raise BadInput(f"a run {run_id!r} exists again; the deleted one stays in the trash")
        self._move(kept, path)

    def has(self, run_id: str) -> bool:
        """Whether a run can be had back."""
        return self._kept(run_id).exists()

    def due(self, *, older_than_s: float = KEPT_S) -> tuple[str, ...]:
        """The runs deleted longer ago than this."""
        latest = time.time() - older_than_s
        return tuple(sorted(path.stem for path in self.folder.glob("*.jsonl") if path.stat().st_mtime <= latest))

    def artefacts(self, run_id: str) -> frozenset[str]:
        """The hashes of artefacts that a run in the trash names and no other run in the trash does."""
        named = {path.stem: frozenset(_ARTEFACT.findall(path.read_bytes())) for path in self.folder.glob("*.jsonl")}
        own = named.pop(run_id, frozenset())
        return frozenset(sha256.decode() for sha256 in own.difference(*named.values()))

    def purge(self, run_id: str) -> None:
        """Remove a run from the trash for good."""
        with contextlib.suppress(FileNotFoundError):
            self._kept(run_id).unlink()

    def _kept(self, run_id: str) -> Path:
        return self.folder / self._journal.path(run_id).name

    def _move(self, source: Path, target: Path) -> None:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            os.rename(source, target)
            sync_folder(target.parent)
            sync_folder(source.parent)
        except OSError as error:
            raise StoreFault(f"cannot move {source.name} to {target.parent}: {error.strerror}") from error
