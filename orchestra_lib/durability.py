"""What makes a file outlive a loss of power, beyond `os.fsync` of the file itself."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Make the name of a new or renamed file durable; only fsync of its folder does."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
