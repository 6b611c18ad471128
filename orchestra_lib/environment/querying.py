"""Finders, lists and searches: conditions from parameters, order, pages."""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from orchestra_lib.environment.code import Code
from orchestra_lib.environment.expression import Compiler
from orchestra_lib.environment.kinds import Kind, Type
from orchestra_lib.environment.schema import Compare, FieldType, Filter, Operation, Query
from orchestra_lib.environment.state import State
from orchestra_lib.errors import BadInput, ModelMistake

Record = Mapping[str, Any]


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
        _write_kept(code, query, operation, compiler)
    row = code.variable("row", sure=True)
    tests = [_test(code, one, row) for one in sorted(query.filters, key=lambda one: _ORDER.index(one.compare))]
    if query.where is not None:
        inside = {**names, "row": compiler.tables[query.table]}
        tests.append(compiler.condition(code, query.where, inside, f"{where}.where").text)
    holds = f" if {' and '.join(tests)}" if tests else ""
    code.line(f"rows = {_rows(code, query, table)}")
    code.line(f"found = [{row} for {row} in rows{holds}]")
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


def _write_kept(code: Code, query: Query, operation: Operation, compiler: Compiler) -> None:
    """Until something is written there, an episode finds what every other found, be it under another policy."""
    elsewhere = "'record" in repr(query.where)  # the condition looks at records of other tables
    given = [code.name(one.name).text for one in operation.parameters]
    plain = all(one.type in _PLAIN or one.name == "page" for one in operation.parameters)
    search = operation.name if query.where is None else f"{operation.name} {compiler.policy}"  # a filter asks no policy
    name = code.constant(search).text
    said = f"({name}, {''.join(f'{one}, ' for one in given)})"
    code.line(f"asked = {said if plain else f'({name}, {code.constant(repr).text}({said}))'}")
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


_ORDER = (Compare.IS, Compare.AT_LEAST, Compare.AT_MOST, Compare.HAS)
"""Tests in the order of what they cost."""

_SIGNS = {Compare.AT_LEAST: ">=", Compare.AT_MOST: "<="}


def _test(code: Code, one: Filter, row: str) -> str:
    """Whether a row meets a condition; one without a value is none."""
    wanted = code.name(one.parameter)
    value = f"{row}.get({code.constant(one.field).text})"
    if one.compare is Compare.IS:
        test = f"{value} == {wanted.text}"
    elif one.compare is Compare.HAS:
        test = f"{code.constant(_has).text}({value}, {wanted.text})"
    else:
        kept = code.temporary()
        test = f"(({kept} := {value}) is not None and {kept} {_SIGNS[one.compare]} {wanted.text})"
    return test if wanted.sure else f"({wanted.text} is None or {test})"


def _rows(code: Code, query: Query, table: str) -> str:
    """The rows that may meet the conditions, in the order of the records: an index spares most where one can."""
    indexed = [
        (code.constant(one.field).text, code.name(one.parameter)) for one in query.filters if one.compare is Compare.IS
    ]
    if len(indexed) == 1 and indexed[0][1].sure:
        return f"{code.state}.among({table}, {indexed[0][0]}, {indexed[0][1].text})"
    if not indexed:
        return f"{code.state}.records({table})"
    given = "".join(f"({field}, {wanted.text}), " for field, wanted in indexed)
    return f"{code.constant(_narrowest).text}({code.state}, {table}, ({given}))"


def _narrowest(state: State, table: str, given: Sequence[tuple[str, Any]]) -> Iterable[Record]:
    """The rows of the condition that fewest records of the base meet."""
    least, by = 0, None
    for field, wanted in given:
        if wanted is not None:
            many = state.base.count(table, field, wanted)
            if by is None or many < least:
                least, by = many, (field, wanted)
    return state.records(table) if by is None else state.among(table, *by)


def _has(value: Any, wanted: Any) -> bool:
    if isinstance(value, str):
        return str(wanted).casefold() in value.casefold()
    return wanted in (value or ())


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
    """Makes the pages of a search. What is shown of a record is made once for as long as the record is the same."""

    def __init__(self, query: Query, key: str, shown: tuple[str, ...]) -> None:
        self._table, self._size, self._key, self._shown = query.table, query.page_size, key, shown
        self._known: dict[str, tuple[Record, Record, tuple[str, str]]] = {}

    def __call__(self, state: State, found: list[Record], wish: str | None, page: int | None) -> Any:
        if state.overlay or not state.base.is_sorted(self._table):
            found.sort(key=itemgetter(self._key))
        if wish:
            name = wish.removeprefix("-")
            known = [row for row in found if row.get(name) is not None]
            known.sort(key=itemgetter(name), reverse=wish.startswith("-"))
            found = known + [row for row in found if row.get(name) is None]
        page, size = int(page or 1), self._size
        pages = max(1, -(-len(found) // size))
        if page > pages:
            raise ModelMistake(f"There {'is one page' if pages == 1 else f'are {pages} pages'}; page {page} is beyond.")
        results = []
        for row in found[(page - 1) * size : page * size]:
            kept = self._known.get(row[self._key])
            if kept is None or kept[0] is not row:
                kept = self._show(state, row)
            results.append(kept[1])
            state.seen.add(kept[2])
        return {"total": len(found), "page": page, "pages": pages, "results": results}

    def _show(self, state: State, row: Record) -> tuple[Record, Record, tuple[str, str]]:
        """A record, what is shown of it, and its place."""
        key, shown = row[self._key], self._shown
        made = row, {name: row.get(name) for name in shown} if shown else row, (self._table, key)
        if key not in self._known:
            self._known[key] = made  # that of the base, mostly: others live for one episode
            state.base.keep(made[1])
        return made

    def places(self, page: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
        """The records that a page shows."""
        return frozenset((self._table, row[self._key]) for row in page["results"])
