"""Groups of stored runs: listed, shown, made, taken apart, and written as training pairs."""

from pathlib import Path
from typing import Annotated

import typer

from orchestra_lib import grouping
from orchestra_lib.cli.options import Json
from orchestra_lib.cli.terminal import OUTCOMES, dollars, note, one_line, print_json, print_table, printable, seconds
from orchestra_lib.codec import dumps, to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.export.trl import preference_pair
from orchestra_lib.paths import home
from orchestra_lib.preference import parse_preference
from orchestra_lib.pricelist import find_table
from orchestra_lib.store.store import Store

groups_app = typer.Typer(
    help="Groups of runs of one task, to compare: list, show, make, drop, pairs.", no_args_is_help=True
)


@groups_app.command("list")
def list_groups(json: Json = False) -> None:
    """List the groups, the one with the latest run first."""
    with Store.open(home()) as store:
        found = store.groups()
    if json:
        print_json([to_data(one) for one in found])
        return
    rows = [[one.name, str(one.runs), str(one.solved), str(one.ungraded), one_line(one.task, 60)] for one in found]
    print_table(("group", "runs", "solved", "ungraded", "task"), rows)


@groups_app.command("show")
def show_group(name: Annotated[str, typer.Argument(help="A group's name.")], json: Json = False) -> None:
    """List the runs of one group."""
    with Store.open(home()) as store:
        ids = store.members(name)
        if not ids:
            raise BadInput(f"there is no group {name!r}; `orchestra groups list` shows them")
        runs = [store.get(run_id) for run_id in ids]
    if json:
        print_json({"name": name, "runs": list(ids)})
        return
    rows = [
        [run.id, run.status, run.setting.orchestrator, dollars(run.bill().cost_usd), seconds(run.finished_s),
         OUTCOMES[run.outcome]]
        for run in runs
    ]  # fmt: skip
    print_table(("id", "status", "orchestrator", "cost", "time", "outcome"), rows)


@groups_app.command("make")
def make_group(
    name: Annotated[str, typer.Argument(help="The group's name; one that is there grows.")],
    run_ids: Annotated[list[str], typer.Argument(metavar="ID…", help="Runs of one task.")],
) -> None:
    """Make stored runs of one task a group, or add to one."""
    with Store.open(home()) as store:
        grouping.make(store, name, run_ids)
        print(f"{len(store.members(name))} runs in {printable(name)}")


@groups_app.command("drop")
def drop_from_group(
    name: Annotated[str, typer.Argument(help="The group's name.")],
    run_ids: Annotated[list[str], typer.Argument(metavar="ID…", help="Runs that were put into it by hand.")],
) -> None:
    """Take runs out of a group that somebody put them into; the runs stay."""
    with Store.open(home()) as store:
        store.group(name, run_ids, on=False)
        print(f"{len(store.members(name))} runs in {printable(name)}")


@groups_app.command("pairs")
def export_pairs(
    name: Annotated[str, typer.Argument(help="A group's name.")],
    out: Annotated[Path, typer.Argument(help="The JSONL file to write.")],
    prefer: Annotated[list[str] | None, typer.Option(help="Weigh all alike: NAME=WEIGHT. Repeat it.")] = None,
    prices: Annotated[str | None, typer.Option(help="Price the runs with this table.")] = None,
) -> None:
    """Write training pairs in TRL's preference form: of every two runs with other rewards the better and the worse."""
    preference = None if prefer is None else parse_preference(prefer)
    table = None if prices is None else find_table(home(), prices)
    with Store.open(home()) as store:
        runs = [store.get(run_id) for run_id in store.members(name)]
    if not runs:
        raise BadInput(f"there is no group {name!r}; `orchestra groups list` shows them")
    rows = [dumps(preference_pair(*pair)) for pair in grouping.pairs(runs, preference, table)]
    if not rows:
        raise BadInput(f"no two runs of {name!r} have different rewards; grade them, or weigh them with --prefer")
    try:
        out.write_text("".join(f"{row}\n" for row in rows), "utf-8")
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror}") from None
    note(f"{len(rows):,} pairs to {out}")


COMMANDS: dict[str, typer.Typer] = {"groups": groups_app}
