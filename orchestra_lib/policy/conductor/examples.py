"""Labelled examples: questions, what kind they are, and which tool solved them.

`data/conductor/README.md` says where the labels come from.
"""

import json
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from orchestra_lib.codec import from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.record import record

EXAMPLES = Path(__file__).parents[3] / "data" / "conductor" / "examples.jsonl"


@record
class Example:
    """A question with its kind and, per tool, how sure it is that the tool solves it, in [0, 1].

    `measured` names the tools whose figure was measured by running them; the others are judged. `writes`
    is how many tokens a model's reply had, where it was measured.
    """

    text: str
    kind: str
    solves: Mapping[str, float]
    measured: tuple[str, ...] = ()
    writes: Mapping[str, int] = field(default_factory=dict)


def load_examples(path: Path = EXAMPLES) -> tuple[Example, ...]:
    """Read a JSONL file of examples. Raises `BadInput` that names the line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise BadInput(f"{path}: the conductor's examples cannot be read ({error.strerror})") from None
    return tuple(_example(line, f"{path.name}:{number}") for number, line in enumerate(lines, start=1) if line.strip())


def _example(line: str, where: str) -> Example:
    try:
        data = json.loads(line)
    except json.JSONDecodeError as error:
        raise BadInput(f"{where}: not JSON ({error.msg})") from None
    return from_data(data, Example, where=where)
