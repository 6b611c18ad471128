"""The tables of the ToolOrchestra paper, to stand beside one's own runs and never among them."""

import json
from functools import cache

from orchestra_lib.codec import from_data
from orchestra_lib.paper_bias import paper_bias
from orchestra_lib.paths import DATA
from orchestra_lib.record import record

CALLS = "calls"
_FOLDER = DATA / "paper"


@record
class PaperRow:
    """What one orchestrator was given, under `group`, and came to; a value that was not published is None."""

    group: str
    orchestrator: str
    values: tuple[float | None, ...]


@record
class PaperTable:
    """One table with its source; `approximate` where no numbers are published and a figure was read by eye."""

    table: str
    source: str
    columns: tuple[str, ...]
    rows: tuple[PaperRow, ...]
    notes: tuple[str, ...] = ()
    approximate: bool = False


@cache
def paper_table(name: str) -> PaperTable:
    """One of the tables by the name of its file, or `calls`. Raises `BadInput` for a file that cannot be read."""
    if name == CALLS:
        return _calls()
    file = _FOLDER / f"{name}.json"
    found: PaperTable = from_data(json.loads(file.read_text("utf-8")), PaperTable, where=str(file))
    return found


def _calls() -> PaperTable:
    """The calls of a task, which are stored where bias is looked at."""
    bias = paper_bias()
    return PaperTable(
        table=CALLS,
        source=bias.source,
        columns=bias.experts,
        rows=tuple(
            PaperRow(group="tools and LLMs", orchestrator=name, values=values)
            for name, values in bias.calls_per_task.items()
        ),
    )
