"""Workers on a Ray cluster: so many calls under way at once, repeated by Ray where their worker dies."""

import asyncio
import hashlib
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from orchestra_lib.engine.cluster import Where, cluster
from orchestra_lib.errors import BadInput, WorkerFault, first_line
from orchestra_lib.paths import DATA
from orchestra_lib.record import record

TRIES = 4
"""So often a call is begun before its workers' deaths are taken for its own fault."""
START_WITHIN_S = 300.0
_RAISED = re.compile(r"[\w.]*(Error|Exception|Input|Fault)\w*: ")
"""How the last line of a traceback begins."""
_USERS = ("endpoints.toml", "prices/*.toml", "profiles/*")
"""What of a home folder decides over a run, beside the order itself."""


@record
class Post:
    """What a worker is told of its place: the driver's home, by what it knows it, and what it is called."""

    home: str
    mark: str
    name: str


@record
class Place:
    """Where a worker turned out to be.

    `code` and `settings` are fingerprints of the project and of the user's files, None where those decide over nothing.
    """

    node: str
    pid: int
    code: str
    settings: str | None
    shared: bool


class Crew:
    """Actors of one class, each with room for so many calls. `kind` has `place()` and `close(remove)`."""

    def __init__(self, kind: type[Any], arguments: tuple[Any, ...], home: Path, *, workers: int, at_once: int) -> None:
        import ray

        self._ray, self.home, session = ray, home, secrets.token_hex(4)
        self.room = -(-at_once // workers)
        actor = ray.remote(kind).options(
            num_cpus=1, max_restarts=-1, max_task_retries=TRIES - 1, scheduling_strategy="SPREAD",
            max_concurrency=self.room + 1,  # one more, so that a word to stop gets through
        )  # fmt: skip
        posts = [Post(home=str(home), mark=mark_of(home), name=f"{session}-{n}") for n in range(1, workers + 1)]
        self.workers = [actor.remote(post, *arguments) for post in posts]
        self.places: tuple[Place, ...] = ()
        self.faulted = False
        """Whether workers died over something for good, so that what they have left of it is not home."""
        self._free: asyncio.Queue[Any] = asyncio.Queue()
        for _ in range(self.room):  # one call for each worker before any has two
            for worker in self.workers:
                self._free.put_nowait(worker)

    def muster(self, *, alike: bool) -> None:
        """Wait until all are there, and where nodes may differ see that they are `alike`.

        Raises `BadInput` and `WorkerFault`.
        """
        try:
            places = self._ray.get([one.place.remote() for one in self.workers], timeout=START_WITHIN_S)
        except self._ray.exceptions.GetTimeoutError:
            raise WorkerFault(
                f"{len(self.workers)} workers did not start within {START_WITHIN_S:g} s; `ray status` shows whether "
                "the cluster has a CPU free for each, --workers asks for fewer"
            ) from None
        except self._ray.exceptions.RayError as error:
            raise WorkerFault(
                f"the workers did not start ({_cause(error)}); every node needs this project and its libraries"
            ) from None
        self.places = tuple(places)
        if alike:
            self.compare()

    def compare(self) -> None:
        """Raises `BadInput` where a node has another version of the project, or other settings."""
        ours = (code_of(), settings_of(self.home))
        for one in self.places:
            if one.code != ours[0]:
                raise BadInput(f"node {one.node} has another version of this project; install the same commit there")
            if one.settings not in (None, ours[1]):
                raise BadInput(
                    f"node {one.node} has other endpoints, prices or profiles in its home folder than this machine; "
                    "copy them there (ORCHESTRA_HOME), or share the folder"
                )

    async def call(self, method: str, *arguments: Any) -> Any:
        """Have a free worker do it. Raises what it raises, and `WorkerFault` when workers die over it each time."""
        worker = await self._free.get()
        try:
            return await getattr(worker, method).remote(*arguments)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            self.faulted = True
            raise WorkerFault(f"a worker died over it, {TRIES} times: {_cause(error)}") from None
        finally:
            self._free.put_nowait(worker)

    def in_order(self, method: str, items: Iterable[Any]) -> Iterator[Any]:
        """What comes of each, in the order of the items, of which only as many are drawn as there is room for."""
        from ray.util import ActorPool

        pool: Any = ActorPool(self.workers * self.room)
        for item in items:
            if not pool.has_free():
                yield self._next(pool)
            pool.submit(lambda worker, one: getattr(worker, method).remote(one), item)
        while pool.has_next():
            yield self._next(pool)

    def _next(self, pool: Any) -> Any:
        try:
            return pool.get_next()
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            raise WorkerFault(f"a worker died over it, {TRIES} times: {_cause(error)}") from None

    async def stop(self) -> None:
        """Have every worker end what it is at."""
        await asyncio.gather(*(one.stop.remote() for one in self.workers), return_exceptions=True)

    def dismiss(self, *, remove: bool) -> None:
        """Have every worker go; with `remove` what it has kept goes too, as all of it has been taken in."""
        with suppress(self._ray.exceptions.RayError):  # what a dead one has left is taken in by the next one to look
            self._ray.get([one.close.remote(remove) for one in self.workers], timeout=30.0)
        for one in self.workers:
            self._ray.kill(one)


@contextmanager
def crew(
    where: Where, kind: type[Any], arguments: tuple[Any, ...], home: Path, *, at_once: int | None = None
) -> Iterator[Crew]:
    """Workers while the block runs; what they have kept is removed only if it ends well.

    `at_once` calls are under way at most, two for each worker if that is left out; of more workers than calls the rest
    is not started. Raises as `cluster` and `Crew.muster` do.
    """
    with cluster(where) as workers:
        count = min(workers, at_once or workers)
        made = Crew(kind, arguments, home, workers=count, at_once=at_once or 2 * count)
        made.muster(alike=where.address is not None)
        well = False
        try:
            yield made
            well = True
        finally:
            made.dismiss(remove=well and not made.faulted)


def mark_of(home: Path) -> str:
    """What tells this home folder from one of the same path on another disk; made when first asked for."""
    file = home / "workers" / ".home"
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.is_file():
        part = file.with_name(f".home.{secrets.token_hex(4)}")
        part.write_text(secrets.token_hex(8), "utf-8")
        part.replace(file)
    return file.read_text("utf-8")


@cache
def code_of() -> str:
    """The fingerprint of this project: its library, and what ships with it that decides over a run."""
    library = Path(__file__).parents[1]
    files = [*library.rglob("*.py"), *DATA.rglob("*.toml"), *DATA.rglob("*.json")]
    return _digest(files, library.parent)


def settings_of(home: Path) -> str:
    """The fingerprint of what a user has set in a home folder."""
    return _digest([file for pattern in _USERS for file in home.glob(pattern) if file.is_file()], home)


def _digest(files: Iterable[Path], root: Path) -> str:
    made = hashlib.sha256()
    for file in sorted(files):
        made.update(f"{file.relative_to(root)}\0".encode())
        made.update(hashlib.sha256(file.read_bytes()).digest())
    return made.hexdigest()[:16]


def _cause(error: Exception) -> str:
    """What a page of Ray's says, in a line: the error within where there is one."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, Exception):
        return f"{type(cause).__name__}: {first_line(cause)}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return (lines[-1] if _RAISED.match(lines[-1]) else lines[0])[:300]
