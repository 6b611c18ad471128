"""What a domain file's macros stand for: finders, getters, lists, searches and the common writes in their plain form.

Each takes the table, the entry as it was written (and takes its own keys out of it), and all tables by name; a
KeyError names what is missing or unknown. `data/domains/README.md` lists them for authors.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Data = dict[str, Any]
_KEEPS = ("type", "title", "description", "references", "values", "unit", "fields", "item", "key", "minimum", "maximum")


def _column(table: Data, name: str, **changes: Any) -> Data:
    """A parameter with the type of a field."""
    field = next((one for one in table["fields"] if one["name"] == name), None)
    if field is None:
        raise KeyError(name)
    kept = {key: field[key] for key in _KEEPS if key in field}
    if name == table["key"]:
        kept["references"] = table["name"]
    return {"name": name, **kept, **changes}


def _spoken(names: Sequence[str]) -> str:
    return " and ".join(name.replace("_", " ") for name in names)


def _of_one(table: Data) -> Data:
    """What every operation on one record has: its key as a parameter, its load, and the record as what it shows."""
    one = table["one"].replace(" ", "_")
    return {
        "parameters": [_column(table, table["key"], description=f"Which {table['one']}")],
        "loads": [{"name": one, "table": table["name"], "key": f"${table['key']}"}],
        "result": f"${one}",
    }


def _finder(table: Data, given: Data, tables: Mapping[str, Data]) -> Data:
    by = given.pop("by")
    return {
        "name": f"find_{table['one'].replace(' ', '_')}_by_{'_'.join(by)}",
        "kind": "read",
        "description": f"Find the {table['key'].replace('_', ' ')} of a {table['one']} by {_spoken(by)}.",
        "parameters": [_column(table, name) for name in by],
        "query": {
            "table": table["name"],
            "single": True,
            "filters": [{"field": name, "parameter": name} for name in by],
        },
    }


def _getter(table: Data, given: Data, tables: Mapping[str, Data]) -> Data:
    return {
        "name": f"get_{table['one'].replace(' ', '_')}",
        "kind": "read",
        "description": f"Everything on record about one {table['one']}.",
        **_of_one(table),
    }


def _lister(table: Data, given: Data, tables: Mapping[str, Data]) -> Data:
    by = given.pop("by")
    whose = _column(table, by)
    of = tables[whose["references"]]["one"] if "references" in whose else by
    query = _query(table, given, [{"field": by, "parameter": by}])
    return {
        "name": f"list_{table['name']}_of_{of.replace(' ', '_')}",
        "kind": "read",
        "description": f"The {table['name'].replace('_', ' ')} of one {of.replace('_', ' ')}.",
        "parameters": [whose, *_leafing(query)],
        "query": query,
    }


def _search(table: Data, given: Data, tables: Mapping[str, Data]) -> Data:
    filters: list[Data] = []
    parameters: list[Data] = []
    for name in given.pop("by", ()):
        filters.append({"field": name, "parameter": name})
        parameters.append(_column(table, name, optional=True))
    for name in given.pop("has", ()):
        filters.append({"field": name, "parameter": name, "compare": "has"})
        is_list = _column(table, name).get("type") == "list"
        words = f"One of its {name.replace('_', ' ')}" if is_list else f"Part of the {name.replace('_', ' ')}"
        parameters.append({"name": name, "optional": True, "description": words})
    for name in given.pop("range", ()):
        for prefix, compare in (("min", ">="), ("max", "<=")):
            filters.append({"field": name, "parameter": f"{prefix}_{name}", "compare": compare})
            parameters.append(_column(table, name, optional=True) | {"name": f"{prefix}_{name}"})
    query = _query(table, given, filters)
    return {
        "name": f"search_{table['name']}",
        "kind": "read",
        "description": f"Search {table['name'].replace('_', ' ')}; every condition is optional.",
        "parameters": [*parameters, *_leafing(query)],
        "query": query,
    }


def _query(table: Data, given: Data, filters: list[Data]) -> Data:
    """A query for many records, with what the entry says of them."""
    said: Data = {key: given.pop(key) for key in ("where", "show", "sort", "page_size") if key in given}
    return {"table": table["name"], "filters": filters, **said}


def _leafing(query: Data) -> list[Data]:
    """The parameters by which one goes through what a query finds."""
    page = {"name": "page", "type": "integer", "optional": True, "minimum": 1, "description": "From 1"}
    if not query.get("sort"):
        return [page]
    values = [word for name in query["sort"] for word in (name, f"-{name}")]
    words = "The field to sort by; a minus sorts downwards"
    return [{"name": "sort_by", "values": values, "optional": True, "description": words}, page]


def _create(table: Data, given: Data, tables: Mapping[str, Data]) -> Data:
    one = table["one"].replace(" ", "_")
    return {
        "name": f"create_{one}",
        "kind": "write",
        "description": f"Create a new {table['one']}.",
        "effects": [["insert", table["name"], one, given.pop("values")]],
        "result": f"${one}",
    }


def _change(table: Data, given: Data, tables: Mapping[str, Data]) -> Data:
    """Works on one record: its key as a parameter, its load, its state before and after."""
    one, before, after = table["one"].replace(" ", "_"), given.pop("from", None), given.pop("to", None)
    made: Data = {"kind": "write", **_of_one(table), "rules": [], "effects": []}
    if before:
        status = f"${one}.{table['machine']['field']}"
        allowed = ["==", status, before[0]] if len(before) == 1 else ["in", status, ["list", *before]]
        made["rules"] = [{"id": "status", "when": allowed}]
    if after:
        made["effects"] = [["set", f"${one}.{table['machine']['field']}", after]]
    return made


def _set(table: Data, given: Data, tables: Mapping[str, Data]) -> Data:
    """Sets plain fields of one record."""
    names = given.pop("fields")
    made = _change(table, given, tables)
    one = table["one"].replace(" ", "_")
    made["parameters"] += [_column(table, name) for name in names]
    made["effects"] += [["set", f"${one}.{name}", f"${name}"] for name in names]
    return {
        "name": f"update_{one}_{'_'.join(names)}",
        "description": f"Change the {_spoken(names)} of a {table['one']}.",
        **made,
    }


def _calculate(table: Data, given: Data, tables: Mapping[str, Data]) -> Data:
    return {
        "name": "calculate",
        "kind": "generic",
        "description": "Work out an arithmetic expression of numbers, + - * / and brackets.",
        "parameters": ["expression -- Such as 2 * (14.5 + 3)"],
        "builtin": "calculate",
    }


def _transfer(table: Data, given: Data, tables: Mapping[str, Data]) -> Data:
    return {
        "name": "transfer_to_human_agents",
        "kind": "generic",
        "description": "Hand the user over to a human agent, with a summary of the request.",
        "parameters": ["summary -- What the user needs and why it cannot be done here"],
        "builtin": "transfer",
    }


MACROS: Mapping[str, Callable[[Data, Data, Mapping[str, Data]], Data]] = {
    "finder": _finder,
    "getter": _getter,
    "lister": _lister,
    "search": _search,
    "create": _create,
    "change": _change,
    "set": _set,
    "calculate": _calculate,
    "transfer": _transfer,
}
