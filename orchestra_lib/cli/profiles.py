"""Profiles of simulated experts: listed, shown, fitted to recorded runs; and simulated tasks to play them on."""

from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

from orchestra_lib.calibration import Share
from orchestra_lib.cli.options import Json
from orchestra_lib.cli.terminal import dollars, note, one_line, print_json, print_table, seconds
from orchestra_lib.codec import dumps, to_data
from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.paths import home
from orchestra_lib.profile import PREFIX, Profile, description, skills_in_words
from orchestra_lib.profilefit import Fit, Fitted, KindOf, by_domain, by_simulation, by_tags, fit, to_profile
from orchestra_lib.profilelist import FOLDER, find_profile, load_profiles
from orchestra_lib.simulated_tasks import simulated_tasks
from orchestra_lib.store.store import Store
from orchestra_lib.store.summary import Filter

MOST_TASKS = 100_000
_NARROWS = ("group", "tag", "tool", "orchestrator", "text", "status")

profile_app = typer.Typer(help="Profiles of simulated experts: list, show, tasks, fit.", no_args_is_help=True)


@profile_app.command("list")
def list_profiles(json: Json = False) -> None:
    """List the profiles; `orchestra run --tools sim:NAME` plays with one."""
    profiles = load_profiles(home()).values()
    if json:
        print_json([to_data(one) for one in profiles])
        return
    rows = [
        [PREFIX + one.name, dollars(one.typical_usd()), seconds(one.latency.median), skills_in_words(one)]
        for one in profiles
    ]
    print_table(("simulated expert", "a call", "takes", "skills"), rows)


@profile_app.command("show")
def show_profile(name: Annotated[str, typer.Argument(help="A profile's name.")]) -> None:
    """Print one profile as JSON, and what a model reads of it."""
    one = find_profile(home(), name)
    note(description(one))
    print_json(to_data(one))


@profile_app.command("tasks")
def tasks(
    count: Annotated[int, typer.Option("--n", help="How many tasks; every eight have each kind and difficulty.")] = 8,
    seed: Annotated[int, typer.Option(help="Which world.")] = 0,
    first: Annotated[int, typer.Option(help="The number of the first.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="As JSON lines.")] = False,
) -> None:
    """Print simulated tasks with their answers, to be given to `orchestra run` as they are."""
    if not (1 <= count <= MOST_TASKS and seed >= 0 and first >= 0):
        raise BadInput(f"--n is from 1 to {MOST_TASKS:,}, --seed and --first are 0 or more")
    made = list(simulated_tasks(seed, count, first=first))
    if json:
        for one in made:
            print(dumps(to_data(one) | {"id": one.id, "text": one.text, "simulated": True}))
        return
    print_table(("kind", "difficulty", "answer", "task"), [[x.kind, x.difficulty, x.reference, x.text] for x in made])


@profile_app.command("fit")
def fit_profiles(
    from_: Annotated[
        list[str] | None,
        typer.Option("--from", help=f"A group's name, or NAME=VALUE with one of {', '.join(_NARROWS)}. Repeat it."),
    ] = None,
    kind_by: Annotated[
        str, typer.Option(help="What tells the kind of a task: simulated, tag (kind/difficulty) or domain.")
    ] = "simulated",
    tool: Annotated[list[str] | None, typer.Option(help="Only these tools, of whatever kind. Repeat it.")] = None,
    out: Annotated[
        str | None, typer.Option(help="Keep the profile of the one tool under this name in ORCHESTRA_HOME.")
    ] = None,
    json: Json = False,
) -> None:
    """Fit profiles to stored runs: right answers by kind with intervals of 95 %, prices and seconds of calls."""
    wanted = _narrowed(from_ or ())
    with Store.open(home()) as store:
        runs = list(store.each(wanted))
        if not runs:
            raise BadInput("no stored run is like that; `orchestra list` shows them")
        kinds: dict[str, KindOf] = {
            "simulated": by_simulation,
            "domain": by_domain,
            "tag": by_tags(store.tags_of([run.id for run in runs])),
        }
    if kind_by not in kinds:
        raise BadInput(f"--kind-by {kind_by[:80]!r} is unknown; use {', '.join(kinds)}")
    found = fit(runs, kinds[kind_by], tools=tool)
    if json:
        print_json(to_data(found))
    else:
        _show(found)
    if out is not None:
        _keep(found, out)


def _narrowed(parts: Sequence[str]) -> Filter:
    given: dict[str, str] = {}
    for part in parts:
        name, separator, value = part.partition("=")
        name, value = (name, value) if separator else ("group", part)
        if name not in _NARROWS or name in given or not value:
            raise BadInput(
                f"--from {part[:80]!r}: name a group, or write one of {', '.join(_NARROWS)} and =VALUE, once"
            )
        given[name] = value
    return Filter(**given)  # type: ignore[arg-type]  # checked names of texts


def _show(found: Fit) -> None:
    rows = [row for one in found.tools for row in _rows(one)]
    print_table(("tool", "kind", "right", "of", "95 %"), rows)
    print()
    figures = [
        [one.spec.name, str(one.calls), str(one.unknown), str(one.failed), _middle(one, "cost_usd"),
         str(one.unpriced), _middle(one, "latency_s")]
        for one in found.tools
    ]  # fmt: skip
    print_table(("tool", "calls", "ungraded", "failed", "cost p10 p50 p90", "unpriced", "takes p10 p50 p90"), figures)
    note(f"{found.runs:,} runs, {found.unplaced:,} of them of no known kind and left out")
    if simulated := [one.spec.name for one in found.tools if one.spec.simulated]:
        note(f"simulated: {', '.join(simulated)}")


def _rows(one: Fitted) -> Iterable[list[str]]:
    for kind, by_difficulty in one.skills.items():
        for difficulty, seen in by_difficulty.items():
            yield [one.spec.name, one_line(f"{kind} {difficulty}", 40), _rate(seen.rate), str(seen.of), _interval(seen)]
    if not one.skills:
        yield [one.spec.name, "—", "—", "0", "—"]


def _rate(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}"


def _interval(seen: Share) -> str:
    return f"{_rate(seen.low)} to {_rate(seen.high)}"


def _middle(one: Fitted, what: str) -> str:
    seen = one.cost_usd if what == "cost_usd" else one.latency_s
    if seen is None:
        return "—"
    word = dollars if what == "cost_usd" else seconds
    return "  ".join(word(value) for value in (seen.p10, seen.p50, seen.p90))


def _keep(found: Fit, name: str) -> None:
    if len(found.tools) != 1:
        names = ", ".join(one.spec.name for one in found.tools) or "none"
        raise BadInput(f"--out keeps the profile of one tool and there are {names}; name one with --tool")
    (one,) = found.tools
    profile: Profile = to_profile(one, name.removeprefix(PREFIX), source=f"fitted to {one.calls:,} recorded calls")
    file = home() / FOLDER / f"{profile.name}.json"
    if file.exists():
        raise BadInput(f"there is {file} already; choose another name")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dumps(to_data(profile)) + "\n", "utf-8")
    except OSError as error:
        raise StoreFault(f"the profile {file} could not be written: {error.strerror}") from None
    note(f"kept as {PREFIX}{profile.name} in {file}")


COMMANDS: dict[str, typer.Typer] = {"profile": profile_app}
