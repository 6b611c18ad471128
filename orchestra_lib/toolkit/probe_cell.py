"""The cell that proves a sandbox before it is used: prints `holds`, or names the limit that does not."""

import ctypes
import os
import resource
import socket
import threading
from collections.abc import Callable
from pathlib import Path


def _refused(action: Callable[[], object]) -> bool:
    try:
        action()
    except (OSError, MemoryError, RuntimeError):
        return True
    return False


def _threads() -> None:
    stop = threading.Event()
    started = []
    try:
        for _ in range(resource.getrlimit(resource.RLIMIT_NPROC)[0] + 1):
            started.append(threading.Thread(target=stop.wait))
            started[-1].start()
    finally:
        stop.set()


def _disk() -> None:
    names = [f"fill{index}" for index in range(3)]
    try:
        for name in names:
            with open(name, "wb") as file:
                file.truncate(0)
                os.posix_fallocate(file.fileno(), 0, resource.getrlimit(resource.RLIMIT_FSIZE)[0] // 2)
    finally:
        for name in names:
            if os.path.exists(name):
                os.unlink(name)


checks = {
    "a thread can start": not _refused(lambda: threading.Thread(target=int).start()),
    "no new process": _refused(os.fork),
    "no network": _refused(lambda: socket.socket(socket.AF_INET)),
    "a memory limit": _refused(lambda: bytearray(resource.getrlimit(resource.RLIMIT_AS)[0])),
    "a thread limit": _refused(_threads),
    "a disk limit": _refused(_disk),
    "no new namespaces": ctypes.CDLL(None).unshare(0x10000000) == -1,
    "a file limit": os.statvfs(".").f_files <= 100_000,
    "no mounts": ctypes.CDLL(None).mount(b"tmpfs", b"/work", b"tmpfs", 0, None) == -1,
    "no root": 0 not in os.getresuid() and _refused(lambda: os.setuid(0)),
    "no writing elsewhere": _refused(Path("/x").touch) and _refused(Path("/site/x").touch),
    "no host files": not os.path.exists("/etc/passwd")
    and not os.path.exists("/proc/self")
    and not os.environ.get("PATH"),
}
missing = [claim for claim, holds in checks.items() if not holds]
print("not enforced here: " + ", ".join(missing) if missing else "holds")
