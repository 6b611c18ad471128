"""The system calls that sandboxed code may not make, as a classic BPF program for the kernel.

A short list of refusals on top of namespaces and limits: no new process (one process makes the memory
limit a limit of the whole sandbox), no socket but AF_UNIX (vsock reaches past a network namespace),
no memory outside RLIMIT_AS (memfd, System V, huge pages that a pipe holds, asynchronous I/O of the whole
machine), no telling where a mount lies on the host, and none of the calls that open kernel internals.
`mount` is left to the capability, which the guest needs once and then drops for good: without new
namespaces there is no way back to it.
Numbers: Linux `unistd_64.h` (x86_64) and `asm-generic/unistd.h` (aarch64).
"""

import errno
import platform
import socket
import struct

from orchestra_lib.errors import SandboxFault

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000
_CLONE_THREAD = 0x00010000

# Name: (x86_64, aarch64); None where the call does not exist.
_DENIED: dict[str, tuple[int | None, int | None]] = {
    "fork": (57, None),
    "vfork": (58, None),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "statmount": (457, 457),
    "listmount": (458, 458),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "vmsplice": (278, 75),
    "io_setup": (206, 0),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "personality": (135, 92),
    "quotactl": (179, 60),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "syslog": (103, 116),
    "fanotify_init": (300, 262),
    "mbind": (237, 235),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "lookup_dcookie": (212, 18),
    "modify_ldt": (154, None),
    "iopl": (172, None),
    "ioperm": (173, None),
}
_CLONE = (56, 220)
_CLONE3 = (435, 435)
_SOCKET = (41, 198)
_SOCKETPAIR = (53, 199)

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data, little endian
_ALLOW, _KILL = 0x7FFF0000, 0x80000000


def program(machine: str | None = None) -> bytes:
    """The filter for a machine's architecture. Raises `SandboxFault` where the numbers are not known."""
    machine = machine or platform.machine()
    if machine not in _AUDIT_ARCH:
        raise SandboxFault(f"no system-call filter for {machine}; known are {', '.join(_AUDIT_ARCH)}")
    column = list(_AUDIT_ARCH).index(machine)
    lines = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, _AUDIT_ARCH[machine]), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, _NUMBER)]
    if machine == "x86_64":
        lines += [(_AT_LEAST, 0, 1, _X32_BIT), _refuse(errno.EPERM)]
    for numbers in _DENIED.values():
        number = numbers[column]
        if number is not None:
            lines += [(_EQUAL, 0, 1, number), _refuse(errno.EPERM)]
    # ENOSYS makes the C library fall back to clone, whose flags a filter can see.
    lines += [(_EQUAL, 0, 1, _CLONE3[column]), _refuse(errno.ENOSYS)]
    lines += _only_if(_CLONE[column], (_ANY_BIT, 1, 0, _CLONE_THREAD))
    for numbers in (_SOCKET, _SOCKETPAIR):
        lines += _only_if(numbers[column], (_EQUAL, 1, 0, socket.AF_UNIX))
    lines.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("<HBBI", *line) for line in lines)


def _refuse(code: int) -> tuple[int, int, int, int]:
    return _RETURN, 0, 0, 0x00050000 | code


def _only_if(number: int, condition: tuple[int, int, int, int]) -> list[tuple[int, int, int, int]]:
    """Allow a call when its first argument meets the condition, which jumps over the refusal."""
    allow = (_RETURN, 0, 0, _ALLOW)
    return [(_EQUAL, 0, 4, number), (_LOAD, 0, 0, _FIRST_ARGUMENT), condition, _refuse(errno.EPERM), allow]
