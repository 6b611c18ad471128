"""Preferences in words: what a sentence asks for, pairs of instruction and vector, how well runs follow them."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from orchestra_lib.billing import spent_on
from orchestra_lib.cli.json_list import json_list
from orchestra_lib.cli.options import Json
from orchestra_lib.cli.terminal import dollars, note, one_line, print_json, print_table, printable
from orchestra_lib.codec import from_data, to_data
from orchestra_lib.errors import BadInput, WorldFault
from orchestra_lib.export.samples import write_lines
from orchestra_lib.following import Following, following
from orchestra_lib.paths import home
from orchestra_lib.preference import GOALS, Preference, describe, parse_preference
from orchestra_lib.preference_drawing import Offered
from orchestra_lib.preference_pairs import Pair, Report, Sieve, generate
from orchestra_lib.preference_text import PreferenceReading, read_preference
from orchestra_lib.pricelist import find_table
from orchestra_lib.pricing import Attempt
from orchestra_lib.record import record
from orchestra_lib.roster import Roster
from orchestra_lib.sampling import sources
from orchestra_lib.sampling.offering import spec_of
from orchestra_lib.sampling.pairs import row_of_pair
from orchestra_lib.store.store import Store
from orchestra_lib.tool import ToolKind, ToolSpec
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.wishing import Proposal, propose, write_pairs

app = typer.Typer(help="Preferences in words: read, generate, adherence.", no_args_is_help=True)
_RULES, _MODEL = "rules", "model:"
MAX_JOBS = 64

Tools = Annotated[
    str | None,
    typer.Option(
        help="The tools to speak of: names by comma, or FILE.json, a list of {name, title, kind, remote}. "
        "Names are those of `orchestra models`, and of the published kit: search, enhance_reasoning, call_expert."
    ),
]


@record
class ToolLine:
    """A tool of a file: only what words may be about. `remote` sends data to another machine."""

    name: str
    title: str | None = None
    kind: ToolKind = ToolKind.BASIC
    remote: bool = False
    description: str = ""
    typical_latency_s: float | None = None


@app.callback()
def group() -> None:
    """Preferences in words."""


@app.command("read")
def read_sentence(
    sentence: Annotated[str, typer.Argument(help='What you prefer, for example "be quick, avoid paid APIs".')],
    by: Annotated[str, typer.Option(help="rules, which needs no model, or model:NAME.")] = _RULES,
    tools: Tools = None,
    json: Json = False,
) -> None:
    """Say which weights a sentence asks for, and what of it was not understood. Nothing is applied."""
    roster = Roster(home())
    on_offer = tuple(spec for spec, off in roster.tools() if off is None)
    offered = _offered(roster, tools, on_offer, extension=True)
    if by == _RULES:
        found = read_preference(sentence, offered.tools, offered.remote)
        if json:
            print_json({"by": by, **to_data(found), "tools": offered.names, "describe": _described(found, offered)})
        else:
            _show_reading(found, offered)
        return
    proposal = asyncio.run(_proposed(roster, _model_name(by, "--by"), sentence, offered))
    if json:
        print_json({"by": by, **to_data(proposal), "tools": offered.names, "cost_usd": _cost(proposal.attempts)})
    elif proposal.preference is not None:
        _show_weights(proposal.preference, offered)
        print(printable(f"\nproposed by {by}, nothing is applied: {proposal.reason or 'no reason was given'}"))
        _note_cost(proposal.attempts)
    if proposal.preference is None:
        note(one_line(proposal.why or "", 400))
        raise typer.Exit(1)


@app.command("generate")
def generate_pairs(
    out: Annotated[Path, typer.Option(help="The .jsonl file to write.")],
    n: Annotated[int, typer.Option(help="How many pairs, train and eval together.")] = 200,
    seed: Annotated[int, typer.Option(help="The same seed and tools give the same bytes, unless a model words.")] = 0,
    tools: Tools = None,
    llm: Annotated[str | None, typer.Option(help="A model of the catalogue that words each vector.")] = None,
    jobs: Annotated[int, typer.Option(help="With --llm: so many requests at once.")] = 2,
    eval_share: Annotated[float, typer.Option(help="The share of pairs for evaluation.")] = 0.2,
    extension: Annotated[
        bool,
        typer.Option("--extension", help="Tool weights below 0, this project's extension; else [0, 1] as published."),
    ] = False,
    json: Json = False,
) -> None:
    """Make pairs of an instruction and a preference vector: checked, without near-duplicates, split by situation."""
    if out.suffix != ".jsonl":
        raise BadInput(f"--out {out}: name a .jsonl file")
    if not 1 <= jobs <= MAX_JOBS:
        raise BadInput(f"--jobs {jobs}; use 1 to {MAX_JOBS}")
    roster = Roster(home())
    offered = _offered(roster, tools, tuple(spec for spec, _ in roster.tools()), extension=extension)
    attempts: tuple[Attempt, ...] = ()
    if llm is None:
        pairs, report = generate(n, seed, offered, eval_share=eval_share)
        write_lines(map(row_of_pair, pairs), out)
    else:
        sieve = Sieve(n, offered, eval_share)
        try:
            attempts = asyncio.run(_written(roster, llm, sieve, seed, offered, jobs))
        except WorldFault:
            note(f"what was accepted until then is in {out}")
            raise
        finally:
            write_lines(map(row_of_pair, sieve.pairs), out)
        pairs, report = sieve.pairs, sieve.report
    _report(out, seed, offered, pairs, report, attempts, json)
    if len(pairs) < n:
        note(f"only {len(pairs):,} of {n:,}: offer more tools, or ask for fewer")
        raise typer.Exit(1)


@app.command("adherence")
def show_adherence(
    runs: Annotated[list[str], typer.Argument(help="Ids of runs, or names of groups.")],
    base: Annotated[
        list[str], typer.Option(help="Runs of the same tasks to compare with, one a task: ids or groups. Repeat it.")
    ],
    prefer: Annotated[
        list[str] | None, typer.Option(help="NAME=WEIGHT, in place of what each run was played with. Repeat it.")
    ] = None,
    prices: Annotated[str | None, typer.Option(help="Price all runs with this table.")] = None,
    json: Json = False,
) -> None:
    """How well runs follow their preferences beside a base: our bounded metric, and the paper's."""
    with Store.open(home()) as store:
        played, compared_with = _runs(store, runs), _runs(store, base)
    found = following(
        played,
        compared_with,
        preference=None if prefer is None else parse_preference(prefer),
        prices=None if prices is None else find_table(home(), prices),
    )
    if json:
        print_json(to_data(found))
    else:
        _show_following(found)


def _offered(roster: Roster, tools: str | None, otherwise: tuple[ToolSpec, ...], *, extension: bool) -> Offered:
    if tools is None:
        remote = roster.remote() & {spec.name for spec in otherwise}
        return Offered(tools=otherwise, remote=remote, extension=extension)
    if tools.endswith(".json"):
        lines = _tool_lines(Path(tools))
        specs = tuple(_spec(line) for line in lines)
        remote = frozenset(line.name for line in lines if line.remote)
        return Offered(tools=specs, remote=remote, extension=extension)
    known = {spec.name: spec for spec, _ in roster.tools()}
    kits = sources.materials()
    for tool in (*kits.kit.tools, *kits.words.kit.tools):
        known.setdefault(tool.name, spec_of(tool))
    names = tuple(dict.fromkeys(name.strip() for name in tools.split(",") if name.strip()))
    for name in names:
        if name not in known:
            raise BadInput(f"--tools: there is no tool {name!r}; there are {', '.join(known)}")
    return Offered(
        tools=tuple(known[name] for name in names), remote=roster.remote() & frozenset(names), extension=extension
    )


def _tool_lines(file: Path) -> tuple[ToolLine, ...]:
    data = json_list(file, form="tools, each {name, title, kind, remote}")
    lines = tuple(from_data(one, ToolLine, where=f"{file}, tool {at}") for at, one in enumerate(data, 1))
    if len({line.name for line in lines}) < len(lines):
        raise BadInput(f"{file}: two tools have one name; rename one of them")
    return lines


def _spec(line: ToolLine) -> ToolSpec:
    return ToolSpec(
        name=line.name,
        title=line.title or line.name,
        description=line.description,
        parameters={"type": "object"},
        kind=line.kind,
        typical_latency_s=line.typical_latency_s,
    )


def _model_name(by: str, option: str) -> str:
    if not by.startswith(_MODEL) or by == _MODEL:
        raise BadInput(f"{option} {by!r}: use {_RULES} or {_MODEL}NAME")
    return by.removeprefix(_MODEL)


async def _proposed(roster: Roster, name: str, sentence: str, offered: Offered) -> Proposal:
    try:
        return await propose(roster.chat_model(name), sentence, offered)
    finally:
        await roster.close()


async def _written(
    roster: Roster, name: str, sieve: Sieve, seed: int, offered: Offered, jobs: int
) -> tuple[Attempt, ...]:
    def told(report: Report) -> None:
        note(f"{sum(report.accepted.values()):,} pairs of {report.drawn:,} candidates")

    try:
        model = roster.chat_model(name)
        return await write_pairs(model, sieve, seed, offered, by=f"{_MODEL}{name}", jobs=jobs, told=told)
    finally:
        await roster.close()


def _runs(store: Store, names: Sequence[str]) -> list[Trajectory]:
    ids = [run_id for name in names for run_id in store.members(name) or (name,)]
    return [store.get(run_id) for run_id in dict.fromkeys(ids)]


def _described(found: PreferenceReading, offered: Offered) -> str:
    """The weights in our own words, which say what was understood of the user's."""
    weights = found.preference
    plain = Preference(**{goal: getattr(weights, goal) for goal in GOALS}, tools=weights.tools)
    return describe(plain, {spec.name: spec.title for spec in offered.tools})


def _show_reading(found: PreferenceReading, offered: Offered) -> None:
    rows = [
        (one.name, f"{one.weight:g}", one.words + (" (another part of the sentence wins)" if one.overridden else ""))
        for one in found.understood
    ]
    print_table(("weight of", "is", "because of"), rows)
    for words in found.no_tool:
        print(printable(f"understood, but no such tool is on offer: {words}"))
    for words in found.not_understood:
        print(printable(f"not understood: {words}"))
    kept = [goal for goal in GOALS if goal not in found.goals]
    if kept:
        print("not spoken of, by default: " + ", ".join(f"{goal} {getattr(found.preference, goal):g}" for goal in kept))
    print(printable(f"\nin our words: {_described(found, offered)}"))


def _show_weights(preference: Preference, offered: Offered) -> None:
    rows = [(goal, f"{getattr(preference, goal):g}") for goal in GOALS]
    rows += [(f"tool.{name}", f"{preference.weight(name):g}") for name in offered.names]
    print_table(("weight of", "is"), rows)


def _report(
    out: Path,
    seed: int,
    offered: Offered,
    pairs: Sequence[Pair],
    report: Report,
    attempts: tuple[Attempt, ...],
    json: bool,
) -> None:
    if json:
        spent = {"cost_usd": _cost(attempts), "requests": len(attempts)} if attempts else {}
        print_json({"out": str(out), "seed": seed, "tools": offered.names, **to_data(report), **spent})
        return
    counts = ", ".join(f"{split} {count:,}" for split, count in report.accepted.items())
    print(printable(f"{out}: {len(pairs):,} pairs of {report.drawn:,} candidates ({counts}), seed {seed}"))
    print(printable(f"over {', '.join(offered.names)}"))
    for why, count in report.rejected.items():
        print(printable(f"rejected {count:,}, {why}; for example: {one_line(report.examples[why], 160)}"))
    if below := sum(pair.extension for pair in pairs):
        print(f"{below:,} weigh a tool below 0, which is this project's extension of the paper")
    if attempts:
        _note_cost(attempts)


def _cost(attempts: Sequence[Attempt]) -> float | None:
    return spent_on(attempts, find_table(home(), "nominal")).cost_usd


def _note_cost(attempts: Sequence[Attempt]) -> None:
    note(f"{len(attempts):,} requests, {dollars(_cost(attempts))} by the nominal table: nobody is billed by it")


def _show_following(found: Following) -> None:
    rows = [
        (
            row.run,
            row.base,
            _score(row.bounded),
            _score(row.published),
            row.why or ("simulated" if row.simulated else ""),
        )
        for row in found.rows
    ]
    print_table(("run", "base", "ours", "paper's", ""), rows)
    total = found.total
    print(f"\n{total.compared} compared, {total.left_out} left out")
    print(f"ours, a mean in [0, 1], 0.5 as the base: {_score(total.bounded)}")
    print(f"the paper's, a sum without bounds that does not see what a run cost: {total.published:.3f}")


def _score(value: float | None) -> str:
    return "—" if value is None else f"{value:.3f}"


COMMANDS: dict[str, typer.Typer] = {"preferences": app}
