"""A folder that the `datasets` library reads as it is: Parquet shards, and a card that names every feature.

Messages have one typed shape, with the arguments of calls and the schemas of tools as JSON text: nothing in a run
decides a column's type, and no call is given the argument names of another.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from orchestra_lib.codec import dumps
from orchestra_lib.errors import BadInput
from orchestra_lib.export.conversation import messages, typed_message
from orchestra_lib.export.table import COLUMNS, parquet_bytes, row
from orchestra_lib.trajectory import Trajectory

SHARD = 5_000
"""Trajectories in one Parquet file."""
_GROUP = 200
"""Trajectories held in memory while they are written."""

_CALL = pa.struct(
    {"id": pa.string(), "type": pa.string(), "function": pa.struct({"name": pa.string(), "arguments": pa.string()})}
)
_MESSAGE = pa.struct(
    {"role": pa.string(), "content": pa.string(), "tool_calls": pa.list_(_CALL), "tool_call_id": pa.string()}
)
_SCHEMA = pa.schema([*COLUMNS.items(), ("messages", pa.list_(_MESSAGE)), ("tools", pa.string())])

_CARD = """---
configs:
- config_name: default
  data_files:
  - split: train
    path: data/train-*.parquet
dataset_info:
  features:
{features}
---
"""
_ABOUT = """# Trajectories of Orchestra Workbench

{count:,} runs. `messages` is a conversation in OpenAI's form; the arguments of a call and `tools` are JSON text.
Costs are derived from the price table that `price_table` names; where `nominal` is true nobody was billed them. Where
`simulated` is true, tools answered from a stated profile. Null is unknown, never 0. `origin` says where an imported
run came from. The texts are what models and tools wrote, unchecked; their licences are those of their sources.
"""


def write(trajectories: Iterable[Trajectory], folder: Path) -> int:
    """Write the folder, which appears only when it is whole; returns how many trajectories are in it.

    Raises `BadInput` where something lies there already, OSError where it cannot be written.
    """
    return write_rows(map(_row, trajectories), _SCHEMA, folder, lambda count: _ABOUT.format(count=count))


def write_rows(rows: Iterable[Mapping[str, Any]], schema: Any, folder: Path, about: Callable[[int], str]) -> int:
    """Write rows of any schema as such a folder; `about` is the text of its card, which is told how many there are.

    Returns and raises what `write` does.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"{folder} is there already and not an empty folder; name a new one")
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    count = 0

    def counted() -> Iterator[Mapping[str, Any]]:
        nonlocal count
        for one in rows:
            count += 1
            yield one

    try:
        (part / "data").mkdir(parents=True)
        for place, shard in enumerate(_shards(counted())):
            with (part / "data" / f"train-{place:05}.parquet").open("wb") as file:
                file.writelines(parquet_bytes(shard, schema, batch=_GROUP))
        card = _CARD.format(features=_features(schema, "  ")) + about(count)
        (part / "README.md").write_text(card, "utf-8")
        part.replace(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return count


def _row(trajectory: Trajectory) -> dict[str, Any]:
    whole = messages(trajectory)
    said = [typed_message(message) for message in whole["messages"]]
    return {**row(trajectory), "messages": said, "tools": dumps(whole["tools"])}


def _shards(rows: Iterator[Mapping[str, Any]]) -> Iterator[Iterable[Mapping[str, Any]]]:
    """The rows in parts of `SHARD`, of which there is always one."""
    yield islice(rows, SHARD)
    for first in rows:
        yield chain([first], islice(rows, SHARD - 1))


def _features(fields: Any, indent: str) -> str:
    """Typed fields as the card's YAML names them."""
    return "\n".join(f"{indent}- name: {field.name}\n{_kind(field.type, indent + '  ')}" for field in fields)


def _kind(kind: Any, indent: str) -> str:
    if pa.types.is_struct(kind):
        return f"{indent}struct:\n{_features(kind, indent)}"
    if pa.types.is_list(kind):
        return f"{indent}list:\n{_features(kind.value_type, indent)}"
    return f"{indent}dtype: {_DTYPES.get(str(kind), str(kind))}"


_DTYPES = {"double": "float64"}
