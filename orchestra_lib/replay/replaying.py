"""A record played again: everything that the loop decides is decided anew.

The orchestrator's generations and what the tools brought come from the record; the loop decides which calls are
refused and in what words, what is cut, when a limit ends the run, how the calls that did not finish are answered.
Times are facts of the machine that played the run and not decisions: they are the recorded ones.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from contextlib import suppress

from orchestra_lib.codec import to_data, to_text
from orchestra_lib.errors import BadInput
from orchestra_lib.event import Event, Graded, closing, fold
from orchestra_lib.forking import copied
from orchestra_lib.play import play
from orchestra_lib.protocols import ArtefactStore, PolicySpec
from orchestra_lib.record import record
from orchestra_lib.replay.difference import Difference, first_difference
from orchestra_lib.replay.log import RecordedLog
from orchestra_lib.replay.loop import run_without_waiting
from orchestra_lib.replay.policy import RecordedBug, RecordedPolicy
from orchestra_lib.replay.script import Astray, Script
from orchestra_lib.replay.tools import recorded_tools
from orchestra_lib.tool import ArtefactRef, File
from orchestra_lib.trajectory import Trajectory


@record
class Replay:
    """A replayed run, without grades, and how it differs from the record; None when they are the same."""

    trajectory: Trajectory
    difference: Difference | None
    sha256: str
    """Of the canonical JSON of what was replayed."""


def replay(events: Sequence[Event], artefacts: ArtefactStore, spec: PolicySpec | None = None) -> Replay:
    """Play a record again. `spec` bounds a turn of its orchestrator, which only a limit in USD asks for.

    Raises `BadInput` for a run that still goes on and one whose files are no longer kept. Stores nothing.
    """
    kept = [event for event in events if not isinstance(event, Graded)]
    recorded = fold(kept)
    if recorded.stop is None:
        raise BadInput(f"run {recorded.id} still goes on; replay it when it has ended")
    if recorded.setting.conversation is not None:
        raise BadInput(
            f"run {recorded.id} was imported ({recorded.setting.origin}): another program played it, and there is no "
            "record of what this loop did; fork it to let an orchestrator of yours go on from a turn"
        )
    played = run_without_waiting(_play(kept, recorded, artefacts, spec))
    text = to_text(played)
    same = text == to_text(recorded)
    difference = None if same else first_difference(to_data(recorded), to_data(played))
    return Replay(trajectory=played, difference=difference, sha256=hashlib.sha256(text.encode()).hexdigest())


async def _play(
    kept: Sequence[Event], recorded: Trajectory, artefacts: ArtefactStore, spec: PolicySpec | None
) -> Trajectory:
    setting, cancel = recorded.setting, asyncio.Event()
    history = copied(kept, setting.first_turn)
    script = Script(kept, recorded, cancel)
    if history:
        await script.until(history[-1].t_s)
    tools = recorded_tools(script, artefacts)
    log = RecordedLog(recorded, kept)
    policy = RecordedPolicy(script, spec)
    stream = play(setting, policy, tools, artefacts=_Hashing(artefacts), cancel=cancel, history=history, log=log)
    played: list[Event] = []
    # Raised once the record is complete, where it shows: a bug that was recorded, or a run that left the record's way.
    with suppress(RecordedBug, Astray):
        async for event in stream:
            played.append(event)
            if script.is_cut_off(event):
                break
    await stream.aclose()
    trajectory = fold(played)
    if script.cut_off is not None and script.cut_off.fault is not None:
        ended = closing(trajectory, seq=len(played) + 1, t_s=script.cut_off.t_s, fault=script.cut_off.fault)
        trajectory = fold([*played, *ended])
    return trajectory


class _Hashing:
    """An artefact store that keeps nothing: it only says under which hash a file would be kept."""

    def __init__(self, artefacts: ArtefactStore) -> None:
        self._artefacts = artefacts

    def put(self, file: File) -> ArtefactRef:
        return ArtefactRef(
            sha256=hashlib.sha256(file.data).hexdigest(),
            media_type=file.media_type,
            size_bytes=len(file.data),
            name=file.name,
        )

    def get(self, sha256: str) -> bytes:
        return self._artefacts.get(sha256)
