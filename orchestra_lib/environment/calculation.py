"""The tool `calculate`: arithmetic of numbers, read by a parser of its own and never evaluated as code."""

import re
from collections.abc import Callable, Iterator

from orchestra_lib.errors import ModelMistake

MAX_CHARS = 400
MAX_OPEN = 50
"""So many brackets and minus signs before a number one expression may have."""

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?|\.\d+)|([-+*/()]))")


def calculate(expression: str) -> float | int:
    """The value, rounded to six decimals. Raises `ModelMistake` for what is no arithmetic."""
    if len(expression) > MAX_CHARS:
        raise ModelMistake(f"The expression has {len(expression)} characters; at most {MAX_CHARS} are taken.")
    reader = _Reader(expression)
    try:
        value = reader.total()
    except ZeroDivisionError:
        raise ModelMistake("The expression divides by zero.") from None
    if reader.peek():
        raise ModelMistake(f"{expression!r} is no arithmetic of numbers, + - * / and brackets.")
    rounded = round(value, 6)
    return int(rounded) if rounded == int(rounded) else rounded


class _Reader:
    """Recursive descent over the signs of one expression."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._signs = list(self._read())
        self._place = self._open = 0

    def _read(self) -> Iterator[str]:
        text, place = self._text.rstrip(), 0
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                raise ModelMistake(f"{self._text!r} is no arithmetic of numbers, + - * / and brackets.")
            yield match[1] or match[2]
            place = match.end()

    def peek(self) -> str:
        return self._signs[self._place] if self._place < len(self._signs) else ""

    def _next(self) -> str:
        sign = self.peek()
        self._place += 1
        return sign

    def total(self) -> float:
        return self._chain(self._product, {"+": lambda a, b: a + b, "-": lambda a, b: a - b})

    def _product(self) -> float:
        return self._chain(self._single, {"*": lambda a, b: a * b, "/": lambda a, b: a / b})

    def _chain(self, part: Callable[[], float], steps: dict[str, Callable[[float, float], float]]) -> float:
        value = part()
        while self.peek() in steps and self.peek():
            value = steps[self._next()](value, part())
        return value

    def _single(self) -> float:
        sign = self._next()
        if sign in ("-", "("):
            self._open += 1
            if self._open > MAX_OPEN:
                raise ModelMistake(f"The expression has more than {MAX_OPEN} brackets and signs; take it in parts.")
        if sign == "-":
            return -self._single()
        if sign == "(":
            value = self.total()
            if self._next() != ")":
                raise ModelMistake(f"{self._text!r}: a bracket is not closed.")
            return value
        if not sign or not (sign[0].isdigit() or sign[0] == "."):
            raise ModelMistake(f"{self._text!r} is no arithmetic of numbers, + - * / and brackets.")
        return float(sign)
