"""Where the work of a command is done: in its own process, or by workers on a Ray cluster."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from orchestra_lib.cli.terminal import note
from orchestra_lib.engine.cluster import Where
from orchestra_lib.engine.crew import Crew, crew
from orchestra_lib.engine.player import Player
from orchestra_lib.engine.sieve import Sieve
from orchestra_lib.errors import BadInput
from orchestra_lib.evaluation.toolscale import Scene, load_scene
from orchestra_lib.paths import home
from orchestra_lib.store.worker_folders import gather
from orchestra_lib.toolkit.function import load_function
from orchestra_lib.training import conducting
from orchestra_lib.workbench import Workbench


class Engine(StrEnum):
    """Who does the work."""

    LOCAL = "local"
    RAY = "ray"


EngineOption = Annotated[Engine, typer.Option("--engine", help="local: this process; ray: workers on a Ray cluster.")]
AddressOption = Annotated[
    str | None,
    typer.Option("--ray-address", help="ray: HOST:PORT of a cluster, or auto; one of this machine if left out."),
]
WorkersOption = Annotated[int | None, typer.Option("--workers", help="ray: so many processes; one a CPU if left out.")]


def where(engine: Engine, address: str | None, workers: int | None) -> Where | None:
    """The cluster that is asked for; None for this process. Raises `BadInput`."""
    if engine is Engine.LOCAL:
        for name, value in (("--ray-address", address), ("--workers", workers)):
            if value is not None:
                raise BadInput(f"{name} {value} belongs to --engine ray; add that, or leave it out")
        return None
    return Where(address=address, workers=workers)


@contextmanager
def players(
    place: Where | None, at_once: int, *, functions: Sequence[str] = (), scene: Callable[[], Scene] | None = None
) -> Iterator[Crew | None]:
    """Workers that play and grade, while the block runs; None for this process.

    `functions` are a user's own, path/file.py:function, and `scene` loads what published tasks are played in, on each
    worker anew. What workers of an interrupted command have left is taken in first.
    """
    if place is None:
        yield None
        return
    with _crew(place, Player, (partial(furnish, functions=tuple(functions)), scene), at_once) as made:
        if left := gather(home()):
            note(f"{len(left):,} runs of workers that had been cut off are taken in")
        yield made
    if made.faulted and (left := gather(home())):
        note(f"{len(left):,} runs that their workers died over are taken in as cut off")


@contextmanager
def sieves(place: Where) -> Iterator[Crew]:
    """Workers that draw tasks and run the filters, while the block runs."""
    with _crew(place, Sieve, (), None) as made:
        yield made


def furnish(workbench: Workbench, functions: Sequence[str] = ()) -> None:
    """What a command adds to a workbench: trained orchestrators, and the user's functions as tools."""
    conducting.join(workbench.roster, workbench.home)
    for name in functions:
        workbench.roster.add(load_function(name))


@contextmanager
def _crew(place: Where, kind: type, arguments: tuple[object, ...], at_once: int | None) -> Iterator[Crew]:
    note("starting Ray on this machine" if place.address is None else f"joining the Ray cluster at {place.address}")
    with crew(place, kind, arguments, home(), at_once=at_once) as made:
        nodes = {one.node for one in made.places}
        note(
            f"{len(made.workers)} workers on {len(nodes)} node{'s' if len(nodes) > 1 else ''}, {made.room} at once each"
        )
        yield made


def scene_of(tau2: Path | None, toolkit: str | None) -> Callable[[], Scene] | None:
    """What loads the scene of published tasks on a worker, from the same files."""
    if tau2 is None or toolkit is None:
        return None
    return partial(load_scene, tau2.resolve(), absolute(toolkit))


def absolute(function: str) -> str:
    """path/file.py:function with a path that holds wherever a worker was started."""
    file, colon, name = function.rpartition(":")
    return f"{Path(file).resolve()}{colon}{name}"
