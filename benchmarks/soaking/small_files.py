"""The nearest to a full disk that needs no rights."""

import contextlib
import resource
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def disk_of(size: int) -> Iterator[None]:
    """No file of this process may grow over `size` bytes while the block runs."""
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
