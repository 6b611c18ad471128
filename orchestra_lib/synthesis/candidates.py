"""Arguments with which an operation may be called, found by trying the rules on a live state."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Any

from orchestra_lib.environment.domain import World
from orchestra_lib.environment.expression import STATE, Compiler, Evaluate
from orchestra_lib.environment.liveness import bound_by, fitting
from orchestra_lib.environment.names import roots
from orchestra_lib.environment.operators import cents, moment
from orchestra_lib.environment.schema import Field, FieldType, Mode, Operation, Rule, Table
from orchestra_lib.environment.state import Record, State
from orchestra_lib.errors import BadInput, ModelMistake
from orchestra_lib.record import record
from orchestra_lib.synthesis.routes import PAYMENTS, Routes

_TRIES, _TRIES_OF_OWNER = 90, 25
_NUMBERS = (FieldType.INTEGER, FieldType.NUMBER, FieldType.MONEY)
_PLAIN_AMOUNTS = (10, 20, 25, 40, 50, 75, 100, 120, 150, 200, 250, 300, 400, 500)
_RELATED, _HELD, _EXACT, _NOBODYS = 0.75, 0.6, 0.6, 0.3


@record
class Candidate:
    """A call for an owner that breaks no rule, or exactly one of the policy's own."""

    owner: str
    arguments: Mapping[str, Any]
    broken: Rule | None = None


class Candidates:
    """Draws calls of the operations of one world."""

    def __init__(self, world: World, routes: Routes) -> None:
        self._world, self._routes = world, routes
        self._percents = [
            one.value for one in world.domain.parameters if one.unit == "%" and isinstance(one.value, int | float)
        ]
        self._given = [one.value for one in world.domain.parameters if isinstance(one.value, int | float)]
        self._compiled: dict[str, list[tuple[bool, Evaluate]]] = {}
        self._fit: dict[str, Mapping[str, None]] = {}
        self._common: dict[str, list[str]] = {}
        self._owners = list(world.records[routes.owner.name])

    def draw(
        self,
        operation: Operation,
        state: State,
        random: Random,
        *,
        owner: str | None = None,
        fixed: Mapping[str, Any] | None = None,
        refused: bool = False,
    ) -> Candidate | None:
        """A call with the wished outcome, or None after many tries. `fixed` are arguments that are given."""
        for _ in range(_TRIES if owner is None else _TRIES_OF_OWNER):
            found = self._arguments(operation, state, random, owner, fixed or {}, refused)
            if found is None:
                if owner is not None and not fixed:
                    return None  # no record of the owner's is fit for it
                continue
            try:
                if not refused:
                    if self._world.operations.keeps_rules(state, operation.name, found[1]):
                        return Candidate(owner=found[0], arguments=found[1])
                    continue
                broken = self._world.operations.broken_rules(state, operation.name, found[1])
            except ModelMistake:
                continue
            if len(broken) == 1 and broken[0].mode is Mode.POLICY:
                return Candidate(owner=found[0], arguments=found[1], broken=broken[0])
        return None

    def _arguments(
        self,
        operation: Operation,
        state: State,
        random: Random,
        owner: str | None,
        fixed: Mapping[str, Any],
        refused: bool,
    ) -> tuple[str, dict[str, Any]] | None:
        drawn: dict[str, Any] = {}
        related: list[Record] = []
        buys = any(one.references == self._routes.owner.name for one in operation.parameters)
        for one in self._routes.keys(operation):
            table = self._routes.tables[one.references or ""]
            live = self._live(operation, one.name, table.name, enforced=refused)
            key = fixed.get(one.name) or self._key(table, state, random, owner, related, buys, live)
            row = state.find(table.name, key) if key else None
            if row is None:
                return None
            if table.owner and row.get(table.owner) and not buys:
                if owner not in (None, row[table.owner]):
                    return None
                owner = row[table.owner]
            drawn[one.name] = key
            related += [row, *self._referenced(table, row, state)]
        owner = owner or random.choice(self._owners)
        profile = state.find(self._routes.owner.name, owner)
        if profile is None:
            return None
        for one in operation.parameters:
            if one.references == self._routes.owner.name:
                drawn[one.name] = owner
            elif one.name not in drawn and (one.name in fixed or not one.optional):
                value = fixed.get(one.name, self._plain(one, operation, profile, drawn, state, random))
                if value is None:
                    return None
                drawn[one.name] = value
        return owner, {one.name: drawn[one.name] for one in operation.parameters if one.name in drawn}

    def _referenced(self, table: Table, row: Record, state: State) -> Iterator[Record]:
        for one in table.fields:
            if (
                one.references
                and one.type is FieldType.TEXT
                and (found := state.find(one.references, row.get(one.name)))
            ):
                yield found

    def _live(self, operation: Operation, parameter: str, table: str, *, enforced: bool) -> Mapping[str, None]:
        """The records that meet what they alone decide; all of them where other records name the key."""
        place = f"{operation.name}.{parameter}.{enforced}"
        if place not in self._fit:
            loads = any(str(one.key) == f"${parameter}" for one in operation.loads)
            bound = bound_by(operation, parameter)
            rules = [
                one.id
                for one in operation.rules
                if roots(one.when) <= bound and (one.mode is Mode.ENFORCED or not enforced)
            ]
            keys = fitting(self._world, operation, parameter, table, rules) if loads else self._world.records[table]
            self._fit[place] = dict.fromkeys(keys)
        return self._fit[place]

    def _key(
        self,
        table: Table,
        state: State,
        random: Random,
        owner: str | None,
        related: Sequence[Record],
        buys: bool,
        live: Mapping[str, None],
    ) -> str | None:
        """A record of the owner where the table has owners, else one that has something in common with others."""
        base = self._world.base
        records = self._world.records[table.name]
        if table.owner and owner and not buys:
            nobodys = random.random() < _NOBODYS
            found = [one[table.key] for one in state.matching(table.name, table.owner, None if nobodys else owner)] or [
                one[table.key] for one in state.matching(table.name, table.owner, owner)
            ]
            keys: Sequence[str] = [one for one in found if one in live or one not in records]
            return random.choice(keys) if keys else None
        held = [
            part[table.key]
            for row in related
            for value in row.values()
            if isinstance(value, list)
            for part in value
            if isinstance(part, dict) and part.get(table.key) in live
        ]
        if held and random.random() < _HELD:
            return str(random.choice(held))
        if related and random.random() < _RELATED:
            common = self._common.get(table.name)
            if common is None:
                common = self._common[table.name] = [
                    one.name
                    for one in table.fields
                    if one.type in (FieldType.TEXT, FieldType.DATE) and not one.values and one.name != table.key
                ]
            shared = [(name, row[name]) for row in related for name in common if row.get(name) is not None]
            if shared:
                name, value = random.choice(shared)
                keys = [one for one in base.index(table.name, name).get(value, ()) if one in live]
                if keys:
                    return random.choice(keys)
        return random.choice(list(live)) if live else None

    def _plain(
        self,
        field: Field,
        operation: Operation,
        profile: Record,
        drawn: Mapping[str, Any],
        state: State,
        random: Random,
    ) -> Any:
        if self._routes.is_payment(field):
            methods = [one["id"] for one in profile.get(PAYMENTS) or ()]
            return random.choice(methods) if methods else None
        if field.values:
            return random.choice(field.values)
        match field.type:
            case FieldType.BOOLEAN:
                return random.random() < 0.5
            case FieldType.DATE:
                return (moment(self._world.domain.now) + timedelta(days=random.randint(-20, 70))).date().isoformat()
            case FieldType.DATETIME:
                when = moment(self._world.domain.now) - timedelta(hours=random.randint(0, 90))
                return when.replace(minute=0, second=0).isoformat(timespec="seconds")
            case FieldType.TEXT:
                return self._text(field, profile, random)
            case FieldType.INTEGER if random.random() < 0.6:
                return random.randint(int(field.minimum or 1), int(field.minimum or 1) + 5)
            case _ if field.type in _NUMBERS:
                return self._number(field, operation, drawn, state, random)
        return None

    def _text(self, field: Field, profile: Record, random: Random) -> str | None:
        """A new value that is like those that records hold."""
        if "mail" in field.name:
            return f"{profile['last_name']}.{profile['first_name']}{random.randint(10, 99)}@example.com".lower()
        for table in self._world.domain.tables:
            for one in table.fields:
                if one.type is FieldType.TEXT and (one.name == field.name or field.name == f"{table.one}_{one.name}"):
                    row = random.choice(list(self._world.records[table.name].values()))
                    value = row.get(one.name)
                    return str(value) if value else None
        return None

    def _number(
        self, field: Field, operation: Operation, drawn: Mapping[str, Any], state: State, random: Random
    ) -> float | int | None:
        """An amount that the rules may be about: of the records, the policy, a share of them, or a round one."""
        if random.random() < _EXACT and (bounds := self._bounds(field, operation, drawn, state)):
            value = random.choice(bounds)
            if value >= (field.minimum or 0):
                return int(value) if field.type is FieldType.INTEGER else round(float(value), 2)
        found: list[float] = []
        for one in self._routes.keys(operation):
            row = state.find(one.references or "", drawn.get(one.name)) or {}
            found += [v for v in row.values() if isinstance(v, int | float) and not isinstance(v, bool) and v > 0]
        shares = [cents(value * rate / 100) for value in found for rate in (*self._percents, 50)]
        near = [value + step for value in self._given for step in (-1, 0, 1)]
        pools = [one for one in (found, shares, near, list(_PLAIN_AMOUNTS), list(_PLAIN_AMOUNTS)) if one]
        value = random.choice(random.choice(pools))
        if value < (field.minimum or 0):
            return None
        return int(value) if field.type is FieldType.INTEGER else round(float(value), 2)

    def _bounds(
        self, field: Field, operation: Operation, drawn: Mapping[str, Any], state: State
    ) -> Sequence[float | int]:
        """What a rule says that the number must be, or may be at most or at least; and one step to either side."""
        place = f"{operation.name}.{field.name}"
        if place not in self._compiled:
            self._compiled[place] = list(self._sides(field, operation))
        if not self._compiled[place]:
            return ()
        blank = {one.name: one.minimum or 1 for one in operation.parameters if one.type in _NUMBERS}
        words = {one.name: one.values[0] for one in operation.parameters if one.values}
        try:
            values = self._world.operations.values(state, operation.name, {**words, **blank, **drawn})
        except ModelMistake:
            return ()
        found: list[float | int] = []
        for exact, side in self._compiled[place]:
            value = side({**values, STATE: state})
            if isinstance(value, int | float) and not isinstance(value, bool):
                found += [value, value, value, value + 1] if exact else [value, value - 1, value + 1, round(value / 2)]
        return found

    def _sides(self, field: Field, operation: Operation) -> Iterator[tuple[bool, Evaluate]]:
        compiler, names = Compiler(self._world.domain), dict(self._world.operations.types(operation.name))
        for rule in operation.rules:
            for head, side in compared(rule.when, f"${field.name}"):
                with suppress(BadInput):
                    yield head == "==", compiler.compile(side, names, "rule")[0]


def compared(expression: Any, path: str) -> Iterator[tuple[str, Any]]:
    """What an expression compares a path with, and how."""
    match expression:
        case ["==" | "<" | "<=" | ">" | ">=" as head, left, right]:
            if left == path:
                yield head, right
            if right == path:
                yield head, left
        case [str(), *rest]:
            for part in rest:
                yield from compared(part, path)
        case _:
            return
