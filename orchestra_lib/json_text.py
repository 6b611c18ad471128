"""JSON as models write it: where an object ends, and what it says, without a guess.

Three ways of reading are tried in order and the one that worked is named: strict JSON, JSON with raw
control characters in strings, a Python literal. What none of them reads is not repaired. Numbers that are
no JSON (`NaN`, `1e999`) and objects that give one key two values are refused.
"""

import ast
import json
import math
import re
import warnings
from collections.abc import Callable
from typing import Any

CONTROL_CHARACTERS, PYTHON_LITERAL = "control_characters", "python_literal"
"""How a text was read that is no strict JSON."""

MAX_LITERAL_CHARS = 50_000
_MAX_DEPTH = 100
_OUTSIDE = re.compile(r"[\"'{}\[\]]")
_INSIDE = {quote: re.compile(rf"\\.|{quote}", re.DOTALL) for quote in "\"'"}
_BROKEN = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
"""What the parsers raise for hostile text; ValueError also for numbers of over 4,300 digits."""


class Extent:
    """Where the object or list that starts at `start` ends, in a text that may still grow.

    Strings of JSON and of Python are skipped, so brackets and tags inside them do not count. Each
    character is looked at once, however the text grows.
    """

    def __init__(self, start: int) -> None:
        self.start = start
        self._at = start
        self._depth = 0
        self._quote: str | None = None

    def end(self, text: str) -> int | None:
        """The place behind the closing bracket, None while it is not there."""
        while True:
            pattern = _OUTSIDE if self._quote is None else _INSIDE[self._quote]
            mark = pattern.search(text, self._at)
            if mark is None:  # a backslash at the end of a string waits for what it escapes
                waits = self._quote is not None and text.endswith("\\", self._at)
                self._at = len(text) - waits
                return None
            self._at = mark.end()
            self._pass(mark[0])
            if self._depth == 0:
                return self._at

    def _pass(self, mark: str) -> None:
        if self._quote is not None:
            self._quote = None if mark == self._quote else self._quote
        elif mark in "\"'":
            self._quote = mark
        else:
            self._depth += 1 if mark in "{[" else -1


def decode(text: str) -> tuple[Any, str | None]:
    """The value of a text and how it was read, None for strict JSON. Raises ValueError when it cannot be read."""
    for level, load in _LEVELS:
        try:
            value = load(text)
            _check(value)
        except _BROKEN:
            continue
        return value, level
    raise ValueError("neither JSON nor a Python literal")


def objects(text: str) -> list[dict[str, Any]]:
    """Every JSON object of a text, the outermost ones; what is half, or cannot be read, is passed over."""
    found, place = [], text.find("{")
    while place >= 0:
        end = Extent(place).end(text)
        if end is None:
            break
        try:
            value, _ = decode(text[place:end])
        except ValueError:
            value = None
        if isinstance(value, dict):
            found.append(value)
        place = text.find("{", end)
    return found


def _strict(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse, object_pairs_hook=_unambiguous)


def _forgiving(text: str) -> Any:
    return json.loads(text, strict=False, parse_constant=_refuse, object_pairs_hook=_unambiguous)


def _literal(text: str) -> Any:
    if len(text) > MAX_LITERAL_CHARS:
        raise ValueError("too long for a literal")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # '\d' is legal in a literal, only frowned upon
        tree = ast.parse(text.strip(), mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict) and len({ast.dump(key) for key in node.keys if key}) != len(node.keys):
            raise ValueError("a key is given twice")
    return ast.literal_eval(tree)


_LEVELS: tuple[tuple[str | None, Callable[[str], Any]], ...] = (
    (None, _strict),
    (CONTROL_CHARACTERS, _forgiving),
    (PYTHON_LITERAL, _literal),
)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs) and any(value[key] != given for key, given in pairs):
        raise ValueError("a key is given two values")
    return value


def _check(value: Any, depth: int = 0) -> None:
    """Raise ValueError for what JSON cannot say, and for nesting that no record can hold."""
    if depth > _MAX_DEPTH:
        raise ValueError("nested too deep")
    match value:
        case None | bool() | str() | int():
            return
        case float() if math.isfinite(value):
            return
        case list():
            parts = value
        case dict() if all(isinstance(key, str) for key in value):
            parts = list(value.values())
        case _:
            raise ValueError(f"{type(value).__name__} is nothing that JSON has")
    for part in parts:
        _check(part, depth + 1)
