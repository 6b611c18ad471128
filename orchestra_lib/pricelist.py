"""The price tables at hand: those that ship, and the user's own files beside them."""

import tomllib
from pathlib import Path

from orchestra_lib.codec import from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.paths import DATA
from orchestra_lib.pricing import PriceTable


def load_tables(home: Path) -> dict[str, PriceTable]:
    """Every table by name; a user's file replaces a shipped one of the same name.

    Raises `BadInput` naming the file and the field when a table cannot be read.
    """
    files = [*sorted((DATA / "prices").glob("*.toml")), *sorted((home / "prices").glob("*.toml"))]
    tables = map(load_table, files)
    return {table.name: table for table in tables}


def load_table(file: Path) -> PriceTable:
    """Read one TOML file into a table."""
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"price table {file}: {error}") from None
    return from_data(data, PriceTable, where=f"price table {file}")
