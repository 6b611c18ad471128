"""The price tables at hand: those that ship, the user's own files beside them, and what either replaced.

A table is one TOML file. Tables that were replaced stay under `old/`, so that a run can be priced
again with the figures of its day: `vendor@2026-11-03` names that table of that date.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from functools import lru_cache, reduce
from itertools import count
from pathlib import Path
from typing import Any

import tomlkit

from orchestra_lib.codec import from_data, to_data
from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.paths import DATA
from orchestra_lib.pricing import Price, PriceTable

SHIPPED = DATA / "prices"
"""The tables that ship."""

_OWN_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_OWN = "# A table of your own; Tools & prices and any editor may change it.\n\n"
_MADE = "# Made by `orchestra prices update`: rows of your own belong into a table of another name.\n\n"


def load_tables(home: Path) -> dict[str, PriceTable]:
    """Every current table by name; a user's file replaces a shipped one of the same name.

    Raises `BadInput` naming the file and the field when a table cannot be read.
    """
    return _named(SHIPPED.glob("*.toml")) | _named((home / "prices").glob("*.toml"))


def _named(files: Iterable[Path]) -> dict[str, PriceTable]:
    return {table.name: table for table in map(load_table, sorted(files))}


def load_old_tables(home: Path) -> dict[str, PriceTable]:
    """Every table that was replaced, by `name@date`."""
    files = [*sorted(SHIPPED.glob("old/*.toml")), *sorted((home / "prices").glob("old/*.toml"))]
    return {f"{table.name}@{table.dated}": table for table in map(load_table, files)}


def find_table(home: Path, name: str) -> PriceTable:
    """A current table by its name, one of a date by `name@date`, or several as one by `first+second`.

    Raises `BadInput` naming what there is.
    """
    first, *more = (_find_one(home, part) for part in name.split("+"))
    return reduce(_beside, more, first)


def _find_one(home: Path, name: str) -> PriceTable:
    own = _named((home / "prices").glob("*.toml"))
    shipped = {file.stem: file for file in SHIPPED.glob("*.toml")}
    if name in own or name in shipped:
        return own.get(name) or load_table(shipped[name])
    current = load_tables(home)
    dated = {f"{table.name}@{table.dated}": table for table in current.values()} | load_old_tables(home)
    if name in dated:
        return dated[name]
    raise BadInput(f"there is no price table {name!r}; the tables are {', '.join(sorted([*current, *dated]))}")


def _beside(first: PriceTable, second: PriceTable) -> PriceTable:
    """Both tables as one, for a run with several providers; the first decides where both know a name."""
    known = {*first.prices, *first.aliases}
    rows = {row: price for row, price in second.prices.items() if row not in known}
    aliases = {alias: row for alias, row in second.aliases.items() if alias not in known and row in rows}
    return PriceTable(
        name=f"{first.name}+{second.name}",
        dated=min(first.dated, second.dated),
        source=f"{first.source}; {second.source}",
        nominal=first.nominal and second.nominal,
        historic=first.historic and second.historic,
        prices={**first.prices, **rows},
        aliases={**first.aliases, **aliases},
        rules=(*first.rules, *(rule for rule in second.rules if rule.row in rows)),
        changes={**first.changes, **{row: periods for row, periods in second.changes.items() if row in rows}},
    )


def own_rows() -> dict[str, PriceTable]:
    """Our own dated rows for the tables that are made, where genai-prices knows nothing."""
    return _named(SHIPPED.glob("sources/*.toml"))


def load_table(file: Path) -> PriceTable:
    """Read one TOML file into a table. Raises `BadInput` naming the file and the field."""
    try:
        stat = file.stat()
        return _load(file, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise BadInput(f"price table {file} cannot be read: {error.strerror}") from None


@lru_cache(maxsize=64)
def _load(file: Path, _mtime_ns: int, _size: int) -> PriceTable:
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"price table {file}: {error}") from None
    table = from_data(data, PriceTable, where=f"price table {file}")
    for problem in _problems(table):
        raise BadInput(f"price table {file}: {problem}")
    return table


def _problems(table: PriceTable) -> Iterator[str]:
    for alias, row in table.aliases.items():
        if row not in table.prices:
            yield f"the alias {alias!r} leads to {row!r}, which is no row"
        if alias in table.prices:
            yield f"{alias!r} is a row and an alias; keep one"
    for rule in table.rules:
        if rule.row not in table.prices:
            yield f"a rule leads to {rule.row!r}, which is no row"
        if not _is_pattern(rule.pattern):
            yield f"the rule {rule.pattern!r} is no regular expression"


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def copy_table(home: Path, source: str, name: str, today: date) -> PriceTable:
    """A table of the user's own, begun as a copy of another. Raises `BadInput` for a name that is bad or taken."""
    if not _OWN_NAME.fullmatch(name):
        raise BadInput(f"name = {name[:80]!r}; a table's name has 1 to 40 small letters, digits and dashes")
    if name in load_tables(home):
        raise BadInput(f"there is a price table {name!r} already; choose another name")
    copied = find_table(home, source)
    table = replace(copied, name=name, dated=today, source=f"copied from {source} of {copied.dated}", historic=False)
    save_table(table, home / "prices", heading=_OWN)
    return table


def set_rows(home: Path, name: str, rows: Mapping[str, Price | None], today: date) -> PriceTable:
    """Change rows of a table of the user's own, None takes one out; it is dated today then.

    Raises `BadInput` for a table that ships, which is only read, and for rows that make no sense.
    """
    own = _named((home / "prices").glob("*.toml"))
    if name not in own:
        raise BadInput(f"{name!r} is no table of your own; copy it under another name and change the copy")
    table = own[name]
    kept = {row: price for row, price in (dict(table.prices) | dict(rows)).items() if price is not None}
    changed = replace(
        table,
        dated=today,
        prices=kept,
        aliases={alias: row for alias, row in table.aliases.items() if row in kept and alias not in kept},
        rules=tuple(rule for rule in table.rules if rule.row in kept),
        changes={row: periods for row, periods in table.changes.items() if row in kept and row not in rows},
    )
    for problem in _problems(changed):
        raise BadInput(f"price table {name}: {problem}")
    save_table(changed, home / "prices", heading=_OWN)
    return changed


def own_tables(home: Path) -> frozenset[str]:
    """The names of the tables that the user may change."""
    return frozenset(_named((home / "prices").glob("*.toml")))


def save_table(table: PriceTable, folder: Path, *, heading: str = _MADE) -> Path | None:
    """Write a table into a folder; the file it replaces goes to `old/`. None when it stands there already.

    Raises `StoreFault` when it cannot be written; what stood there stands then.
    """
    file = folder / f"{table.name}.toml"
    former = load_table(file) if file.exists() else None
    if former == table:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        new = folder / f".{table.name}.new"
        new.write_text(dump_table(table, heading), "utf-8")
        if former is not None:
            _keep(file, former)
        new.replace(file)
    except OSError as error:
        raise StoreFault(f"the price table {file} could not be written: {error.strerror}") from None
    return file


def _keep(file: Path, former: PriceTable) -> None:
    old = file.parent / "old"
    old.mkdir(exist_ok=True)
    names = (f"{former.name}-{former.dated}{suffix}.toml" for suffix in _suffixes())
    file.replace(next(old / name for name in names if not (old / name).exists()))


def _suffixes() -> Iterator[str]:
    yield ""
    yield from (f"-{number}" for number in count(2))


def dump_table(table: PriceTable, heading: str = _MADE) -> str:
    """A table as TOML, without what is not set."""
    return heading + tomlkit.dumps(_without_unset(to_data(table)))


def _without_unset(data: Any) -> Any:
    """Plain data without what is None, False or empty, and with days as days."""
    if isinstance(data, list):
        return [_without_unset(value) for value in data]
    if not isinstance(data, dict):
        return data
    kept = {key: _without_unset(value) for key, value in data.items() if value is not None and value is not False}
    days = {key: date.fromisoformat(kept[key]) for key in ("dated", "since") if isinstance(kept.get(key), str)}
    return {key: value for key, value in (kept | days).items() if value not in ([], {})}
