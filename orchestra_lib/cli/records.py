"""Finding runs again, and handing them on: list, show, query, export, import, rebuild."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from orchestra_lib.cli.options import (
    Called,
    Conductor,
    Group,
    Json,
    Status,
    StorePlace,
    Tag,
    Text,
    Training,
    TrainingRun,
    TrainingStep,
    opened,
)
from orchestra_lib.cli.terminal import (
    call_time,
    dollars,
    escaped,
    note,
    one_line,
    print_json,
    print_table,
    printable,
    seconds,
)
from orchestra_lib.codec import to_data
from orchestra_lib.configuration import order_of, to_toml
from orchestra_lib.errors import BadInput
from orchestra_lib.export import ExportFormat, answer_csv, write
from orchestra_lib.importing import ImportFormat, import_file
from orchestra_lib.paths import home
from orchestra_lib.report import report
from orchestra_lib.store.journal import Journal
from orchestra_lib.store.partition_writing import write_partitions
from orchestra_lib.store.queries import StoreQueries
from orchestra_lib.store.store import Store
from orchestra_lib.store.summary import Filter, Summary


def list_runs(
    text: Text = None,
    orchestrator: Conductor = None,
    tool: Called = None,
    status: Status = None,
    group: Group = None,
    tag: Tag = None,
    training: Training = False,
    training_run: TrainingRun = None,
    training_step: TrainingStep = None,
    limit: Annotated[int, typer.Option(help="Runs at most.")] = 20,
    store: StorePlace = None,
    json: Json = False,
) -> None:
    """List the latest runs."""
    named = Filter(text=text, orchestrator=orchestrator, tool=tool, status=status, group=group, tag=tag)
    wanted = narrowed(named, training, training_run, training_step)
    with opened(store) as there:
        found = there.list(wanted, limit=limit)
        hidden = 0 if wanted.training else there.count(replace(wanted, training=True))
    if hidden:
        note(f"{hidden:,} rollouts of training are left out; --training lists them")
    if json:
        print_json([to_data(summary) for summary in found])
        return
    head = ("id", "status", "orchestrator", "calls", "cost", "time", "task")
    print_table(head, [_line(summary) for summary in found])


def narrowed(wanted: Filter, training: bool, run: str | None, step: int | None) -> Filter:
    """A filter that leaves rollouts of training out, or lets only those through that were asked for."""
    asked = training or run is not None or step is not None
    return replace(wanted, training=asked, training_run=run, training_step=step)


def _line(summary: Summary) -> list[str]:
    cost = dollars(summary.cost_usd) + (" nominal" if summary.nominal and summary.cost_usd else "")
    return [
        summary.id,
        summary.status,
        summary.orchestrator,
        str(summary.calls),
        cost,
        seconds(summary.latency_s),
        one_line(summary.task, 60),
    ]


def show(
    run_id: Annotated[str, typer.Argument(help="A run's id, as `orchestra list` prints it.")],
    json: Annotated[bool, typer.Option("--json", help="Print the whole trajectory as JSON.")] = False,
    config: Annotated[bool, typer.Option("--config", help="Print the TOML that starts the same run again.")] = False,
    store: StorePlace = None,
) -> None:
    """Print one trajectory."""
    with opened(store) as there:
        trajectory = there.get(run_id)
    if config:
        print(escaped(to_toml(order_of(trajectory.setting))))
        return
    data = report(trajectory)
    if json:
        print_json(data)
        return
    print(printable(f"{data['task']}\n{data['orchestrator']} · {data['status']} · {data['started_at']} · {run_id}"))
    print(printable(f"{dollars(data['cost_usd'])} · {seconds(data['latency_s'])} · {data['sentence']}"))
    for call, placed in zip(data["calls"], trajectory.calls, strict=True):
        arguments = call["arguments"] if call["arguments"] is not None else call["arguments_text"]
        cost, time = dollars(call["cost_usd"]), call_time(placed, trajectory.setting)
        print(f"\n{call['turn']}  {printable(call['tool'])} · {call['status']} · {time} · {cost}")
        print(printable(f"   {arguments}"))
        print(printable("   " + (call["observation"] or "").replace("\n", "\n   ")))
    for fault in data["faults"]:
        print(printable(f"\nfault at {fault['where']} ({fault['kind']}): {fault['message']}"))
    print(f"\n{printable(data['answer'] or 'no answer')}")


def query(
    sql: Annotated[str, typer.Argument(help="One SELECT; tables: trajectories, turns, calls, attempts.")],
    json: Annotated[bool, typer.Option("--json", help="Rows as JSON objects.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Rows as CSV, lines ended by LF.")] = False,
    limit: Annotated[int, typer.Option(help="Rows at most.")] = 1000,
    store: StorePlace = None,
) -> None:
    """Ask the stored trajectories in SQL; only reading is possible."""
    with opened(store) as there:
        result = there.query(sql, max_rows=limit)
    if json:
        print_json([dict(zip(result.columns, row, strict=True)) for row in result.rows])
    elif as_csv:
        print(answer_csv(result.columns, result.rows, end="\n"), end="")
    else:
        rows = [["—" if cell is None else one_line(str(cell), 80) for cell in row] for row in result.rows]
        print_table(result.columns, rows)
    if result.cut:
        note(f"only the first {limit:,} rows; raise --limit for more")


def export(
    out: Annotated[
        str | None,
        typer.Argument(help="The file to write; a new folder for hf; a folder or URL for partitions; none for otlp."),
    ] = None,
    form: Annotated[ExportFormat, typer.Option("--format", help="What to write.")] = ExportFormat.JSONL,
    text: Text = None,
    orchestrator: Conductor = None,
    tool: Called = None,
    status: Status = None,
    group: Group = None,
    tag: Tag = None,
    training: Training = False,
    training_run: TrainingRun = None,
    training_step: TrainingStep = None,
    endpoint: Annotated[str | None, typer.Option(help="otlp: the collector; else OTEL_EXPORTER_OTLP_ENDPOINT.")] = None,
    content: Annotated[bool, typer.Option("--content", help="otlp: what was said and returned, too.")] = False,
    store: StorePlace = None,
) -> None:
    """Write trajectories to a file, to a folder (hf, partitions), or send their spans to a collector (otlp)."""
    named = Filter(text=text, orchestrator=orchestrator, tool=tool, status=status, group=group, tag=tag)
    wanted = narrowed(named, training, training_run, training_step)
    if form is not ExportFormat.OTLP and (endpoint is not None or content):
        raise BadInput("--endpoint and --content are for --format otlp")
    if form is not ExportFormat.OTLP and out is None:
        raise BadInput(f"name the file to write: orchestra export runs.{form} --format {form}")
    if form is ExportFormat.OTLP and out is not None:
        raise BadInput(f"--format otlp writes no file, but {out} is named; leave it out, or say --endpoint URL")
    with opened(store) as there:
        if out is None:
            _send(there, wanted, endpoint, content)
        else:
            _write(there, wanted, out, form)


def _write(store: StoreQueries, wanted: Filter, out: str, form: ExportFormat) -> None:
    try:
        if form is ExportFormat.PARTITIONS:
            count = write_partitions(store, wanted, out)
        else:
            count = write(store.each(wanted), Path(out), form)
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror}") from None
    note(f"{count:,} trajectories to {out}")


def _send(store: StoreQueries, wanted: Filter, endpoint: str | None, content: bool) -> None:
    from orchestra_lib.export.otlp import send  # OpenTelemetry takes its time to load

    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # what it would say is in our one line
    sent = send(store.each(wanted), endpoint=endpoint, content=content)
    left_out = f"; {sent.running:,} still running were left out" if sent.running else ""
    note(f"{sent.spans:,} spans of {sent.runs:,} trajectories sent and taken{left_out}")


def import_runs(
    file: Annotated[Path, typer.Argument(help="JSONL of conversations, or a log of inspect_ai (.eval, .json).")],
    form: Annotated[ImportFormat, typer.Option("--format", help="What the file is.")] = ImportFormat.AUTO,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Import the good rows of a file with bad ones.")] = False,
    json: Json = False,
) -> None:
    """Take in trajectories that were made elsewhere; what was imported once is not imported again."""
    imported = import_file(file, Journal(home()), form=form, skip_bad=skip_bad)
    if json:
        print_json(to_data(imported))
    else:
        print(f"{imported.new:,} new, {imported.known:,} known already, {imported.bad:,} bad")
    for problem in imported.problems:
        note(problem)
    if imported.bad > len(imported.problems):
        note(f"and {imported.bad - len(imported.problems):,} more bad ones")
    if imported.bad and not imported.new + imported.known:
        raise typer.Exit(1)


def rebuild(json: Json = False) -> None:
    """Fill the query store anew from the journals, which are the truth."""
    with Store.open(home()) as store:
        if not store.owner:
            raise BadInput("another process (the app?) owns the store; stop it, then rebuild")
        rebuilt = store.rebuild()
    if json:
        print_json(to_data(rebuilt))
    else:
        print(f"{rebuilt.runs:,} runs")
    for bad in rebuilt.unreadable:
        note(f"{bad.run_id}: {bad.reason}")
    if rebuilt.unreadable:
        raise typer.Exit(1)


COMMANDS: dict[str, Callable[..., None]] = {
    "list": list_runs,
    "show": show,
    "query": query,
    "export": export,
    "import": import_runs,
    "rebuild": rebuild,
}
