"""SHA-256 of a file's content."""

import hashlib
from pathlib import Path


def sha256_of(path: Path) -> str:
    """The hash in hexadecimal. Raises OSError when the file cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
