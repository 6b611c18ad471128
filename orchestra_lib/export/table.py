"""A table with a row per trajectory, as CSV or Parquet; and the answer of a query as either."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO, RawIOBase, StringIO
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from orchestra_lib.codec import dumps
from orchestra_lib.report import report
from orchestra_lib.trajectory import Trajectory

COLUMNS: Mapping[str, pa.DataType] = {
    "id": pa.string(),
    "started_at": pa.string(),
    "task": pa.string(),
    "orchestrator": pa.string(),
    "protocol": pa.string(),
    "status": pa.string(),
    "outcome": pa.bool_(),
    "answer": pa.string(),
    "turns": pa.int64(),
    "calls": pa.int64(),
    "cost_usd": pa.float64(),
    "known_usd": pa.float64(),
    "latency_s": pa.float64(),
    "input_tokens": pa.int64(),
    "output_tokens": pa.int64(),
    "price_table": pa.string(),
    "prices_dated": pa.string(),
    "nominal": pa.bool_(),
    "simulated": pa.bool_(),
    "preference": pa.string(),
    "sentence": pa.string(),
    "group": pa.string(),
    "origin": pa.string(),
}
"""The columns of a table, typed once, so that no file's content decides its schema. Unknown is null."""


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""How a formula begins, also in the full width of East Asian keyboards, which some spreadsheets take for the same."""


def answer_bytes(columns: Sequence[str], rows: Sequence[Sequence[Any]], form: str) -> bytes:
    """The result of a query as a CSV or a Parquet file. A column that no one type fits becomes text."""
    if form == "csv":
        return answer_csv(columns, rows).encode("utf-8", "replace")
    names = [name if name not in columns[:place] else f"{name}_{place}" for place, name in enumerate(columns)]
    table = pa.table([_column([row[place] for row in rows]) for place in range(len(columns))], names=names)
    sink = BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def answer_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]], end: str = "\r\n") -> str:
    """The result of a query as CSV, with nothing in it that a spreadsheet would run; `end` closes a line."""
    text = StringIO(newline="")
    csv.writer(text, lineterminator=end).writerows([_inert(cell) for cell in line] for line in (columns, *rows))
    return text.getvalue()


def _column(values: Sequence[Any]) -> Any:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, UnicodeEncodeError):
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def csv_rows(trajectories: Iterable[Trajectory]) -> Iterator[bytes]:
    """A CSV file, a row per trajectory, piece by piece."""
    text = StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    for trajectory in trajectories:
        writer.writerow({name: _inert(value) for name, value in row(trajectory).items()})
        yield _drained(text).encode()
    yield _drained(text).encode()


def _drained(text: StringIO) -> str:
    written = text.getvalue()
    text.seek(0)
    text.truncate()
    return written


def _inert(value: Any) -> Any:
    """Spreadsheets run a cell that begins like a formula: an apostrophe keeps it text."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def parquet(trajectories: Iterable[Trajectory]) -> Iterator[bytes]:
    """A Parquet file, a row per trajectory, piece by piece."""
    return parquet_bytes(map(row, trajectories), pa.schema(list(COLUMNS.items())))


def parquet_bytes(rows: Iterable[Mapping[str, Any]], schema: Any, *, batch: int = 1000) -> Iterator[bytes]:
    """A Parquet file of these rows under this schema, `batch` rows a group, piece by piece."""
    sink = _Sink()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for group in _batches(rows, batch):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
            yield sink.taken()
    yield sink.taken()


class _Sink(RawIOBase):
    """A file that is only written to, and hands over what was written since the last time."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._place = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._place += len(data)
        return len(data)

    def tell(self) -> int:
        return self._place

    def taken(self) -> bytes:
        data, self._parts = b"".join(self._parts), []
        return data


def _batches(rows: Iterable[Mapping[str, Any]], size: int) -> Iterator[list[dict[str, Any]]]:
    left = iter(rows)
    while batch := [dict(row) for row in islice(left, size)]:
        yield batch


def row(trajectory: Trajectory) -> dict[str, Any]:
    """The values of `COLUMNS` for one trajectory."""
    flat = report(trajectory)
    derived = {
        "turns": len(flat["turns"]),
        "calls": len(flat["calls"]),
        "price_table": flat["prices"]["table"],
        "prices_dated": flat["prices"]["dated"],
        "nominal": flat["prices"]["nominal"],
        "preference": dumps(flat["preference"]),
        "group": trajectory.setting.group,
        "origin": trajectory.setting.origin,
    }
    return {name: derived.get(name, flat.get(name)) for name in COLUMNS}
