"""A scripted agent that sees what an agent sees: the user's words, tool results, the policy's rules; never the golden.

It makes slips from its seed, as models do: it forgets a rule, stops paging, takes a sibling, drops a request. A task
counts as solvable when it succeeds in one of several tries.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from orchestra_lib.environment.assignment import Assignment
from orchestra_lib.environment.domain import World
from orchestra_lib.environment.prose import Prose
from orchestra_lib.environment.schema import Field, FieldType, Mode, Operation
from orchestra_lib.environment.state import Record, State
from orchestra_lib.environment.user import Exchange, StatedUser
from orchestra_lib.errors import ModelMistake
from orchestra_lib.synthesis.finding import Finding, Lost
from orchestra_lib.synthesis.lexicon import NEW, SAME, VAGUE, Lexicon
from orchestra_lib.synthesis.lookup import quantity_at
from orchestra_lib.synthesis.planner import answer, reason, unit_of
from orchestra_lib.synthesis.routes import PAYMENTS
from orchestra_lib.synthesis.trace import Known, Trace
from orchestra_lib.synthesis.understanding import Request, Understanding
from orchestra_lib.synthesis.wants import Aim, Rejected

_MOST_TURNS = 40


class Solver:
    """Plays assignments of one world. `slip` is the chance of each kind of slip at each chance to make it."""

    def __init__(self, world: World, lexicon: Lexicon, understanding: Understanding, *, slip: float = 0.04) -> None:
        self._world, self._lexicon, self._understanding, self._slip = world, lexicon, understanding, slip
        self._prose = Prose(world.domain)

    def play(self, assignment: Assignment, seed: int) -> tuple[State, Sequence[str]]:
        """One episode: the final state and what was said to the user."""
        one = _Episode(
            self._world, self._lexicon, self._understanding, self._prose, assignment,
            Random(f"{assignment.id}/{seed}"), self._slip,  # noqa: S311 -- slips, not secrets
        )  # fmt: skip
        try:
            one.run()
        except (Lost, ModelMistake, Rejected) as lost:
            one.messages.append(f"I cannot go on: {lost}")
        return one.trace.state, one.messages


class _Episode:
    def __init__(
        self,
        world: World,
        lexicon: Lexicon,
        understanding: Understanding,
        prose: Prose,
        assignment: Assignment,
        random: Random,
        slip: float,
    ) -> None:
        self.world, self.lexicon, self.routes = world, lexicon, lexicon.routes
        self._understanding, self._prose, self._random, self._slip = understanding, prose, random, slip
        self._user, self._opening = StatedUser(assignment), assignment.instruction
        self.trace = Trace(world, lexicon.routes)
        self.messages: list[str] = []
        self._exchanges: list[Exchange] = []
        self._asked: dict[str, str] = {}
        self._last: dict[str, str] = {}
        self._made: dict[str, str] = {}
        self._owner = ""
        self._done = False
        self._finding = Finding(self.trace, lexicon, self._slips)
        self.trace.list = lambda table, key: self._finding.rows(table)

    def _slips(self) -> bool:
        return self._random.random() < self._slip

    def run(self) -> None:
        self._identify()
        text = self._opening
        while not self._done and len(self._exchanges) < _MOST_TURNS:
            told = [self._handle(one) for one in self._understanding.requests(text) if not self._slips()]
            text = self._say(" ".join([*told, "Is there anything else I can do for you?"]))

    def _say(self, message: str) -> str:
        self.messages.append(message)
        reply = self._user.answer(self._exchanges, message)
        self._exchanges.append(Exchange(agent=message, user=reply.text))
        self._done = self._done or reply.done
        return reply.text

    def _identify(self) -> None:
        words = self._understanding.identity(self._opening)
        for asks in ("", "Could you give me your e-mail address?", "Could you tell me your name and zip code?"):
            if asks:
                words = {**words, **self._understanding.identity(self._say(asks))}
            for one in self.routes.finders:
                assert one.query is not None
                given = {part.parameter: words.get(part.field) for part in one.query.filters}
                if None not in given.values():
                    try:
                        found = self.trace.do(one.name, given)
                    except ModelMistake:
                        continue
                    self._owner = self._finding.owner = found[self.routes.owner.key]
                    return
        raise Lost("I could not find you")

    def _handle(self, request: Request) -> str:
        if request.aim not in (Aim.DO, Aim.WHAT_IF):
            return self._answer(request)
        operation = self.routes.operations[request.operation]
        arguments, other = self._arguments(operation, request)
        self._gather(operation, arguments)
        told = self._told(operation, arguments, request)
        if request.aim is Aim.WHAT_IF:
            return told
        condition = request.condition
        if condition and not condition.holds(self._quantity(operation, arguments, condition.path)):
            return f"Your condition is not met, so I leave it. {told}"
        for rule in self._broken(operation, arguments):
            named = "; ".join(f"{one.value} {one.unit or ''}" for one in reason(self.world, operation, rule))
            return f"I cannot do that. {self._prose.rule(rule)} ({named}) {told}"
        return f"{self._write(operation, arguments, other)} {told}"

    def _write(self, operation: Operation, arguments: dict[str, Any], other: str | None) -> str:
        try:
            result = self.trace.do(operation.name, arguments)
        except ModelMistake as mistake:
            payment = next((one.name for one in operation.parameters if self.routes.is_payment(one)), None)
            if other is None or payment is None:
                return f"That is not possible: {mistake}"
            arguments[payment] = other
            result = self.trace.do(operation.name, arguments)
        table = self.routes.result_table(operation)
        if table and isinstance(result, Mapping):
            key = result[self.routes.tables[table].key]
            made = any(one[0] == "insert" and one[1] == table for one in operation.effects)
            self._last[table] = key
            if made:
                self._made[table] = key
        return f"Done: {operation.name.replace('_', ' ')}."

    def _arguments(self, operation: Operation, request: Request) -> tuple[dict[str, Any], str | None]:
        found: dict[str, Any] = {}
        other = None
        for one in operation.parameters:
            if one.references == self.routes.owner.name:
                found[one.name] = self._owner
            elif one.name in (request.said or {}) or not one.optional:
                text = (request.said or {}).get(one.name) or self._ask(one)
                if self.routes.is_payment(one):
                    found[one.name], other = self._method(text)
                elif one.references and one.type is FieldType.TEXT:
                    found[one.name] = self._record(one, text)
                else:
                    found[one.name] = self._lexicon_value(one, text)
        return found, other

    def _lexicon_value(self, field: Field, text: str) -> Any:
        value = self.lexicon.read(text, field)
        if isinstance(value, float) and self._slips():
            return value + 1
        return value

    def _record(self, field: Field, text: str) -> str:
        table = field.references or ""
        mention = self.lexicon.mention(text, table)
        if mention and mention.kind == VAGUE:
            mention = self.lexicon.mention(self._ask(field), table)
        if mention is None:
            raise Lost(f"I do not know which {table} you mean")
        if mention.kind in (SAME, NEW):
            known = (self._made if mention.kind == NEW else self._last).get(table)
            if known is None:
                raise Lost("there is no such new record")
            return known
        self._last[table] = key = self._finding.find(table, mention)
        return key

    def _ask(self, field: Field) -> str:
        if field.name not in self._asked:
            reply = self._say(f"Could you please tell me the {field.words}?")
            text = self._understanding.fact(field, reply)
            if text is None:
                raise Lost(f"nobody knows the {field.words}")
            self._asked[field.name] = text
        return self._asked[field.name]

    def _method(self, text: str) -> tuple[str, str | None]:
        payment = self.lexicon.payment(text)
        if payment is None:
            raise Lost("no payment method")
        profile = self.trace.look(self.routes.owner.name, self._owner, frozenset((PAYMENTS,))) or {}
        ids = []
        for name in (payment.first, payment.other):
            alike = [one["id"] for one in profile[PAYMENTS] if name in (one["id"], one["kind"])]
            ids += alike[:1]
        if not ids:
            raise Lost("no such payment method")
        return ids[0], ids[1] if len(ids) > 1 else None

    def _gather(self, operation: Operation, arguments: Mapping[str, Any]) -> None:
        """Look at every record that the operation works on, and list what its rules look through."""
        names: dict[str, Any] = dict(arguments)
        for load in operation.loads:
            name, _, field = str(load.key)[1:].partition(".")
            key = (names.get(name) or {}).get(field) if field else names.get(name)
            if key is not None:
                names[load.name] = self.trace.look(load.table, key)
        follows = self.routes.follows(operation)
        for table in sorted(self.routes.scans(operation)):
            rows = self._finding.rows(table)
            for one in self.routes.tables[table].fields:
                if one.references in follows:
                    for key in {row[one.name]: None for row in rows if row.get(one.name)}:
                        self.trace.look(one.references, key)

    def _quantity(self, operation: Operation, arguments: Mapping[str, Any], path: str) -> float:
        """A number that what was seen comes to. Raises `Lost` where too little was seen."""
        value = quantity_at(self.world.operations.values(Known(self.trace), operation.name, arguments), path)
        if not isinstance(value, int | float):
            raise Lost(f"I do not know the {path}")
        return value

    def _told(self, operation: Operation, arguments: Mapping[str, Any], request: Request) -> str:
        paths = [*request.tell, *((request.condition.path,) if request.condition else ())]
        if not paths:
            return ""
        told = {path: self._quantity(operation, arguments, path) for path in paths}
        return " ".join(f"{path}: {self._spoken(operation, path, value)}." for path, value in told.items())

    def _spoken(self, operation: Operation, path: str, value: float) -> str:
        name, _, field = path.partition(".")
        load = next((one for one in operation.loads if one.name == name), None)
        unit = unit_of(self.routes.field(load.table, field)) if load and field else None
        return f"${value:g} {value}" if unit == "$" else f"{value} {unit or 'dollars'}"

    def _broken(self, operation: Operation, arguments: Mapping[str, Any]) -> Sequence[Any]:
        try:
            broken = self.world.operations.broken_rules(Known(self.trace), operation.name, arguments)
        except ModelMistake:
            return ()
        return [] if self._slips() else [one for one in broken if one.mode is Mode.POLICY]

    def _answer(self, request: Request) -> str:
        field = self.routes.field(request.table, request.field) if request.field else None
        if request.where:
            by, wanted = request.where
            rows = [self._seen(request.table, one, by) for one in self._finding.rows(request.table)]
            alike = [one for one in rows if str(one.get(by)).casefold() == wanted.casefold()]
            if request.aim is Aim.COUNT:
                return f"There are {len(alike)}."
            found = [self._seen(request.table, one, request.field).get(request.field) for one in alike]
        else:
            found = []
            for text in request.records:
                mention = self.lexicon.mention(text, request.table)
                assert mention is not None
                key = self._finding.find(request.table, mention)
                found.append(
                    (self.trace.look(request.table, key, frozenset((request.field,))) or {}).get(request.field)
                )
        told = answer(request.aim, found, field, self.world.domain.now)
        return f"It is {told.value} {told.unit or ''}." if told.unit != "$" else f"It is ${told.value}."

    def _seen(self, table: str, row: Record, field: str) -> Record:
        return self.trace.look(table, row[self.routes.tables[table].key], frozenset((field,))) or row
