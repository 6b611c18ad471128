"""Draws tasks and runs the filters on workers, some at a time, and puts what comes of them in its order again."""

import os
import socket
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import TypeVar

from orchestra_lib.engine.crew import Crew, Place, Post, code_of
from orchestra_lib.environment.assignment import Assignment
from orchestra_lib.synthesis.filters import Failure
from orchestra_lib.synthesis.pipeline import Accepted, Pipeline, Rejection, pipeline_of
from orchestra_lib.synthesis.verifying import Checked, Verifier, tasks_of

T = TypeVar("T")
_Task = tuple[Path, Assignment]
_DRAWN, _CHECKED = 16, 32
"""Candidates and tasks in one call: hundredths of a second of work, beside which the call itself is little and the last
one is not waited for long."""


class Sieve:
    """The filters on a worker. What it says follows from what it is asked alone, so that Ray may ask it again."""

    def __init__(self, post: Post) -> None:
        self._verifier = Verifier()
        self._pipelines: dict[tuple[str, int], Pipeline] = {}

    async def place(self) -> Place:
        """Where this is; nothing in a home folder decides over what it says."""
        return Place(node=socket.gethostname(), pid=os.getpid(), code=code_of(), settings=None, shared=False)

    async def candidates(self, asked: tuple[str, int, Sequence[int]]) -> list[Accepted | Rejection]:
        """What becomes of these candidates of a domain under a seed. Raises `BadInput`."""
        name, seed, numbers = asked
        if (name, seed) not in self._pipelines:
            self._pipelines[name, seed] = pipeline_of(name, seed=seed)
        return [self._pipelines[name, seed].candidate(number) for number in numbers]

    async def verify(self, tasks: Sequence[_Task]) -> list[tuple[Failure | None, bool]]:
        """What these tasks fail, as `Checked` has it; the tasks themselves are with whoever asks."""
        checked = (self._verifier.check(file, one) for file, one in tasks)
        return [(one.failure, one.solver) for one in checked]

    async def stop(self) -> None:
        """Nothing here takes long."""

    async def close(self, remove: bool) -> None:
        """Nothing is kept here."""


def candidates(crew: Crew, name: str, seed: int) -> Iterator[Accepted | Rejection]:
    """What becomes of the candidates of a domain, in order and without end, drawn by a crew of `Sieve`s."""
    asked = ((name, seed, range(start, start + _DRAWN)) for start in count(0, _DRAWN))
    for part in crew.in_order("candidates", asked):
        yield from part


def verified(crew: Crew, files: Sequence[Path]) -> Iterator[Checked]:
    """Every task of these files with what it fails, in order. Raises `BadInput` for a file that holds no tasks."""
    sent = deque[list[_Task]]()

    def chunks() -> Iterator[list[_Task]]:
        for chunk in _chunks(tasks_of(files)):
            sent.append(chunk)
            yield chunk

    for part in crew.in_order("verify", chunks()):
        for (file, one), (failure, solver) in zip(sent.popleft(), part, strict=True):
            yield Checked(file=file, assignment=one, failure=failure, solver=solver)


def _chunks(items: Iterable[T]) -> Iterator[list[T]]:
    waiting = iter(items)
    while chunk := list(islice(waiting, _CHECKED)):
        yield chunk
