"""Operations that no task could use: no record of the base meets their rules."""

from collections.abc import Iterator, Sequence

from orchestra_lib.environment.domain import World
from orchestra_lib.environment.expression import STATE, Compiler, Scope
from orchestra_lib.environment.names import roots
from orchestra_lib.environment.schema import Operation
from orchestra_lib.errors import ModelMistake


def unusable(world: World) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Such operations by name, with the table of the record that none fits and the rules that were tried.

    A rule is tried when the record alone decides it; what depends on other arguments can always be chosen.
    """
    for operation in world.domain.operations:
        for load in operation.loads:
            parameter = str(load.key)[1:]
            if roots(load.key) != {parameter}:
                continue  # it follows from another
            bound = bound_by(operation, parameter)
            rules = tuple(rule.id for rule in operation.rules if roots(rule.when) <= bound)
            if next(fitting(world, operation, parameter, load.table, rules), None) is None:
                yield operation.name, load.table, rules


def bound_by(operation: Operation, parameter: str) -> set[str]:
    """The names that follow from one parameter alone."""
    bound = {parameter}
    for one in operation.loads:
        if roots(one.key) <= bound:
            bound.add(one.name)
    for let in operation.lets:
        if roots(let.value) <= bound:
            bound.add(let.name)
    return bound


def fitting(world: World, operation: Operation, parameter: str, table: str, rules: Sequence[str]) -> Iterator[str]:
    """The keys of the records of a table that meet rules which the record of this parameter alone decides."""
    bound = bound_by(operation, parameter)
    compiler, state = Compiler(world.domain), world.state()
    names = dict(world.operations.types(operation.name))
    loads = [
        (one.name, one.table, compiler.compile(one.key, names, "")[0]) for one in operation.loads if one.name in bound
    ]
    lets = [(one.name, compiler.compile(one.value, names, "")[0]) for one in operation.lets if one.name in bound]
    holds = [world.operations.rule(operation.name, one) for one in rules]
    for key in world.records[table]:
        scope: Scope = {STATE: state, parameter: key}
        try:
            for name, loaded, run in loads:
                scope[name] = None if (found := run(scope)) is None else state.get(loaded, found)
        except ModelMistake:
            continue
        for name, run in lets:
            scope[name] = run(scope)
        if all(rule(scope) for rule in holds):
            yield key
