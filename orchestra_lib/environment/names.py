"""Which names and policy parameters an expression reads, without compiling it."""

from collections.abc import Mapping
from typing import Any

from orchestra_lib.environment.operators import LOOPS
from orchestra_lib.environment.schema import Expression


def roots(expression: Expression) -> frozenset[str]:
    """The names that an expression reads, without those that it binds itself."""
    match expression:
        case str() if expression[:1] == "$" and expression[1:2].isidentifier():
            return frozenset((expression[1:].partition(".")[0],)) - {"now", "today"}
        case ["const", _]:
            return frozenset()
        case [str() as head, str() as name, items, each] if head in LOOPS:
            return roots(items) | (roots(each) - {name})
        case ["records", _, str() as name, each]:
            return roots(each) - {name}
        case Mapping():
            return frozenset().union(*map(roots, expression.values()))
        case list() | tuple():
            return frozenset().union(*map(roots, expression))
        case _:
            return frozenset()


def parameters_in(expression: Any) -> frozenset[str]:
    """The policy parameters that an expression, or anything made of expressions, names."""
    match expression:
        case str() if expression[:1] == "@" and expression[1:2].isidentifier():
            return frozenset((expression[1:],))
        case Mapping():
            return frozenset().union(*map(parameters_in, expression.values()))
        case list() | tuple():
            return frozenset().union(*map(parameters_in, expression))
        case _:
            return frozenset()
