"""From the description of a record to the calls that find it: which search, with which arguments."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestra_lib.environment.schema import Compare, Operation
from orchestra_lib.environment.state import Record, State
from orchestra_lib.record import record
from orchestra_lib.synthesis.routes import Routes

Constraints = Sequence[tuple[str, Any]]


@record
class Search:
    """One search call; `whole` says that it tells the record alone, `sorted_` that the first hit is the extremum."""

    operation: str
    arguments: Mapping[str, Any]
    single: bool = False
    is_sorted: bool = False


def search_for(routes: Routes, table: str, constraints: Constraints, by: str = "", extremum: int = 0) -> Search | None:
    """The call for constraints on plain fields of a table, or None where no read takes any of them."""
    given = dict(constraints)
    for one in routes.domain.operations:
        if one.query and one.query.single and one.query.table == table and not extremum:
            fields = {part.field: part.parameter for part in one.query.filters}
            if fields.keys() <= given.keys():
                return Search(
                    operation=one.name, arguments={name: given[at] for at, name in fields.items()}, single=True
                )
    operation = routes.searches.get(table)
    if operation is None or operation.query is None:
        return None
    arguments = _arguments(operation, given)
    wish = f"{'-' if extremum > 0 else ''}{by}"
    sorts = next((one for one in operation.parameters if one.name == "sort_by"), None)
    is_sorted = bool(extremum and sorts and wish in sorts.values)
    if is_sorted:
        arguments["sort_by"] = wish
    return Search(operation=operation.name, arguments=arguments, is_sorted=is_sorted) if arguments else None


def _arguments(operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    assert operation.query is not None
    exact = {one.field for one in operation.query.filters if one.compare in (Compare.IS, Compare.HAS)}
    return {
        one.parameter: given[one.field]
        for one in operation.query.filters
        if one.field in given and (one.compare in (Compare.IS, Compare.HAS) or one.field not in exact)
    }


def value_at(state: State, routes: Routes, table: str, row: Record, path: str) -> Any:
    """What a path of references leads to from a record."""
    head, _, rest = path.partition(".")
    value = row.get(head)
    if not rest:
        return value
    field = routes.field(table, head)
    found = state.find(field.references, value) if field and field.references and value else None
    return value_at(state, routes, field.references or "", found, rest) if found and field else None


def quantity_at(values: Mapping[str, Any], path: str) -> Any:
    """What a path leads to among the values of a call: a name, or a field of a record behind a name."""
    name, _, field = path.partition(".")
    value = values.get(name)
    return value.get(field) if field and isinstance(value, Mapping) else value


def meets(value: Any, wanted: Any) -> bool:
    """Whether a field's value is the wanted one, or a list that holds it."""
    return wanted in value if isinstance(value, list) else bool(value == wanted)


def extreme(rows: Sequence[tuple[Record, Any]], extremum: int) -> Sequence[Record]:
    """The records with the least or the most of a value; unknown values are left out."""
    known = [(value, row) for row, value in rows if value is not None]
    if not known:
        return []
    best = max(value for value, _ in known) if extremum > 0 else min(value for value, _ in known)
    return [row for value, row in known if value == best]
