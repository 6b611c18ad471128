"""A replay in a process of its own, which has no network: what the command line and the app start.

The child reads a question and the events from stdin, one a line, and writes what it found to stdout. It opens no store.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from orchestra_lib.codec import event_from_line, event_to_line, from_data, to_text
from orchestra_lib.errors import BadInput, OrchestraError
from orchestra_lib.event import Event
from orchestra_lib.protocols import PolicySpec
from orchestra_lib.record import record
from orchestra_lib.replay.difference import Difference
from orchestra_lib.replay.replaying import replay
from orchestra_lib.store.artefacts import Artefacts
from orchestra_lib.toolkit.offline import deny_network
from orchestra_lib.trajectory import Trajectory

_PATIENCE_S = 300.0
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT")


@record
class Question:
    """Where the files lie, and what bounds a turn of the orchestrator, where that is known."""

    home: str
    spec: PolicySpec | None = None


@record
class Answer:
    """What a replay found. `denied_by` says who denied the network: the `kernel`, or `python` where that cannot."""

    trajectory: Trajectory
    sha256: str
    denied_by: str
    difference: Difference | None = None


def replay_offline(events: Sequence[Event], home: Path, spec: PolicySpec | None = None) -> Answer:
    """Replay in a process that has no network. Blocks. Raises `BadInput` for a run that cannot be replayed."""
    asked = [to_text(Question(home=str(home), spec=spec)), *map(event_to_line, events)]
    done = subprocess.run(
        [sys.executable, "-m", "orchestra_lib.replay.process"],
        input="\n".join(asked), capture_output=True, encoding="utf-8", timeout=_PATIENCE_S, check=False,
        cwd=Path(__file__).parents[2], env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
    )  # fmt: skip
    if done.returncode == 2:
        raise BadInput(done.stderr.strip())
    if done.returncode != 0:
        raise RuntimeError(f"the replay broke: {done.stderr[-2000:]}")
    return from_data(json.loads(done.stdout), Answer, where="replay")


def main() -> None:
    """Answer one question."""
    question, *lines = sys.stdin.read().split("\n")
    asked = from_data(json.loads(question), Question, where="replay")
    denied_by = deny_network()
    try:
        events = [event_from_line(line, where=f"event {n}") for n, line in enumerate(lines, start=1)]
        found = replay(events, Artefacts(Path(asked.home)), asked.spec)
    except OrchestraError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    answer = Answer(trajectory=found.trajectory, sha256=found.sha256, denied_by=denied_by, difference=found.difference)
    print(to_text(answer))


if __name__ == "__main__":
    main()
