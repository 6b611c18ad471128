"""Stored trajectories as files for other programs: one JSON object a line, or a table."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, TextIO, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from orchestra_lib import chat
from orchestra_lib.codec import dumps
from orchestra_lib.protocols import Situation
from orchestra_lib.report import report
from orchestra_lib.trajectory import Trajectory

T = TypeVar("T")


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
    part = file.with_name(file.name + ".part")
    try:
        if form is ExportFormat.PARQUET:
            count = _write_parquet(trajectories, part)
        else:
            make = _write_csv if form is ExportFormat.CSV else partial(_write_lines, form=form)
            with part.open("w", encoding="utf-8", newline="") as out:
                count = make(trajectories, out)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return count


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


def _write_lines(trajectories: Iterable[Trajectory], out: TextIO, form: ExportFormat) -> int:
    make = messages if form is ExportFormat.MESSAGES else report
    return _each(trajectories, lambda trajectory: out.write(dumps(make(trajectory)) + "\n"))


def _write_csv(trajectories: Iterable[Trajectory], out: TextIO) -> int:
    writer = csv.DictWriter(out, COLUMNS)
    writer.writeheader()
    rows = ({name: _inert(value) for name, value in _row(trajectory).items()} for trajectory in trajectories)
    return _each(rows, writer.writerow)


def _each(items: Iterable[T], use: Callable[[T], object]) -> int:
    count = 0
    for item in items:
        use(item)
        count += 1
    return count


def _inert(value: Any) -> Any:
    """Spreadsheets run a cell that begins like a formula: an apostrophe keeps it text."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def _write_parquet(trajectories: Iterable[Trajectory], part: Path) -> int:
    schema = pa.schema(list(COLUMNS.items()))
    count = 0
    with pq.ParquetWriter(part, schema, compression="zstd") as writer:
        for rows in _batches(map(_row, trajectories)):
            count += len(rows)
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    return count


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
        "preference": json.dumps(flat["preference"]),
    }
    return {name: derived.get(name, flat.get(name)) for name in COLUMNS}
