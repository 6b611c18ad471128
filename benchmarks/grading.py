"""Grading by program: numbers, words, executed asserts, honest refusals."""

import re
from collections.abc import Mapping
from typing import Any

from orchestra_lib.protocols import Tool

_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?")
_BLOCK = re.compile(r"```[ \t]*[\w+-]*[ \t]*\r?\n(.*?)(?:```|\Z)", re.DOTALL)
_REFUSAL = re.compile(
    r"\b(?:cannot|can't|can not|could not|couldn't|unable|not able|no access|do not have|don't have|does not have)\b",
    re.IGNORECASE,
)


async def grade(row: Mapping[str, Any], answer: str, interpreter: Tool) -> bool:
    """True when the answer meets the row's `grade`; code is run in the sandbox, never here."""
    wanted = row["grade"]
    if "asserts" in wanted:
        return await passes(code_of(answer), wanted["asserts"], interpreter)
    if wanted.get("refusal"):
        return refuses(answer)
    if "number" in wanted:
        return states(answer, wanted["number"], wanted["tolerance"])
    text = answer.casefold()
    return (
        any(word.casefold() in text for word in wanted["any"])
        and not any(word.casefold() in text for word in wanted.get("none", ()))
        and ("also" not in wanted or any(word.casefold() in text for word in wanted["also"]))
    )


def states(answer: str, number: float, tolerance: float) -> bool:
    """The first line's first or last number is the wanted one: a list of numbers to pick from is no answer.

    Where a model explains itself over many lines, the last number of all counts as its last word.
    """
    said = said_part(answer)
    lines = [line for line in said.splitlines() if _NUMBER.search(line)]
    if not lines:
        return False
    first, last = _NUMBER.findall(lines[0]), _NUMBER.findall(lines[-1])
    candidates = {first[0], first[-1], last[-1]} if len(lines) == 1 else {last[-1]}
    return any(abs(float(text.replace(",", "")) - number) <= tolerance for text in candidates)


def said_part(answer: str) -> str:
    """The answer without the lines that name its source."""
    return "\n".join(
        line for line in answer.splitlines() if not line.startswith(("From the local library", "Not checked"))
    )


def refuses(answer: str) -> bool:
    """It says that it cannot, and offers no figure as if it could."""
    return _REFUSAL.search(answer) is not None and not re.search(r"\$\s?\d|\b\d+\.\d+\b", answer)


def code_of(answer: str) -> str:
    """The first fenced block, or the whole answer."""
    blocks = _BLOCK.findall(answer)
    return str(blocks[0]) if blocks else answer


async def passes(code: str, asserts: str, interpreter: Tool) -> bool:
    """Run code and asserts in the sandbox; the last line must be reached."""
    program = f"{code}\n\n{asserts}\nprint('every assert passed')"
    result = await interpreter.call({"code": program}, run_id="grading")
    await interpreter.release("grading")
    return not result.failed and "every assert passed" in result.text
