"""Runs inside the sandbox and nowhere else: limits itself, then executes cells in one namespace.

Started as `python -I -S -B guest.py COMMAND_FD REPLY_FD LIMITS_JSON`, with the standard library only.
A command is a 4-byte length and JSON `{id, cell, code}`; a reply is a 4-byte length and JSON
`{id, failed, error, figures, figures_open}` followed by the figures' bytes. Cell code shares this
process and may tamper with all of it: the host takes every byte from here as untrusted.
"""

import ast
import ctypes
import io
import json
import linecache
import os
import resource
import struct
import sys
import traceback
import types
import warnings
from typing import Any

MAX_ERROR = 4_000
MAX_FRAMES = 6
SITE, WORK = "/site", "/work"
MS_REMOUNT_NOSUID_NODEV = 32 | 2 | 4
CAPABILITY_VERSION_3 = 0x20080522
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4


def restrict(limits: dict[str, int]) -> None:
    """Set every limit for good: hard limits cannot be raised again."""
    sys.path.append(SITE)
    limit_files(limits)
    drop_power(limits["ID"])
    for name in ("AS", "FSIZE", "NPROC", "NOFILE", "CORE", "MEMLOCK", "MSGQUEUE"):
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limits[name], limits[name]))
    resource.setrlimit(resource.RLIMIT_CPU, (limits["CPU"], limits["CPU_RUN"]))
    sys.set_int_max_str_digits(100_000)


def limit_files(limits: dict[str, int]) -> None:
    """Bound the number of files in the work folder: an empty file takes no disk, but memory of the kernel."""
    options = f"size={limits['DISK']},nr_inodes={limits['INODES']}".encode()
    if ctypes.CDLL(None, use_errno=True).mount(b"tmpfs", WORK.encode(), b"tmpfs", MS_REMOUNT_NOSUID_NODEV, options):
        raise OSError(ctypes.get_errno(), "the work folder could not be limited")


def drop_power(identity: int) -> None:
    """Become nobody where the guest started as root, and give up every capability."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(identity, identity, identity)
        os.setresuid(identity, identity, identity)
    libc = ctypes.CDLL(None, use_errno=True)
    header, nothing = struct.pack("=Ii", CAPABILITY_VERSION_3, 0), bytes(24)
    if libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) or libc.capset(header, nothing):
        raise OSError(ctypes.get_errno(), "capabilities could not be dropped")


def allow_cpu(seconds: int) -> None:
    """From now on the process may use this many more CPU seconds before SIGXCPU ends it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (min(hard, int(used.ru_utime + used.ru_stime) + seconds + 1), hard))


def open_streams(output: int) -> None:
    """Give the cell fresh standard streams, whatever an earlier cell did to them."""
    for fd in (1, 2):
        os.dup2(output, fd)
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", 0, closefd=False), "utf-8", "replace", write_through=True)
    sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb", 0, closefd=False), "utf-8", "replace", write_through=True)
    sys.stdin = io.StringIO()


def execute(code: str, name: str, namespace: dict[str, Any]) -> None:
    """Run the cell; the value of a last bare expression is printed, as print does it, when it is not None."""
    tree = ast.parse(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), namespace)  # noqa: S102  # this is what the sandbox is for
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)  # noqa: S307
        if value is not None:
            print(value)


def describe(error: BaseException, limits: dict[str, int]) -> str:
    """`explain`, also for an error whose own text cannot be had."""
    try:
        return explain(error, limits)
    except BaseException:
        return f"{type(error).__name__}: its message could not be made"


def explain(error: BaseException, limits: dict[str, int]) -> str:
    """A short traceback with the cell's own frames, and the limit that was met where one was."""
    error.__traceback__ = _cell_frames(error.__traceback__)
    text = "".join(traceback.TracebackException.from_exception(error, limit=-MAX_FRAMES, compact=True).format())
    if len(text) > MAX_ERROR:
        text = f"{text[: MAX_ERROR // 2]}\n...\n{text[-MAX_ERROR // 2 :]}"
    hint = _hint(error, limits)
    return f"{text.rstrip()}\n{hint}" if hint else text.rstrip()


def _cell_frames(trace: types.TracebackType | None) -> types.TracebackType | None:
    kept = None
    frames = []
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith("<cell "):
            frames.append(trace)
        trace = trace.tb_next
    for frame in reversed(frames):
        kept = types.TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept


def _hint(error: BaseException, limits: dict[str, int]) -> str:
    mb = 1 << 20
    if isinstance(error, MemoryError):
        return f"Limit: the sandbox has {limits['AS'] // mb} MB of memory."
    if isinstance(error, RuntimeError) and "new thread" in str(error):
        return f"Limit: the sandbox allows {limits['NPROC']} threads."
    if isinstance(error, EOFError):
        return "There is nobody to answer input(); write the values into the code."
    if isinstance(error, OSError) and error.errno in (27, 28, 122):
        return f"Limit: the sandbox has {limits['FSIZE'] // mb} MB of disk and {limits['INODES']} files."
    if isinstance(error, OSError) and error.errno == 24:
        return f"Limit: the sandbox allows {limits['NOFILE']} open files."
    if isinstance(error, (PermissionError, BlockingIOError)):
        return "Limit: the sandbox allows one process, no network and no files but those in its work folder."
    if isinstance(error, ModuleNotFoundError):
        return "Installed are the standard library, numpy, sympy, pandas and matplotlib; nothing can be added."
    return ""


def take_figures(count: int, size: int) -> tuple[list[bytes], int]:
    """Open figures as PNG, at most `count` of at most `size` bytes, and how many were open; closes all."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return [], 0
    numbers = pyplot.get_fignums()
    images = []
    for number in numbers[:count]:
        buffer = io.BytesIO()
        pyplot.figure(number).savefig(buffer, format="png")
        if buffer.tell() <= size:
            images.append(buffer.getvalue())
    pyplot.close("all")
    return images, len(numbers)


def run_cell(
    command: dict[str, Any], limits: dict[str, int], namespace: dict[str, Any]
) -> tuple[str | None, list[bytes], int]:
    """Execute one command: the error text or None, the figures, how many figures were open."""
    name = f"<cell {command['cell']}>"
    code = command["code"]
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    error = None
    try:
        execute(code, name, namespace)
    except SystemExit as exit_:
        error = f"The code called exit({exit_.code!r})." if exit_.code not in (None, 0) else None
    except BaseException as raised:
        error = describe(raised, limits)
    try:
        images, open_figures = take_figures(limits["FIGURES"], limits["FIGURE_BYTES"])
    except BaseException as raised:
        images, open_figures = [], 0
        error = error or f"A figure could not be drawn.\n{describe(raised, limits)}"
    return error, images, open_figures


def serve(command_fd: int, reply_fd: int, limits: dict[str, int]) -> None:
    """Answer commands until the host closes the pipe."""
    commands = os.fdopen(command_fd, "rb", closefd=False)
    output = os.dup(1)
    for fd in range(3, limits["NOFILE"]):
        if fd not in (command_fd, reply_fd, output):
            _close(fd)
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    main.__dict__.update(exit=sys.exit, quit=sys.exit)  # the site module, which adds them, is left out
    # Agg cannot show a window; show() says so with a warning, and the figure is collected all the same.
    warnings.filterwarnings("ignore", message=".*non-interactive.*")
    while len(head := commands.read(4)) == 4:
        command = json.loads(commands.read(struct.unpack(">I", head)[0]))
        open_streams(output)
        allow_cpu(limits["CPU"])
        error, images, open_figures = run_cell(command, limits, main.__dict__)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                continue  # the cell closed or replaced it
        reply = {
            "id": command["id"],
            "failed": error is not None,
            "error": error or "",
            "figures": [len(image) for image in images],
            "figures_open": open_figures,
        }
        data = json.dumps(reply).encode()
        _write(reply_fd, struct.pack(">I", len(data)) + data + b"".join(images))
        allow_cpu(1)  # a thread left behind may not compute on


def _close(fd: int) -> None:
    try:
        os.close(fd)
    except OSError:
        return  # was not open


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


if __name__ == "__main__":
    _limits = json.loads(sys.argv[3])
    restrict(_limits)
    serve(int(sys.argv[1]), int(sys.argv[2]), _limits)
    os._exit(0)
