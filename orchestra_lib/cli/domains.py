"""Domains: which there are, what one holds, what is wrong with one, and its records drawn anew from a seed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestra_lib.cli.options import Json
from orchestra_lib.cli.terminal import note, one_line, print_json, print_table, printable
from orchestra_lib.codec import to_data
from orchestra_lib.environment.census import Census, census
from orchestra_lib.environment.domain import DOMAINS, World, domain_names, load_domain, load_world
from orchestra_lib.environment.policy_text import policy_text
from orchestra_lib.environment.schema import Operation
from orchestra_lib.environment.validation import validate as problems_of
from orchestra_lib.errors import BadInput
from orchestra_lib.published.statistics import domain_statistics, known_kinds, task_statistics
from orchestra_lib.published.tau2 import load_tau2_domain
from orchestra_lib.synthesis.records import draw_records, read_plan, records_text

Folder = Annotated[Path, typer.Option(help="Another folder of domains; the shipped ones if left out.")]

app = typer.Typer(help="Domains: list, show, validate, generate, measure.", no_args_is_help=True)


@app.command("list")
def list_domains(folder: Folder = DOMAINS, json: Json = False) -> None:
    """List the domains with what they hold."""
    counted = [census(load_world(name, folder)) for name in domain_names(folder)]
    if json:
        print_json([to_data(one) for one in counted])
        return
    head = (
        "domain", "archetype", "split", "tables", "records", "tools r/w/g", "params", "words", "lines", "modal",
        "rules enforced/policy", "states", "look-alikes",
    )  # fmt: skip
    print_table(head, [_row(one) for one in counted])


def _row(one: Census) -> tuple[str, ...]:
    return (
        one.name, one.archetype, one.split, str(len(one.records)), f"{sum(one.records.values()):,}",
        f"{one.tools}: {one.reads}/{one.writes}/{one.generic}", f"{one.parameters:.1f}", f"{one.words:,}",
        str(one.lines), str(one.modals), f"{one.enforced}/{one.policy_only}", str(one.statuses), str(one.twins),
    )  # fmt: skip


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A domain, as `orchestra domains list` names it.")],
    policy: Annotated[bool, typer.Option("--policy", help="The policy as the orchestrator reads it.")] = False,
    records: Annotated[str | None, typer.Option(help="The records of this table.")] = None,
    folder: Folder = DOMAINS,
    json: Json = False,
) -> None:
    """Show a domain: its tables and operations, or its policy, or the records of a table."""
    world = load_world(name, folder)
    if policy:
        text = policy_text(world.domain)
        print_json({"name": name, "policy": text}) if json else print(printable(text), end="")
    elif records is not None:
        _show_records(world, records, json)
    elif json:
        print_json({"census": to_data(census(world)), "domain": to_data(world.domain)})
    else:
        _show(world)


def _show(world: World) -> None:
    domain = world.domain
    print(printable(f"{domain.title} · {domain.archetype} · {domain.split} · clock {domain.now} UTC"))
    print(printable(f"{domain.description}\n"))
    tables = [
        (table.name, str(len(world.records[table.name])), ", ".join(field.name for field in table.fields))
        for table in domain.tables
    ]
    print_table(("table", "records", "fields"), tables)
    print()
    print_table(("operation", "kind", "parameters", "rules", "what it does"), [_tool(one) for one in domain.operations])
    print()
    parameters = [
        (one.name, f"{one.value}{f' {one.unit}' if one.unit else ''}", _listed(one.choices), _listed(one.held_out))
        for one in domain.parameters
    ]
    print_table(("policy parameter", "value", "choices", "held out"), parameters)


def _tool(one: Operation) -> tuple[str, ...]:
    given = ", ".join(f"{part.name}{'?' if part.optional else ''}" for part in one.parameters)
    return (one.name, one.kind, given or "—", str(len(one.rules)), one_line(one.description, 90))


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values)) or "—"


def _show_records(world: World, table: str, json: bool) -> None:
    if table not in world.records:
        raise BadInput(f"{world.domain.name} has no table {table!r}; it has {', '.join(world.records)}")
    rows = world.records[table]
    if json:
        print_json(rows)
        return
    names = [field.name for field in world.domain.table(table).fields]
    print_table(names, [tuple(one_line(str(row.get(name, "—")), 40) for name in names) for row in rows.values()])


@app.command()
def validate(
    names: Annotated[list[str] | None, typer.Argument(help="All of the folder if left out.")] = None,
    folder: Folder = DOMAINS,
    json: Json = False,
) -> None:
    """Say all that makes a domain unfit, with file, path and remedy; exit 1 when anything does."""
    found = {name: problems_of(load_world(name, folder)) for name in names or domain_names(folder)}
    if json:
        print_json({name: [to_data(one) for one in problems] for name, problems in found.items()})
    else:
        for name, problems in found.items():
            for problem in problems:
                print(printable(f"{name}: {problem}"))
        wrong = sum(map(len, found.values()))
        note(f"{len(found)} domains, {wrong} problems" if wrong else f"{len(found)} domains, nothing wrong")
    if any(found.values()):
        raise typer.Exit(1)


@app.command()
def generate(
    name: Annotated[str, typer.Argument(help="A domain, as `orchestra domains list` names it.")],
    seed: Annotated[int | None, typer.Option(help="Another seed than that of generate.json.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write to this file; to stdout if left out.")] = None,
    folder: Folder = DOMAINS,
) -> None:
    """Draw a domain's records from its generate.json: with its own seed, byte for byte those of records.json."""
    domain = load_domain(name, folder)
    records = draw_records(domain, read_plan(folder / name), seed=seed)
    if wrong := problems_of(World(domain, records)):
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise BadInput(f"the drawn records are unfit: {wrong[0]}{more}; correct {folder / name / 'generate.json'}")
    text = records_text(records)
    if out is None:
        print(text, end="")
        return
    try:
        out.write_text(text, "utf-8")
    except OSError as error:
        raise BadInput(f"{out} cannot be written ({error.strerror}); name another file") from None
    note(f"{sum(map(len, records.values())):,} records of {name} in {out}")


@app.command()
def measure(
    folder: Annotated[Path, typer.Argument(help="Your copy of a domain in tau2's form: db, policy and tasks.")],
    json: Json = False,
) -> None:
    """Count a published domain and its tasks: the figures beside which `orchestra synth` puts ours."""
    found = load_tau2_domain(folder)
    domain, tasks = domain_statistics(found), task_statistics(found.tasks, known_kinds(found.name))
    if json:
        print_json({"domain": to_data(domain), "tasks": to_data(tasks)})
        return
    print_table(("domain", domain.name), _figures(to_data(domain), "tools", "kinds"))  # its tools are Python of tau2's
    print()
    print_table(("tasks", str(tasks.tasks)), _figures(to_data(tasks), "tasks"))


def _figures(data: Mapping[str, Any], *but: str) -> list[tuple[str, str]]:
    """A line for each count but these and the lists; what is unknown is a dash."""
    return [
        (name.replace("_", " "), "—" if one is None else f"{one:,.2f}" if isinstance(one, float) else f"{one:,}")
        for name, one in data.items()
        if name not in but and (one is None or isinstance(one, int | float))
    ]


COMMANDS: dict[str, typer.Typer] = {"domains": app}
