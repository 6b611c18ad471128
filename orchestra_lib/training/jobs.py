"""A large run as a job of Slurm or of a Ray cluster: submitted, asked after and stopped by the cluster's programs.

A job writes the same run folder as a local process, on a disk that all nodes see; steps and rollouts are read there.
Submitting the same again goes on from the last checkpoint. All of it raises `BadInput` where the cluster's programs are
not here, and `WorldFault` when they fail.
"""

import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from orchestra_lib.errors import BadInput, WorldFault
from orchestra_lib.paths import DATA
from orchestra_lib.training.launching import checked_sets

LAUNCH = DATA.parent / "launch"
_TIMEOUT_S = 60
_RAY_JOB = re.compile(r"'(raysubmit_\w+)'|(raysubmit_\w+)")


class Slurm:
    """Jobs of Slurm, by `launch/slurm.sbatch`. A stopped one finishes its step and writes a checkpoint."""

    def command(self, config: Path, sets: Sequence[str] = ()) -> list[str]:
        """What submits a run."""
        return ["sbatch", "--parsable", str(LAUNCH / "slurm.sbatch"), str(config), *_flags(sets)]

    def submit(self, config: Path, sets: Sequence[str] = ()) -> str:
        """The number of the job."""
        return _ran(self.command(config, sets)).strip().partition(";")[0]

    def state(self, job: str) -> str:
        """Slurm's own word, such as PENDING or RUNNING; `ENDED` when it is in the queue no more."""
        return _ran(["squeue", "--noheader", "--format=%T", "--job", job]).strip() or "ENDED"

    def stop(self, job: str) -> None:
        """Ask it to end after its step."""
        _ran(["scancel", "--batch", "--signal=TERM", job])


class Ray:
    """Jobs of a Ray cluster, by `launch/ray_job.py`. A stopped one ends at once; its last checkpoint stays."""

    def command(self, config: Path, sets: Sequence[str] = ()) -> list[str]:
        """What submits a run."""
        driver = ["python", "launch/ray_job.py", str(config), *_flags(sets)]
        return ["ray", "job", "submit", "--no-wait", "--working-dir", str(LAUNCH.parent), "--", *driver]

    def submit(self, config: Path, sets: Sequence[str] = ()) -> str:
        """The name of the job."""
        said = _ran(self.command(config, sets))
        found = _RAY_JOB.search(said)
        if found is None:
            raise WorldFault(f"ray named no job: {said.strip()[-200:]}")
        return found[1] or found[2]

    def state(self, job: str) -> str:
        """Ray's own word, such as PENDING, RUNNING, SUCCEEDED or STOPPED."""
        said = _ran(["ray", "job", "status", job]).upper()
        return next((one for one in ("SUCCEEDED", "FAILED", "STOPPED", "RUNNING", "PENDING") if one in said), "UNKNOWN")

    def stop(self, job: str) -> None:
        """End it."""
        _ran(["ray", "job", "stop", job])


def shown(command: Sequence[str]) -> str:
    """A command for a person, with paths as they are seen from the project's folder."""
    root = str(LAUNCH.parent)
    return shlex.join("." if part == root else part.removeprefix(f"{root}/") for part in command)


def _flags(sets: Sequence[str]) -> list[str]:
    return [part for text in checked_sets(sets) for part in ("--set", text)]


def _ran(command: Sequence[str]) -> str:
    """What a program of the cluster says."""
    program = command[0]
    if shutil.which(program) is None:
        raise BadInput(f"there is no {program} here: run this where jobs of the cluster are submitted from")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise WorldFault(f"{program} gave no answer within {_TIMEOUT_S} s") from None
    if done.returncode:
        why = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["it said nothing"]
        raise WorldFault(f"{program} ended with {done.returncode}: {why[0][:200]}")
    return done.stdout
