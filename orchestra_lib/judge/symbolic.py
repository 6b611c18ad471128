"""Whether an answer gives the same mathematical expression, told by math-verify in a process that is killed in time."""

import json
import subprocess
import sys
from pathlib import Path

from orchestra_lib.errors import SandboxFault
from orchestra_lib.json_writing import dumps
from orchestra_lib.judge.claim import ending, marked
from orchestra_lib.judge.verdict import Verdict, shown

WALL_S = 40.0
"""Loading sympy takes seconds on a busy machine."""
CPU_S = 10
MEMORY_BYTES = 1 << 30
MAX_CHARS = 5_000
_WORKER = Path(__file__).with_name("symbolic_worker.py")


def symbolic(answer: str, reference: str, *, wall_s: float = WALL_S, cpu_s: int = CPU_S) -> Verdict:
    """Compare two expressions; None when the reference is none, or when comparing took too much.

    The process has no environment, no file to write, and limits of CPU time and memory. Raises `SandboxFault` when it
    cannot be started or says nothing that can be read.
    """
    claim = marked(answer) or ending(answer)
    if len(claim) > MAX_CHARS or len(reference) > MAX_CHARS:
        return Verdict(outcome=None, reason=f"an expression of over {MAX_CHARS:,} characters is not compared")
    task = {"answer": claim, "reference": reference, "cpu_s": cpu_s, "memory_bytes": MEMORY_BYTES}
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-B", str(_WORKER)],
            input=dumps(task).encode(),
            capture_output=True,
            timeout=wall_s,
            env={},
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        return Verdict(outcome=None, reason=f"comparing took over {wall_s:g} s and was stopped")
    except OSError as error:
        raise SandboxFault(f"the comparison could not be started: {error.strerror}") from error
    if done.returncode < 0:
        return Verdict(outcome=None, reason=f"comparing took over {cpu_s} s of CPU time or too much memory")
    try:
        said = json.loads(done.stdout)
    except ValueError:
        why = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise SandboxFault(f"the comparison broke: {why[:300] or 'no answer'}") from None
    return _verdict(said["same"], said["why"], claim, reference)


def _verdict(same: bool | None, why: str, claim: str, reference: str) -> Verdict:
    if same is None:
        return Verdict(outcome=None, reason=why)
    words = f"{shown(claim)} {'equals' if same else 'does not equal'} {shown(reference)}"
    return Verdict(outcome=same, reason=f"{words}: {why}" if why else words)
