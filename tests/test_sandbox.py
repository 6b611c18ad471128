"""Each attempt to get out of the sandbox, or to exhaust the host from inside it, is a claim here."""

import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.errors import SandboxFault
from orchestra_lib.toolkit import sandbox, seccomp
from orchestra_lib.toolkit.code_interpreter import CodeInterpreter
from orchestra_lib.toolkit.guest_process import BoundedOutput, Cell, Exchange, GuestProcess
from orchestra_lib.toolkit.sandbox import Launcher, Pipes, SandboxLimits

_OFF = CodeInterpreter().availability()
pytestmark = pytest.mark.skipif(_OFF is not None, reason=str(_OFF))

MB = 1 << 20
TIGHT = SandboxLimits(
    wall_s=8, cpu_s=8, memory_bytes=1024 * MB, disk_bytes=16 * MB, files=500, threads=20,
    output_head=30_000, output_tail=20_000,
)  # fmt: skip


@pytest.fixture
def guest() -> Iterator[GuestProcess]:
    process = started(TIGHT)
    yield process
    process.close()


def started(limits: SandboxLimits) -> GuestProcess:
    return GuestProcess(next(sandbox.launchers()), limits)


def descendants(pid: int) -> set[int]:
    parents = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents[int(entry.parent.name)] = int(fields[1])
    found = {pid} & set(parents)
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


SYSCALL = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"

# What the cell tries, and what its output or error then says.
REFUSED = {
    "the host's processes are invisible": ("open('/proc/1/environ').read()", "FileNotFoundError"),
    "system accounts are invisible": ("open('/etc/passwd').read()", "FileNotFoundError"),
    "password hashes are invisible": ("open('/etc/shadow').read()", "FileNotFoundError"),
    "system settings are invisible": ("import os; os.listdir('/sys')", "FileNotFoundError"),
    "a link out leads nowhere": (
        "import os; os.symlink('/etc/passwd', 'x'); open('x').read()",
        "FileNotFoundError",
    ),
    "a walk upwards ends at the sandbox's own root": (
        "import os; print(sorted(os.listdir('../../../../..')))",
        "['dev', 'guest.py', 'lib",
    ),
    "the root is read-only": ("open('/x', 'w')", "Read-only file system"),
    "packages are read-only": ("open('/site/numpy/__init__.py', 'a')", "Error: [Errno"),
    "the guest's own code is read-only": ("open('/guest.py', 'a')", "Error: [Errno"),
    "no internet socket": ("import socket; socket.socket()", "PermissionError"),
    "no connection": ("import socket; socket.create_connection(('1.1.1.1', 80), 1)", "PermissionError"),
    "no names are resolved": ("import socket; socket.getaddrinfo('example.org', 80)", "gaierror"),
    "no vsock past the network namespace": ("import socket; socket.socket(40, socket.SOCK_STREAM)", "PermissionError"),
    "no packet socket": ("import socket; socket.socket(17, socket.SOCK_RAW)", "PermissionError"),
    "no urllib": ("import urllib.request; urllib.request.urlopen('http://169.254.169.254/')", "not permitted"),
    "no child process": ("import subprocess; subprocess.run(['id'])", "PermissionError"),
    "no shell": ("import os; print(os.system('id') >> 8)", "127"),
    "no fork": ("import os; os.fork()", "Limit: the sandbox allows one process"),
    "no spawn": ("import os; os.posix_spawn('/python/bin/python', ['p'], {})", "PermissionError"),
    "no process pool": ("import multiprocessing as m; m.Process(target=print).start()", "Error"),
    "no becoming root": ("import os; os.setuid(0)", "Error: [Errno"),
    "no new user namespace": (f"{SYSCALL}print(libc.unshare(0x10000000), ctypes.get_errno())", "-1 1"),
    "no mount": (f"{SYSCALL}print(libc.mount(b't', b'/work', b'tmpfs', 0, None), ctypes.get_errno())", "-1 1"),
    "no tracing": (f"{SYSCALL}print(libc.ptrace(0, 0, 0, 0), ctypes.get_errno())", "-1 1"),
    "no kernel keys": (f"{SYSCALL}print(libc.syscall(250, 0, 0), ctypes.get_errno())", "-1 1"),
    "no io_uring": (f"{SYSCALL}print(libc.syscall(425, 8, None), ctypes.get_errno())", "-1 1"),
    "no shared memory beside the limit": (f"{SYSCALL}print(libc.shmget(0, 1 << 30, 0o1600))", "-1"),
    "no memory file beside the limit": ("import os; os.memfd_create('x')", "PermissionError"),
    "a subclass walk finds an opener that opens nothing": (
        "o = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'Popen']\n"
        "import subprocess; subprocess.Popen(['id'])",
        "PermissionError",
    ),
    "8 GB are not given": ("bytearray(8 << 30)", "Limit: the sandbox has 1024 MB of memory."),
    "a growing list ends": ("x = []\nwhile True: x.append(bytearray(1 << 20))", "Limit: the sandbox has 1024 MB"),
    "the disk fills up": (
        "for i in range(99): open(f'f{i}', 'wb').write(bytes(1 << 20))",
        "Limit: the sandbox has 16 MB of disk and 500 files.",
    ),
    "a big file ends": ("open('f', 'wb').truncate(1 << 40)", "Limit: the sandbox has 16 MB of disk"),
    "empty files run out": ("for i in range(9999): open(f'f{i}', 'w')", "500 files"),
    "4,000 threads are not given": (
        "import threading, time\n"
        "for i in range(4000): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
        "Limit: the sandbox allows 20 threads.",
    ),
    "open files run out": ("import os\nwhile True: os.dup(1)", "Limit: the sandbox allows 256 open files."),
    "nobody answers input": ("input('password? ')", "nobody to answer input()"),
    "deep recursion is a short error": ("def f(): f()\nf()", "RecursionError"),
    "sys.exit ends the cell": ("import sys; sys.exit('no')", "The code called exit('no')."),
    "a hostile message is survived": (
        "class E(Exception):\n    def __str__(self): raise SystemExit\nraise E",
        "E",
    ),
    "half a character in an error becomes a question mark": ("raise ValueError('\\ud800')", "ValueError: "),
}


@pytest.mark.parametrize("code, says", REFUSED.values(), ids=REFUSED.keys())
def test_is_refused_and_the_guest_lives_on(guest: GuestProcess, code: str, says: str) -> None:
    """I2: processes, threads, memory, disk. I4: a subclass walk, ctypes, the network."""
    cell = guest.run(code)
    assert says in cell.output + cell.error
    assert len(cell.error) < 6_000
    assert not cell.lost
    (cell.output + cell.error).encode()
    assert guest.run("6 * 7").output == "42\n"


# What the cell does, and what its error then says; the guest is gone.
FATAL = {
    "an endless loop": ("while True: pass", "stopped (wall-clock limit)"),
    "an endless loop deaf to signals": (
        "import signal\nfor s in set(signal.Signals) - {9, 19}: signal.signal(s, signal.SIG_IGN)\nwhile True: pass",
        "stopped (wall-clock limit)",
    ),
    "a flood without end": ("while True: print('x' * 1000)", "stopped (wall-clock limit)"),
    "a sleep": ("import time; time.sleep(60)", "stopped (wall-clock limit)"),
    "os._exit": ("import os; os._exit(3)", "ended by itself (exit status 3)"),
    "os.abort": ("import os; os.abort()", "crashed (SIGABRT)"),
    "a read of address 0": ("import ctypes; ctypes.string_at(0)", "crashed (SIGSEGV)"),
    "a signal to itself": ("import os; os.kill(os.getpid(), 9)", "was killed"),
    "another program in its place": ("import os; os.execv('/python/bin/python', ['p', '-c', ''])", "ended by itself"),
    "closing every pipe": ("import os; os.closerange(3, 256)", "ended by itself"),
    "garbage as a reply": ("import os\nfor fd in range(3, 99):\n try: os.write(fd, b'x' * 99)\n except OSError: 0", ""),
    "an endless reply": (
        "import os\nwhile True:\n for fd in range(3, 99):\n  try: os.write(fd, bytes(1 << 16))\n  except OSError: 0",
        "",
    ),
}


@pytest.mark.parametrize("code, says", FATAL.values(), ids=FATAL.keys())
def test_ends_the_guest_and_says_that_its_state_is_lost(code: str, says: str) -> None:
    guest = started(SandboxLimits(wall_s=1.0))
    started_s, family = time.monotonic(), descendants(guest._guest.process.pid)
    cell = guest.run(code)
    assert cell.lost
    assert says in cell.error
    assert "variables and files are gone" in cell.error
    assert time.monotonic() - started_s < 3
    guest.close()
    assert_gone(family)


def assert_gone(family: set[int]) -> None:
    deadline = time.monotonic() + 2
    while left := {pid for pid in family if pid in descendants(pid)}:
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


def test_the_environment_is_empty_of_the_hosts(guest: GuestProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """I4"""
    monkeypatch.setenv("OPENAI_API_KEY", "canary-key")
    fresh = started(TIGHT)
    cell = fresh.run("import os; dict(os.environ)")
    fresh.close()
    assert "canary" not in cell.output
    assert set(eval(cell.output)) <= {  # our own guest's output, and a dict of strings
        "HOME", "TMPDIR", "LANG", "TZ", "MPLBACKEND", "MPLCONFIGDIR", "LD_LIBRARY_PATH",
        "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "PWD", "LC_CTYPE",
    }  # fmt: skip


@pytest.mark.parametrize("place", ["project", "settings", "database", "temporary"])
def test_no_file_of_the_host_can_be_opened(guest: GuestProcess, tmp_path: Path, place: str) -> None:
    """I4: the project, its settings and its database."""
    database = tmp_path / "store.duckdb"
    database.write_text("canary")
    targets = {
        "project": Path(__file__).parents[1] / "pyproject.toml",
        "settings": Path(sys.prefix) / "pyvenv.cfg",
        "database": database,
        "temporary": tmp_path,
    }
    cell = guest.run(f"import os; os.stat({str(targets[place])!r})")
    assert "FileNotFoundError" in cell.error


def test_a_server_on_this_machine_is_out_of_reach(guest: GuestProcess, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "s"))
        unix.listen()
        port = tcp.getsockname()[1]
        assert "PermissionError" in guest.run(f"import socket; socket.create_connection(('127.0.0.1', {port}))").error
        connect = f"import socket; socket.socket(socket.AF_UNIX).connect({str(tmp_path / 's')!r})"
        assert "FileNotFoundError" in guest.run(connect).error


def test_signals_reach_nobody_outside(guest: GuestProcess) -> None:
    code = f"""import os
for pid in (os.getppid(), 1, -1, {os.getpid()}, {os.getppid()}):
    try: os.kill(pid, 9)
    except OSError as error: print(type(error).__name__)"""
    assert not guest.run(code).lost
    assert guest.run("1").output == "1\n"


def test_it_holds_no_capability_and_no_foreign_file(guest: GuestProcess) -> None:
    code = """import ctypes, os
sets, header = (ctypes.c_uint32 * 6)(), (ctypes.c_uint32 * 2)(0x20080522, 0)
def is_open(fd):
    try: return bool(os.fstat(fd))
    except OSError: return False
print(ctypes.CDLL(None).capget(header, sets), list(sets), 0 in os.getresuid(), sum(map(is_open, range(3, 256))))"""
    assert guest.run(code).output == "0 [0, 0, 0, 0, 0, 0] False 3\n"


def test_the_host_name_is_not_told(guest: GuestProcess) -> None:
    assert guest.run("import os; os.uname().nodename").output == "sandbox\n"


def test_two_sandboxes_share_no_file(guest: GuestProcess) -> None:
    guest.run("open('/tmp/note', 'w').write('x')")
    other = started(TIGHT)
    assert other.run("import os; os.listdir('/tmp')").output == "[]\n"
    other.close()


def test_cpu_seconds_are_limited_apart_from_the_clock() -> None:
    guest = started(SandboxLimits(wall_s=60.0, cpu_s=1))
    cell = guest.run("while True: pass")
    guest.close()
    assert "its 1 s of CPU time (limit)" in cell.error


def test_a_thread_left_behind_may_not_compute_on() -> None:
    guest = started(TIGHT)
    busy = "import threading\ndef f():\n    while True: pass\nthreading.Thread(target=f).start()"
    assert guest.run(busy).error == ""
    deadline = time.monotonic() + 60  # it needs 2 s of CPU time, which a busy machine takes long to give
    while guest.alive and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not guest.alive
    guest.close()


def test_a_flood_is_drained_and_its_head_tail_and_size_are_kept(guest: GuestProcess) -> None:
    """I3"""
    cell = guest.run("print('first')\nfor _ in range(120): print('x' * 1_000_000)\nprint('last')")
    kept = TIGHT.output_head + TIGHT.output_tail
    assert cell.output.startswith("first\nxxx")
    assert cell.output.endswith("xxx\nlast\n")
    assert f"[... {120 * 1_000_001 + 11 - kept:,} bytes of output dropped ...]" in cell.output
    assert len(cell.output) < kept + 100


def test_output_without_a_line_end_is_bounded_too(guest: GuestProcess) -> None:
    """I3"""
    cell = guest.run("import sys\nfor _ in range(10): sys.stdout.write('é' * 1_000_000)")
    assert "bytes of output dropped" in cell.output
    assert cell.output.count("é") < 30_000


def test_bytes_that_are_no_text_are_replaced(guest: GuestProcess) -> None:
    """I3: also within a character."""
    cell = guest.run("import os; os.write(1, b'a\\xff\\xfe' + 'é'.encode()[:1]); os.write(2, b'z'); None")
    assert cell.output == "a\ufffd\ufffd\ufffdz"


def test_closed_streams_are_open_again_in_the_next_cell(guest: GuestProcess) -> None:
    guest.run("import os, sys\nsys.stdout.close(); sys.stderr = None; os.close(1); os.close(2)")
    assert guest.run("print('back')").output == "back\n"


def test_a_forged_reply_gains_nothing(guest: GuestProcess) -> None:
    code = """import json, os, struct, sys
reply = json.dumps({"id": "guess", "failed": False, "error": "", "figures": [], "figures_open": 0}).encode()
for fd in range(3, 256):
    try: os.write(fd, struct.pack(">I", len(reply)) + reply)
    except OSError: pass"""
    assert guest.run(code).lost


def test_a_forged_picture_is_no_picture(guest: GuestProcess) -> None:
    code = """import json, os, struct, sys
frame = sys._getframe()
while "command" not in frame.f_locals: frame = frame.f_back
page = b"<script>alert(1)</script>"
reply = json.dumps({"id": frame.f_locals["command"]["id"], "failed": False, "error": ["x"], "figures": [len(page)],
                    "figures_open": -5}).encode()
while "reply_fd" not in frame.f_locals: frame = frame.f_back
os.write(frame.f_locals["reply_fd"], struct.pack(">I", len(reply)) + reply + page)
os._exit(0)"""
    assert guest.run(code) == Cell(output="", error="", figures=(), figures_open=0)


def test_a_destructor_after_the_cell_stays_inside(guest: GuestProcess) -> None:
    """I4"""
    late = "class Late:\n    def __del__(self):\n        open('/work/late', 'w').write('x')\nx = Late()"
    guest.run(late)
    assert guest.run("del x\nimport os; os.listdir('/work')").output == "['late']\n"


def test_a_good_cell_is_untouched_by_its_neighbours_bombs() -> None:
    """I2"""
    bombs = ["import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(3,)).start()",
             "x = []\nwhile True: x.append(bytearray(1 << 20))"]  # fmt: skip
    bad = [started(TIGHT) for _ in bombs]
    good = started(TIGHT)
    threads = [threading.Thread(target=guest.run, args=(bomb,)) for guest, bomb in zip(bad, bombs, strict=True)]
    for thread in threads:
        thread.start()
    spread = (
        "import threading\nt = [threading.Thread(target=print, args=(7,)) for _ in range(9)]\n[x.start() for x in t]"
    )
    assert good.run(spread).error == ""
    for guest in [*bad, good]:
        guest.kill()
    for thread in threads:
        thread.join()
    for guest in [*bad, good]:
        guest.close()


def test_a_guest_killed_while_it_starts_leaves_nothing() -> None:
    for _ in range(5):
        guest = started(TIGHT)
        family = descendants(guest._guest.process.pid)
        guest.close()
        assert_gone(family)


def test_a_guest_without_isolation_fails_the_probe(tmp_path: Path) -> None:
    fake = tmp_path / "bwrap"
    source = Path(sandbox.__file__).with_name("guest.py")
    start = f"exec {sys.executable} -I -S -B {source}"
    fake.write_text(f'#!/bin/sh\nwhile [ "$1" != /guest.py ]; do shift; done\nshift\n{start} "$@"\n')
    fake.chmod(0o755)
    reason = CodeInterpreter(launchers=[Launcher(program=fake)]).availability()
    assert reason is not None
    assert reason.startswith("no sandbox can be had on this machine: ")


@pytest.mark.skipif(os.geteuid() != 0, reason="the kernel limits the threads of everyone but root")
def test_root_that_stays_root_fails_the_probe() -> None:
    stays = [Launcher(program=launcher.program) for launcher in sandbox.launchers()]
    assert "a thread limit" in str(CodeInterpreter(launchers=stays[:1]).availability())


def test_an_unknown_machine_has_no_filter() -> None:
    with pytest.raises(SandboxFault, match="no system-call filter for riscv64"):
        seccomp.program("riscv64")


def test_a_missing_program_is_a_fault_and_leaves_no_pipe_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(SandboxFault, match="could not be run"):
        sandbox.start(Launcher(program=Path("/nowhere/bwrap")), TIGHT)
    assert len(os.listdir("/proc/self/fd")) == before


def test_bounded_output_counts_what_it_drops() -> None:
    """I3"""
    output = BoundedOutput(4, 3)
    for piece in (b"ab", b"cdef", b"ghij", b"k"):
        output.feed(piece)
    assert output.text() == "abcd\n[... 4 bytes of output dropped ...]\nijk"


@given(st.lists(st.binary(max_size=200), max_size=5), st.integers(0, 2**32 - 1))
def test_any_bytes_for_a_reply_end_in_a_reply_or_a_reason(pieces: list[bytes], size: int) -> None:
    (command_end, command), (reply, reply_end), (output, output_end) = os.pipe(), os.pipe(), os.pipe()
    for fd in (command, reply, output):
        os.set_blocking(fd, False)
    exchange = Exchange(Pipes(command=command, reply=reply, output=output), SandboxLimits(wall_s=5), b"command")
    writing = threading.Thread(target=answer_and_leave, args=(reply_end, [struct.pack(">I", size), *pieces]))
    writing.start()
    ended = exchange.run()
    writing.join()
    assert ended is None or ended == "The interpreter's reply was broken."
    assert exchange.reply is None or isinstance(exchange.reply, dict)
    for fd in (command_end, command, reply, output, output_end):
        os.close(fd)


def answer_and_leave(fd: int, pieces: list[bytes]) -> None:
    for piece in pieces:
        os.write(fd, piece)
    os.close(fd)
