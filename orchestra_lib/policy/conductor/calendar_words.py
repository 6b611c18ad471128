"""Questions about dates, read by patterns into a Python program; no model takes part."""

import calendar
import re
from datetime import date

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name} | {"sept": 9}
_MONTH = "(" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_FORMS = (
    (re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b"), "ymd"),
    (re.compile(rf"\b{_DAY}(?: of)? {_MONTH},? (\d{{4}})\b", re.IGNORECASE), "dmy"),
    (re.compile(rf"\b{_MONTH} {_DAY},? (\d{{4}})\b", re.IGNORECASE), "mdy"),
)
_PARTIAL = (
    (re.compile(rf"\b{_DAY}(?: of)? {_MONTH}\b", re.IGNORECASE), "dm"),
    (re.compile(rf"\b{_MONTH} {_DAY}\b", re.IGNORECASE), "md"),
)
_SHIFT = re.compile(
    r"\b(\d+) (day|week|month|year)s? (after|before|from|later than|prior to|earlier than)\b", re.IGNORECASE
)
_WEEKDAY = re.compile(r"\bday of the week\b|\bweekday\b|\b(?:which|what) day\b", re.IGNORECASE)
_SPAN = re.compile(r"\bhow many (day|week|month|year)s?\b", re.IGNORECASE)


def program_for(text: str) -> str | None:
    """A program that prints the answer, or None when this is no question about given dates."""
    days = dates(text)
    return _month_length(text) or _leap(text) or _shifted(text, days) or _weekday(text, days) or _span(text, days)


def dates(text: str) -> list[date]:
    """Dates in the text in order; a day and month without a year takes the only year that the text names."""
    found: dict[int, date] = {}
    for pattern, order in _FORMS:
        for match in pattern.finditer(text):
            _keep(found, match.start(), order, match.groups())
    years = re.findall(r"\b(1[5-9]\d\d|2[0-9]\d\d)\b", text)
    if not found and len(set(years)) == 1:
        for pattern, order in _PARTIAL:
            for match in pattern.finditer(text):
                _keep(found, match.start(), order + "y", (*match.groups(), years[0]))
    return [found[at] for at in sorted(found)]


def _keep(found: dict[int, date], at: int, order: str, groups: tuple[str, ...]) -> None:
    parts = dict(zip(order, groups, strict=True))
    month = _MONTHS.get(parts["m"].lower()) or int(parts["m"])
    try:
        found.setdefault(at, date(int(parts["y"]), month, int(parts["d"])))
    except ValueError:  # 31 February is no date
        return


def _literal(day: date) -> str:
    return f"date({day.year}, {day.month}, {day.day})"


def _month_length(text: str) -> str | None:
    found = re.search(rf"\bhow many days\b.*?\b{_MONTH}\b(?! \d{{1,2}}\b)(?:.*?\b(\d{{4}})\b)?", text, re.IGNORECASE)
    if found is None or re.search(rf"\d {_MONTH}|\bbetween\b|\bfrom\b", text, re.IGNORECASE):
        return None
    month = _MONTHS[found[1].lower()]
    if found[2] is None and month == 2:
        return None
    return f"import calendar\nprint(calendar.monthrange({found[2] or 2001}, {month})[1])"


def _leap(text: str) -> str | None:
    found = re.search(r"\b(\d{3,4})\b.*\bleap year\b|\bleap year\b.*\b(\d{3,4})\b", text, re.IGNORECASE)
    if found is None or len(re.findall(r"\d+", text)) != 1:
        return None
    year = found[1] or found[2]
    said = f"'yes, {year} is a leap year' if calendar.isleap({year}) else 'no, {year} is not a leap year'"
    return f"import calendar\nprint({said})"


def _shifted(text: str, days: list[date]) -> str | None:
    found = _SHIFT.search(text)
    if found is None or len(days) != 1:
        return None
    sign = "-" if found[3].lower() in ("before", "prior to", "earlier than") else "+"
    form = "%A, %Y-%m-%d" if _WEEKDAY.search(text) else "%Y-%m-%d"
    return (
        "from datetime import date\nfrom dateutil.relativedelta import relativedelta\n"
        f"day = {_literal(days[0])} {sign} relativedelta({found[2].lower()}s={found[1]})\nprint(day.strftime('{form}'))"
        if found[2].lower() in ("month", "year")
        else "from datetime import date, timedelta\n"
        f"day = {_literal(days[0])} {sign} timedelta({found[2].lower()}s={found[1]})\nprint(day.strftime('{form}'))"
    )


def _weekday(text: str, days: list[date]) -> str | None:
    if not _WEEKDAY.search(text) or len(days) != 1:
        return None
    return f"from datetime import date\nprint({_literal(days[0])}.strftime('%A'))"


def _span(text: str, days: list[date]) -> str | None:
    if len(days) != 2:
        return None
    first, last = _literal(days[0]), _literal(days[1])
    if re.search(r"\bhow old\b|\bage\b", text, re.IGNORECASE):
        return (
            f"from datetime import date\nborn, then = {first}, {last}\n"
            "print(then.year - born.year - ((then.month, then.day) < (born.month, born.day)))"
        )
    found = _SPAN.search(text)
    if found is None or found[1].lower() not in ("day", "week"):
        return None
    extra = " + 1" if re.search(r"\binclu(?:sive|ding)\b", text, re.IGNORECASE) else ""
    count = f"abs(({last} - {first}).days){extra}"
    whole = (
        f"print({count})"
        if found[1].lower() == "day"
        else f"days = {count}\nprint(days // 7 if days % 7 == 0 else f'{{days / 7:.12g}}')"
    )
    return f"from datetime import date\n{whole}"
