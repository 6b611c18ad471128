"""Playing the rollouts of a training step: all at once on one event loop, through the loop that everything uses.

The loop runs in a thread of its own, so that training also works where an event loop runs already, as in a notebook.
"""

import asyncio
import hashlib
import re
import threading
import time
import zlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.event import fold
from orchestra_lib.grade import Grade
from orchestra_lib.play import play
from orchestra_lib.protocols import PolicySpec
from orchestra_lib.tool import ArtefactRef, File
from orchestra_lib.training.course import Exercise
from orchestra_lib.training.dialect import Dialect
from orchestra_lib.training.model_policy import ModelPolicy
from orchestra_lib.training.sampler import Sampler, Stream
from orchestra_lib.training.settings import Playing
from orchestra_lib.trajectory import Trajectory

T = TypeVar("T")
_LONGEST = 56


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One played rollout: its record, graded, and its tokens as `ModelPolicy` keeps them.

    A rollout that ended before the policy said anything has one token that is masked, as TRL takes no empty ones.
    """

    exercise: Exercise
    trajectory: Trajectory
    prompt: list[int]
    completion: list[int]
    mask: list[int]
    logprobs: list[float]
    spans: dict[int, tuple[int, int]]


class Background:
    """An event loop in a thread. `run` waits for what it runs there, and cancels it when it is interrupted."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="rollouts", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """End the thread; what still runs there is cancelled."""
        self.run(_cancel_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Player:
    """Plays rollouts of exercises. `name` begins the ids of rollouts and groups, and so is the run's own; `policy` is
    how the policy stands in records and on bills."""

    def __init__(
        self, sampler: Sampler, dialect: Dialect, settings: Playing, *, name: str, seed: int, policy: PolicySpec
    ) -> None:
        self._sampler, self._dialect, self._settings = sampler, dialect, settings
        self._name, self._seed, self._spec = name, seed, policy

    async def play(self, todo: Sequence[tuple[Exercise, int]]) -> list[Rollout]:
        """Rollout n of each exercise, in this order. A bug of ours in any of them is raised."""
        places = asyncio.Semaphore(self._settings.at_once)

        async def one(exercise: Exercise, number: int) -> Rollout:
            async with places:
                return await self._one(exercise, number)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(*what)) for what in todo]
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _one(self, exercise: Exercise, number: int) -> Rollout:
        tools = exercise.tools(number)
        group = f"{self._name}-{_plain(exercise.id)}"
        setting = replace(
            exercise.setting,
            run_id=f"{group}-{number}",
            started_at=datetime.now(UTC),
            group=group,
            orchestrator=self._spec.name,
            seed=_seed(self._seed, exercise.id, number),
            origin=f"training {self._name}",
        )
        policy = ModelPolicy(self._sampler, self._dialect, Stream(setting.seed or 0), self._spec)
        try:
            events = play(setting, policy, tools, artefacts=Discarded(), clock=self._clock(exercise))
            trajectory = fold([event async for event in events])
        finally:
            policy.release()
        outcome = exercise.grade(trajectory)
        grade = Grade(at=datetime.now(UTC), by="course", outcome=outcome)
        trajectory = replace(trajectory, outcome=outcome, grades=() if outcome is None else (grade,))
        assert len(policy.completion) == len(policy.mask) == len(policy.logprobs)
        return Rollout(
            exercise=exercise,
            trajectory=trajectory,
            prompt=policy.prompt or [self._dialect.pad],
            completion=policy.completion or [self._dialect.eos],
            mask=policy.mask or [0],
            logprobs=policy.logprobs or [0.0],
            spans=policy.spans,
        )

    def _clock(self, exercise: Exercise) -> Callable[[], float]:
        if self._settings.clock == "wall":
            return time.monotonic
        silent = sorted(spec.name for spec in exercise.setting.tools if not spec.states_its_time)
        if silent:
            raise BadInput(
                f"{', '.join(silent)} of exercise {exercise.id}: a live tool takes real time, which the clock 'stated' "
                'does not see; set rollouts.clock = "wall"'
            )
        return _standing_still


class Discarded:
    """An artefact store that keeps nothing: files of training rollouts would fill a disk."""

    def put(self, file: File) -> ArtefactRef:
        digest = hashlib.sha256(file.data).hexdigest()
        return ArtefactRef(sha256=digest, media_type=file.media_type, size_bytes=len(file.data), name=file.name)

    def get(self, sha256: str) -> bytes:
        raise StoreFault(f"file {sha256[:16]} was made in training, which keeps no files")


def _plain(name: str) -> str:
    """A part of a run's id, whatever exercises are called; a long one ends with a mark of its whole."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", name)
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}-{zlib.crc32(name.encode()):08x}"


def _seed(*parts: object) -> int:
    """A number that follows from these on every machine."""
    return int.from_bytes(hashlib.sha256("/".join(map(str, parts)).encode()).digest()[:6])


def _standing_still() -> float:
    return 0.0


async def _cancel_others() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
