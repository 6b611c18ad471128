"""Finders, lists and searches: conditions from parameters, order, pages."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchestra_lib.environment.expression import STATE, Compiler, Scope
from orchestra_lib.environment.kinds import Kind, Type
from orchestra_lib.environment.schema import Compare, Operation, Query
from orchestra_lib.environment.state import State
from orchestra_lib.errors import BadInput, ModelMistake

Record = Mapping[str, Any]


def compiled_query(
    query: Query, operation: Operation, compiler: Compiler, names: Mapping[str, Type], where: str
) -> Callable[[Scope], Any]:
    """The query as a function of a scope with the parameters in it. Raises `BadInput` for what it names in vain."""
    if query.table not in compiler.tables:
        raise BadInput(f"{where}: no table {query.table!r}; known are {', '.join(compiler.tables)}")
    fields = compiler.tables[query.table].fields or {}
    parameters = [one.name for one in operation.parameters]
    for one in query.filters:
        if one.field not in fields or one.parameter not in parameters:
            raise BadInput(f"{where}: the filter {one.field!r} by {one.parameter!r} names no field or no parameter")
        plain = not {fields[one.field].kind, names[one.parameter].kind} & {Kind.LIST, Kind.OBJECT}
        if one.compare is not Compare.HAS and not plain:
            raise BadInput(f"{where}: the filter {one.field!r} compares a list or an object; use `has`")
    for name in (*query.show, *query.sort):
        if name not in fields:
            raise BadInput(f"{where}: {query.table} has no field {name!r}; it has {', '.join(fields)}")
    fixed = None
    if query.where is not None:
        fixed = compiler.predicate(query.where, {**names, "row": compiler.tables[query.table]}, f"{where}.where")
    tests = [(one.field, one.parameter, one.compare) for one in query.filters]
    table, key = query.table, compiler.key(query.table)

    def hits(scope: Scope) -> list[Record]:
        given = [(field, scope[name], compare) for field, name, compare in tests if scope.get(name) is not None]
        found = _matching(scope[STATE], table, given)
        return found if fixed is None else [row for row in found if fixed(_with(scope, row))]

    if query.single:
        return lambda scope: _single(scope, hits(scope), table, key)
    shown = (key, *(name for name in query.show if name != key)) if query.show else ()
    asked = tuple(parameters)
    elsewhere = "'record" in repr(query.where)  # the condition looks at records of other tables

    def page(scope: Scope) -> Any:
        state: State = scope[STATE]
        if state.overlay and (elsewhere or any(name == table for name, _ in state.overlay)):
            return _page(scope, hits(scope), query, key, shown)
        # Until something is written there, an episode finds what every other found.
        said = (operation.name, repr([scope.get(name) for name in asked]))
        kept = state.base.pages.get(said)
        if kept is None:
            result = _page(scope, hits(scope), query, key, shown)
            state.base.keep_page(said, result, frozenset((table, row[key]) for row in result["results"]))
            return result
        result, places = kept
        state.seen |= places
        return result

    return page


def _matching(state: State, table: str, given: Sequence[tuple[str, Any, Compare]]) -> list[Record]:
    """The rows that meet all conditions, in the order of their keys."""
    indexed = [(field, wanted) for field, wanted, compare in given if compare is Compare.IS]
    by = min(indexed, key=lambda one: state.base.count(table, *one), default=None)
    found: list[Record] = list(state.records(table) if by is None else state.matching(table, *by))
    for field, wanted, compare in given:
        if compare is Compare.IS:
            if (field, wanted) != by:
                found = [row for row in found if row.get(field) == wanted]
        else:
            test = _TESTS[compare]
            found = [row for row in found if test(row.get(field), wanted)]
    if state.overlay or not state.base.is_sorted(table):
        key = state.base.tables[table].key
        found.sort(key=lambda row: row[key])
    return found


def _with(scope: Scope, row: Record) -> Scope:
    scope["row"] = row
    return scope


def _at_least(value: Any, wanted: Any) -> bool:
    return value is not None and value >= wanted


def _at_most(value: Any, wanted: Any) -> bool:
    return value is not None and value <= wanted


def _has(value: Any, wanted: Any) -> bool:
    if isinstance(value, str):
        return str(wanted).casefold() in value.casefold()
    return wanted in (value or ())


_TESTS: Mapping[Compare, Callable[[Any, Any], bool]] = {
    Compare.AT_LEAST: _at_least,
    Compare.AT_MOST: _at_most,
    Compare.HAS: _has,
}


def _single(scope: Scope, found: list[Record], table: str, key: str) -> Any:
    state: State = scope[STATE]
    one = state.base.tables[table].one
    if not found:
        raise ModelMistake(f"No {one} matches.")
    if len(found) > 1:
        raise ModelMistake(
            f"{len(found)} of the {table.replace('_', ' ')} match; ask for something that tells them apart."
        )
    state.read.add((table, found[0][key]))
    return {key: found[0][key]}


def _page(scope: Scope, found: list[Record], query: Query, key: str, shown: tuple[str, ...]) -> Any:
    wish, size = scope.get("sort_by"), query.page_size
    if wish:
        name = wish.removeprefix("-")
        known = [row for row in found if row.get(name) is not None]
        known.sort(key=lambda row: row[name], reverse=wish.startswith("-"))
        found = known + [row for row in found if row.get(name) is None]
    pages = max(1, -(-len(found) // size))
    page = scope.get("page") or 1
    if page > pages:
        raise ModelMistake(f"There {'is one page' if pages == 1 else f'are {pages} pages'}; page {page} is beyond.")
    rows = found[(page - 1) * size : page * size]
    state: State = scope[STATE]
    state.seen.update((query.table, row[key]) for row in rows)
    results = [{name: row.get(name) for name in shown} for row in rows] if shown else rows
    return {"total": len(found), "page": page, "pages": pages, "results": results}
