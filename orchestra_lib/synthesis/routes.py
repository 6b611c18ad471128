"""How the operations of a domain lead to its records: what planner and solver both read off the schema."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from orchestra_lib.environment.names import roots
from orchestra_lib.environment.schema import (
    Compare,
    Domain,
    Expression,
    Field,
    FieldType,
    Mode,
    Operation,
    OperationKind,
    Rule,
    Table,
)
from orchestra_lib.record import record

PAYMENTS = "payment_methods"


@record
class Way:
    """A read that gives records of a table for the value of one parameter; `over` is the table that it is a key of."""

    operation: str
    parameter: str
    over: str


class Routes:
    """Reads of a domain by what they are good for."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.tables: Mapping[str, Table] = {one.name: one for one in domain.tables}
        self.owner = self.tables[domain.owner]
        self.operations: Mapping[str, Operation] = {one.name: one for one in domain.operations}
        self._reads = [one for one in domain.operations if one.kind is OperationKind.READ]
        self.getters: dict[str, Way] = {}
        for one in self._reads:
            if one.query is None and len(one.loads) == 1 and len(one.parameters) == 1:
                table = one.loads[0].table
                self.getters[table] = Way(operation=one.name, parameter=one.parameters[0].name, over=table)

    @cached_property
    def writes(self) -> tuple[Operation, ...]:
        """Operations that change records."""
        return tuple(one for one in self.domain.operations if one.kind is OperationKind.WRITE)

    @cached_property
    def finders(self) -> tuple[Operation, ...]:
        """Reads that find the one user who calls."""
        return tuple(
            one for one in self._reads if one.query and one.query.single and one.query.table == self.owner.name
        )

    @cached_property
    def listers(self) -> Mapping[str, Way]:
        """Per table the read that lists an owner's records."""
        found: dict[str, Way] = {}
        for one, field, parameter in self._conditions():
            table = self.tables[one.query.table]  # type: ignore[union-attr]  # only queries come here
            if table.owner == field and table.name not in found:
                found[table.name] = Way(operation=one.name, parameter=parameter, over=self.owner.name)
        return found

    @cached_property
    def detours(self) -> Mapping[str, Way]:
        """Per owned table without a lister the read that lists records of another owned one."""
        found: dict[str, Way] = {}
        for one, field, parameter in self._conditions():
            table = self.tables[one.query.table]  # type: ignore[union-attr]  # as above
            over = next((part.references for part in table.fields if part.name == field), None)
            if (
                over
                and over in self.listers
                and table.owner
                and table.name not in self.listers
                and table.name not in found
            ):
                found[table.name] = Way(operation=one.name, parameter=parameter, over=over)
        return found

    @cached_property
    def searches(self) -> Mapping[str, Operation]:
        """Per table the search that needs no parameter, or the finder of a single one."""
        found: dict[str, Operation] = {}
        for one in self._reads:
            if one.query and one.query.table != self.owner.name and not any(not p.optional for p in one.parameters):
                found.setdefault(one.query.table, one)
        return found

    def _conditions(self) -> Iterator[tuple[Operation, str, str]]:
        for one in self._reads:
            if one.query and not one.query.single:
                needed = {part.name for part in one.parameters if not part.optional}
                for part in one.query.filters:
                    if part.compare is Compare.IS and needed <= {part.parameter}:
                        yield one, part.field, part.parameter

    def shows(self, operation: Operation) -> frozenset[str]:
        """The fields that a query shows of each record."""
        assert operation.query is not None
        table = self.tables[operation.query.table]
        return frozenset(operation.query.show or (one.name for one in table.fields)) | {table.key}

    def result_table(self, operation: Operation) -> str | None:
        """The table of the record that an operation gives, where it gives one."""
        if operation.query:
            return operation.query.table
        made = {one[2]: one[1] for one in operation.effects if one[0] == "insert"}
        loaded = {one.name: one.table for one in operation.loads}
        if operation.result is None:
            return next(reversed(made.values()), None) or (operation.loads[0].table if operation.loads else None)
        name = operation.result[1:] if isinstance(operation.result, str) else ""
        return made.get(name) or loaded.get(name)

    def field(self, table: str, path: str) -> Field | None:
        """The field that a path of references leads to."""
        head, _, rest = path.partition(".")
        found = next((one for one in self.tables[table].fields if one.name == head), None)
        if found is None or not rest:
            return found
        return self.field(found.references, rest) if found.references else None

    def keys(self, operation: Operation) -> tuple[Field, ...]:
        """The parameters that name records, the owner's apart."""
        return tuple(
            one
            for one in operation.parameters
            if one.references and one.type is FieldType.TEXT and one.references != self.owner.name
        )

    def is_payment(self, field: Field) -> bool:
        """Whether a parameter names one of the owner's payment methods."""
        has = any(one.name == PAYMENTS for one in self.owner.fields)
        return has and not field.references and (field.name == "payment_id" or field.name == "refund_to")

    def needs(self, operation: Operation, rules: tuple[Rule, ...] | None = None) -> Mapping[str, frozenset[str]]:
        """Per load the fields that the policy's own rules read: what must be looked up before the call."""
        policy = [one.when for one in operation.rules if one.mode is Mode.POLICY] if rules is None else rules
        return self.reads(operation, *policy)

    def reads(self, operation: Operation, *expressions: Expression) -> Mapping[str, frozenset[str]]:
        """Per load the fields that expressions read, through lets."""
        loads, lets = {one.name for one in operation.loads}, {one.name: one.value for one in operation.lets}
        found: dict[str, set[str]] = {}
        todo: list[Expression] = list(expressions)
        seen: set[str] = set()
        while todo:
            one = todo.pop()
            for name, field in paths(one):
                if name in loads:
                    found.setdefault(name, set()).add(field)
            for name in roots(one) & lets.keys() - seen:
                seen.add(name)
                todo.append(lets[name])
        return {name: frozenset(fields) for name, fields in found.items()}

    def scans(self, operation: Operation) -> frozenset[str]:
        """Owned tables of which the policy's rules look at all of the owner's records."""
        found = {table for one in self._policy(operation) for table in scanned(one)}
        return frozenset(found & self.listers.keys())

    def follows(self, operation: Operation) -> frozenset[str]:
        """Tables to which the policy's rules follow the references of such records."""
        return frozenset(table for one in self._policy(operation) for table in scanned(one, "record"))

    def _policy(self, operation: Operation) -> Sequence[Expression]:
        """The policy's own rules, and the lets that they name."""
        lets = {one.name: one.value for one in operation.lets}
        rules = [one.when for one in operation.rules if one.mode is Mode.POLICY]
        named = frozenset[str]().union(*(roots(one) for one in rules))
        return [*rules, *(lets[name] for name in named & lets.keys())]


def paths(expression: Any) -> Iterator[tuple[str, str]]:
    """Names with the field that an expression reads of them; the empty field where it reads the whole."""
    match expression:
        case str() if expression[:1] == "$" and expression[1:2].isidentifier():
            name, _, rest = expression[1:].partition(".")
            yield name, rest.partition(".")[0]
        case Mapping():
            for part in expression.values():
                yield from paths(part)
        case list() | tuple():
            for part in expression:
                yield from paths(part)
        case _:
            return


def scanned(expression: Any, head: str = "records") -> Iterator[str]:
    """The tables that an expression looks through, or with `record` gets single records of."""
    match expression:
        case [str() as first, str() as table, *rest] if first == head:
            yield table
            yield from scanned(rest, head)
        case Mapping():
            for part in expression.values():
                yield from scanned(part, head)
        case list() | tuple():
            for part in expression:
                yield from scanned(part, head)
        case _:
            return
