"""Prices: which tables there are, what prices a name, made anew from genai-prices, and what is wrong with them."""

import os
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestra_lib import pricecheck
from orchestra_lib.cli.options import Json
from orchestra_lib.cli.terminal import dollars, note, one_line, print_json, print_table, printable, seconds
from orchestra_lib.codec import to_data
from orchestra_lib.ledger import repriced
from orchestra_lib.paths import home
from orchestra_lib.pricelist import find_table, load_old_tables, load_tables, own_rows, save_table
from orchestra_lib.pricing import Match, Price, PriceTable, Resolution
from orchestra_lib.report import report
from orchestra_lib.roster import Roster
from orchestra_lib.store.store import Store

Day = Annotated[
    datetime | None, typer.Option("--at", formats=["%Y-%m-%d"], help="Prices of this day; today (UTC) if left out.")
]

app = typer.Typer(help="Price tables and bills: show, resolve, update, check, bill.", no_args_is_help=True)


@app.command()
def show(
    table: Annotated[str | None, typer.Argument(help="A table, or one that was replaced: NAME@DATE.")] = None,
    at: Day = None,
    json: Json = False,
) -> None:
    """List the price tables, or the rows of one with the source of each figure (USD per million tokens)."""
    if table is None:
        _list(json)
        return
    found = find_table(home(), table).at(_day(at))
    if json:
        print_json(to_data(found))
        return
    kind = " · nominal: nobody is billed" if found.nominal else ""
    print(printable(f"{found.name} · dated {found.dated} · {len(found.prices)} rows{kind}\n{found.source}\n"))
    head = ("name", "in", "out", "cached", "call", "second", "since", "remarks", "source")
    print_table(head, [_line(name, price) for name, price in found.prices.items()])


def _list(json: bool) -> None:
    tables = {**load_tables(home()), **load_old_tables(home())}
    if json:
        print_json([{"name": name, **_summary(table)} for name, table in tables.items()])
        return
    rows = [(name, str(table.dated), str(len(table.prices)), table.source) for name, table in tables.items()]
    print_table(("table", "dated", "rows", "source"), rows)


def _summary(table: PriceTable) -> dict[str, Any]:
    return {
        "dated": table.dated.isoformat(),
        "source": table.source,
        "nominal": table.nominal,
        "historic": table.historic,
        "rows": len(table.prices),
        "aliases": len(table.aliases),
    }


def _line(name: str, price: Price) -> tuple[str, ...]:
    tokens = (price.input_usd_per_mtok, price.output_usd_per_mtok, price.cached_usd_per_mtok)
    amounts = (*tokens, price.call_usd, price.second_usd)
    tiers = [
        f"above {tier.above_input_tokens:,} tokens {tier.input_usd_per_mtok:g}/{tier.output_usd_per_mtok:g}"
        for tier in price.tiers
    ]
    remarks = "; ".join([*tiers, *([price.assumed] if price.assumed else [])])
    figures = ("—" if amount is None else f"{amount:g}" for amount in amounts)
    return (name, *figures, str(price.since or "—"), remarks or "—", price.source)


@app.command()
def resolve(
    model: Annotated[str, typer.Argument(help="The name of a model or tool, as an endpoint calls it.")],
    table: Annotated[str | None, typer.Option(help="Only this table.")] = None,
    at: Day = None,
    json: Json = False,
) -> None:
    """Say which row prices a name and why; exit code 1 when none does."""
    tables = [find_table(home(), table)] if table else list(load_tables(home()).values())
    found = [(each, each.at(_day(at)).resolve(model)) for each in tables]
    near = pricecheck.near(model, tables)
    priced = any(hit.price for _, hit in found)
    if json:
        print_json({"model": model, "priced": priced, "near": near, "tables": [_answer(*pair) for pair in found]})
    else:
        for each, hit in found:
            if hit.price:
                print(printable(f"{each.name} ({each.dated}): {_why(hit, hit.price)}"))
        for reason, by in (("no row, no alias and no rule", Match.UNKNOWN), ("several rules fit", Match.AMBIGUOUS)):
            if without := [each.name for each, hit in found if hit.by is by]:
                print(printable(f"unpriced in {', '.join(without)}: {reason}"))
        if not priced and near:
            print(printable(f"near, but not the same: {', '.join(near)}"))
    if not priced:
        raise typer.Exit(1)


def _answer(table: PriceTable, hit: Resolution) -> dict[str, Any]:
    return {"table": table.name, "dated": table.dated.isoformat(), "nominal": table.nominal, **to_data(hit)}


def _why(hit: Resolution, price: Price) -> str:
    how = {Match.ALIAS: f"an alias of {hit.row}", Match.RULE: f"{hit.row}, by the provider's rule {hit.rule}"}
    since = f", since {price.since}" if price.since else ""
    assumed = f"; assumed: {price.assumed}" if price.assumed else ""
    return f"{pricecheck.words(price)}{since} — {how.get(hit.by, 'its own row')} ({price.source}{assumed})"


@app.command()
def update(
    into: Annotated[
        Path | None, typer.Option(help="Folder to write to; `prices` in ORCHESTRA_HOME if left out.")
    ] = None,
    json: Json = False,
) -> None:
    """Make the tables anew from the installed genai-prices; what they replace is kept under old/."""
    from orchestra_lib.pricebook import left_out, tables  # half a second, which no other command should wait for

    for name, model, why in left_out():
        note(f"{name}: {model} is left out, {why}")
    current, folder = load_tables(home()), into or home() / "prices"
    report = []
    for name, made in tables(own_rows()).items():
        moved = pricecheck.changes(current.get(name), made)
        file = save_table(made, folder) if into or made != current.get(name) else None
        changes = [to_data(change) for change in moved]
        report.append({"table": name, "dated": made.dated.isoformat(), "file": file and str(file), "changes": changes})
        if not json:
            print(f"{name} ({made.dated}): {_outcome(len(moved), file)}")
            for change in moved:
                moves = f"{pricecheck.words(change.before)} → {pricecheck.words(change.after)}"
                print(printable(f"  {change.row}: {moves}"))
    if json:
        print_json(report)


def _outcome(moved: int, written: Path | None) -> str:
    if written is None:
        return "nothing to change"
    return f"{moved} prices changed, written to {written}" if moved else f"no price changed, refreshed in {written}"


@app.command()
def check(
    stale_days: Annotated[int, typer.Option(help="A table older than this is stale.")] = pricecheck.STALE_DAYS,
    today: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="The day to check for; today (UTC) if left out.")
    ] = None,
    json: Json = False,
) -> None:
    """Look for prices that moved, tables that grew old, and names in use without a price; exit code 1 for any."""
    from orchestra_lib.pricebook import tables

    day, known = _day(today), list(load_tables(home()).values())
    findings = [
        *pricecheck.differing(known, tables(own_rows()), day),
        *pricecheck.stale(known, day, stale_days),
        *pricecheck.unpriced(_names_in_use(home()), known),
    ]
    if json:
        print_json([to_data(finding) for finding in findings])
    elif findings:
        print_table(
            ("finding", "table", "name", "what"), [(f.kind, f.table or "—", f.name, f.detail) for f in findings]
        )
    else:
        note(f"{len(known)} tables, nothing to report")
    if findings:
        raise typer.Exit(1)


def _names_in_use(folder: Path) -> Iterator[str]:
    """What the tools that are on and the configured endpoint are billed as, and what stored runs were billed as."""
    for spec, off in Roster(folder).tools():
        yield from spec.priced_names if off is None else ()
    if model := os.environ.get("OPENAI_MODEL"):
        yield model
    with Store.open(folder) as store:
        found = store.query("SELECT DISTINCT priced_as FROM attempts WHERE billed", max_rows=10_000)
        yield from (str(row[0]) for row in found.rows)


def _day(given: datetime | None) -> date:
    return (given or datetime.now(UTC)).date()


@app.command()
def bill(
    run_id: Annotated[str, typer.Argument(help="A run's id, as `orchestra list` prints it.")],
    table: Annotated[str | None, typer.Option(help="Price it with this table, or NAME@DATE.")] = None,
    json: Json = False,
) -> None:
    """Print the bill of a run: every attempt with its price row, and what does not add up; also under another table."""
    with Store.open(home()) as store:
        trajectory = store.get(run_id)
    if table is not None:
        trajectory = repriced(trajectory, find_table(home(), table))
    data = report(trajectory)
    if json:
        print_json({key: data[key] for key in _BILL})
        return
    head = ("payee", "price row", "in", "cached", "out", "cost", "reported", "busy", "waited", "remarks")
    print_table(head, [_attempt(row) for row in data["ledger"]])
    share, prices = data["orchestrator_share"], data["prices"]
    part = "" if share["fraction"] is None else f" ({share['fraction']:.0%} the orchestrator)"
    nominal = ", nominal: nobody is billed" if prices["nominal"] else ""
    known = "" if data["cost_usd"] is not None else f", {dollars(data['known_usd'])} of it known"
    print(
        printable(f"\n{dollars(data['cost_usd'])}{known}{part} under {prices['table']} of {prices['dated']}{nominal}")
    )
    print(f"{seconds(data['latency_s'])} from start to end, the attempts together {seconds(data['busy_s'])}")
    if data["judge"]:
        print(f"judge, not part of the run: {dollars(data['judge']['cost_usd'])}")


_BILL = (
    "id", "prices", "ledger", "bill", "orchestrator_share", "judge", "cost_usd", "known_usd", "estimated",
    "input_tokens", "output_tokens", "latency_s", "busy_s", "queue_s", "backoff_s",
)  # fmt: skip
"""What of a report is the bill."""


def _attempt(row: dict[str, Any]) -> tuple[str, ...]:
    tokens = (
        "—" if row[key] is None else f"{row[key]:,}" for key in ("input_tokens", "cached_tokens", "output_tokens")
    )
    cost = dollars(row["cost_usd"]) if row["billed"] else "not billed"
    remarks = ", ".join([flag.replace("_", " ") for flag in row["flags"]] + ([row["error"]] if row["error"] else []))
    waited = row["queue_s"] + row["backoff_s"]
    return (
        row["payee"], row["row"] or f"{row['priced_as']}: none", *tokens, cost, dollars(row["reported_cost_usd"]),
        seconds(row["wall_s"]), seconds(waited) if waited else "—", one_line(remarks, 80) or "—",
    )  # fmt: skip


COMMANDS: dict[str, typer.Typer] = {"prices": app}
