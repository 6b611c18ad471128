"""This machine and its home folder: Python, disk, store, prices, libraries, GPU, sandbox, who can play, and keys."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

from orchestra_lib.checkup.finding import Finding, fail, ok, warn
from orchestra_lib.errors import OrchestraError
from orchestra_lib.pricelist import load_tables
from orchestra_lib.roster import Roster
from orchestra_lib.store.journal import Journal
from orchestra_lib.store.store import Store
from orchestra_lib.store.worker_folders import WORKERS
from orchestra_lib.toolkit.code_interpreter import CodeInterpreter

NEEDED = ("code_interpreter", "local_search")
"""Without these the offline default cannot work; without weights, keys and a web it can."""
SPACE_BYTES, LITTLE_BYTES = 5 * 10**9, 10**9
"""Free space below which runs soon do not fit, and below which they do not."""
_LIBRARIES = {
    "torch": "`orchestra train` needs it: requirements.txt",
    "transformers": "`orchestra train` needs it: requirements.txt",
    "trl": "`orchestra train` needs it: requirements.txt",
    "vllm": "only a node that serves models needs it, in an environment of its own: requirements-vllm.txt",
    "ray": "only --engine ray needs it: requirements-ray.txt",
}
_OTHER_KEYS = ("HF_TOKEN", "TAVILY_API_KEY", "BRAVE_API_KEY")
_NAMESPACES = {
    "/proc/sys/kernel/unprivileged_userns_clone": ("0", "sysctl kernel.unprivileged_userns_clone=1"),
    "/proc/sys/user/max_user_namespaces": ("0", "sysctl user.max_user_namespaces=15000"),
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ),
}
"""Where Linux says that users may have no namespaces, the value that says so, and what changes it."""


def machine(home: Path, environ: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """All but servers and clusters."""
    version = platform.python_version()
    yield ok("python", version) if sys.version_info >= (3, 11) else fail("python", f"{version}; use 3.11 or newer")
    yield from _home(home)
    yield _store(home)
    yield _workers(home)
    yield _prices(home)
    yield from map(_library, _LIBRARIES)
    yield gpu()
    yield sandbox()
    roster = Roster(home, environ)
    roster.endpoints.look()
    for spec, off in roster.tools():
        if spec.simulated:  # for who asks for them, whatever else works
            continue
        bad = fail if spec.name in NEEDED else warn
        yield bad(f"tool {spec.name}", off) if off else ok(f"tool {spec.name}", spec.title)
    for offer in roster.orchestrators():
        if offer.name in roster.endpoints:  # those on this machine are `servers`; of the others, see `keys`
            continue
        what = f"orchestrator {offer.name}"
        yield warn(what, offer.off) if offer.off else ok(what, offer.note)
    yield keys(roster, environ)


def _home(home: Path) -> Iterator[Finding]:
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        yield fail("home", f"{home} cannot be made ({error.strerror})", "name another folder in ORCHESTRA_HOME")
        return
    if not os.access(home, os.W_OK):
        yield fail("home", f"{home} cannot be written", "name another folder in ORCHESTRA_HOME")
    elif home.stat().st_mode & 0o077:
        yield warn("home", f"{home} is open to others on this machine", f"chmod 700 {home}, unless they should read it")
    else:
        yield ok("home", str(home))
    free = shutil.disk_usage(home).free
    words, remedy = f"{free / 1e9:,.1f} GB free", f"make room, or move {home} (ORCHESTRA_HOME)"
    bad = fail if free < LITTLE_BYTES else warn
    yield ok("disk", words) if free >= SPACE_BYTES else bad("disk", words, remedy)


def _store(home: Path) -> Finding:
    try:
        with Store.open(home) as store:
            owner = "" if store.owner else "; another process owns the file, this one reads a copy"
            lost = store.unreadable()
            words = f"{store.count():,} runs{owner}"
    except OrchestraError as error:
        return fail("store", str(error))
    if lost:
        first = f"{lost[0].run_id}: {lost[0].reason}"
        return warn("store", f"{words}; {len(lost):,} journals cannot be read, such as {first}", "see its file")
    return ok("store", words)


def _workers(home: Path) -> Finding:
    """What workers of an engine have left behind."""
    left = [folder for folder in (home / WORKERS).glob("*/") if Journal(folder).stamps()]
    if not left:
        return ok("workers", "no folder of a worker holds runs")
    runs = sum(len(Journal(folder).stamps()) for folder in left)
    words = f"{len(left):,} folders of workers hold {runs:,} runs"
    return warn("workers", words, "if none goes on now, the next command with --engine ray takes them in")


def _prices(home: Path) -> Finding:
    try:
        return ok("prices", ", ".join(f"{table.name} ({table.dated})" for table in load_tables(home).values()))
    except OrchestraError as error:
        return fail("prices", str(error))


def _library(name: str) -> Finding:
    try:
        return ok(f"library {name}", metadata.version(name))
    except metadata.PackageNotFoundError:
        return warn(f"library {name}", "not installed", _LIBRARIES[name])


def gpu() -> Finding:
    """The GPUs that NVIDIA's driver names."""
    without = "not needed for the embedded models and the tiny scale; others train and serve on one (docs/training.md)"
    command = shutil.which("nvidia-smi")
    if command is None:
        return warn("gpu", "none: there is no nvidia-smi", without)
    query = [command, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return warn("gpu", f"nvidia-smi does not answer ({type(error).__name__})", "see whether its driver is loaded")
    return ok("gpu", "; ".join(line.strip() for line in done.stdout.splitlines() if line.strip()))


def sandbox() -> Finding:
    """Whether code can be run in the sandbox, tried; where it cannot, what Linux says of user namespaces."""
    why = CodeInterpreter().availability()
    if why is None:
        return ok("sandbox", "bubblewrap isolates: user namespaces can be had")
    for file, (value, remedy) in _NAMESPACES.items():
        try:
            if Path(file).read_text("ascii").strip() == value:
                return fail("sandbox", f"{why} ({file} is {value})", f"as root: {remedy}")
        except OSError:
            continue
    return fail("sandbox", why)


def keys(roster: Roster, environ: Mapping[str, str]) -> Finding:
    """Which variables with keys are set; what they hold is printed nowhere."""
    named = {roster.endpoints.provider(one.name).key_env for one in roster.endpoints}
    names = sorted({*(name for name in named if name), *_OTHER_KEYS})
    there = [name for name in names if environ.get(name)]
    absent = [name for name in names if name not in there]
    return ok("keys", f"set: {', '.join(there) or 'none'}; not set: {', '.join(absent) or 'none'}")
