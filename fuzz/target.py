"""A boundary to fuzz: what reads the bytes, and the one kind of error by which it may refuse them."""

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

CORPUS = Path(__file__).parent / "corpus"
"""Seeds, and what once broke something, in a folder for each target."""

Form = Literal["json", "jsonl", "text", "bytes"]


@dataclass(frozen=True)
class Target:
    """`read` takes any bytes; what it raises beside `refusals` is a bug. `form` says how inputs are best changed."""

    name: str
    form: Form
    refusals: tuple[type[Exception], ...]
    read: Callable[[bytes], object]

    def try_out(self, data: bytes) -> None:
        """Read the bytes. Raises what is a bug, and nothing for input that is refused as documented."""
        try:
            self.read(data)
        except self.refusals:
            return

    def seeds(self) -> list[Path]:
        """The inputs that are kept for it."""
        return sorted((CORPUS / self.name).iterdir())


@cache
def scratch() -> Path:
    """A folder of this process for readers of files, in memory where the system has such a place."""
    folder = tempfile.TemporaryDirectory(prefix=_prefix(os.getpid()), dir=_where())
    _KEPT.append(folder)
    return Path(folder.name)


def clear(pid: int) -> None:
    """Remove the folder of a process that has ended: one that libFuzzer ends, or that is killed, removes nothing."""
    for folder in _where().glob(f"{_prefix(pid)}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _where() -> Path:
    memory = Path("/dev/shm")  # noqa: S108  # a folder of a fresh name within it
    return memory if memory.is_dir() else Path(tempfile.gettempdir())


def _prefix(pid: int) -> str:
    return f"fuzz-{pid}-"


_KEPT: list["tempfile.TemporaryDirectory[str]"] = []


def as_file(data: bytes, name: str) -> Path:
    """The bytes in a file of this name."""
    path = scratch() / name
    path.write_bytes(data)
    return path


def as_text(data: bytes) -> str:
    """Any bytes as text, lone surrogates among it: models and servers can spell them in JSON."""
    return data.decode("utf-8", "surrogateescape")
