"""Writing to a terminal what models and tools said, without letting it drive the terminal."""

import re
import sys
from collections.abc import Iterable, Sequence
from textwrap import indent
from typing import Any

from orchestra_lib.json_writing import spoken
from orchestra_lib.trajectory import Call, Setting

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Control, zero-width and bidirectional characters; tab and line feed may stay."""

VERDICTS = {True: "solved", False: "not solved", None: "unknown"}
"""What one grader says, as people read it."""
OUTCOMES = {**VERDICTS, None: "ungraded"}
"""The outcome of a run, as people read it."""


def printable(text: str) -> str:
    """The text with every character that could move, colour, hide or reorder shown as U+FFFD."""
    return _UNSAFE.sub("\ufffd", text)


def one_line(text: str, width: int) -> str:
    """The beginning of a text on one line of at most `width` characters."""
    line = " ".join(printable(text).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def complain(message: str) -> None:
    """One line to stderr."""
    print(f"orchestra: {printable(message)}", file=sys.stderr)


def note(message: str) -> None:
    """Progress to stderr."""
    print(printable(message), file=sys.stderr, flush=True)


def print_json(data: Any) -> None:
    """JSON to stdout; escapes keep control characters from the terminal."""
    print(_json(data))


def print_json_rows(rows: Iterable[Any]) -> None:
    """The JSON list of these rows to stdout, each as it comes; the same text as the whole list at once would be."""
    lead = "["
    for row in rows:
        print(f"{lead}\n{indent(_json(row), '  ')}", end="")
        lead = ","
    print("[]" if lead == "[" else "\n]")


def escaped(text: str) -> str:
    """JSON or TOML, whose strings spell in escapes what could move, colour, hide or reorder."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _json(data: Any) -> str:
    return escaped(spoken(data, indent=2, default=str))


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns to stdout, the last one as wide as it likes."""
    table = [[printable(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join(cells).rstrip())


def dollars(cost_usd: float | None) -> str:
    """A cost as people read it; a dash when it is unknown."""
    if cost_usd is None:
        return "—"
    if 0 < cost_usd < 0.00005:
        return "<$0.0001"
    return f"${cost_usd:.2f}" if cost_usd >= 1 else f"${cost_usd:.4f}"


def seconds(time_s: float | None) -> str:
    """Seconds with the precision that matters."""
    if time_s is None:
        return "—"
    return f"{time_s:.2f} s" if time_s < 0.1 else f"{time_s:.1f} s"


def call_time(call: Call, setting: Setting) -> str:
    """How long a call took; of a tool that states its seconds and does not wait, those, and what the tool is."""
    spec = setting.tool(call.call.tool)
    stated = "" if spec is None or not spec.states_its_time else " sim" if spec.simulated else " recorded"
    return seconds(call.took_s(setting)) + stated
