"""The records of a domain as far as they were read: told in few words, and the source of every identifier."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import Any

from orchestra_lib.policy.conductor.desk.conversation import Desk
from orchestra_lib.record import record
from orchestra_lib.tool import ToolSpec

_MONEY = re.compile(r"price|total|fee|amount|balance|cost|refund|paid|credit|deposit|fare|premium|limit")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NEAR_H = 24 * 400
"""Days further away than this, birthdays say, need no reckoning."""
_ID = "_id"
_PAGED = ("page", "sort_by")


@record
class Known:
    """A record as it was last read: its own key, its identifier and its fields."""

    key: str
    id: str
    fields: Mapping[str, Any]


class Records:
    """All records that a run has seen."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._known: dict[tuple[str, str], Known] = {}
        self._owned: set[tuple[str, str]] = set()
        for one in desk.done:
            for found in _records(one.result):
                place = _key_and_id(found)
                if place is None:
                    continue
                before = self._known.get(place)
                merged = {**(before.fields if before else {}), **found}
                self._known[place] = Known(key=place[0], id=place[1], fields=merged)
                if desk.owner is not None and desk.owner in map(str, (*merged.values(), *one.arguments.values())):
                    self._owned.add(place)

    def all(self) -> tuple[Known, ...]:
        """Every record, in the order in which they were first seen."""
        return tuple(self._known.values())

    def owned(self) -> tuple[Known, ...]:
        """Those that name the user, or were listed for the user; what their fields refer to is not among them."""
        return tuple(one for place, one in self._known.items() if place in self._owned)

    def candidates(self, parameter: str) -> tuple[str, ...] | None:
        """The identifiers that a parameter can take; None when it takes no identifier."""
        if not parameter.endswith(_ID):
            return None
        exact = _ids(self._known.values(), parameter)
        if exact:
            return exact
        # new_bike_id takes a bike_id, payment_id the id within payment_methods
        known = [one.key for one in self._known.values() if parameter.endswith(f"_{one.key}")]
        if known:
            return _ids(self._known.values(), known[0])
        word = parameter.removesuffix(_ID).split("_")[-1]
        return tuple(dict.fromkeys(_within(self._known.values(), word)))

    def told(self, one: Known, *, whole: bool = False) -> str:
        """A record in a line, dates with how far away they are, and what it refers to: `whole`, or its words alone."""
        days: set[str] = set()
        parts = [", ".join(self._fields(one, days))]
        for name, value in one.fields.items():
            other = self._known.get((name, str(value)))
            if other is not None and other.id not in (one.id, self._desk.owner):
                fields = self._fields(other, days, words=not whole)
                parts.append(f"{other.key.removesuffix(_ID)}: {', '.join(fields)}")
        return "; ".join(parts)

    def _fields(self, one: Known, days: set[str], *, words: bool = False) -> Iterator[str]:
        """What a record says; each day is explained once, and the user's own identifier is known."""
        for name, value in one.fields.items():
            if _empty(value) or (value == self._desk.owner and name != one.key):
                continue
            if words and (name.endswith(_ID) or not isinstance(value, str)):
                continue
            away = ""
            if isinstance(value, str) and self._desk.now is not None and value[:10] not in days:
                away = _away(value, self._desk.now)
                days.add(value[:10])
            yield f"{name} {spoken(name, value)}{away}"

    def changes(self, result: Mapping[str, Any]) -> str:
        """What an operation made of a record, in words for the user."""
        place = _key_and_id(result)
        seen = [found for one in self._desk.done[:-1] for found in _records(one.result)]
        before: Mapping[str, Any] = next((one for one in reversed(seen) if _key_and_id(one) == place), {})
        parts = []
        for name, value in result.items():
            if _empty(value):
                continue
            if isinstance(value, list):
                new = [one for one in value if one not in (before.get(name) or [])]
                parts += [f"{plain(name)}: {spoken(name, one)}" for one in new]
            elif before.get(name) != value or _MONEY.search(name):
                parts.append(f"{plain(name)}: {spoken(name, value)}")
        return "; ".join(parts)


def reads_next(desk: Desk, records: Records, most: int) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """What can be looked up now by identifiers alone and was not yet: of the user first, then what that names."""
    if desk.owner is None:
        return ()
    tried = {(one.tool, _mark(one.arguments)) for one in desk.done}
    tried |= {(call.call.tool, _mark(call.call.arguments or {})) for call, _ in desk.failed}
    found: list[tuple[str, Mapping[str, Any]]] = []
    for spec in desk.tools:
        needed = _needed(spec)
        if not spec.name.startswith(("get_", "list_")) or len(needed) != 1 or not needed[0].endswith(_ID):
            continue
        for value in _reachable(desk, records, needed[0]):
            call = (spec.name, {needed[0]: value})
            if (spec.name, _mark(call[1])) not in tried:
                found.append(call)
    return tuple(found[:most])


def _reachable(desk: Desk, records: Records, parameter: str) -> tuple[str, ...]:
    """The identifiers of a kind among the user's own records, and those that these name."""
    own = dict.fromkeys(
        str(one.fields[parameter]) for one in records.owned() if isinstance(one.fields.get(parameter), str)
    )
    finders = {spec.name for spec in desk.finders}
    is_owner = any(one.tool in finders for one in desk.done) and parameter in _owner_keys(desk)
    return tuple(dict.fromkeys((*([desk.owner] if is_owner and desk.owner else []), *own)))


def _owner_keys(desk: Desk) -> frozenset[str]:
    """What the user's own identifier is called, by the names of the finders: find_member_by_email, member_id."""
    return frozenset(f"{spec.name.removeprefix('find_').partition('_by_')[0]}{_ID}" for spec in desk.finders)


def _needed(spec: ToolSpec) -> tuple[str, ...]:
    properties = spec.parameters.get("properties", {})
    return tuple(name for name in spec.parameters.get("required", ()) if name in properties and name not in _PAGED)


def spoken(name: str, value: Any) -> str:
    """A value in words: money with its sign, what stands in a list one after the other."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and _MONEY.search(name):
        return f"−${-value:,.2f}" if value < 0 else f"${value:,.2f}"
    if isinstance(value, Mapping):
        return " ".join(f"{plain(key)} {spoken(key, one)}" for key, one in value.items() if not _empty(one))
    if isinstance(value, list):
        return " and ".join(spoken(name, one) for one in value)
    return str(value)


def plain(name: str) -> str:
    """A name of a field as words."""
    return name.replace("_", " ")


def _empty(value: Any) -> bool:
    return value is None or value == [] or value == ""


def _away(value: str, now: datetime) -> str:
    """How far a date or time is from now: models reckon badly with dates."""
    if not _DAY.match(value):
        return ""
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return ""
    hours = (moment - now).total_seconds() / 3600
    if abs(hours) > _NEAR_H:
        return ""
    day = f"{moment:%A %B} {moment.day}"
    if isinstance(value, str) and len(value) == len(date.min.isoformat()) and moment.date() == now.date():
        return f" ({day}, today)"
    size = f"{abs(hours):,.0f} hours" if abs(hours) < 24 * 4 else f"{abs(hours) / 24:,.0f} days"
    return f" ({day}, {'in ' if hours > 0 else ''}{size}{'' if hours > 0 else ' ago'})"


def _records(result: Any) -> Iterator[Mapping[str, Any]]:
    """The records within a result: itself, or the rows of a list."""
    if isinstance(result, Mapping):
        if _key_and_id(result) is not None:
            yield result
            return
        for value in result.values():
            yield from _records(value)
    elif isinstance(result, list):
        for one in result:
            yield from _records(one)


def _key_and_id(fields: Mapping[str, Any]) -> tuple[str, str] | None:
    """A record is named by the first of its keys that ends so."""
    key = next((name for name in fields if name.endswith(_ID)), None)
    return None if key is None else (key, str(fields[key]))


def _ids(known: Iterable[Known], key: str) -> tuple[str, ...]:
    return tuple(one.id for one in known if one.key == key)


def _within(known: Iterable[Known], word: str) -> Iterator[str]:
    """The ids of things within records, by the beginning of the list's name."""
    for one in known:
        for name, value in one.fields.items():
            if name.startswith(word) and isinstance(value, list):
                yield from (str(item["id"]) for item in value if isinstance(item, Mapping) and "id" in item)


def _mark(arguments: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, str(value)) for name, value in arguments.items()))
