"""Options that many commands take in the same way."""

from typing import Annotated

import typer

from orchestra_lib.paths import home
from orchestra_lib.store.opening import open_store
from orchestra_lib.store.queries import StoreQueries
from orchestra_lib.store.store import Store

Json = Annotated[bool, typer.Option("--json", help="As JSON.")]

StorePlace = Annotated[
    str | None, typer.Option("--store", help="A folder or URL of partitions, or another home, in place of one's own.")
]
Tag = Annotated[str | None, typer.Option(help="With this tag.")]
Training = Annotated[bool, typer.Option("--training", help="Only rollouts of training, which are left out else.")]
TrainingRun = Annotated[str | None, typer.Option("--training-run", help="Only rollouts of this training run.")]
TrainingStep = Annotated[int | None, typer.Option("--training-step", help="Only rollouts of this step of training.")]


def opened(place: str | None) -> StoreQueries:
    """What `--store` names, the workbench's own store where nothing does. Raises `BadInput`."""
    return Store.open(home()) if place is None else open_store(place)
