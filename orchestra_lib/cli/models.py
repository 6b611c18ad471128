"""Models: who can conduct, which tools there are, weights and endpoints; fetching the one, trying out the other."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from orchestra_lib.cli.options import Json
from orchestra_lib.cli.progress import WeightsProgress
from orchestra_lib.cli.terminal import note, one_line, print_json, print_table, seconds
from orchestra_lib.codec import to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.model.trial import Trial, try_out
from orchestra_lib.model.weights import WeightsStatus
from orchestra_lib.paths import home
from orchestra_lib.roster import Roster
from orchestra_lib.training import conducting

ASK_ABOVE_BYTES = 2_000_000_000
"""A bigger download wants `--yes`."""


def models(
    action: Annotated[
        str, typer.Argument(help="list, fetch to download weights, test to try an endpoint out.")
    ] = "list",
    name: Annotated[str | None, typer.Argument(help="Only these weights, or the endpoint to try out.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Also download more than 2 GB.")] = False,
    json: Json = False,
) -> None:
    """List orchestrators, tools, weights and endpoints; fetch weights; try an endpoint out."""
    roster = Roster(home())
    conducting.join(roster, home())
    if action == "fetch":
        _fetch(roster, name, yes=yes)
    elif action == "test":
        _test(roster, name, json=json)
    elif action == "list":
        roster.endpoints.look()
        (_print_data if json else _print_tables)(roster)
    else:
        raise BadInput(f"unknown action {action!r}; use list, fetch or test")


def _fetch(roster: Roster, name: str | None, *, yes: bool) -> None:
    show = WeightsProgress()
    if name is None:
        roster.models.fetch(show)
        return
    catalogue = roster.models.weights
    weights = catalogue.get(name)
    memory = f"about {weights.memory_bytes / 1e9:.1f} GB of memory" if weights.memory_bytes else "memory unknown"
    note(f"{weights.title}: {weights.bytes / 1e6:,.0f} MB, {memory}")
    note(f"licence: {weights.licence} ({weights.source})")
    ready = catalogue.status(name).state == "ready"
    if weights.bytes > ASK_ABOVE_BYTES and not yes and not ready:
        raise BadInput(f"{name} is a download of {weights.bytes / 1e9:.1f} GB; add --yes to get it")
    catalogue.fetch(name, show)


def _test(roster: Roster, name: str | None, *, json: bool) -> None:
    if name is None:
        raise BadInput("name the endpoint to try out; `orchestra models` lists them")
    endpoint = roster.endpoints.get(name)
    roster.endpoints.look_at(name)
    if (off := roster.endpoints.off(name)) is not None:
        raise BadInput(f"the endpoint {name} is off: {off}")
    trial = asyncio.run(try_out(name, roster.endpoints.model(name), endpoint.style))
    if json:
        print_json(to_data(trial))
    else:
        print_table(("what", "found"), _told(trial))
    if trial.error is not None:
        raise typer.Exit(1)


def _told(trial: Trial) -> Sequence[tuple[str, str]]:
    if trial.error is not None:
        return [("error", trial.error), ("after", seconds(trial.total_s)), ("tries", str(trial.tries))]
    words = {True: "yes", False: "no", None: "not asked for, its style is another"}
    return [
        ("first word", seconds(trial.first_s)),
        ("whole reply", seconds(trial.total_s)),
        ("tries", str(trial.tries)),
        ("usage reported", words[trial.usage or False]),
        ("native call", words[trial.native_call]),
        ("reply", one_line(trial.text, 100)),
    ]


def _print_data(roster: Roster) -> None:
    print_json(
        {
            "orchestrators": [to_data(offer) for offer in roster.orchestrators()],
            "tools": [{"name": spec.name, "model": spec.model, "off": off} for spec, off in roster.tools()],
            "weights": [to_data(status) for status in _weights(roster)],
            "endpoints": [
                to_data(endpoint) | {"address": roster.endpoints.address(name), "off": roster.endpoints.off(name)}
                for endpoint in roster.endpoints
                if (name := endpoint.name)
            ],
        }
    )


def _print_tables(roster: Roster) -> None:
    offers = [(offer.name, "off" if offer.off else "on", offer.off or offer.note) for offer in roster.orchestrators()]
    print_table(("orchestrator", "state", "what"), offers)
    print()
    tools = [(spec.name, "off" if off else "on", off or spec.title) for spec, off in roster.tools()]
    print_table(("tool", "state", "what"), tools)
    print()
    weights = [
        (one.name, one.state, f"{one.total_bytes / 1e6:,.0f} MB", roster.models.weights.get(one.name).licence)
        for one in _weights(roster)
    ]
    print_table(("weights", "state", "size", "licence"), weights)


def _weights(roster: Roster) -> list[WeightsStatus]:
    return [roster.models.weights.status(name) for name in roster.models.weights.names]


COMMANDS: dict[str, Callable[..., None]] = {"models": models}
