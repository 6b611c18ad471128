"""Attacks on the sandbox as data, beyond those of `test_sandbox.py`: each runs in the real one and gets nothing.

An attack prints what it got. `refused` is the sign that it got nothing, and no canary of the host may show in it,
whatever it does: a key of the environment, a file, a path. Those that only look run without a sandbox, too, where
they must succeed, so that a refusal here is the sandbox's doing.
"""

import os
import platform
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from test_sandbox import MB, TIGHT, assert_gone, descendants, started

from orchestra_lib.toolkit import sandbox, seccomp
from orchestra_lib.toolkit.code_interpreter import CodeInterpreter
from orchestra_lib.toolkit.guest_process import GuestProcess
from orchestra_lib.toolkit.sandbox import Launcher, SandboxLimits

_OFF = CodeInterpreter().availability()
pytestmark = pytest.mark.skipif(_OFF is not None, reason=str(_OFF))

KEY = "sk-canary-7f3a91"
X86 = platform.machine() == "x86_64"
C = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"


@dataclass(frozen=True)
class Attack:
    """One attempt. `refused` matches its output and error when it got nothing; `looks` marks a harmless one."""

    code: str
    refused: str
    looks: bool = False


def call(number: str, why: str, refused: str = r"^-1 1$") -> Attack:
    """One call of the C library or the kernel, as an expression; 1 is EPERM."""
    return Attack(f"{C}print({number}, ctypes.get_errno())  # {why}", refused)


def reads(path: str, mode: str = "rb") -> Attack:
    return Attack(f"print(open({path!r}, {mode!r}).read(100))", "No such file|Read-only|Permission", looks=True)


# HOME, JOURNAL and DATABASE stand for places on the host where there is something to find.
ATTACKS = {
    # Environment and /proc
    "the environment holds no key": Attack("import os; print([k for k in os.environ if 'KEY' in k])", r"^\[\]$", True),
    "the C environment holds no key": Attack(
        f"{C}libc.getenv.restype = ctypes.c_char_p\nprint(libc.getenv(b'OPENAI_API_KEY'))", "^None$", True
    ),
    "/proc/self/environ": reads("/proc/self/environ"),
    "/proc/self/maps": reads("/proc/self/maps"),
    "/proc/self/mem": reads("/proc/self/mem", "r+b"),
    "/proc/self/mountinfo": reads("/proc/self/mountinfo"),
    "memory of others": Attack("import glob; print(len(glob.glob('/proc/*/mem')))", "^0$", True),
    "command lines of others": Attack("import glob; print(len(glob.glob('/proc/*/cmdline')))", "^0$", True),
    "open files by /proc": Attack("import os; print(len(os.listdir('/proc/self/fd')))", "No such file", True),
    "open files by /dev/fd": Attack("import os; print(len(os.listdir('/dev/fd')))", "No such file", True),
    "the kernel's core handler": Attack("open('/proc/sys/kernel/core_pattern', 'r+')", "No such file"),
    "the kernel's magic keys": Attack("open('/proc/sysrq-trigger', 'w')", "No such file"),
    "a /proc of one's own": call("libc.mount(b'proc', b'/work', b'proc', 0, None)", "mount"),
    # Files of the host
    "the home folder": Attack("import os; print(os.listdir('HOME'))", "No such file", True),
    "a journal": Attack("print(open('JOURNAL').read())", "No such file", True),
    "the database": Attack("print(open('DATABASE', 'rb').read())", "No such file", True),
    "accounts by the C library": Attack("import pwd; print(pwd.getpwuid(0))", "uid not found|KeyError", True),
    "where names are resolved": reads("/etc/resolv.conf"),
    "names of this machine": reads("/etc/hosts"),
    "keys of ssh": Attack("import glob; print(glob.glob('/root/.ssh/*') + glob.glob('/home/*/.ssh/*'))", r"^\[\]$"),
    "sockets of services": Attack(
        "import os; print([p for p in ('/run', '/var', '/tmp/.X11-unix') if os.path.exists(p)])", r"^\[\]$", True
    ),
    "cgroups": Attack("import os; print(os.listdir('/sys/fs/cgroup'))", "No such file", True),
    "cgroups of one's own": call("libc.mount(b'none', b'/work', b'cgroup2', 0, None)", "mount"),
    "devices": Attack(
        "import os; print(sorted(os.listdir('/dev')))", r"^\['full', 'null', 'random', 'urandom', 'zero'\]$", True
    ),
    "a device of one's own": Attack(
        "import os, stat; os.mknod('d', 0o666 | stat.S_IFCHR, os.makedev(1, 1))", "not permitted"
    ),
    "a disk of one's own": Attack(
        "import os, stat; os.mknod('d', 0o666 | stat.S_IFBLK, os.makedev(8, 0))", "not permitted"
    ),
    "setuid programs do nothing": Attack(
        "import os; print({p for p in ('/', '/work', '/site/numpy', '/lib64') if not os.statvfs(p).f_flag & 2})",
        r"^set\(\)$",
    ),
    "a hard link out of the work folder": Attack("import os; os.link('/guest.py', 'x')", "cross-device|not permitted"),
    "a chain of links": Attack(
        "import os; os.symlink('..', 'a'); os.symlink('a/../../etc', 'b'); print(open('b/passwd').read())",
        "No such file",
    ),
    "a folder above an open root": Attack(
        "import os; fd = os.open('/', os.O_RDONLY); os.fchdir(fd); os.chdir('..'); print(os.path.exists('etc'))",
        "^False$",
    ),
    "renaming the work folder": Attack("import os; os.rename('/work', '/w')", r"Read-only|busy"),
    "replacing the link to it": Attack("import os; os.unlink('/tmp')", "Read-only"),
    "rights of a package's file": Attack("import os; os.chmod('/site/numpy/__init__.py', 511)", "Read-only|permitted"),
    "truncating a package's file": Attack("import os; os.truncate('/site/numpy/__init__.py', 0)", "Read-only|denied"),
    "memory files of /dev/shm": Attack("open('/dev/shm/x', 'wb').write(bytes(1 << 20))", "No such file|Read-only"),
    "writing by a second mount": call("libc.mount(b'', b'/', None, 32 | 4096, None)", "remount"),
    # Network
    "UDP": Attack("import socket; socket.socket(2, socket.SOCK_DGRAM)", "not permitted"),
    "IPv6": Attack("import socket; socket.socket(10, socket.SOCK_STREAM)", "not permitted"),
    "a raw socket": Attack("import socket; socket.socket(2, socket.SOCK_RAW, 1)", "not permitted"),
    "netlink": Attack("import socket; socket.socket(16, socket.SOCK_RAW, 0)", "not permitted"),
    "the kernel's ciphers": Attack("import socket; socket.socket(38, socket.SOCK_SEQPACKET)", "not permitted"),
    "bluetooth": Attack("import socket; socket.socket(31, socket.SOCK_RAW)", "not permitted"),
    "a pair of another family": call(f"libc.syscall({53 if X86 else 199}, 30, 1, 0, 0)", "TIPC"),
    "interfaces": Attack("import socket; print(socket.if_nameindex())", "not permitted", True),
    "an abstract socket of the host": Attack(
        "import socket; s = socket.socket(1); print(s.connect('\\0ABSTRACT'))", "refused", True
    ),
    # Processes, namespaces, power
    "clone without threads": call(f"libc.syscall({56 if X86 else 220}, 17, 0, 0, 0, 0)", "SIGCHLD"),
    "clone3": call("libc.syscall(435, ctypes.create_string_buffer(88), 88)", "ENOSYS", "^-1 38$"),
    "a thread in namespaces of its own": call(
        f"libc.syscall({56 if X86 else 220}, 0x10000000 | 0x10f00, 0, 0, 0, 0)", "CLONE_NEWUSER", "^-1 22$"
    ),
    **{
        f"a new namespace: {name}": call(f"libc.unshare({flag:#x})", "unshare")
        for name, flag in {
            "mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "pid": 0x20000000,
            "net": 0x40000000, "time": 0x80,
        }.items()
    },
    "the parent's namespace": Attack(
        f"{C}fd = os.pidfd_open(1)\nprint(libc.setns(fd, 0x20000000), ctypes.get_errno())", "^-1 1$"
    ),
    "a file of another process": Attack(
        f"{C}print(libc.syscall(438, os.pidfd_open(1), 0, 0), ctypes.get_errno())", "^-1 1$"
    ),
    "signals to the host's processes": Attack(
        "import os, signal\nfor p in (HOSTPIDS):\n  try: signal.pidfd_send_signal(os.pidfd_open(p), 0); print('got')\n"
        "  except OSError as error: print(error.errno)",
        r"\A(3\n)+\Z",
        True,
    ),
    "root by setresuid": Attack("import os; os.setresuid(0, 0, 0)", "not permitted|Invalid"),
    "groups": Attack("import os; os.setgroups([0])", "not permitted"),
    "power regained": Attack(
        f"{C}import struct\nh = struct.pack('=Ii', 0x20080522, 0)\n"
        "print(libc.capset(h, struct.pack('=6I', *[0xffffffff] * 6)), ctypes.get_errno())",
        "^-1 1$",
    ),
    "power kept for later": call("libc.prctl(47, 2, 21, 0, 0)", "PR_CAP_AMBIENT_RAISE of CAP_SYS_ADMIN"),
    "new privileges": call("libc.prctl(38, 0, 0, 0, 0)", "PR_SET_NO_NEW_PRIVS off", "^-1 22$"),
    "a looser filter on top": Attack(
        f"{C}import struct\nallow = ctypes.create_string_buffer(struct.pack('<HBBI', 6, 0, 0, 0x7fff0000), 8)\n"
        "class P(ctypes.Structure): _fields_ = [('n', ctypes.c_ushort), ('f', ctypes.c_void_p)]\n"
        "libc.prctl(22, 2, ctypes.byref(P(1, ctypes.cast(allow, ctypes.c_void_p))))\nos.fork()",
        "not permitted",
    ),
    "the clock": Attack("import time; time.clock_settime(time.CLOCK_REALTIME, 0)", "not permitted"),
    "the host's name": Attack("import socket; socket.sethostname('x')", "not permitted"),
    "priority": Attack("import os; os.setpriority(os.PRIO_PROCESS, 0, -5)", "denied|not permitted"),
    "real time": Attack("import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))", "not permitted"),
    "a disk's real time": call(f"libc.syscall({251 if X86 else 30}, 1, 0, (1 << 13) | 0)", "ioprio_set RT"),
    "a controlling terminal": Attack("open('/dev/tty')", "No such file"),
    "typing into a terminal": Attack(
        "import fcntl, termios\nfor fd in range(3):\n  try: fcntl.ioctl(fd, termios.TIOCSTI, b'x'); print('typed')\n"
        "  except OSError as error: print(error.errno)",
        r"\A(25\n){3}\Z",
    ),
    # Memory and limits
    **{
        f"raising the limit: {name}": Attack(
            f"import resource as r; r.setrlimit(r.RLIMIT_{name}, (r.RLIM_INFINITY, r.RLIM_INFINITY))", "not allowed"
        )
        for name in ("AS", "CPU", "NPROC", "NOFILE", "FSIZE", "CORE", "MEMLOCK", "MSGQUEUE")
    },
    "a core file": Attack("import resource; print(resource.getrlimit(resource.RLIMIT_CORE))", r"^\(0, 0\)$"),
    "shared memory": Attack(f"import mmap; mmap.mmap(-1, {2048 * MB})", "Cannot allocate"),
    "huge pages": Attack(f"import mmap; mmap.mmap(-1, {2048 * MB}, flags=0x40022)", "Cannot allocate"),
    "memory pinned": call(f"libc.mlock(ctypes.create_string_buffer({8 * MB}), {8 * MB})", "mlock", "^-1 12$"),
    "memory that a pipe holds": call(f"libc.syscall({278 if X86 else 75}, 1, None, 0, 0)", "vmsplice"),
    "the machine's asynchronous I/O": call(f"libc.syscall({206 if X86 else 0}, 9, None)", "io_setup"),
    "pipes full of memory": Attack(
        "import fcntl, os\ngot, fds = 0, []\ntry:\n  while True:\n"
        "    r, w = os.pipe(); fds += r, w; os.set_blocking(w, False)\n"
        "    try: fcntl.fcntl(w, 1031, 1 << 20)\n    except OSError: pass\n"
        "    try:\n      while True: got += os.write(w, bytes(1 << 16))\n    except BlockingIOError: pass\n"
        "except OSError:\n  [os.close(fd) for fd in fds]\n  print(0 < got < 256 << 20)",
        "^True$",
    ),
    # Python itself
    "our own package": Attack("import orchestra_lib; print(orchestra_lib.__file__)", "No module named", True),
    "a package of the app": Attack("import httpx2; print(httpx2.__file__)", "No module named", True),
    "a start-up file": Attack(
        "import sys\nfor n in ('sitecustomize', 'usercustomize'): open(f'/work/{n}.py', 'w').write('x = 1')\n"
        "import sitecustomize",
        "No module named",
    ),
    "a module that shadows": Attack("import sys; print([p for p in sys.path if p in ('', '.', '/work')])", r"^\[\]$"),
    "paths of the host": Attack("import os, sys; print(sys.executable, os.__file__)", "^/python/bin/python /python/li"),
    "paths of the host by the kernel": call(
        "libc.syscall(458, ctypes.create_string_buffer(b' ', 32), (ctypes.c_uint64 * 9)(), 9, 0)", "listmount"
    ),
    # What comes back
    "a flood of errors": Attack(
        "import sys\nfor _ in range(9): sys.stderr.write('x' * 1_000_000)\nprint('end')", "bytes of output dropped"
    ),
    "a name that forges lines": Attack(
        "import os; os.chdir('/work'); open('a\\n[admin]\\x1b[2J', 'w'); os.mkfifo('pipe'); print('fine')", "^fine$"
    ),
    "NUL bytes": Attack("print('a\\0b')", "^a\0b$"),
}  # fmt: skip


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Things of the host that an attack could find, by the words that stand for them."""
    home = tmp_path_factory.mktemp("home")
    name = f"orchestra-{os.getpid()}"
    for kind in ("journal.jsonl", "workbench.duckdb"):
        (home / kind).write_text(KEY)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"\0{name}")
        listening.listen()
        yield {
            "HOME": str(home),
            "JOURNAL": str(home / "journal.jsonl"),
            "DATABASE": str(home / "workbench.duckdb"),
            "ABSTRACT": name,
            "HOSTPIDS": f"{os.getpid()}, {os.getppid()},",
        }


@pytest.fixture(scope="module")
def guest(places: dict[str, str]) -> Iterator[GuestProcess]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        process = started(TIGHT)
    yield process
    process.close()


def said(guest: GuestProcess, attack: Attack, places: dict[str, str]) -> str:
    code = attack.code
    for word, place in places.items():
        code = code.replace(word, place)
    cell = guest.run(code)
    assert not cell.lost, cell.error
    return (cell.output + cell.error).strip("\n") if attack.refused.startswith("^") else cell.output + cell.error


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_gets_nothing(guest: GuestProcess, places: dict[str, str], name: str) -> None:
    words = said(guest, ATTACKS[name], places)
    assert re.search(ATTACKS[name].refused, words), words[:500]
    assert KEY not in words
    assert len(words) < TIGHT.output_head + TIGHT.output_tail + 1_000


def test_there_are_forty_and_more() -> None:
    assert len(ATTACKS) >= 40


def test_every_system_call_of_the_list_is_refused(guest: GuestProcess) -> None:
    numbers = {name: numbers[0 if X86 else 1] for name, numbers in seccomp._DENIED.items()}
    known = {name: number for name, number in numbers.items() if number is not None}
    code = f"{C}for name, number in {known}.items(): print(name, libc.syscall(number, 0, 0, 0, 0), ctypes.get_errno())"
    assert guest.run(code).output.splitlines() == [f"{name} -1 1" for name in known]


WITHOUT_A_SANDBOX = """
import json, os, sys
os.environ["OPENAI_API_KEY"] = KEY
sys.path[:0] = FOLDERS
import guest
told = int(sys.argv[sys.argv.index("--info-fd") + 1])
os.write(told, b'{"child-pid": %d}' % os.getpid())
os.close(told)
guest.serve(int(sys.argv[-3]), int(sys.argv[-2]), json.loads(sys.argv[-1]))
"""


@pytest.fixture(scope="module")
def open_guest(tmp_path_factory: pytest.TempPathFactory, places: dict[str, str]) -> Iterator[GuestProcess]:
    """The same guest without a sandbox, with the host's environment."""
    fake = tmp_path_factory.mktemp("fake") / "bwrap"
    folders = [str(Path(sandbox.__file__).parent), str(Path(__file__).parents[1])]
    fake.write_text(f"#!{sys.executable}\nKEY, FOLDERS = {KEY!r}, {folders!r}\n{WITHOUT_A_SANDBOX}")
    fake.chmod(0o755)
    process = GuestProcess(Launcher(program=fake), TIGHT)
    yield process
    process.close()


@pytest.mark.parametrize("name", [name for name, attack in ATTACKS.items() if attack.looks])
def test_the_same_attack_succeeds_without_the_sandbox(
    open_guest: GuestProcess, places: dict[str, str], name: str
) -> None:
    words = said(open_guest, ATTACKS[name], places)
    assert not re.search(ATTACKS[name].refused, words), words[:500]


@pytest.mark.skipif(not X86, reason="the other system-call tables are those of x86_64")
def test_the_tables_of_other_machines_are_closed(guest: GuestProcess) -> None:
    """x32 calls are refused; a 32-bit call ends the process at once."""
    cell = guest.run(f"{C}print(libc.syscall(0x40000000 | 57), ctypes.get_errno())")
    assert cell.output == "-1 1\n"
    machine_code = "b8140000 00cd80c3".replace(" ", "")  # mov eax, 20; int 0x80; ret
    other = started(TIGHT)
    cell = other.run(
        f"{C}import mmap\nm = mmap.mmap(-1, 4096, prot=7); m.write(bytes.fromhex('{machine_code}'))\n"
        "f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m))); print('pid', f())"
    )
    other.close()
    assert cell.lost
    assert "pid" not in cell.output


def test_a_program_in_the_guests_place_is_as_closed_in() -> None:
    """`exec` keeps the view, the filter and the limits, also with a library put before all others."""
    guest = started(TIGHT)
    inner = (
        "import os, socket\n"
        "own, host = lambda: open('/x', 'w'), lambda: open('/etc/passwd')\n"
        "for f in (os.fork, socket.socket, host, lambda: os.setuid(0), own):\n"
        "  try: f(); print('got')\n"
        "  except OSError as error: print(error.errno)"
    )
    cell = guest.run(f"import os; os.execve('/python/bin/python', ['p', '-c', {inner!r}], {{'PYTHONHOME': '/python'}})")
    guest.close()
    assert cell.output.split() == ["1", "1", "2", "1", "30"]


def test_a_deaf_and_detached_guest_ends_with_the_run() -> None:
    """No parent's death signal, a session of its own, signals ignored, threads that go on: all end."""
    guest = started(TIGHT)
    family = descendants(guest._guest.process.pid)
    code = (
        f"{C}import signal, threading, time\nlibc.prctl(1, 0, 0, 0, 0)\n"
        "for s in set(signal.Signals) - {9, 19}: signal.signal(s, signal.SIG_IGN)\n"
        "try: os.setsid()\nexcept OSError: pass\nthreading.Thread(target=time.sleep, args=(60,)).start()"
    )
    assert not guest.run(code).lost
    guest.close()
    assert_gone(family)


def test_a_guest_dies_with_a_host_that_is_killed() -> None:
    program = (
        "import time\nfrom test_sandbox import TIGHT, descendants, started\nguest = started(TIGHT)\n"
        "guest.run('import ctypes; ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)')\n"
        "print(*descendants(guest._guest.process.pid), flush=True)\ntime.sleep(60)"
    )
    host = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )  # fmt: skip
    assert host.stdout is not None
    family = {int(pid) for pid in host.stdout.readline().split()}
    assert family
    host.send_signal(signal.SIGKILL)
    host.wait()
    host.stdout.close()
    assert_gone(family)


def test_ignoring_the_limit_of_cpu_time_ends_at_that_of_the_run() -> None:
    guest = started(SandboxLimits(wall_s=60, cpu_s=1, run_cpu_s=1))
    cell = guest.run("import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass")
    guest.close()
    assert cell.lost
    assert "1 s of CPU time (limit)" in cell.error


def test_a_pickle_for_a_reply_is_bytes_and_never_loaded(tmp_path: Path) -> None:
    guest = started(TIGHT)
    code = (
        "import os, pickle, struct\nclass X:\n  def __reduce__(self): return (os.mkdir, (MARK,))\n"
        "data = pickle.dumps(X())\nframe = struct.pack('>I', len(data)) + data\n"
        "for fd in range(3, 256):\n  try: os.write(fd, frame)\n  except OSError: pass"
    )
    cell = guest.run(code.replace("MARK", repr(str(tmp_path / "loaded"))))
    guest.close()
    assert cell.lost
    assert not (tmp_path / "loaded").exists()
