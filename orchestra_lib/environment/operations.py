"""Runs the operations of a domain on a state: each compiled once, then loads, rules, effects and a result.

A call that cannot be done raises `ModelMistake` with words for the model, and leaves the state as it was.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property
from typing import Any

from orchestra_lib.environment.arguments import Checker
from orchestra_lib.environment.calculation import calculate
from orchestra_lib.environment.code import Code
from orchestra_lib.environment.effects import Effects, Names, parameter_types
from orchestra_lib.environment.expression import Compiler, Evaluate
from orchestra_lib.environment.names import roots
from orchestra_lib.environment.prose import Prose
from orchestra_lib.environment.querying import write_query
from orchestra_lib.environment.schema import Builtin, Domain, Invariant, Let, Mode, Operation, OperationKind, Rule
from orchestra_lib.environment.state import State
from orchestra_lib.errors import BadInput, ModelMistake

Arguments = Mapping[str, Any]
Run = Callable[[State, Arguments], Any]


class Operations:
    """The operations of one domain, ready to run. Raises `BadInput` that names the place of what does not compile."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        compiler, prose = Compiler(domain), Prose(domain)
        self._made: dict[str, _Made] = {}
        self._runs: dict[str, Run] = {}
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
        run = self._runs.get(name)
        if run is None:
            made = self._made.get(name)
            if made is None:
                raise ModelMistake(f"There is no operation {name[:80]!r}; there are {', '.join(self._made)}.")
            run = self._runs[name] = made.run
        return run(state, arguments)

    def broken_rules(self, state: State, name: str, arguments: Arguments) -> tuple[Rule, ...]:
        """The rules of either mode that such a call would break now. Raises `ModelMistake` for a missing record."""
        made = self._made[name]
        return tuple(made.operation.rules[place] for place in _asked(made.broken, state, arguments))

    def keeps_rules(self, state: State, name: str, arguments: Arguments) -> bool:
        """Whether a call would break none; quicker than to name them. Raises as `broken_rules` does."""
        kept: bool = _asked(self._made[name].keeps, state, arguments)
        return kept

    def values(self, state: State, name: str, arguments: Arguments) -> Mapping[str, Any]:
        """Parameters, loads and lets of a call, by name: what a planner needs to know of fees and totals."""
        found: Mapping[str, Any] = self._made[name].values(state, arguments)
        return found

    def written(self, name: str) -> Mapping[str, AbstractSet[str]]:
        """What an operation may change: by table the names of fields, `NEW` for new records."""
        return self._made[name].written

    def types(self, name: str) -> Mapping[str, Any]:
        """The types of those names."""
        return self._made[name].names

    def rule(self, name: str, rule: str) -> Evaluate:
        """A rule's compiled predicate over a scope."""
        return self._made[name].rule(rule)


def _asked(run: Run, state: State, arguments: Arguments) -> Any:
    read = set(state.read)
    try:
        return run(state, arguments)
    finally:
        state.read = read  # to ask is not to act


class _Invariants:
    """What holds of the records of each table after every write."""

    def __init__(self, domain: Domain, compiler: Compiler) -> None:
        self._compiler = compiler
        self._of: dict[str, list[tuple[Invariant, str]]] = {}
        for place, one in enumerate(domain.invariants):
            where = f"{domain.name}: invariants[{place}]"
            if one.table not in compiler.tables:
                raise BadInput(f"{where}: no table {one.table!r}; known are {', '.join(compiler.tables)}")
            compiler.predicate(one.holds, {"row": compiler.tables[one.table]}, where)
            self._of.setdefault(one.table, []).append((one, where))

    def write(self, code: Code) -> None:
        """Check what the running operation changed, and raise `ModelMistake`."""
        held = {table: all_of for table, all_of in self._of.items() if table in code.written}
        if not held:
            return
        kept, code.variables = code.variables, {}  # an operation may have a `row` of its own
        with code.block(f"for changed in {code.state}.changed():"):
            for table, all_of in held.items():
                with code.block(f"if changed[0] == {code.constant(table).text}:"):
                    code.line(f"{code.variable('row', sure=True)} = {code.state}.find(changed[0], changed[1])")
                    for one, where in all_of:
                        refusal = _refusal(code, f"Not done: {one.text}")
                        self._compiler.require(code, one.holds, {"row": self._compiler.tables[table]}, where, refusal)
        code.variables = kept
        code.sure.discard("row")


class _Made:
    """One operation, written: its functions are made when they are first needed, what is wrong is said at once."""

    def __init__(
        self,
        operation: Operation,
        domain: Domain,
        compiler: Compiler,
        prose: Prose,
        invariants: _Invariants,
        where: str,
    ) -> None:
        self.operation = operation
        self._domain, self._compiler, self._prose, self._where = domain, compiler, prose, where
        self._invariants, self._check = invariants, Checker(operation)
        self.names: Names = {}
        self._rules = self._write_rules()
        self._run = self._write_run()
        self.written: Mapping[str, AbstractSet[str]] = self._run.written

    @cached_property
    def run(self) -> Run:
        """Does the operation."""
        return self._run.function()

    @cached_property
    def broken(self) -> Run:
        """The places of the rules that a call would break."""
        return self._rules.function()

    @cached_property
    def keeps(self) -> Run:
        """Whether a call would break none."""
        code, _ = self._begun(self.operation.lets)
        for _, holds in self._written(code, self.operation.rules):
            with code.block(f"if not {holds}:"):
                code.line("return False")
        code.line("return True")
        return code.function()

    @cached_property
    def values(self) -> Run:
        """Parameters, loads and lets."""
        code, names = self._begun(self.operation.lets)
        code.line(f"return {{{', '.join(f'{code.constant(one).text}: {code.name(one).text}' for one in names)}}}")
        return code.function()

    def rule(self, name: str) -> Evaluate:
        """A rule's predicate over a scope."""
        rule = next(one for one in self.operation.rules if one.id == name)
        return self._compiler.predicate(rule.when, self.names, f"{self._where}.rules.{rule.id}")

    def _begun(self, lets: Sequence[Let]) -> tuple[Code, Names]:
        """A function with parameters, loads and lets in its variables."""
        code, compiler, where = Code(), self._compiler, self._where
        self._check.write(code)
        names = parameter_types(self._domain, self.operation.parameters)
        for load in self.operation.loads:
            if load.table not in compiler.tables:
                raise BadInput(
                    f"{where}.loads.{load.name}: no table {load.table!r}; known are {', '.join(compiler.tables)}"
                )
            key, kind = compiler.write_key(code, load.key, names, f"{where}.loads.{load.name}")
            _new_name(load.name, names, f"{where}.loads")
            names[load.name] = replace(compiler.tables[load.table], optional=kind.optional)
            first, again = code.held(key)
            found = f"{code.state}.get({code.constant(load.table).text}, {again})"
            variable = code.variable(load.name, sure=key.sure)
            code.line(f"{variable} = {found if key.sure else f'None if {first} is None else {found}'}")
        for let in lets:
            value, kind = compiler.write(code, let.value, names, f"{where}.lets.{let.name}")
            _new_name(let.name, names, f"{where}.lets")
            names[let.name] = kind
            code.line(f"{code.variable(let.name, sure=value.sure)} = {value.text}")
        return code, names

    def _written(self, code: Code, rules: Sequence[Rule]) -> Sequence[tuple[Rule, str]]:
        """Rules with the texts of their predicates."""
        return [
            (rule, self._compiler.condition(code, rule.when, self.names, f"{self._where}.rules.{rule.id}").text)
            for rule in rules
        ]

    def _write_rules(self) -> Code:
        code, self.names = self._begun(self.operation.lets)
        code.line("broken = []")
        for place, (_, holds) in enumerate(self._written(code, self.operation.rules)):
            with code.block(f"if not {holds}:"):
                code.line(f"broken.append({code.constant(place).text})")
        code.line("return broken")
        return code

    def _write_run(self) -> Code:
        operation, where = self.operation, self._where
        needed = _needed(operation)
        code, _ = self._begun([one for one in operation.lets if one.name in needed])
        enforced = [one for one in operation.rules if one.mode is Mode.ENFORCED]
        for rule in enforced:
            refusal = _refusal(code, self._prose.refusal(operation, rule))
            self._compiler.require(code, rule.when, self.names, f"{where}.rules.{rule.id}", refusal)
        if operation.kind is not OperationKind.WRITE:
            if operation.effects:
                raise BadInput(f"{where}: kind is {operation.kind} but it has effects; make it a write")
            self._finish(code, dict(self.names))
            return code
        bound = dict(self.names)
        code.line(f"{code.state}.begin()")
        with code.block("try:"):
            Effects(self._domain, self._compiler).write(code, operation.effects, bound, f"{where}.effects")
            self._invariants.write(code)
            self._finish(code, bound)
        with code.block(f"except {code.constant(BaseException).text}:"):
            code.line(f"{code.state}.rollback()")
            code.line("raise")
        return code

    def _finish(self, code: Code, names: Names) -> None:
        operation, where = self.operation, self._where
        if operation.query is not None:
            write_query(code, operation.query, operation, self._compiler, names, f"{where}.query")
        elif operation.builtin is Builtin.CALCULATE:
            text = f"{code.constant(calculate).text}({code.name('expression').text})"
            code.line(f"return {{{code.constant('result').text}: {text}}}")
        elif operation.builtin is Builtin.TRANSFER:
            code.line(f"return {{{code.constant('transferred').text}: True}}")
        else:
            result = operation.result
            if result is None:
                made = [one[2] for one in operation.effects if one[0] == "insert"]
                made += [one.name for one in operation.loads]
                if not made:
                    raise BadInput(f"{where}: says no `result` and has no record to give; add a result")
                result = f"${made[0]}"
            piece, _ = self._compiler.write(code, result, names, f"{where}.result")
            code.line(f"return {piece.text}")


def _refusal(code: Code, words: str) -> str:
    return f"{code.constant(ModelMistake).text}({code.constant(words).text})"


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
