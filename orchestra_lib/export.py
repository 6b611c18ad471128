"""Stored trajectories as files for other programs: one JSON object a line, or a table."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from io import BytesIO, RawIOBase, StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from orchestra_lib import chat
from orchestra_lib.codec import dumps
from orchestra_lib.protocols import Situation
from orchestra_lib.report import report
from orchestra_lib.trajectory import Trajectory


class ExportFormat(StrEnum):
    """What `write` can make."""

    JSONL = "jsonl"
    """The whole report of a trajectory a line."""
    MESSAGES = "messages"
    """OpenAI's fine-tuning form: `messages` and `tools`, calls included."""
    CSV = "csv"
    PARQUET = "parquet"


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
}
"""The columns of a table, typed once, so that no file's content decides its schema. Unknown is null."""


def write(trajectories: Iterable[Trajectory], file: Path, form: ExportFormat) -> int:
    """Write them to a new file, which appears only when it is whole; returns how many."""
    part, count = file.with_name(file.name + ".part"), 0

    def counted() -> Iterator[Trajectory]:
        nonlocal count
        for count, trajectory in enumerate(trajectories, start=1):  # noqa: B007  # the last number is what is wanted
            yield trajectory

    try:
        with part.open("wb") as out:
            out.writelines(stream(counted(), form))
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return count


def stream(trajectories: Iterable[Trajectory], form: ExportFormat) -> Iterator[bytes]:
    """The content of such a file, piece by piece as the trajectories come."""
    if form is ExportFormat.PARQUET:
        yield from _parquet(trajectories)
    elif form is ExportFormat.CSV:
        yield from _csv(trajectories)
    else:
        make = messages if form is ExportFormat.MESSAGES else report
        yield from ((dumps(make(trajectory)) + "\n").encode() for trajectory in trajectories)


def answer_bytes(columns: Sequence[str], rows: Sequence[Sequence[Any]], form: str) -> bytes:
    """The result of a query as a CSV or a Parquet file. A column that no one type fits becomes text."""
    if form == "csv":
        text = StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows([_inert(value) for value in row] for row in rows)
        return text.getvalue().encode("utf-8", "replace")
    names = [name if name not in columns[:place] else f"{name}_{place}" for place, name in enumerate(columns)]
    table = pa.table([_column([row[place] for row in rows]) for place in range(len(columns))], names=names)
    sink = BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def _column(values: Sequence[Any]) -> Any:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, UnicodeEncodeError):
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def messages(trajectory: Trajectory) -> dict[str, Any]:
    """One conversation of protocol `chat` with its tools, ending with the answer when there is one."""
    setting = trajectory.setting
    last = trajectory.turns[-1].generation if trajectory.turns else None
    answered = last is not None and last.answer is not None
    turns = trajectory.turns[:-1] if answered else trajectory.turns
    situation = Situation(setting=setting, turns=turns, spent_usd=None, elapsed_s=0.0)
    said = list(chat.messages(situation, chat.CallStyle.NATIVE))
    if trajectory.answer is not None:
        said.append({"role": "assistant", "content": trajectory.answer})
    return {"messages": said, "tools": list(chat.openai_tools(setting)), "id": trajectory.id}


def _csv(trajectories: Iterable[Trajectory]) -> Iterator[bytes]:
    text = StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    for trajectory in trajectories:
        writer.writerow({name: _inert(value) for name, value in _row(trajectory).items()})
        yield _drained(text).encode()
    yield _drained(text).encode()


def _drained(text: StringIO) -> str:
    written = text.getvalue()
    text.seek(0)
    text.truncate()
    return written


def _inert(value: Any) -> Any:
    """Spreadsheets run a cell that begins like a formula: an apostrophe keeps it text."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def _parquet(trajectories: Iterable[Trajectory]) -> Iterator[bytes]:
    schema, sink = pa.schema(list(COLUMNS.items())), _Sink()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for rows in _batches(map(_row, trajectories)):
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
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


def _batches(rows: Iterable[dict[str, Any]], size: int = 1000) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _row(trajectory: Trajectory) -> dict[str, Any]:
    flat = report(trajectory)
    derived = {
        "turns": len(flat["turns"]),
        "calls": len(flat["calls"]),
        "price_table": flat["prices"]["table"],
        "prices_dated": flat["prices"]["dated"],
        "nominal": flat["prices"]["nominal"],
        "preference": dumps(flat["preference"]),
    }
    return {name: derived.get(name, flat.get(name)) for name in COLUMNS}
