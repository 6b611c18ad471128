"""What routers learn from: tasks, and which tools solved them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from orchestra_lib.codec import from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.paths import DATA
from orchestra_lib.policy.conductor.examples import Example, load_examples
from orchestra_lib.record import record

Floats = NDArray[np.float64]

FOLDER = "routing"
"""Where the outcomes of a home folder lie, and those that ship."""
SHIPPED = DATA / FOLDER


@record
class Outcome:
    """One task with what each tool that was tried alone came to: 1 solved, 0 not, or the share of several tries.

    `simulated` says that the tools answered from stated profiles. Raises ValueError for a share that is none.
    """

    text: str
    solved: Mapping[str, float]
    simulated: bool = False

    def __post_init__(self) -> None:
        for tool, share in self.solved.items():
            if not 0 <= share <= 1:
                raise ValueError(f"outcome of {tool} = {share!r}; it is a number from 0 to 1")


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Outcomes as arrays: N texts, and M tools with an N×M matrix that is NaN where a tool was not tried."""

    texts: tuple[str, ...]
    tools: tuple[str, ...]
    solved_NM: Floats


def tabled(outcomes: Sequence[Outcome]) -> Table:
    """Outcomes side by side. Raises `BadInput` for none."""
    if not outcomes:
        raise BadInput("a router has no outcomes to learn from; record some with `benchmarks.routers`")
    tools = tuple(sorted({tool for one in outcomes for tool in one.solved}))
    rows = [[one.solved.get(tool, np.nan) for tool in tools] for one in outcomes]
    return Table(texts=tuple(one.text for one in outcomes), tools=tools, solved_NM=np.array(rows, float))


def known_outcomes(home: Path) -> tuple[Outcome, ...]:
    """All that routers learn from here: what ships, simulated and measured, and the `routing` folder of a home."""
    return (*load_outcomes(SHIPPED), *of_examples(load_examples()), *load_outcomes(home / FOLDER))


def load_outcomes(folder: Path) -> tuple[Outcome, ...]:
    """All JSONL files of a folder, in order of their names. Raises `BadInput` that names file and line."""
    return tuple(one for file in sorted(folder.glob("*.jsonl")) for one in _read(file))


def of_examples(examples: Sequence[Example]) -> tuple[Outcome, ...]:
    """What the conductor's labelled examples say of tools: only what was measured, nothing that was judged."""
    measured = ({tool: one.solves[tool] for tool in one.measured if tool in one.solves} for one in examples)
    return tuple(
        Outcome(text=one.text, solved=solved) for one, solved in zip(examples, measured, strict=True) if solved
    )


def _read(file: Path) -> list[Outcome]:
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{file} cannot be read ({error}); remove it, or write outcomes as JSONL") from None
    return [_outcome(line, f"{file}:{number}") for number, line in enumerate(lines, start=1) if line.strip()]


def _outcome(line: str, where: str) -> Outcome:
    try:
        data = json.loads(line)
    except ValueError as error:
        raise BadInput(f"{where}: not JSON ({error})") from None
    one: Outcome = from_data(data, Outcome, where=where)
    return one
