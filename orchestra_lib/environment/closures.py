"""Closures that expressions become: what is common, a field compared with a value, in one call and not in four."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchestra_lib.environment.operators import tidy

Scope = dict[str, Any]
"""Names to values while an operation runs; `expression.STATE` stands among them for the records."""

Evaluate = Callable[[Scope], Any]
Pair = Callable[[Evaluate, Evaluate], Evaluate]


def always(value: Any) -> Evaluate:
    """A constant."""
    return lambda _: value


def walk(root: str, steps: Sequence[str]) -> Evaluate:
    """A path; what is missing on the way is null."""
    if not steps:
        return lambda scope: scope[root]
    if len(steps) == 1:
        [step] = steps

        def one(scope: Scope) -> Any:
            value = scope[root]
            return None if value is None else value.get(step)

        return one

    def walked(scope: Scope) -> Any:
        value = scope[root]
        for step in steps:
            if value is None:
                return None
            value = value.get(step)
        return value

    return walked


def applied(head: str, run: Callable[..., Any], parts: Sequence[Evaluate]) -> Evaluate:
    """An operator over its parts."""
    if len(parts) == 2:
        left, right = parts
        if head in _PAIRS:
            return _PAIRS[head](left, right)
        return lambda scope: run(left(scope), right(scope))
    if len(parts) == 1:
        [only] = parts
        return lambda scope: run(only(scope))
    return lambda scope: run(*[part(scope) for part in parts])


def field_compared(head: str, root: str, step: str, value: Any) -> Evaluate | None:
    """`$root.step` compared with a constant, or None for another operator."""
    match head:
        case "==":
            return lambda scope: (None if (row := scope[root]) is None else row.get(step)) == value
        case "!=":
            return lambda scope: (None if (row := scope[root]) is None else row.get(step)) != value
        case "in" if isinstance(value, list):
            return lambda scope: (None if (row := scope[root]) is None else row.get(step)) in value
        case _:
            return None


def both(runs: Sequence[Evaluate]) -> Evaluate:
    """Whether all hold, in order, until one does not."""
    *others, last = runs
    if not others:
        return lambda scope: bool(last(scope))
    first = others[0] if len(others) == 1 else both(others)
    return lambda scope: bool(first(scope) and last(scope))


def either(runs: Sequence[Evaluate]) -> Evaluate:
    """Whether one holds, in order, until one does."""
    *others, last = runs
    if not others:
        return lambda scope: bool(last(scope))
    first = others[0] if len(others) == 1 else either(others)
    return lambda scope: bool(first(scope) or last(scope))


def of_key(items: Evaluate, key: Evaluate, field: str) -> Evaluate:
    """The object of a list that has a key, or null."""

    def run(scope: Scope) -> Any:
        wanted = key(scope)
        for one in items(scope) or ():
            if one.get(field) == wanted:
                return one
        return None

    return run


def _at_least(left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda scope: (a := left(scope)) is not None and (b := right(scope)) is not None and a >= b


def _at_most(left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda scope: (a := left(scope)) is not None and (b := right(scope)) is not None and a <= b


def _more(left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda scope: (a := left(scope)) is not None and (b := right(scope)) is not None and a > b


def _less(left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda scope: (a := left(scope)) is not None and (b := right(scope)) is not None and a < b


def _plus(left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda scope: None if (a := left(scope)) is None or (b := right(scope)) is None else tidy(a + b)


def _minus(left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda scope: None if (a := left(scope)) is None or (b := right(scope)) is None else tidy(a - b)


_PAIRS: Mapping[str, Pair] = {
    "==": lambda left, right: lambda scope: left(scope) == right(scope),
    "!=": lambda left, right: lambda scope: left(scope) != right(scope),
    ">=": _at_least,
    "<=": _at_most,
    ">": _more,
    "<": _less,
    "+": _plus,
    "-": _minus,
}
"""Operators of two parts that need no further call; each computes what its entry in `OPERATORS` does."""
