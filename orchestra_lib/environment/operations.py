"""Runs the operations of a domain on a state: each compiled once, then loads, rules, effects and a result.

A call that cannot be done raises `ModelMistake` with words for the model, and leaves the state as it was.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestra_lib.environment.arguments import Checker
from orchestra_lib.environment.calculation import calculate
from orchestra_lib.environment.effects import Effects, Names, parameter_types
from orchestra_lib.environment.expression import STATE, Compiler, Evaluate, Scope
from orchestra_lib.environment.names import roots
from orchestra_lib.environment.prose import Prose
from orchestra_lib.environment.querying import compiled_query
from orchestra_lib.environment.schema import Builtin, Domain, Mode, Operation, OperationKind, Rule
from orchestra_lib.environment.state import State
from orchestra_lib.errors import BadInput, ModelMistake

Arguments = Mapping[str, Any]


class Operations:
    """The operations of one domain, ready to run. Raises `BadInput` that names the place of what does not compile."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        compiler, prose = Compiler(domain), Prose(domain)
        self._made: dict[str, _Made] = {}
        invariants = _Invariants(domain, compiler)
        for operation in domain.operations:
            where = f"{domain.name}: operations.{operation.name}"
            if operation.name in self._made:
                raise BadInput(f"{where}: there are two operations of this name; rename one")
            self._made[operation.name] = _Made(operation, domain, compiler, prose, invariants, where)

    def __contains__(self, name: object) -> bool:
        return name in self._made

    def run(self, state: State, name: str, arguments: Arguments) -> Any:
        """The result as plain data, which nobody may change. Raises `ModelMistake`."""
        made = self._made.get(name)
        if made is None:
            raise ModelMistake(f"There is no operation {name[:80]!r}; there are {', '.join(self._made)}.")
        return made.run(state, arguments)

    def broken_rules(self, state: State, name: str, arguments: Arguments) -> tuple[Rule, ...]:
        """The rules of either mode that such a call would break now. Raises `ModelMistake` for a missing record."""
        return self._made[name].broken(state, arguments)

    def keeps_rules(self, state: State, name: str, arguments: Arguments) -> bool:
        """Whether a call would break none; quicker than to name them. Raises as `broken_rules` does."""
        return self._made[name].keeps(state, arguments)

    def values(self, state: State, name: str, arguments: Arguments) -> Mapping[str, Any]:
        """Parameters, loads and lets of a call, by name: what a planner needs to know of fees and totals."""
        scope = self._made[name].scope(state, arguments)
        return {key: value for key, value in scope.items() if key != STATE}

    def types(self, name: str) -> Mapping[str, Any]:
        """The types of those names."""
        return self._made[name].names

    def rule(self, name: str, rule: str) -> Evaluate:
        """A rule's compiled predicate over a scope."""
        return next(holds for one, holds, _ in self._made[name].rules if one.id == rule)


class _Invariants:
    """What holds of the records of each table after every write."""

    def __init__(self, domain: Domain, compiler: Compiler) -> None:
        self._of: dict[str, list[tuple[str, Evaluate]]] = {}
        for place, one in enumerate(domain.invariants):
            where = f"{domain.name}: invariants[{place}]"
            if one.table not in compiler.tables:
                raise BadInput(f"{where}: no table {one.table!r}; known are {', '.join(compiler.tables)}")
            holds = compiler.predicate(one.holds, {"row": compiler.tables[one.table]}, where)
            self._of.setdefault(one.table, []).append((one.text, holds))

    def check(self, state: State) -> None:
        """Of what the running operation changed. Raises `ModelMistake`."""
        for table, key in state.changed():
            if (held := self._of.get(table)) is not None:
                scope: Scope = {STATE: state, "row": state.find(table, key)}
                for text, holds in held:
                    if not holds(scope):
                        raise ModelMistake(f"Not done: {text}")


class _Made:
    """One operation, compiled."""

    def __init__(
        self,
        operation: Operation,
        domain: Domain,
        compiler: Compiler,
        prose: Prose,
        invariants: _Invariants,
        where: str,
    ) -> None:
        self.operation, self._invariants = operation, invariants
        self._blank: Scope = dict.fromkeys(one.name for one in operation.parameters)
        self._check = Checker(operation)
        names: Names = parameter_types(domain, operation.parameters)
        self.names = names
        self._loads: list[tuple[str, str, Evaluate]] = []
        for load in operation.loads:
            if load.table not in compiler.tables:
                raise BadInput(
                    f"{where}.loads.{load.name}: no table {load.table!r}; known are {', '.join(compiler.tables)}"
                )
            key, kind = compiler.key_of(load.key, names, f"{where}.loads.{load.name}")
            _new_name(load.name, names, f"{where}.loads")
            names[load.name] = replace(compiler.tables[load.table], optional=kind.optional)
            self._loads.append((load.name, load.table, key))
        self._lets: list[tuple[str, Evaluate]] = []
        for let in operation.lets:
            value, kind = compiler.compile(let.value, names, f"{where}.lets.{let.name}")
            _new_name(let.name, names, f"{where}.lets")
            names[let.name] = kind
            self._lets.append((let.name, value))
        self.rules: list[tuple[Rule, Evaluate, str]] = [
            (rule, compiler.predicate(rule.when, names, f"{where}.rules.{rule.id}"), prose.refusal(operation, rule))
            for rule in operation.rules
        ]
        self._enforced = [(holds, error) for rule, holds, error in self.rules if rule.mode is Mode.ENFORCED]
        needed = _needed(operation)
        self._needed = [one for one in self._lets if one[0] in needed]
        bound = dict(names)
        self._effects = Effects(domain, compiler).compile(operation.effects, bound, f"{where}.effects")
        if operation.effects and operation.kind is not OperationKind.WRITE:
            raise BadInput(f"{where}: kind is {operation.kind} but it has effects; make it a write")
        self._result = self._finish(operation, compiler, bound, where)

    def _finish(self, operation: Operation, compiler: Compiler, names: Names, where: str) -> Callable[[Scope], Any]:
        if operation.query is not None:
            return compiled_query(operation.query, operation, compiler, names, f"{where}.query")
        if operation.builtin is Builtin.CALCULATE:
            return lambda scope: {"result": calculate(scope["expression"])}
        if operation.builtin is Builtin.TRANSFER:
            return lambda scope: {"transferred": True}
        result = operation.result
        if result is None:
            made = [one[2] for one in operation.effects if one[0] == "insert"] + [one.name for one in operation.loads]
            if not made:
                raise BadInput(f"{where}: says no `result` and has no record to give; add a result")
            result = f"${made[0]}"
        run, _ = compiler.compile(result, names, f"{where}.result")
        return run

    def scope(self, state: State, arguments: Arguments) -> Scope:
        """Parameters, loads and lets. Raises `ModelMistake`."""
        return self._scope(state, arguments, self._lets)

    def _scope(self, state: State, arguments: Arguments, lets: Sequence[tuple[str, Evaluate]]) -> Scope:
        self._check(arguments)
        scope: Scope = {**self._blank, **arguments, STATE: state}
        for name, table, key in self._loads:
            scope[name] = None if (found := key(scope)) is None else state.get(table, found)
        for name, value in lets:
            scope[name] = value(scope)
        return scope

    def broken(self, state: State, arguments: Arguments) -> tuple[Rule, ...]:
        read = set(state.read)
        try:
            scope = self.scope(state, arguments)
            return tuple(rule for rule, holds, _ in self.rules if not holds(scope))
        finally:
            state.read = read  # to ask is not to act

    def keeps(self, state: State, arguments: Arguments) -> bool:
        read = set(state.read)
        try:
            scope = self.scope(state, arguments)
            return all(holds(scope) for _, holds, _ in self.rules)
        finally:
            state.read = read  # as above

    def run(self, state: State, arguments: Arguments) -> Any:
        scope = self._scope(state, arguments, self._needed)
        for holds, error in self._enforced:
            if not holds(scope):
                raise ModelMistake(error)
        if self.operation.kind is not OperationKind.WRITE:
            return self._result(scope)
        state.begin()
        try:
            self._effects(scope)
            self._invariants.check(state)
            return self._result(scope)
        except BaseException:
            state.rollback()
            raise


def _needed(operation: Operation) -> frozenset[str]:
    """The names that a run itself reads; what only the policy's own rules and planners ask for is left out."""
    enforced = [one.when for one in operation.rules if one.mode is Mode.ENFORCED]
    found = roots([*enforced, *operation.effects, operation.result, operation.query and operation.query.where])
    for let in reversed(operation.lets):
        if let.name in found:
            found |= roots(let.value)
    return found


def _new_name(name: str, names: Mapping[str, Any], where: str) -> None:
    if not name.isidentifier() or name in names or name in ("now", "today"):
        raise BadInput(f"{where}: {name!r} is taken or no name; rename it")


def writes(domain: Domain) -> Sequence[str]:
    """The names of the operations that change records."""
    return [one.name for one in domain.operations if one.kind is OperationKind.WRITE]
