"""A process without a network: the kernel refuses it every socket that could leave the machine.

Where the kernel has no such filter, Python's own calls are refused. Neither can be taken back, so a program denies
itself the network only in a process of its own.
"""

import ctypes
import os
import platform
import sys
from typing import Any

from orchestra_lib.errors import SandboxFault
from orchestra_lib.toolkit import seccomp

_NO_NEW_PRIVILEGES = 38
_SET_FILTER, _ALL_THREADS = 1, 1
_SECCOMP = {"x86_64": 317, "aarch64": 277}
"""The number of the system call `seccomp` on each machine."""
_DENIED = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "subprocess.Popen")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def deny_network() -> str:
    """Deny this process the network for good, with all its threads; returns who denies it."""
    sys.addaudithook(_refuse)
    try:
        _install(seccomp.program())
    except (SandboxFault, OSError):
        return "python"
    return "kernel"


def _refuse(event: str, _details: tuple[Any, ...]) -> None:
    if event in _DENIED:
        raise PermissionError(f"the network is denied to this process ({event})")


def _install(program: bytes) -> None:
    """Raises `OSError` where the kernel takes no filter."""
    kernel = ctypes.CDLL(None, use_errno=True)
    kept = ctypes.create_string_buffer(program, len(program))
    wanted = _Program(len(program) // 8, ctypes.cast(kept, ctypes.c_void_p))
    number = _SECCOMP[platform.machine()]
    if kernel.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or kernel.syscall(
        number, _SET_FILTER, _ALL_THREADS, ctypes.byref(wanted)
    ):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
