"""Files of pairs: one JSON object a line, with the vector over tools, outcome, cost and latency written out."""

import json
from pathlib import Path
from typing import Any

from orchestra_lib.codec import from_data, to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.preference import GOALS
from orchestra_lib.preference_pairs import Pair


def row_of_pair(pair: Pair) -> dict[str, Any]:
    """A pair as plain data. `vector` repeats the preference in the paper's order: the tools, then the goals."""
    data = to_data(pair)
    del data["preference"]["sentence"]  # the instruction is one already
    return {**data, "vector": _vector(pair)}


def read_pairs(file: Path) -> tuple[Pair, ...]:
    """The pairs of a file. Raises `BadInput` that names the line for anything else."""
    try:
        lines = file.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the pairs {file} cannot be read: {error}") from None
    found = tuple(_read(line, f"{file}:{number}") for number, line in enumerate(lines, 1) if line.strip())
    if not found:
        raise BadInput(f"{file} holds no pairs; `orchestra preferences generate --out {file}` writes some")
    return found


def _read(line: str, where: str) -> Pair:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: not JSON ({error})") from None
    if not isinstance(data, dict):
        raise BadInput(f"{where}: a pair is a JSON object")
    vector = data.pop("vector", None)
    pair = from_data(data, Pair, where=where)
    if vector is not None and vector != _vector(pair):
        raise BadInput(f"{where}: the vector is not what the preference says; leave one of them as it was")
    return pair


def _vector(pair: Pair) -> list[float]:
    return [*map(pair.preference.weight, pair.tools), *(getattr(pair.preference, goal) for goal in GOALS)]
