"""Values in a user's words: the ways to say a number, an amount, a day or a choice, and to read them again."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from orchestra_lib.environment.schema import Field, FieldType

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_MONTH = "|".join(MONTHS)
_DAY = (
    rf"\d{{4}}-\d\d-\d\d|\d{{1,2}} (?:{_MONTH})(?: \d{{4}})?|(?:{_MONTH}) \d{{1,2}}(?:, \d{{4}})?"
    "|today|tomorrow|yesterday"
)
_RELATIVE = {"yesterday": -1, "today": 0, "tomorrow": 1}
_AMOUNT = r"\$\d[\d,]*(?:\.\d+)?|\d[\d,]*(?:\.\d+)? dollars"
_PATTERNS: Mapping[FieldType, str] = {
    FieldType.MONEY: _AMOUNT,
    FieldType.INTEGER: r"-?\d+|" + "|".join(_WORDS),
    FieldType.NUMBER: r"-?\d+(?:\.\d+)?",
    FieldType.DATE: _DAY,
    FieldType.DATETIME: rf"(?:{_DAY}) at \d\d:\d\d",
}
Words = Mapping[str, Sequence[str]]
"""Other words for the values of a field, by the value as text."""


def forms(value: Any, field: Field, now: str, words: Words | None = None) -> tuple[str, ...]:
    """The ways to say a value of a field; the plainest first."""
    if words and (known := words.get(_text(value))):
        return tuple(known)
    if isinstance(value, bool):
        return ("yes",) if value else ("no",)
    match field.type:
        case FieldType.MONEY:
            plain = f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"
            return f"${plain}", f"{plain} dollars"
        case FieldType.INTEGER if isinstance(value, int) and 1 <= value <= len(_WORDS):
            return str(value), _WORDS[value - 1]
        case FieldType.INTEGER | FieldType.NUMBER:
            return (f"{value:g}",)
        case FieldType.DATE:
            return _days(value, now)
        case FieldType.DATETIME:
            return tuple(f"{day} at {value[11:16]}" for day in _days(value[:10], now))
        case _:
            return (str(value),)


def _days(day: str, now: str) -> tuple[str, ...]:
    when, today = date.fromisoformat(day), date.fromisoformat(now[:10])
    plain, american = f"{when.day} {MONTHS[when.month - 1]}", f"{MONTHS[when.month - 1]} {when.day}"
    if when.year != today.year:
        return f"{plain} {when.year}", f"{american}, {when.year}", day
    return plain, american, f"{plain} {when.year}"


def pattern(field: Field, words: Words | None = None) -> str:
    """What a value of a field looks like, as a regular expression without groups."""
    known = [word for one in (words or {}).values() for word in one]
    if field.type is FieldType.BOOLEAN:
        known = known or ["yes", "no"]
    if field.values:
        known += field.values
    if known:
        return "|".join(re.escape(word) for word in sorted(set(known), key=len, reverse=True))
    return _PATTERNS.get(field.type, r".+?")


def read(text: str, field: Field, now: str, words: Words | None = None) -> Any:
    """The value that a text says, or None."""
    plain = text.strip()
    for value, said in (words or {}).items():
        if plain.casefold() in (one.casefold() for one in said):
            return value == "true" if field.type is FieldType.BOOLEAN else _of(value, field)
    match field.type:
        case FieldType.BOOLEAN:
            return {"yes": True, "no": False}.get(plain.casefold())
        case FieldType.MONEY:
            return _amount(plain)
        case FieldType.INTEGER | FieldType.NUMBER:
            return _number(plain, field)
        case FieldType.DATE:
            return _read_day(plain, now)
        case FieldType.DATETIME:
            day, _, time = plain.rpartition(" at ")
            found = _read_day(day, now)
            return found and f"{found}T{time}:00"
        case _ if field.values:
            return next((one for one in field.values if one.casefold() == plain.casefold()), None)
        case _:
            return plain


def _of(value: str, field: Field) -> Any:
    return _number(value, field) if field.type in (FieldType.INTEGER, FieldType.NUMBER) else value


def _number(text: str, field: Field) -> Any:
    if text.casefold() in _WORDS:
        return _WORDS.index(text.casefold()) + 1
    try:
        return int(text) if field.type is FieldType.INTEGER else float(text)
    except ValueError:
        return None


def _amount(text: str) -> float | None:
    try:
        return float(text.removesuffix(" dollars").lstrip("$").replace(",", ""))
    except ValueError:
        return None


def _read_day(text: str, now: str) -> str | None:
    today = date.fromisoformat(now[:10])
    if (days := _RELATIVE.get(text.casefold())) is not None:
        return (today + timedelta(days=days)).isoformat()
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return text
    numbers = [int(one) for one in re.findall(r"\d+", text)]
    month = next((place for place, name in enumerate(MONTHS, 1) if name.casefold() in text.casefold()), None)
    if month is None or not numbers:
        return None
    try:
        return date(numbers[1] if len(numbers) > 1 else today.year, month, numbers[0]).isoformat()
    except ValueError:
        return None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
