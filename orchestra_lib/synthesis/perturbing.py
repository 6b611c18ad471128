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

    def of(self, call: GoldenCall, methods: Sequence[str]) -> Iterator[tuple[str, Other | None]]:
        """A write left out, with each argument changed, and another operation in its place; each with what it is.

        `methods` are the owner's payment methods.
        """
        yield "leaving a write out", None
        arguments, name = call.arguments, call.operation
        for argument, value in arguments.items():
            field, what = self._arguments[name][argument]
            for other in self._values(field, value, methods):
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

    def _values(self, field: Field, value: Any, methods: Sequence[str]) -> Sequence[Any]:
        if field.references and isinstance(value, str):
            return self._siblings(field.references, value)
        if self._routes.is_payment(field):
            return [one for one in methods if one != value]
        if field.values:
            return [one for one in field.values if one != value]
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


def _kind(field: Field) -> str:
    return "record" if field.references else "payment method" if "payment" in field.name else "value"
