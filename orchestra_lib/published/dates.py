"""How a database writes its dates, learnt from the database, to write a moment as it would."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime, time
from typing import Any

from orchestra_lib.record import record

DATE = "%Y-%m-%d"
FORMS = (
    DATE,
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%y-%m-%d",
    "%y-%m-%d-%H-%M",
)
"""The forms that are known; a time with an offset other than Z is none, as a timestamp does not keep it."""

_LONGEST = 20


@record
class DateForms:
    """The forms of a database, commonest first: of each field name, and of all together."""

    by_field: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    general: tuple[str, ...] = ()

    def write(self, name: str, moment: datetime) -> str:
        """A moment of a field as the database would write it.

        The field's own forms come first, then those of the database, of which a date alone is preferred at midnight;
        without either it is an ISO date at midnight and an ISO time otherwise. A form that would lose a part of the
        moment is never taken.
        """
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
            default = "%Y-%m-%dT%H:%M:%SZ"
        else:
            default = "%Y-%m-%dT%H:%M:%S"
        at_midnight = moment.time() == time()
        general = sorted(self.general, key=lambda form: "%H" in form) if at_midnight else self.general
        for form in (*self.by_field.get(name, ()), *general, DATE, default):
            if _holds(form, moment):
                return moment.strftime(form)
        return moment.isoformat()


def date_forms(tables: object) -> DateForms:
    """Learn the forms of a database from every text in it that is a date; keys count as values of the field above."""
    fields: dict[str, Counter[str]] = defaultdict(Counter)
    for name, text in _texts(tables, ""):
        form = form_of(text)
        if form is not None:
            fields[name][form] += 1
    general: Counter[str] = Counter()
    for counts in fields.values():
        general.update(counts)
    return DateForms(by_field={name: _ranked(counts) for name, counts in fields.items()}, general=_ranked(general))


def form_of(text: str) -> str | None:
    """The form of a text that is a date, None for any other."""
    if not 8 <= len(text) <= _LONGEST or not text[0].isdigit() or text.count("-") < 2:
        return None
    return next((form for form in FORMS if _is(text, form)), None)


def _is(text: str, form: str) -> bool:
    try:
        return datetime.strptime(text, form).strftime(form) == text
    except ValueError:
        return False


def _holds(form: str, moment: datetime) -> bool:
    try:
        return datetime.strptime(moment.strftime(form), form) == moment
    except ValueError:
        return False


def _ranked(counts: Counter[str]) -> tuple[str, ...]:
    return tuple(sorted(counts, key=lambda form: (-counts[form], FORMS.index(form))))


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Every text below a value with the name of its field; the keys of an object too."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield name, str(key)
            yield from _texts(part, str(key))
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part, name)
