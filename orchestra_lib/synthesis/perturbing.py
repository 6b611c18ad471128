"""What a golden write may be confused with: another record, payment method, value, or operation."""

from collections.abc import Iterator, Sequence
from typing import Any

from orchestra_lib.environment.assignment import GoldenCall
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.operations import writes
from orchestra_lib.environment.schema import Field
from orchestra_lib.synthesis.rehearsal import Other
from orchestra_lib.synthesis.routes import PAYMENTS, Routes


class Perturbations:
    """The changed forms of the writes of one world."""

    def __init__(self, world: World, routes: Routes) -> None:
        self._world, self._routes = world, routes
        names = writes(world.domain)
        fields = {one.name: {p.name: p for p in one.parameters} for one in world.domain.operations}
        self._arguments = {
            name: {one.name: (one, f"another {_kind(one)}") for one in fields[name].values()} for name in names
        }
        self._others = {name: [one for one in names if one != name] for name in names}
        self._takes = {name: fields[name].keys() for name in names}
        self._paying = frozenset(
            (name, one.name) for name in names for one in fields[name].values() if routes.is_payment(one)
        )
        self._known: dict[tuple[str, str], Sequence[str]] = {}

    def of(self, call: GoldenCall, methods: Sequence[str]) -> Iterator[tuple[str, Other | None]]:
        """A write left out, with each argument changed, and another operation in its place; each with what it is.

        `methods` are the owner's payment methods.
        """
        yield "leaving a write out", None
        arguments, name = call.arguments, call.operation
        for argument, value in arguments.items():
            field, what = self._arguments[name][argument]
            for other in _others(methods, value) if (name, argument) in self._paying else self._values(field, value):
                yield what, (name, {**arguments, argument: other})
        for other in self._others[name]:
            if self._takes[other] == arguments.keys():
                yield "another operation", (other, arguments)

    def methods(self, found: Any) -> Sequence[str]:
        """The payment methods of the owner whom the first golden call finds."""
        table = self._routes.owner
        key = found.get(table.key) if isinstance(found, dict) else None
        profile = self._world.records[table.name].get(key or "", {})
        return [one["id"] for one in profile.get(PAYMENTS) or ()]

    def _values(self, field: Field, value: Any) -> Sequence[Any]:
        if field.references and isinstance(value, str):
            place = (field.references, value)
            if (known := self._known.get(place)) is None:
                known = self._known[place] = self._siblings(*place)
            return known
        if field.values:
            return _others(field.values, value)
        if isinstance(value, bool):
            return [not value]
        return [value + 1, value - 1] if isinstance(value, int | float) else ()

    def _siblings(self, table: str, key: str) -> Sequence[str]:
        """Another record of the same owner, and the first other one of the table."""
        base, owner = self._world.base, self._routes.tables[table].owner
        mine = base.records[table].get(key)
        alike = base.index(table, owner).get(mine[owner], ()) if owner and mine else ()
        same = next((one for one in alike if one != key), None)
        other = next(one for one in base.records[table] if one != key)
        return [other] if same is None else [same] if same == other else [same, other]


def _others(values: Sequence[Any], value: Any) -> Sequence[Any]:
    return [one for one in values if one != value]


def _kind(field: Field) -> str:
    return "record" if field.references else "payment method" if "payment" in field.name else "value"
