"""What a golden write may be confused with: another record, payment method, value, or operation."""

from collections.abc import Iterator, Sequence
from typing import Any

from orchestra_lib.environment.assignment import GoldenCall
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.operations import writes
from orchestra_lib.environment.schema import Field
from orchestra_lib.synthesis.routes import PAYMENTS, Routes


class Perturbations:
    """The changed forms of the writes of one world."""

    def __init__(self, world: World, routes: Routes) -> None:
        self._world, self._routes = world, routes
        self._writes = writes(world.domain)
        self.fields = {one.name: {p.name: p for p in one.parameters} for one in world.domain.operations}
        """The parameters of each operation by name."""

    def of(self, call: GoldenCall, methods: Sequence[str]) -> Iterator[tuple[str, GoldenCall | None]]:
        """A write left out, with each argument changed, and another operation in its place; each with what it is.

        `methods` are the owner's payment methods.
        """
        yield "leaving a write out", None
        fields, name = self.fields[call.operation], call.operation
        for argument, value in call.arguments.items():
            for other in self._others(fields[argument], value, methods):
                changed = {**call.arguments, argument: other}
                yield f"another {_kind(fields[argument])}", GoldenCall(operation=name, arguments=changed)
        for other in self._writes:
            if other != name and self.fields[other].keys() == call.arguments.keys():
                yield "another operation", GoldenCall(operation=other, arguments=call.arguments)

    def methods(self, found: Any) -> Sequence[str]:
        """The payment methods of the owner whom the first golden call finds."""
        table = self._routes.owner
        key = found.get(table.key) if isinstance(found, dict) else None
        profile = self._world.records[table.name].get(key or "", {})
        return [one["id"] for one in profile.get(PAYMENTS) or ()]

    def _others(self, field: Field, value: Any, methods: Sequence[str]) -> Iterator[Any]:
        if field.references and isinstance(value, str):
            yield from self._siblings(field.references, value)
        elif self._routes.is_payment(field):
            yield from (one for one in methods if one != value)
        elif field.values:
            yield from (one for one in field.values if one != value)
        elif isinstance(value, bool):
            yield not value
        elif isinstance(value, int | float):
            yield value + 1
            yield value - 1

    def _siblings(self, table: str, key: str) -> Iterator[str]:
        """Another record of the same owner, and the first other one of the table."""
        base, owner = self._world.base, self._routes.tables[table].owner
        mine = base.records[table].get(key)
        alike = base.index(table, owner).get(mine[owner], ()) if owner and mine else ()
        found = next((one for one in alike if one != key), None)
        if found is not None:
            yield found
        other = next(one for one in base.records[table] if one != key)
        if other != found:
            yield other


def _kind(field: Field) -> str:
    return "record" if field.references else "payment method" if "payment" in field.name else "value"
