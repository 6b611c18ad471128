"""One benchmark run in a process of its own: what it claimed or printed, and what it took."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from benchmarks.claims import Claim
from orchestra_lib.codec import from_data
from orchestra_lib.record import record

ROOT = Path(__file__).parents[1]
_CLAIM = [one.name for one in fields(Claim)]


@record
class Result:
    """What became of one script. Without `fault` it ended as it should; with `left_out` it was not started."""

    name: str
    claims: tuple[Claim, ...] = ()
    printed: str = ""
    """The table of a script that makes no claims, as it printed it."""
    cpu_s: float | None = None
    """CPU seconds of its process and of those that it waited for."""
    wall_s: float | None = None
    fault: str | None = None
    left_out: str | None = None


def run(name: str, options: Sequence[str] = (), *, claims: bool = True, limit_s: float = 900) -> Result:
    """Run `benchmarks.<name>` alone and wait for it. It is ended after `limit_s` seconds of wall time."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *(("--json",) if claims else ()), *options]
    began = time.monotonic()
    with TemporaryFile("w+", encoding="utf-8") as out, TemporaryFile("w+", encoding="utf-8") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, cwd=ROOT, start_new_session=True)
        fault, cpu_s = _ended(process, limit_s)
        wall_s = time.monotonic() - began
        out.seek(0)
        err.seek(0)
        text, last = out.read(), [line.strip() for line in err.read().splitlines() if re.search(r"\w", line)][-1:]
    found = claims_in(text) if claims else ()
    if any(one.holds is False for one in found) and process.returncode == 1:
        fault = None  # that is what it says so with
    elif fault is not None:
        fault = ": ".join([fault, *last])
    elif claims and not found:
        fault = "it printed no claim"
    printed = "" if claims or fault else text.strip("\n")
    return Result(name=name, claims=found, printed=printed, cpu_s=cpu_s, wall_s=wall_s, fault=fault)


def claims_in(text: str) -> tuple[Claim, ...]:
    """The claims among JSON lines, of which some scripts print others besides."""
    lines: list[Any] = [json.loads(line) for line in text.splitlines() if line[:1] == "{" and line[-1:] == "}"]
    return tuple(from_data(one, Claim, where="claim") for one in lines if list(one) == _CLAIM)


def _ended(process: subprocess.Popen[bytes], limit_s: float) -> tuple[str | None, float]:
    """Why it did not end well, if so, and its CPU seconds."""
    until = time.monotonic() + limit_s
    late = False
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        if not late and time.monotonic() > until:
            late = True
            os.killpg(process.pid, 9)
        time.sleep(0.1)
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu_s = used.ru_utime + used.ru_stime
    if late:
        return f"ended after {limit_s:g} s", cpu_s
    return (None if process.returncode == 0 else f"exit code {process.returncode}"), cpu_s
