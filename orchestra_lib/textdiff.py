"""What differs between two texts, as pieces to mark: word by word in short ones, line by line in long ones."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_CELLS = 60_000

Pieces = list[tuple[bool, str]]
"""A text in pieces; True marks one that the other text does not have."""


def text_diff(a: str, b: str, *, closely: bool = True) -> tuple[Pieces, Pieces]:
    """Both texts in pieces. Joined, the pieces are the texts again. Not `closely`: only whether they differ at all."""
    if a == b:
        return _whole(a, differs=False), _whole(b, differs=False)
    for split in (_WORD.findall, _lines) if closely else ():
        parts_a, parts_b = split(a), split(b)
        if len(parts_a) * len(parts_b) <= _CELLS:
            return _marked(parts_a, parts_b)
    return _whole(a, differs=True), _whole(b, differs=True)


def first_change(a: Pieces, b: Pieces) -> tuple[str, str]:
    """The first marked piece of each, trimmed; empty where there is none."""
    return _first(a), _first(b)


def _first(pieces: Pieces) -> str:
    return next((text.strip() for differs, text in pieces if differs and text.strip()), "")


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _whole(text: str, *, differs: bool) -> Pieces:
    return [(differs, text)] if text else []


def _marked(a: Sequence[str], b: Sequence[str]) -> tuple[Pieces, Pieces]:
    found_a: Pieces = []
    found_b: Pieces = []
    for tag, start_a, end_a, start_b, end_b in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        differs = tag != "equal"
        _add(found_a, differs, "".join(a[start_a:end_a]))
        _add(found_b, differs, "".join(b[start_b:end_b]))
    return found_a, found_b


def _add(pieces: Pieces, differs: bool, text: str) -> None:
    if not text:
        return
    if pieces and pieces[-1][0] == differs:
        text = pieces.pop()[1] + text
    pieces.append((differs, text))
