"""Options that many commands take in the same way, and what they say as settings."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from orchestra_lib.errors import BadInput
from orchestra_lib.paths import home
from orchestra_lib.preference import parse_weights
from orchestra_lib.store.opening import open_store
from orchestra_lib.store.queries import StoreQueries
from orchestra_lib.store.store import Store

Json = Annotated[bool, typer.Option("--json", help="As JSON.")]

StorePlace = Annotated[
    str | None, typer.Option("--store", help="A folder or URL of partitions, or another home, in place of one's own.")
]
MaxTurns = Annotated[int | None, typer.Option(help="Turns at most in one run; 50 if left out.")]
CostLimit = Annotated[
    float | None, typer.Option(help="USD at most for one run, the worst case reserved before each call; else no limit.")
]
TimeLimit = Annotated[float | None, typer.Option(help="Seconds at most for one run; else no limit.")]
TokenLimit = Annotated[int | None, typer.Option(help="Tokens at most for one run, in and out together; else no limit.")]
Prices = Annotated[
    str | None, typer.Option(help="Price table; nominal if left out. `orchestra prices show` lists them.")
]
Seed = Annotated[int | None, typer.Option(help="Seed for models that sample; none if left out.")]

Text = Annotated[str | None, typer.Option(help="Only runs with this in id, task, answer or observations.")]
Conductor = Annotated[str | None, typer.Option(help="Only runs conducted by this orchestrator.")]
Called = Annotated[str | None, typer.Option(help="Only runs that called this tool.")]
Status = Annotated[str | None, typer.Option(help="Only runs that ended so: answered, max_turns, loop, fault, …")]
Group = Annotated[str | None, typer.Option(help="Only runs in this group.")]
Tag = Annotated[str | None, typer.Option(help="Only runs with this tag.")]
Training = Annotated[bool, typer.Option("--training", help="Only rollouts of training, which are left out else.")]
TrainingRun = Annotated[str | None, typer.Option("--training-run", help="Only rollouts of this training run.")]
TrainingStep = Annotated[int | None, typer.Option("--training-step", help="Only rollouts of this step of training.")]


def opened(place: str | None) -> StoreQueries:
    """What `--store` names, the workbench's own store where nothing does. Raises `BadInput`."""
    return Store.open(home()) if place is None else open_store(place)


def given_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The flags that were given, by dotted names."""
    return {name: value for name, value in flags.items() if value is not None}


def preference_flags(prefer: Sequence[str] | None) -> dict[str, Any]:
    """What `--prefer` says, by dotted names."""
    goals, tools = parse_weights(prefer or [])
    of_tools = {f"preference.tools.{name}": weight for name, weight in tools.items()}
    return {f"preference.{goal}": weight for goal, weight in goals.items()} | of_tools


def tool_names(text: str | None) -> tuple[str, ...] | None:
    """What `--tools` names; None when it was left out."""
    if text is None:
        return None
    if text.strip() == "none":
        return ()
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise BadInput("--tools is empty; name tools by comma, or write 'none'")
    return names
