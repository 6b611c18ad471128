"""From wants to golden calls: identify, look up what is needed and no more, write. Every call is executed at once.

The planner knows which records are meant; it makes the calls by which an agent who does not know finds them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestra_lib.environment.assignment import Information
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.kinds import Kind
from orchestra_lib.environment.names import parameters_in
from orchestra_lib.environment.operators import OPERATORS
from orchestra_lib.environment.schema import Field, Operation, Rule
from orchestra_lib.environment.state import Record
from orchestra_lib.errors import ModelMistake
from orchestra_lib.synthesis.lexicon import DESCRIBED, VAGUE, Lexicon, Mention
from orchestra_lib.synthesis.lookup import quantity_at, search_for
from orchestra_lib.synthesis.mentions import siblings
from orchestra_lib.synthesis.routes import PAYMENTS
from orchestra_lib.synthesis.trace import Trace
from orchestra_lib.synthesis.wants import Aim, Outcome, Rejected, Want

_MOST_PAGES = 5


class Planner:
    """Plans the wants of one owner, one after the other, on one state."""

    def __init__(self, world: World, lexicon: Lexicon, owner: str) -> None:
        self.world, self.lexicon, self.routes, self.owner = world, lexicon, lexicon.routes, owner
        self.trace = Trace(world, lexicon.routes)
        self.trace.list = self._list
        self.pages = 0

    @property
    def profile(self) -> Record:
        """The owner's record."""
        found = self.trace.state.find(self.routes.owner.name, self.owner)
        assert found is not None
        return found

    def identify(self, by_email: bool) -> None:
        """Find the owner. Raises `Rejected` where no finder fits."""
        for one in self.routes.finders:
            assert one.query is not None
            fields = {part.parameter: part.field for part in one.query.filters}
            if ("email" in fields.values()) is by_email:
                self._do(one.name, {name: self.profile[field] for name, field in fields.items()})
                return
        raise Rejected("no way to identify the user")

    def plan(self, want: Want) -> Want:
        """Make the calls of one want, and give it with its answers. Raises `Rejected`."""
        return self._act(want) if want.aim in (Aim.DO, Aim.WHAT_IF) else self._answer(want)

    def _act(self, want: Want) -> Want:
        operation, state = self.routes.operations[want.operation], self.trace.state
        for one in self.routes.keys(operation):
            mention = want.mentions.get(one.name)
            if mention and one.references:
                self.locate(one.references, want.arguments[one.name], mention)
        values = self._values(want)
        self._prepare(want, operation, values)
        answers = [self._quantity(operation, values, path) for path in want.tell]
        if want.condition:
            value = quantity_at(values, want.condition.path)
            if not isinstance(value, int | float):
                raise Rejected("a condition on what is unknown")
            if not want.condition.holds(value):
                return replace(want, outcome=Outcome.UNMET, answers=tuple(answers))
        if want.aim is Aim.WHAT_IF:
            return replace(want, outcome=Outcome.ANSWERED, answers=tuple(answers))
        broken = self.world.operations.broken_rules(state, want.operation, want.arguments)
        if broken:
            if want.outcome is not Outcome.REFUSED or len(broken) > 1:
                raise Rejected("an earlier request broke a rule of a later one")
            told = reason(self.world, self.routes.operations[want.operation], broken[0])
            return replace(want, rule=broken[0], answers=(*answers, *told))
        if want.outcome is Outcome.REFUSED:
            raise Rejected("an earlier request lifted the rule of a later one")
        self._do(want.operation, want.arguments)
        return replace(want, outcome=Outcome.DONE, answers=tuple(answers))

    def _values(self, want: Want) -> Mapping[str, Any]:
        try:
            return self.world.operations.values(self.trace.state, want.operation, want.arguments)
        except ModelMistake as mistake:
            raise Rejected("a record that is not there") from mistake

    def _prepare(self, want: Want, operation: Operation, values: Mapping[str, Any]) -> None:
        """Look at what policy, conditions and answers need."""
        wanted = [f"${path}" for path in (*want.tell, *((want.condition.path,) if want.condition else ()))]
        if want.payment:
            self.trace.look(self.routes.owner.name, self.owner, frozenset((PAYMENTS,)))
            wanted += ["$charge"] if want.payment.other else []
        needs = {name: set(fields) for name, fields in self.routes.needs(operation).items()}
        for name, fields in self.routes.reads(operation, *wanted).items():
            needs.setdefault(name, set()).update(fields)
        for load in reversed(operation.loads):  # a key that follows from a record must be seen there
            name, _, field = str(load.key)[1:].partition(".")
            if field and load.name in needs and load.table != self.routes.owner.name:
                needs.setdefault(name, set()).add(field)
        for load in operation.loads:
            row = values.get(load.name)
            if row and load.name in needs:
                key = row[self.routes.tables[load.table].key]
                self.trace.look(load.table, key, frozenset(needs[load.name]))
        for table in sorted(self.routes.scans(operation)):
            self._list(table, None)

    def _quantity(self, operation: Operation, values: Mapping[str, Any], path: str) -> Information:
        value = quantity_at(values, path)
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise Rejected("nothing to tell")
        return Information(value=value, unit=self._unit(operation, path), what=path.replace(".", " ").replace("_", " "))

    def _unit(self, operation: Operation, path: str) -> str | None:
        name, _, field = path.partition(".")
        load = next((one for one in operation.loads if one.name == name), None)
        if load and field:
            return unit_of(self.routes.field(load.table, field))
        kind = self.world.operations.types(operation.name).get(name)
        return "$" if kind and kind.kind in (Kind.MONEY, Kind.NUMBER) else None

    def locate(self, table: str, key: str, mention: Mention) -> None:
        """The calls that find a record by how it is spoken of."""
        if mention.kind not in (DESCRIBED, VAGUE):
            return
        own = self.routes.tables[table].owner
        row = self.trace.state.find(table, key)
        assert row is not None
        if own and row.get(own) == self.owner and table in {*self.routes.listers, *self.routes.detours}:
            self._list(table, key)
            for path, _ in (*mention.constraints, *(((mention.by, 0),) if mention.extremum else ())):
                self._see(table, key, row, path)
        else:
            self._search(table, key, row, mention)

    def _see(self, table: str, key: str, row: Record, path: str) -> None:
        """Look at the field of a record that a description speaks of."""
        head, _, rest = path.partition(".")
        self.trace.look(table, key, frozenset((head,)))
        field = self.routes.field(table, head)
        if rest and field and field.references:
            other = self.trace.state.find(field.references, row[head])
            assert other is not None
            self._see(field.references, row[head], other, rest)

    def _list(self, table: str, key: str | None) -> None:
        """List the owner's records of a table until one is shown, or all."""
        way = self.routes.listers.get(table)
        if way:
            self._pages(way.operation, {way.parameter: self.owner}, table, key)
            return
        detour = self.routes.detours[table]
        field = next(one.name for one in self.routes.tables[table].fields if one.references == detour.over)
        over = (self.trace.state.find(table, key) or {})[field] if key else None
        if over is None:
            return
        self._list(detour.over, over)
        self._pages(detour.operation, {detour.parameter: over}, table, key)

    def _search(self, table: str, key: str, row: Record, mention: Mention) -> None:
        plain, nested = mention.parted()
        for head, constraints in nested.items():
            field = self.routes.field(table, head)
            assert field is not None
            assert field.references
            self.locate(field.references, row[head], Mention(kind=DESCRIBED, constraints=tuple(constraints)))
            plain[head] = row[head]
        search = search_for(self.routes, table, tuple(plain.items()), mention.by, mention.extremum)
        if search is None:
            raise Rejected("no search for a description")
        if search.single:
            self._do(search.operation, search.arguments)
            return
        self._pages(search.operation, search.arguments, table, key)
        shown = self.routes.shows(self.routes.operations[search.operation])
        hidden = frozenset(one for one in plain if one not in shown and one not in search.arguments)
        if hidden:
            self.trace.look(table, key, hidden)

    def _pages(self, operation: str, arguments: Mapping[str, Any], table: str, key: str | None) -> None:
        shown = key is None or (table, key) in self.trace.known
        if shown and any(one.operation == operation and _covers(one.arguments, arguments) for one in self.trace.calls):
            return
        page = self._do(operation, arguments)
        number = 1
        while number < page["pages"] and (key is None or (table, key) not in self.trace.known):
            number += 1
            self.pages += 1
            if number > _MOST_PAGES:
                raise Rejected("hidden behind too many pages")
            page = self._do(operation, {**arguments, "page": number})
        if key is not None and (table, key) not in self.trace.known:
            raise Rejected("a search that does not show the record")

    def _do(self, name: str, arguments: Mapping[str, Any]) -> Any:
        try:
            return self.trace.do(name, arguments)
        except ModelMistake as mistake:
            raise Rejected("a golden call that the tool refuses") from mistake

    def _answer(self, want: Want) -> Want:
        """Questions about records: what a field says, how many there are, what they come to."""
        if want.aim in (Aim.COUNT, Aim.SUM):
            return replace(want, outcome=Outcome.ANSWERED, answers=(self._over_all(want),))
        found = []
        for name, mention in want.mentions.items():
            key = want.arguments[name]
            self.locate(want.table, key, mention)
            self.trace.look(want.table, key, frozenset((want.field,)))
            found.append((self.trace.state.find(want.table, key) or {}).get(want.field))
        field = self.routes.field(want.table, want.field)
        return replace(want, outcome=Outcome.ANSWERED, answers=(answer(want.aim, found, field, self.world.domain.now),))

    def _over_all(self, want: Want) -> Information:
        assert want.where is not None
        self._list(want.table, None)
        field, value = want.where
        rows = [
            one for one in siblings(self.lexicon, self.trace.state, want.table, self.owner) if one.get(field) == value
        ]
        for one in rows:
            self.trace.look(
                want.table, one[self.routes.tables[want.table].key], frozenset((want.field or field, field))
            )
        if want.aim is Aim.COUNT:
            return Information(value=len(rows), what="how many")
        return answer(want.aim, [one.get(want.field) for one in rows], self.routes.field(want.table, want.field), "")


def answer(aim: Aim, found: Sequence[Any], field: Field | None, now: str) -> Information:
    """What a question comes to. Raises `Rejected` where a value is unknown."""
    if not found or any(one is None or isinstance(one, list | dict | bool) for one in found):
        raise Rejected("nothing to answer")
    what = field.words if field else ""
    match aim:
        case Aim.FIELD:
            return Information(value=found[0], unit=unit_of(field), what=what)
        case Aim.SUM:
            return Information(value=round(sum(found), 2), unit=unit_of(field), what=f"{what} in all")
        case Aim.DIFFERENCE:
            return Information(
                value=round(abs(found[0] - found[1]), 2), unit=unit_of(field), what=f"difference in {what}"
            )
        case _:
            days = OPERATORS["days_between"].run(now, found[0])
            return Information(value=abs(days), unit="days", what=f"days to {what}")


def unit_of(field: Field | None) -> str | None:
    """A field's unit as it stands in `Information`."""
    return None if field is None or field.unit is None else "$" if field.unit == "USD" else field.unit


def reason(world: World, operation: Operation, rule: Rule) -> Iterator[Information]:
    """What an agent who names the rule says: its number, or a word that it turns on."""
    domain = world.domain
    for one in domain.parameters:
        if one.name in parameters_in(rule.when) and f"{{@{one.name}}}" in rule.text and not isinstance(one.value, bool):
            yield Information(
                value=one.value, unit="$" if one.unit == "USD" else one.unit, what="the rule that is against it"
            )
            return
    for word in _words(rule.when):
        if word.casefold() in rule.text.casefold():
            yield Information(value=word, what="the rule that is against it")
            return


def _words(expression: Any) -> Iterator[str]:
    match expression:
        case str() if expression[:1] not in "$@" and len(expression) > 3:
            yield expression
        case ["records", _, _, condition]:
            yield from _words(condition)
        case [str(), *rest]:
            for part in rest:
                yield from _words(part)
        case _:
            return


def _covers(done: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return {name: value for name, value in done.items() if name != "page"} == dict(wanted)
