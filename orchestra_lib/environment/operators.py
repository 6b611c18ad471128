"""The operators of expressions: how many parts each takes, of which types, and what it computes.

Money is rounded to cents after each step, half away from zero. Dates and times are ISO text in UTC. Nothing here
raises on values of the right types: null and division by zero give null.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any

from orchestra_lib.environment.kinds import ANY, BOOLEAN, NUMERIC, TIMES, Kind, Type, comparable
from orchestra_lib.record import record

Check = Callable[[Sequence[Type]], Type]
_MANY = 64
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@record
class Operator:
    """One operator. `check` gives the type of the result, and raises TypeError with what is wrong."""

    arity: tuple[int, int]
    check: Check
    run: Callable[..., Any]


def cents(amount: float) -> float:
    """An amount of money to two decimals, half away from zero."""
    return rounded(amount + math.copysign(1e-9, amount), 2, 1e2)


def rounded(number: float, digits: int, scale: float) -> float:
    """`round(number, digits)`, quicker where no half is near; `scale` is ten to that power.

    Close to a whole number of units both are the float nearest to that many: a quotient of two whole floats is.
    """
    scaled = number * scale
    if 1 <= scaled < 1e12 or -1e12 < scaled <= -1:
        whole = round(scaled)
        if -0.25 < scaled - whole < 0.25:
            return whole / scale
    return round(number, digits)


@lru_cache(maxsize=65_536)
def moment(text: str) -> datetime:
    """A date or a time as a naive UTC datetime. Raises ValueError for other text."""
    return datetime.fromisoformat(text[:19])


def _given(kind: Kind) -> Check:
    return lambda kinds: Type(kind=kind)


def _all_of(allowed: Sequence[Kind], result: Type | None, what: str) -> Check:
    def check(kinds: Sequence[Type]) -> Type:
        for kind in kinds:
            if kind.kind not in (*allowed, Kind.ANY, Kind.NULL):
                raise TypeError(f"{what} is expected, not {kind.kind}{f' ({kind.named})' if kind.named else ''}")
        return result or max(kinds, key=lambda kind: _RANK.get(kind.kind, -1))

    return check


_RANK = {Kind.INTEGER: 0, Kind.NUMBER: 1, Kind.MONEY: 2}
_numbers = _all_of(NUMERIC, None, "a number")


def _divided(kinds: Sequence[Type]) -> Type:
    _numbers(kinds)
    both_money = kinds[0].kind is kinds[1].kind
    return Type(kind=Kind.MONEY if kinds[0].kind is Kind.MONEY and not both_money else Kind.NUMBER)


def _alike(kinds: Sequence[Type]) -> Type:
    left, right = kinds
    if not comparable(left, right):
        raise TypeError(f"{left.kind} is never equal to {right.kind}")
    return BOOLEAN


def _ordered(kinds: Sequence[Type]) -> Type:
    left, right = kinds
    if {left.kind, right.kind} == {Kind.DATE, Kind.DATETIME}:
        raise TypeError("a date is compared with a date; take date_of of the time")
    if not comparable(left, right) or {left.kind, right.kind} & {Kind.BOOLEAN, Kind.OBJECT, Kind.LIST}:
        raise TypeError(f"{left.kind} and {right.kind} have no order")
    return BOOLEAN


def _member(kinds: Sequence[Type]) -> Type:
    item, items = kinds
    if items.kind not in (Kind.LIST, Kind.ANY):
        raise TypeError(f"the second part is a list, not {items.kind}")
    if items.item is not None and not comparable(item, items.item):
        raise TypeError(f"{item.kind} is in no list of {items.item.kind}")
    return BOOLEAN


def element(kinds: Sequence[Type]) -> Type:
    """The type of what a list, the first of these types, holds; it may be missing."""
    items = kinds[0]
    if items.kind is Kind.ANY:
        return ANY
    if items.kind is not Kind.LIST or items.item is None:
        raise TypeError(f"a list is expected, not {items.kind}")
    found = items.item
    return Type(
        kind=found.kind, fields=found.fields, item=found.item, optional=True, named=found.named, table=found.table
    )


def _first_of(kinds: Sequence[Type]) -> Type:
    return kinds[0]


def _plus(*parts: Any) -> Any:
    return None if None in parts else tidy(sum(parts))


def _minus(left: Any, right: Any) -> Any:
    return None if left is None or right is None else tidy(left - right)


def _times(*parts: Any) -> Any:
    return None if None in parts else tidy(math.prod(parts))


def _over(left: Any, right: Any) -> Any:
    return None if left is None or not right else tidy(left / right)


def _percent(amount: Any, rate: Any) -> Any:
    return None if amount is None or rate is None else cents(amount * rate / 100)


def tidy(number: float) -> float:
    """Without the tail that binary floats leave; sums of cents stay sums of cents."""
    return number if isinstance(number, int) else rounded(number, 6, 1e6)


def _round(number: Any, digits: Any = 0) -> Any:
    if number is None:
        return None
    scaled = number * 10**digits
    whole = math.floor(abs(scaled) + 0.5 + 1e-9)
    return math.copysign(whole, scaled) / 10**digits if digits else int(math.copysign(whole, scaled))


def _money(number: Any) -> Any:
    return None if number is None else cents(number)


def _extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *parts: None if None in parts else choose(parts)


def _compared(holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda left, right: left is not None and right is not None and holds(left, right)


def _hours(start: Any, end: Any) -> Any:
    return None if not start or not end else tidy((moment(end) - moment(start)).total_seconds() / 3600)


def _days(start: Any, end: Any) -> Any:
    return None if not start or not end else (moment(end).date() - moment(start).date()).days


def _add_days(start: Any, days: Any) -> Any:
    return None if not start or days is None else _like(start, moment(start) + timedelta(days=days))


def _add_hours(start: Any, hours: Any) -> Any:
    return None if not start or hours is None else _like(start, moment(start) + timedelta(hours=hours))


def _like(text: str, when: datetime) -> str:
    return when.date().isoformat() if len(text) == 10 else when.isoformat(timespec="seconds") + text[19:]


def _date_of(when: Any) -> Any:
    return None if not when else when[:10]


def _weekday(when: Any) -> Any:
    return None if not when else _WEEKDAYS[date.fromisoformat(when[:10]).weekday()]


def _has(text: Any, part: Any) -> bool:
    return text is not None and part is not None and part.casefold() in text.casefold()


def _lower(text: Any) -> Any:
    return None if text is None else text.lower()


def _joined(*parts: Any) -> list[Any]:
    return [one for part in parts for one in part or ()]


def _concat(*parts: Any) -> str:
    return "".join("" if part is None else str(part) for part in parts)


def _in(item: Any, items: Any) -> bool:
    return item in (items or ())


_two, _times_only = (2, 2), _all_of(TIMES, None, "a date or time")


def _between(result: Kind) -> Check:
    def check(kinds: Sequence[Type]) -> Type:
        _times_only(kinds)
        return Type(kind=result)

    return check


def _shifted(kinds: Sequence[Type]) -> Type:
    _times_only(kinds[:1])
    _numbers(kinds[1:])
    return kinds[0]


OPERATORS: Mapping[str, Operator] = {
    "==": Operator(arity=_two, check=_alike, run=lambda left, right: left == right),
    "!=": Operator(arity=_two, check=_alike, run=lambda left, right: left != right),
    "<": Operator(arity=_two, check=_ordered, run=_compared(lambda left, right: left < right)),
    "<=": Operator(arity=_two, check=_ordered, run=_compared(lambda left, right: left <= right)),
    ">": Operator(arity=_two, check=_ordered, run=_compared(lambda left, right: left > right)),
    ">=": Operator(arity=_two, check=_ordered, run=_compared(lambda left, right: left >= right)),
    "in": Operator(arity=_two, check=_member, run=_in),
    "not_in": Operator(arity=_two, check=_member, run=lambda item, items: not _in(item, items)),
    "not": Operator(arity=(1, 1), check=_all_of((Kind.BOOLEAN,), BOOLEAN, "a condition"), run=lambda part: not part),
    "exists": Operator(arity=(1, 1), check=lambda kinds: BOOLEAN, run=lambda part: part is not None),
    "missing": Operator(arity=(1, 1), check=lambda kinds: BOOLEAN, run=lambda part: part is None),
    "empty": Operator(arity=(1, 1), check=lambda kinds: BOOLEAN, run=lambda part: not part),
    "+": Operator(arity=(2, _MANY), check=_numbers, run=_plus),
    "-": Operator(arity=_two, check=_numbers, run=_minus),
    "*": Operator(arity=(2, _MANY), check=_numbers, run=_times),
    "/": Operator(arity=_two, check=_divided, run=_over),
    "min": Operator(arity=(2, _MANY), check=_numbers, run=_extreme(min)),
    "max": Operator(arity=(2, _MANY), check=_numbers, run=_extreme(max)),
    "percent": Operator(arity=_two, check=_numbers, run=_percent),
    "money": Operator(arity=(1, 1), check=_all_of(NUMERIC, Type(kind=Kind.MONEY), "a number"), run=_money),
    "round": Operator(arity=(1, 2), check=_all_of(NUMERIC, Type(kind=Kind.NUMBER), "a number"), run=_round),
    "hours_between": Operator(arity=_two, check=_between(Kind.NUMBER), run=_hours),
    "days_between": Operator(arity=_two, check=_between(Kind.INTEGER), run=_days),
    "add_days": Operator(arity=_two, check=_shifted, run=_add_days),
    "add_hours": Operator(arity=_two, check=_shifted, run=_add_hours),
    "date_of": Operator(arity=(1, 1), check=_between(Kind.DATE), run=_date_of),
    "weekday": Operator(arity=(1, 1), check=_between(Kind.TEXT), run=_weekday),
    "len": Operator(arity=(1, 1), check=_given(Kind.INTEGER), run=lambda items: len(items or ())),
    "first": Operator(arity=(1, 1), check=element, run=lambda items: items[0] if items else None),
    "contains": Operator(arity=_two, check=lambda kinds: _member(kinds[::-1]), run=lambda items, one: _in(one, items)),
    "join_lists": Operator(arity=(2, _MANY), check=_first_of, run=_joined),
    "has": Operator(arity=_two, check=_all_of((Kind.TEXT,), BOOLEAN, "a text"), run=_has),
    "lower": Operator(arity=(1, 1), check=_all_of((Kind.TEXT,), None, "a text"), run=_lower),
    "concat": Operator(arity=(1, _MANY), check=_given(Kind.TEXT), run=_concat),
    "default": Operator(arity=_two, check=_first_of, run=lambda value, other: other if value is None else value),
}  # fmt: skip


def _sum(values: Sequence[Any]) -> float:
    total = sum(value for value in values if value is not None)
    return tidy(total)


LOOPS: Mapping[str, Callable[[list[Any]], Any] | None] = {
    "any": any,
    "all": all,
    "filter": None,
    "count": len,
    "map": None,
    "sum": _sum,
    "least": lambda values: min((value for value in values if value is not None), default=None),
    "most": lambda values: max((value for value in values if value is not None), default=None),
}
"""What `any`, `sum` and the like make of the values of an expression on each item; `filter` and `count` are given the
items themselves for which it holds, and without a function the list stays as it is."""
