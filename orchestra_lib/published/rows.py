"""Rows of foreign files: JSONL, a JSON list, or a Parquet table, each with its place for a message."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from orchestra_lib.errors import BadInput, first_line
from orchestra_lib.record import record

_SHOWN = 5
"""So many bad rows are named in one message; the rest is counted."""


@record
class Row:
    """One row. `where` names the file and the line (or the row of a table), as a message does."""

    where: str
    data: Mapping[str, Any]


def read_rows(file: Path) -> tuple[Row, ...]:
    """Every row of a `.jsonl`, `.json` or `.parquet` file. Raises `BadInput`; then no row was read."""
    if file.suffix == ".parquet":
        with parquet_fault(file):
            rows = pq.read_table(file).to_pylist()
        return tuple(Row(where=f"{file}, row {at}", data=data) for at, data in enumerate(rows, 1))
    if file.suffix == ".json":
        return _json_rows(file)
    if file.suffix != ".jsonl":
        raise BadInput(f"{file}: rows are read from .jsonl, .json and .parquet; convert it to one of them")
    return _json_lines(file)


@contextmanager
def parquet_fault(file: Path) -> Iterator[None]:
    """What reading a Parquet file raises, as `BadInput` with the remedy."""
    try:
        yield
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror or 'it is no Parquet file'}") from None
    except (pa.ArrowException, ValueError, OverflowError) as error:  # also names and dates that Python cannot hold
        raise BadInput(f"{file} is no Parquet file ({first_line(error)}); download it again") from None


def read_text(file: Path) -> str:
    """A text file in UTF-8, with or without a mark at its start. Raises `BadInput`."""
    try:
        return file.read_text("utf-8-sig")
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{file} is no UTF-8 text ({error.reason} at byte {error.start}); convert it") from None


def read_json(file: Path) -> Any:
    """The value of a JSON file. Raises `BadInput`."""
    try:
        return _loads(read_text(file))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{file} is no JSON: {error}") from None


def refuse(problems: Iterable[str]) -> None:
    """Raise one `BadInput` for all that is wrong with a file's rows; nothing for no problem."""
    found = list(problems)
    if not found:
        return
    more = f"; and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
    raise BadInput(f"{'; '.join(found[:_SHOWN])}{more}. Correct or remove these rows; nothing was read")


def _json_rows(file: Path) -> tuple[Row, ...]:
    data = read_json(file)
    if not isinstance(data, list):
        raise BadInput(f"{file}: a list of objects was expected, not {type(data).__name__}")
    places = [f"{file}, row {at}" for at in range(1, len(data) + 1)]
    refuse(f"{where} is no object" for where, one in zip(places, data, strict=True) if not isinstance(one, dict))
    return tuple(Row(where=where, data=one) for where, one in zip(places, data, strict=True))


def _json_lines(file: Path) -> tuple[Row, ...]:
    rows: list[Row] = []
    refuse(_read_lines(file, rows))
    return tuple(rows)


def _read_lines(file: Path, rows: list[Row]) -> Iterator[str]:
    """Fill `rows`; yield what is wrong with the others."""
    # Only line feeds end a line: a text may hold any other separator of Unicode.
    for at, line in enumerate(read_text(file).split("\n"), 1):
        where = f"{file}, line {at}"
        if not line.strip():
            continue
        try:
            data = _loads(line)
        except (ValueError, RecursionError) as error:
            yield f"{where} is no JSON ({first_line(error)})"
            continue
        if isinstance(data, dict):
            rows.append(Row(where=where, data=data))
        else:
            yield f"{where} is no object but {type(data).__name__}"


def _loads(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
