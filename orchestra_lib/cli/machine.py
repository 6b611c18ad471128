"""This machine: models and their weights, the search index, and whether everything works."""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from orchestra_lib.checkup.cluster import ray_at
from orchestra_lib.checkup.finding import Finding, State
from orchestra_lib.checkup.machine import machine
from orchestra_lib.checkup.servers import servers
from orchestra_lib.cli.options import Json
from orchestra_lib.cli.terminal import note, print_json, print_table
from orchestra_lib.codec import to_data
from orchestra_lib.model.endpoints import Endpoints
from orchestra_lib.paths import home
from orchestra_lib.toolkit.local_search import index_paths


def index(
    paths: Annotated[list[Path], typer.Argument(help="Folders, text files, or JSONL with title and text.")],
    json: Json = False,
) -> None:
    """Index folders or files for local_search, beside what ships."""
    report = index_paths(paths, home())
    if json:
        print_json(to_data(report))
        return
    print(f"{report.passages:,} passages from {report.files:,} files")
    for reason, count in report.skipped.items():
        note(f"left out {count:,} files: {reason}")
    for row in report.bad_rows:
        note(row)
    for path in report.gone:
        note(f"no longer there: {path}")


def doctor(
    endpoint: Annotated[
        list[str] | None, typer.Option(help="Also ask this one, by its name in `orchestra models`. Repeat it.")
    ] = None,
    calls: Annotated[
        bool, typer.Option("--calls/--no-calls", help="Ask servers of models for one tiny tool call each.")
    ] = True,
    ray_address: Annotated[
        str | None, typer.Option("--ray-address", help="Also join the Ray cluster at HOST:PORT, or auto.")
    ] = None,
    json: Json = False,
) -> None:
    """Check this machine, the models' servers on it and a cluster; exit code 1 when something fails."""
    found = asyncio.run(_findings(home(), endpoint or (), ray_address, calls=calls))
    if json:
        print_json([to_data(one) for one in found])
    else:
        rows = [(one.what, one.state, one.found + (f" -> {one.remedy}" if one.remedy else "")) for one in found]
        print_table(("check", "state", "found"), rows)
    if any(one.state is State.FAIL for one in found):
        raise typer.Exit(1)


async def _findings(folder: Path, named: Sequence[str], ray_address: str | None, *, calls: bool) -> list[Finding]:
    found = await asyncio.to_thread(lambda: list(machine(folder)))
    found += [one async for one in servers(Endpoints.load(folder, os.environ), named, calls=calls)]
    return found if ray_address is None else [*found, ray_at(ray_address)]


COMMANDS: dict[str, Callable[..., None]] = {"index": index, "doctor": doctor}
