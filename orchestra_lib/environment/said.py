"""Whether a piece of information was said: as a whole number with its unit, a whole word, a date however written.

Upstream's rule, a substring with commas stripped from the message alone, stands beside it for comparison.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date

from orchestra_lib.environment.assignment import Information

_NUMBER = re.compile(
    r"(?<![\w.,])(?P<sign>[-−])?\s?(?P<before>[$€£])?\s?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![\w]|[.,]\d)"
)
_LEADING = re.compile(r"^[\s*_\-]+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_CURRENCY = {"$": ("$", "usd", "dollar", "dollars"), "€": ("€", "eur", "euro", "euros"), "£": ("£", "gbp", "pounds")}
_PERCENT = ("%", "percent", "per cent")


def is_said(information: Information, messages: Sequence[str]) -> bool:
    """Whether any one message says it."""
    return any(_says(information, message) for message in messages)


def upstream_said(information: Information, messages: Sequence[str]) -> bool:
    """What tau2's rule would say."""
    wanted = str(information.value).lower()
    return any(wanted in message.lower().replace(",", "") for message in messages)


def _says(information: Information, message: str) -> bool:
    value = information.value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return any(
            abs(number - value) < 0.005 and _has_unit(information.unit, around) for number, around in _numbers(message)
        ) or any(_has_word(alias, message) for alias in information.aliases)
    forms = [str(value), *information.aliases]
    if _DATE.fullmatch(str(value)):
        forms += _date_forms(str(value))
    return any(_has_word(form, message) for form in forms)


def _numbers(message: str) -> Iterator[tuple[float, tuple[str, str]]]:
    """Each number of a text with what stands right before and behind it."""
    for match in _NUMBER.finditer(message):
        number = float(match["digits"].replace(",", ""))
        before = match["before"] or ""
        behind = message[match.end() : match.end() + 24].casefold()
        yield (-number if match["sign"] and not _is_range(message, match.start()) else number), (before, behind)
        if match["sign"]:
            yield number, (before, behind)  # "fee - 5": a dash is no sign


def _is_range(message: str, start: int) -> bool:
    return start > 0 and message[start - 1].isdigit()


def _has_unit(unit: str | None, around: tuple[str, str]) -> bool:
    if not unit:
        return True
    before, behind = around
    if unit in _CURRENCY:
        return before == unit or any(_begins(behind, word) for word in _CURRENCY[unit])
    if unit in _PERCENT:
        return any(_begins(behind, word) for word in _PERCENT)
    plain = unit.casefold().removesuffix("s")
    return _begins(behind, plain) or _begins(behind, f"{plain}s")


def _begins(text: str, word: str) -> bool:
    """Whether a text begins with a word, after a space or a hyphen."""
    rest = _LEADING.sub("", text)
    return rest.startswith(word) and not rest[len(word) : len(word) + 1].isalpha()


def _has_word(word: str, message: str) -> bool:
    """Whether a text holds a word or phrase whole, in any case and spacing."""
    if word.isascii() and message.isascii():
        return _has_plain_word(" ".join(word.lower().split()), " ".join(message.lower().split()))
    pattern = r"\s+".join(re.escape(part) for part in word.split())
    return bool(pattern) and re.search(rf"(?<![\w-]){pattern}(?![\w]|-\w|\.\d)", message, re.IGNORECASE) is not None


def _has_plain_word(word: str, message: str) -> bool:
    """The same without a pattern of its own for each word, which would take longer to compile than to use."""
    start = message.find(word) if word else -1
    while start >= 0:
        before, behind = message[start - 1 : start], message[start + len(word) : start + len(word) + 2]
        after = behind[:1]
        goes_on = _is_word(after) or (after == "-" and _is_word(behind[1:])) or (after == "." and behind[1:].isdigit())
        if not goes_on and not _is_word(before) and before != "-":
            return True
        start = message.find(word, start + 1)
    return False


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _date_forms(text: str) -> Iterator[str]:
    """The ways in which English writes a day, with its year or without."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return
    month = _MONTHS[day.month - 1]
    ending = "th" if 11 <= day.day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    for name in (month, month[:3]):
        for number in (f"{day.day}", f"{day.day}{ending}"):
            yield from (f"{number} {name}", f"{number} of {name}", f"{name} {number}")
