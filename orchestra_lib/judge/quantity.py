"""Numbers as people and models write them: separators, fractions, powers of ten, percent, currency, scale words.

The decimal sign is a point, and a comma only behind groups that points separate (`1.234.567,8`). Values are exact.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from fractions import Fraction

from orchestra_lib.judge.unit import unit
from orchestra_lib.record import record

_MAX_EXPONENT = 400
_MAX_DIGITS = 400
"""A number beyond these is none: no question has such an answer, and its arithmetic would take the machine."""

_SCALES: Mapping[str, int] = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_SHORT_SCALES: Mapping[str, int] = {
    "k": 3, "K": 3, "m": 6, "M": 6, "mn": 6, "bn": 9, "b": 9, "B": 9, "tn": 12, "T": 12,
}  # fmt: skip
"""Letters of scale, read only behind an amount of money: `5 m` are metres."""
_SIGNS: Mapping[str, str] = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}
_CODES = ("USD", "EUR", "GBP", "JPY", "INR", "CHF", "CNY")
_NAMES: Mapping[str, str] = {"dollar": "USD", "euro": "EUR", "yen": "JPY", "rupee": "INR"}
_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORDS = {word: n for n, word in enumerate(_ONES)} | {word: 10 * n for n, word in enumerate(_TENS, start=2)}
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")

_SIGN = r"(?P<sign>(?<![\w)\]%])[-−+](?=[\d.$€£¥₹]))?"
_BEFORE = r"(?P<before>[$€£¥₹]\s?|\b(?:" + "|".join(_CODES) + r")\s?)?"
_MANTISSA = (
    r"(?P<grouped>\d{1,3}(?:[,\u00a0\u2009\u202f'’]\d{3})+(?![\d])(?:\.\d+)?)"
    r"|(?P<dotted>\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}(?![\d.]))"
    r"|(?P<plain>\d+(?:\.\d+)?|\.\d+)"
)
_POWER = (
    r"(?:[eE](?P<e>[-+−]?\d{1,6})(?![\w])"
    r"|\s?(?:[x×*·]|\\times|\\cdot)\s?10\s?(?:\^|\*\*)\s?[{(]?(?P<p>[-+−]?\d{1,6})[})]?)?"
)
_OVER = r"(?:\s?/\s?(?P<under>\d{1,30})(?![\d/.]))?"
_PERCENT = r"(?P<percent>\s?%|\s?\\%|\s(?:percent|per cent)\b)?"
_SCALE = r"(?:[ -]?(?P<scale>hundred|thousand|million|billion|trillion)s?\b|(?P<short>mn|bn|tn|[kKmMbBT])(?!\w))?"
_NUMBER = re.compile(
    rf"{_SIGN}{_BEFORE}(?<![\w.])(?:(?P<whole>\d{{1,9}}) (?=\d{{1,9}}/\d))?(?:{_MANTISSA})"
    rf"{_POWER}{_OVER}{_PERCENT}{_SCALE}"
)
_AFTER = re.compile(rf"\s?(?:({'|'.join(_CODES)})\b|([€£¥₹$])|(dollar|euro|yen|rupee)s?\b)")
_UNIT = re.compile(r"\s?((?:[A-Za-z°µμΩ'\"%][A-Za-z0-9°µμΩ^*/·⋅-]*(?:\s(?=[A-Za-z/]))?){0,5})")
_HUGE = re.compile(r"[eE][-+]?\d|\d")
"""What is left of a number that was too long to be read whole."""
_FRACTION = re.compile(r"\\[dt]?frac\s*\{\s*(\d+)\s*\}\s*\{\s*(\d+)\s*\}")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+")
_VULGAR = re.compile("(?<=\\d)(?=[¼½¾⅐-⅞])")


@record
class Quantity:
    """A number in a text. `value` has scale and powers in it, but not the percent sign.

    `step` is the worth of the last decimal as it was written, None for a whole number, a fraction or a power.
    `after` is the text behind it, where a unit may stand.
    """

    text: str
    value: Fraction
    step: Fraction | None
    percent: bool
    currency: str | None
    after: str


def quantities(text: str) -> tuple[Quantity, ...]:
    """Every number in a text, in order; number words up to ninety-nine only where no digit is found."""
    plain = _plain(text)
    found = tuple(_read(plain))
    return found or tuple(_words(plain))


def only_quantity(text: str) -> Quantity | None:
    """The number that is all of a text, but for its unit, a currency and a closing point; None for another text.

    One small word behind it, such as `apples`, may be its unit; several have to be a unit of measure: `12 Angry Men`
    is no number.
    """
    plain = _plain(text).strip()
    match = _NUMBER.match(plain)
    read = _quantity(plain, match) if match else None
    if read is None or len(plain) > 120:
        return None
    rest = read.after.strip(" .")
    return read if not rest or re.fullmatch("[a-z]+", rest) or unit(rest) is not None else None


def _plain(text: str) -> str:
    text = _FRACTION.sub(r"\1/\2", text.replace("{,}", ",").replace("\\,", "").replace("\\!", "").replace("\\$", "$"))
    text = _RAISED.sub(lambda raised: "^" + raised[0].translate(_SUPERSCRIPTS), _VULGAR.sub(" ", text))
    kept = "".join(sign if sign in "\u00a0\u2009\u202f" else unicodedata.normalize("NFKC", sign) for sign in text)
    return kept.replace("⁄", "/").replace("−", "-")


def _read(text: str) -> Iterator[Quantity]:
    for match in _NUMBER.finditer(text):
        if (read := _quantity(text, match)) is not None:
            yield read


def _quantity(text: str, match: re.Match[str]) -> Quantity | None:
    digits = match["grouped"] or match["dotted"] or match["plain"]
    if match["grouped"]:
        digits = re.sub(r"[^\d.]", "", digits)
    elif match["dotted"]:
        digits = digits.replace(".", "").replace(",", ".")
    exponent = int((match["e"] or match["p"] or "0").replace("−", "-"))
    if len(digits) > _MAX_DIGITS or abs(exponent) > _MAX_EXPONENT or _HUGE.match(text, match.end()):
        return None
    under = int(match["under"] or 1)
    if under == 0:
        return None
    after = text[match.end() : match.end() + 60]
    money = _AFTER.match(after)
    currency = _currency(match["before"], money)
    if money:
        after = after[money.end() :]
    power, end = exponent, match.end()
    if match["scale"]:
        power += _SCALES[match["scale"]]
    elif match["short"] and currency is not None:
        power += _SHORT_SCALES[match["short"]]
    elif match["short"]:  # a unit after all
        end = match.start("short")
        after = text[end : end + 60]
    factor = Fraction(10) ** power
    value = (Fraction(match["whole"] or 0) + Fraction(digits) / under) * factor
    decimals = len(digits.partition(".")[2])
    step = Fraction(1, 10**decimals) * factor if decimals and not exponent and under == 1 else None
    negative = match["sign"] in ("-", "−")
    return Quantity(
        text=text[match.start() : end].strip(),
        value=-value if negative else value,
        step=step,
        percent=match["percent"] is not None,
        currency=currency,
        after=after,
    )


def _currency(before: str | None, after: re.Match[str] | None) -> str | None:
    if before and (sign := before.strip()):
        return _SIGNS.get(sign, sign)
    if after is None:
        return None
    return after[1] or _SIGNS.get(after[2] or "") or _NAMES.get(after[3] or "")


def _words(text: str) -> Iterator[Quantity]:
    for match in re.finditer(r"\b([a-z]+)(?:-([a-z]+))?\b", text.lower()):
        tens, ones = _WORDS.get(match[1]), _WORDS.get(match[2] or "zero")
        if tens is None or ones is None or (match[2] and not (tens >= 20 and 0 < ones < 10)):
            continue
        after = text[match.end() : match.end() + 60]
        yield Quantity(text=match[0], value=Fraction(tens + ones), step=None, percent=False, currency=None, after=after)


def unit_text(after: str) -> str:
    """What stands behind a number and may be its unit; empty for nothing."""
    found = _UNIT.match(after)
    return found[1].strip(" -") if found else ""
