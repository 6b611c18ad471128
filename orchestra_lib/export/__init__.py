"""Stored trajectories as files for other programs: lines of JSON, tables, a dataset's folder; spans for a collector.

Everything streams: a file is written as the trajectories come, and appears only when it is whole.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from orchestra_lib.codec import dumps
from orchestra_lib.errors import BadInput
from orchestra_lib.export import dataset, table
from orchestra_lib.export.conversation import messages as messages
from orchestra_lib.export.conversation import sharegpt
from orchestra_lib.export.table import COLUMNS as COLUMNS
from orchestra_lib.export.table import answer_bytes as answer_bytes
from orchestra_lib.export.table import answer_csv as answer_csv
from orchestra_lib.export.trl import trl_row
from orchestra_lib.report import report
from orchestra_lib.trajectory import Trajectory


class ExportFormat(StrEnum):
    """What stored trajectories can be made into."""

    JSONL = "jsonl"
    """The whole report of a trajectory a line."""
    MESSAGES = "messages"
    """OpenAI's fine-tuning form: `messages` and `tools`, calls included."""
    SHAREGPT = "sharegpt"
    """`conversations` of human, gpt, function_call and observation."""
    TRL = "trl"
    """TRL's conversational prompt and completion, with what a reward is made of."""
    CSV = "csv"
    PARQUET = "parquet"
    HF = "hf"
    """A folder that `datasets.load_dataset` reads: Parquet shards and a card."""
    PARTITIONS = "partitions"
    """Parquet partitions that a store reads, added to a folder by `orchestra_lib.store.partition_writing`."""
    OTLP = "otlp"
    """OpenTelemetry spans, sent to a collector by `orchestra_lib.export.otlp`."""


_LINES: Mapping[ExportFormat, Callable[[Trajectory], dict[str, Any]]] = {
    ExportFormat.JSONL: report,
    ExportFormat.MESSAGES: messages,
    ExportFormat.SHAREGPT: sharegpt,
    ExportFormat.TRL: trl_row,
}
FILES = (*_LINES, ExportFormat.CSV, ExportFormat.PARQUET)
"""What is one file, and can be sent while it is made."""


def write(trajectories: Iterable[Trajectory], out: Path, form: ExportFormat) -> int:
    """Write them to a new file or folder, which appears only when it is whole; returns how many.

    Raises `BadInput` for a form that is neither, and for a folder that holds something; OSError where it cannot write.
    """
    count = 0

    def counted() -> Iterator[Trajectory]:
        nonlocal count
        for count, trajectory in enumerate(trajectories, start=1):  # noqa: B007  # the last number is what is wanted
            yield trajectory

    if form is ExportFormat.HF:
        dataset.write(counted(), out)
        return count
    part = out.with_name(out.name + ".part")
    try:
        with part.open("wb") as file:
            file.writelines(stream(counted(), form))
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
    return count


def stream(trajectories: Iterable[Trajectory], form: ExportFormat) -> Iterator[bytes]:
    """The content of such a file, piece by piece as the trajectories come. Raises `BadInput` for what is no file."""
    if form not in FILES:
        raise BadInput(f"{form} is no file that can be streamed; use one of {', '.join(FILES)}")
    if form is ExportFormat.PARQUET:
        return table.parquet(trajectories)
    if form is ExportFormat.CSV:
        return table.csv_rows(trajectories)
    make = _LINES[form]
    return ((dumps(make(trajectory)) + "\n").encode() for trajectory in trajectories)
