"""What is wrong with price tables: figures that moved, tables that grew old, models that nobody prices."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from datetime import date

from orchestra_lib.pricing import Price, PriceTable
from orchestra_lib.record import record

STALE_DAYS = 60
"""A table older than this is reported; makers changed some price about every month of 2026."""


@record
class Change:
    """One row of a table that came, went or moved; `before` and `after` are None where there is no row."""

    table: str
    row: str
    before: Price | None
    after: Price | None


@record
class Finding:
    """Something to look at. `kind`: `differs` from genai-prices, `stale`, or `unpriced`."""

    kind: str
    table: str | None
    name: str
    detail: str


def changes(before: PriceTable | None, after: PriceTable) -> tuple[Change, ...]:
    """The rows whose figures are not the same in two tables, by name; sources and remarks are no figures."""
    old = before.prices if before else {}
    rows = sorted({*old, *after.prices})
    moved = [Change(table=after.name, row=row, before=old.get(row), after=after.prices.get(row)) for row in rows]
    return tuple(change for change in moved if figures(change.before) != figures(change.after))


def figures(price: Price | None) -> tuple[object, ...] | None:
    """The dollars of a price and nothing else."""
    if price is None:
        return None
    return (
        price.input_usd_per_mtok, price.output_usd_per_mtok, price.cached_usd_per_mtok,
        price.cache_write_usd_per_mtok, price.call_usd, price.second_usd, price.tiers,
    )  # fmt: skip


def differing(tables: Iterable[PriceTable], quoted: Mapping[str, PriceTable], day: date) -> Iterator[Finding]:
    """Rows that are not what genai-prices says for the day.

    A table that is made is compared row by row with what would be made now; any other with the
    makers' own prices where they know its names. Nominal and historic tables differ on purpose.
    """
    for table in tables:
        if table.nominal or table.historic:
            continue
        now = table.at(day)
        if table.name in quoted:
            moved: Iterable[Change] = changes(now, quoted[table.name].at(day))
        else:
            quotes = {row: quoted["vendor"].at(day).find(row) for row in table.prices}
            moved = [
                Change(table=table.name, row=row, before=now.prices[row], after=q) for row, q in quotes.items() if q
            ]
        for change in moved:
            if figures(change.before) != figures(change.after):
                detail = f"{words(change.before)} here, {words(change.after)} in genai-prices"
                yield Finding(kind="differs", table=table.name, name=change.row, detail=detail)


def stale(tables: Iterable[PriceTable], today: date, days: int = STALE_DAYS) -> Iterator[Finding]:
    """Tables that are more than so many days old; historic ones stay as they are."""
    for table in tables:
        age = (today - table.dated).days
        if age > days and not table.historic:
            yield Finding(
                kind="stale", table=table.name, name=table.name, detail=f"dated {table.dated}, {age} days ago"
            )


def unpriced(names: Iterable[str], tables: Iterable[PriceTable]) -> Iterator[Finding]:
    """Names in use that no table prices."""
    known = tuple(tables)
    for name in sorted(set(names)):
        if not any(table.find(name) for table in known):
            close = near(name, known)
            hint = f"; near: {', '.join(close)}" if close else ""
            yield Finding(kind="unpriced", table=None, name=name, detail=f"no table has a price for it{hint}")


def near(name: str, tables: Iterable[PriceTable], count: int = 3) -> list[str]:
    """Names in the tables that look like this one; for a person to choose from, never to price by."""
    known = {known.lower(): known for table in tables for known in (*table.prices, *table.aliases)}
    last = {known.rpartition("/")[2]: name for known, name in known.items()}
    close = difflib.get_close_matches(name.lower(), known, n=count) or difflib.get_close_matches(
        name.lower().rpartition("/")[2], last, n=count
    )
    return [known.get(hit) or last[hit] for hit in close]


def words(price: Price | None) -> str:
    """The dollars of a price for a person to read."""
    if price is None:
        return "no price"
    parts = [
        (price.input_usd_per_mtok, "in"), (price.output_usd_per_mtok, "out"), (price.cached_usd_per_mtok, "cached"),
        (price.cache_write_usd_per_mtok, "stored"),
    ]  # fmt: skip
    tokens = ", ".join(f"${amount:g} {what}" for amount, what in parts if amount is not None)
    rest = [(price.call_usd, "a call"), (price.second_usd, "a second")]
    said = [f"{tokens} per million tokens"] if tokens else []
    said += [f"${amount:g} {what}" for amount, what in rest if amount is not None]
    said += [
        f"above {tier.above_input_tokens:,} ${tier.input_usd_per_mtok:g} in, ${tier.output_usd_per_mtok:g} out"
        for tier in price.tiers
    ]
    return "; ".join(said)
