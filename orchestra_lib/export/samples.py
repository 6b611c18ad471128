"""Instances for training as rows that TRL reads: lines of JSON, or a folder for the `datasets` library."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from orchestra_lib.codec import dumps
from orchestra_lib.export.dataset import write_rows

_TEXTS = ("id", "category", "case", "source", "domain", "protocol")
_JSON = ("golden", "say", "assignment", "preference")
_PROMPT = pa.list_(pa.struct({"role": pa.string(), "content": pa.string()}))
_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in _TEXTS),
        ("prompt", _PROMPT),
        ("tools", pa.string()),
        ("reference", pa.string()),
        *((name, pa.string()) for name in _JSON),
        ("instruction", pa.string()),
        ("extension", pa.bool_()),
        *((name, pa.string()) for name in ("regime", "prices", "models", "facts")),
        ("seed", pa.int64()),
    ]
)
COLUMNS: tuple[str, ...] = tuple(_SCHEMA.names)
"""The columns of a row, in order."""

_ABOUT = """# Instances for training an orchestrator

{count:,} rows, made by `orchestra tasks sample`. `prompt` is a conversation and `tools` its function tools as JSON
text; `golden`, `say`, `assignment`, `preference`, `prices`, `models` and `facts` are JSON text too. Prices are drawn
by the row's `regime` and nobody charges them; aliases stand for the models that `models` names. `preference` weighs
outcome, cost, latency and tools, `instruction` is what the prompt says of it; where `extension` is true a weight lies
below 0, which is this project's extension of the paper. Null is unknown. Questions come under the licences of their
sources.

How it was drawn:

```json
{facts}
```
"""


def write_lines(rows: Iterable[Mapping[str, Any]], file: Path) -> int:
    """Write rows as lines of JSON to a file, which appears only when it is whole; returns how many."""
    part, count = file.with_name(file.name + ".part"), 0
    try:
        with part.open("w", encoding="utf-8", newline="\n") as out:
            for row in rows:
                out.write(dumps(row) + "\n")
                count += 1
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return count


def write_folder(rows: Iterable[Mapping[str, Any]], folder: Path, facts: str) -> int:
    """Write rows as a folder that `datasets.load_dataset` reads; `facts` is JSON text that its card shows.

    Raises `BadInput` where something lies there already.
    """
    return write_rows(rows, _SCHEMA, folder, lambda count: _ABOUT.format(count=count, facts=facts))
