"""Where and when figures were measured, so that they can be read later."""

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from orchestra_lib.record import record

ROOT = Path(__file__).parents[1]
PACKAGES = ("openai", "duckdb", "numpy", "pyarrow", "fastapi", "uvicorn", "gradio", "torch", "transformers", "trl",
            "ray", "playwright")  # fmt: skip


@record
class Machine:
    """A machine, a moment and a state of the code. What cannot be found out is None."""

    processor: str | None
    cores: int
    """Those that this process may use."""
    memory_gib: float
    load: float
    """How many processes wanted a core in the minute before: on a quiet machine near 0."""
    system: str
    python: str
    at: datetime
    commit: str | None
    versions: tuple[tuple[str, str], ...]


def this_machine() -> Machine:
    """The machine that this runs on, now."""
    return Machine(
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_gib=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30,
        load=os.getloadavg()[0],
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        at=datetime.now(UTC),
        commit=_commit(),
        versions=tuple((name, found) for name in PACKAGES if (found := _version(name)) is not None),
    )


def _processor() -> str | None:
    try:
        told = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        told = None
    return told[1] if told else platform.processor() or None


def _commit() -> str | None:
    """The short hash, and whether files that git knows differ from it."""
    try:
        commit, changed = (
            subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
            for words in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain", "-uno"])
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit}, with changes" if changed else commit


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
