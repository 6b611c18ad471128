"""Finders, lists and searches: conditions from parameters, order, pages."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchestra_lib.environment.code import Code
from orchestra_lib.environment.expression import Compiler
from orchestra_lib.environment.kinds import Kind, Type
from orchestra_lib.environment.schema import Compare, FieldType, Operation, Query
from orchestra_lib.environment.state import State
from orchestra_lib.errors import BadInput, ModelMistake

Record = Mapping[str, Any]
Given = Sequence[tuple[str, Any, Compare]]
"""Conditions: a field, what it is compared with, and how."""


def write_query(
    code: Code, query: Query, operation: Operation, compiler: Compiler, names: Mapping[str, Type], where: str
) -> None:
    """The query as the last lines of a function with the parameters as variables. Raises `BadInput` for what it names
    in vain.
    """
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
    table, key = code.constant(query.table).text, compiler.key(query.table)
    if not query.single:
        _write_kept(code, query, operation)
    tests = [
        f"({code.constant(one.field).text}, {code.name(one.parameter).text}, {code.constant(one.compare).text})"
        for one in query.filters
    ]
    code.line(
        f"found = {code.constant(_matching).text}({code.state}, {table}, ({''.join(f'{one}, ' for one in tests)}))"
    )
    if query.where is not None:
        row = code.variable("row", sure=True)
        inside = {**names, "row": compiler.tables[query.table]}
        holds = compiler.condition(code, query.where, inside, f"{where}.where")
        code.line(f"found = [{row} for {row} in found if {holds.text}]")
    if query.single:
        code.line(f"return {code.constant(_single).text}({code.state}, found, {table}, {code.constant(key).text})")
        return
    shown = (key, *(name for name in query.show if name != key)) if query.show else ()
    wish = code.name("sort_by").text if "sort_by" in names else "None"
    page = code.name("page").text if "page" in names else "None"
    make = code.constant(_Pages(query, key, shown)).text
    code.line(f"page = {make}({code.state}, found, {wish}, {page})")
    with code.block("if fresh:"):
        code.line(f"{code.state}.base.keep_page(asked, page, {make}.places(page))")
    code.line("return page")


def _write_kept(code: Code, query: Query, operation: Operation) -> None:
    """Until something is written there, an episode finds what every other found."""
    elsewhere = "'record" in repr(query.where)  # the condition looks at records of other tables
    given = [code.name(one.name).text for one in operation.parameters]
    plain = all(one.type in _PLAIN or one.name == "page" for one in operation.parameters)
    said = f"({code.constant(operation.name).text}, {''.join(f'{one}, ' for one in given)})"
    code.line(
        f"asked = {said if plain else f'({code.constant(operation.name).text}, {code.constant(repr).text}({said}))'}"
    )
    table = "None" if elsewhere else code.constant(query.table).text
    code.line(f"fresh = {code.constant(_is_untouched).text}({code.state}, {table})")
    with code.block("if fresh:"):
        code.line(f"kept = {code.state}.base.pages.get(asked)")
        with code.block("if kept is not None:"):
            code.line(f"{code.state}.seen.update(kept[1])")
            code.line("return kept[0]")


_PLAIN = (FieldType.TEXT, FieldType.DATE, FieldType.DATETIME, FieldType.BOOLEAN)
"""Values of these types are one when they are equal; of numbers 1 and 1.0 are equal and read otherwise."""


def _is_untouched(state: State, table: str | None) -> bool:
    """Whether the episode has written nothing to a table, or nothing at all."""
    if not state.overlay:
        return True
    return table is not None and all(name != table for name, _ in state.overlay)


def _matching(state: State, table: str, tests: Given) -> list[Record]:
    """The rows that meet all conditions, in the order of their keys; one without a value is none."""
    given = [one for one in tests if one[1] is not None]
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


def _single(state: State, found: list[Record], table: str, key: str) -> Any:
    one = state.base.tables[table].one
    if not found:
        raise ModelMistake(f"No {one} matches.")
    if len(found) > 1:
        raise ModelMistake(
            f"{len(found)} of the {table.replace('_', ' ')} match; ask for something that tells them apart."
        )
    state.read.add((table, found[0][key]))
    return {key: found[0][key]}


class _Pages:
    """Makes the pages of a search."""

    def __init__(self, query: Query, key: str, shown: tuple[str, ...]) -> None:
        self._table, self._size, self._key, self._shown = query.table, query.page_size, key, shown

    def __call__(self, state: State, found: list[Record], wish: str | None, page: int | None) -> Any:
        if wish:
            name = wish.removeprefix("-")
            known = [row for row in found if row.get(name) is not None]
            known.sort(key=lambda row: row[name], reverse=wish.startswith("-"))
            found = known + [row for row in found if row.get(name) is None]
        page, size = int(page or 1), self._size
        pages = max(1, -(-len(found) // size))
        if page > pages:
            raise ModelMistake(f"There {'is one page' if pages == 1 else f'are {pages} pages'}; page {page} is beyond.")
        rows = found[(page - 1) * size : page * size]
        table, key, shown = self._table, self._key, self._shown
        state.seen.update([(table, row[key]) for row in rows])
        results = [{name: row.get(name) for name in shown} for row in rows] if shown else rows
        return {"total": len(found), "page": page, "pages": pages, "results": results}

    def places(self, page: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
        """The records that a page shows."""
        return frozenset((self._table, row[self._key]) for row in page["results"])
