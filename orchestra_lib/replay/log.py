"""The log of a replay: the events that happen anew, with the times of the recorded ones."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import replace

from orchestra_lib.episode_log import EpisodeLog
from orchestra_lib.event import CallFinished, Event, Generated
from orchestra_lib.pricing import Attempt
from orchestra_lib.replay.script import place_of
from orchestra_lib.trajectory import Trajectory


class RecordedLog(EpisodeLog):
    """A log whose clock is the event loop's, and whose events bear the times of the record."""

    def __init__(self, recorded: Trajectory, kept: Sequence[Event]) -> None:
        super().__init__(recorded.setting, asyncio.get_running_loop().time)
        self._kept: dict[tuple[str, int, str | None], deque[Event]] = defaultdict(deque)
        for event in kept:
            self._kept[place_of(event)].append(event)

    def _add(self, happened: Event) -> None:
        waiting = self._kept.get(place_of(happened))
        super()._add(_timed(happened, waiting.popleft()) if waiting else happened)


def _timed(happened: Event, recorded: Event) -> Event:
    """An event with the times of its recorded twin."""
    if isinstance(happened, CallFinished) and isinstance(recorded, CallFinished):
        seen = recorded.observation
        return replace(
            happened,
            t_s=recorded.t_s,
            observation=replace(happened.observation, started_s=seen.started_s, finished_s=seen.finished_s),
            attempts=_timed_attempts(happened.attempts, recorded.attempts),
        )
    if isinstance(happened, Generated) and isinstance(recorded, Generated):
        attempts = _timed_attempts(happened.generation.attempts, recorded.generation.attempts)
        return replace(happened, t_s=recorded.t_s, generation=replace(happened.generation, attempts=attempts))
    return replace(happened, t_s=recorded.t_s)


def _timed_attempts(made: tuple[Attempt, ...], recorded: tuple[Attempt, ...]) -> tuple[Attempt, ...]:
    if len(made) != len(recorded):
        return made
    return tuple(
        replace(one, wall_s=other.wall_s, queue_s=other.queue_s) for one, other in zip(made, recorded, strict=True)
    )
