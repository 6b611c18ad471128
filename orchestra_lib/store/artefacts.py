"""Files that runs produced, kept once under the hash of their content."""

import hashlib
import os
import re
import tempfile
import time
from pathlib import Path

from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.tool import ArtefactRef, File

MAX_BYTES = 64 * 2**20
"""The largest file that is kept, in bytes."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


class Artefacts:
    """The artefacts of one home folder, under `artefacts/ab/abcd…`. An `ArtefactStore`."""

    def __init__(self, home: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self.folder = home / "artefacts"
        self._max_bytes = max_bytes

    def put(self, file: File) -> ArtefactRef:
        """Keep a file; the same content is kept once. Raises `StoreFault` when it is too large or cannot be written."""
        size = len(file.data)
        if size > self._max_bytes:
            raise StoreFault(f"the file {file.name!r} has {size:,} bytes; at most {self._max_bytes:,} are kept")
        sha256 = hashlib.sha256(file.data).hexdigest()
        path = self._path(sha256)
        try:
            if path.is_file() and path.stat().st_size == size:
                os.utime(path)  # in use again: `remove` leaves it alone for a while
            else:
                _write(path, file.data)
        except OSError as error:
            raise StoreFault(f"cannot keep the file {file.name!r}: {error.strerror}") from error
        return ArtefactRef(sha256=sha256, media_type=file.media_type, size_bytes=size, name=file.name)

    def get(self, sha256: str) -> bytes:
        """The content under a hash. Raises `BadInput` for no hash or an unknown one, `StoreFault` when damaged."""
        path = self._path(sha256)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise BadInput(f"there is no artefact {sha256}") from None
        except OSError as error:
            raise StoreFault(f"cannot read the artefact {sha256}: {error.strerror}") from error
        if hashlib.sha256(data).hexdigest() != sha256:
            raise StoreFault(f"the artefact {sha256} is damaged on disk")
        return data

    def remove(self, sha256: str, *, unused_for_s: float = 3600.0) -> None:
        """Remove a content for good unless it was put lately: a run that goes on may not have named it yet.

        One that is not there is no error. Raises `StoreFault`.
        """
        path = self._path(sha256)
        try:
            if time.time() - path.stat().st_mtime >= unused_for_s:
                path.unlink()
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreFault(f"cannot remove the artefact {sha256}: {error.strerror}") from error

    def _path(self, sha256: str) -> Path:
        if not _SHA256.fullmatch(sha256):
            raise BadInput(f"{sha256[:80]!r} is no artefact: an artefact's name is 64 hexadecimal digits")
        return self.folder / sha256[:2] / sha256


def _write(path: Path, data: bytes) -> None:
    """All of it or nothing: a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
