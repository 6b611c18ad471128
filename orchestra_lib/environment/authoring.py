"""A domain file as people write it, resolved to the plain form: shorthand fields, bundles, macros and an archetype.

    "price:money (EUR) -- Per day"     name[:type][?][->table][=a|b|c] [(unit)] [-- description]
    {"macro": "finder", "table": "members", "by": ["email"]}

Other keys of a macro's object are those of an operation; lists are appended to what the macro makes, texts replace
it. `data/domains/README.md` lists the macros.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchestra_lib.errors import BadInput

Data = dict[str, Any]
_FIELD = re.compile(
    r"(?P<name>\w+)(?::(?P<type>\w+))?(?P<optional>\?)?(?:->(?P<references>\w+))?"
    r"(?:=(?P<values>[^(]+?))?(?:\s*\((?P<unit>[^)]*)\))?(?:\s+--\s+(?P<description>.*))?"
)
_MAX_FIELD = 500
_LISTS = ("parameters", "loads", "lets", "rules", "effects", "effect_text")
_KEEPS = ("type", "title", "description", "references", "values", "unit", "fields", "item", "key", "minimum", "maximum")


def resolve(data: Mapping[str, Any], shapes: Sequence[str], *, where: str) -> Data:
    """The plain form of a domain file; `shapes` are the texts of its archetype's files. Raises `BadInput`."""
    raw = dict(data)
    roles = raw.pop("roles", {})
    shape = _shape(shapes, roles, where)
    bundles = {**shape["bundles"], **raw.pop("bundles", {})}
    without = set(raw.pop("without", ()))
    if "owner" in roles:
        raw.setdefault("owner", roles["owner"])
    raw["tables"] = [_table(one, f"{where}: tables[{place}]") for place, one in enumerate(raw.get("tables", ()))]
    tables = {one.get("name"): one for one in raw["tables"]}
    resolved: dict[str, Data] = {}
    own = list(raw.get("operations", ()))
    for place, one in enumerate([*shape["operations"], *own]):
        at = f"{where}: operations[{place - len(shape['operations'])}]"
        operation = _operation(one, tables, bundles, at)
        resolved[operation.get("name", at)] = operation
    if unknown := without - resolved.keys():
        raise BadInput(
            f"{where}: without: no operation {sorted(unknown)[0]!r}; the archetype has {', '.join(resolved)}"
        )
    raw["operations"] = [one for name, one in resolved.items() if name not in without]
    for key in ("facts", "parameters"):
        raw[key] = [*shape[key], *raw.get(key, ())]
    return raw


def _shape(texts: Sequence[str], roles: Mapping[str, str], where: str) -> Data:
    """An archetype with the roles of this domain in it: `<<owner>>` is a table, `<<owner.one>>` one record."""

    def role(match: re.Match[str]) -> str:
        if match[1] not in roles:
            raise BadInput(f"{where}: roles: the archetype needs {match[1]!r}; name it there")
        return roles[match[1]]

    whole: Data = {"bundles": {}, "operations": [], "facts": [], "parameters": []}
    for text in texts:
        shape: Data = json.loads(re.sub(r"<<([\w.]+)>>", role, text))
        whole["bundles"] |= shape.get("bundles", {})
        for key in ("operations", "facts", "parameters"):
            whole[key] += shape.get(key, ())
    return whole


def field_of(written: str | Mapping[str, Any], where: str) -> Data:
    """A field in the plain form."""
    if not isinstance(written, str):
        plain = dict(written)
        if "fields" in plain:
            plain["fields"] = [field_of(one, f"{where}.fields[{place}]") for place, one in enumerate(plain["fields"])]
        return plain
    match = _FIELD.fullmatch(written) if len(written) <= _MAX_FIELD else None
    if match is None:
        raise BadInput(
            f"{where}: {written[:80]!r} is no field; write name[:type][?][->table][=a|b] [(unit)] [-- words]"
        )
    plain = {key: value for key, value in match.groupdict().items() if value is not None}
    if "values" in plain:
        plain["values"] = [value.strip() for value in plain["values"].split("|")]
    if "optional" in plain:
        plain["optional"] = True
    return plain


def _fields(written: Sequence[Any], where: str) -> list[Data]:
    return [field_of(one, f"{where}[{place}]") for place, one in enumerate(written)]


def _table(written: Mapping[str, Any], where: str) -> Data:
    plain = dict(written)
    plain["fields"] = _fields(plain.get("fields", ()), f"{where}.fields")
    if "key" in plain and all(one.get("name") != plain["key"] for one in plain["fields"]):
        plain["fields"].insert(0, {"name": plain["key"]})
    machine = plain.get("machine")
    status = next((one for one in plain["fields"] if machine and one.get("name") == machine.get("field")), None)
    if machine and status is not None and not status.get("values"):
        states = [machine.get("initial"), *machine.get("given", ())]
        for state, following in machine.get("transitions", {}).items():
            states += [state, *following]
        status["values"] = list(dict.fromkeys(states))
    return plain


def _operation(written: Mapping[str, Any], tables: Mapping[str, Data], bundles: Mapping[str, Any], where: str) -> Data:
    given = dict(written)
    macro, used = given.pop("macro", None), given.pop("with", ())
    made: Data = {}
    if macro is not None:
        if macro not in MACROS:
            raise BadInput(f"{where}: macro {macro!r} is unknown; known are {', '.join(MACROS)}")
        table = tables.get(str(given.get("table")))
        if table is None and macro not in ("calculate", "transfer"):
            raise BadInput(f"{where}: table {given.get('table')!r} is unknown; known are {', '.join(map(str, tables))}")
        given.pop("table", None)
        try:
            made = MACROS[macro](table or {}, given, tables)
        except KeyError as error:
            raise BadInput(f"{where}: macro {macro!r}: {error.args[0]!r} is missing or unknown") from None
    for key in _LISTS:
        parts = [*made.pop(key, ()), *given.pop(key, ())]
        made[key] = parts
    made |= given
    for place, (name, arguments) in enumerate(used):
        if name not in bundles:
            raise BadInput(f"{where}.with[{place}]: no bundle {name!r}; known are {', '.join(bundles) or 'none'}")
        bundle = _filled(bundles[name], {f"${key}": value for key, value in arguments.items()})
        for key in _LISTS:
            made[key] += bundle.get(key, ())
    made["parameters"] = _fields(made["parameters"], f"{where}.parameters")
    return made


def _filled(part: Any, arguments: Mapping[str, Any]) -> Any:
    """A bundle with its arguments in place of `$name`; a path goes on behind a path."""
    if isinstance(part, str):
        root, dot, rest = part.partition(".")
        value = arguments.get(root)
        if value is None:
            return part
        return f"{value}.{rest}" if dot else value
    if isinstance(part, Mapping):
        return {key: _filled(value, arguments) for key, value in part.items()}
    return [_filled(one, arguments) for one in part] if isinstance(part, list) else part


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


def _key(table: Data) -> Data:
    return _column(table, table["key"], description=f"Which {table['one']}")


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
    one = table["one"].replace(" ", "_")
    return {
        "name": f"get_{one}",
        "kind": "read",
        "description": f"Everything on record about one {table['one']}.",
        "parameters": [_key(table)],
        "loads": [{"name": one, "table": table["name"], "key": f"${table['key']}"}],
        "result": f"${one}",
    }


def _lister(table: Data, given: Data, tables: Mapping[str, Data]) -> Data:
    by = given.pop("by")
    whose = _column(table, by)
    of = tables[whose["references"]]["one"] if "references" in whose else by
    query: Data = {"table": table["name"], "filters": [{"field": by, "parameter": by}]}
    for key in ("where", "show", "sort", "page_size"):
        if key in given:
            query[key] = given.pop(key)
    paging = [{"name": "page", "type": "integer", "optional": True, "minimum": 1, "description": "From 1"}]
    return {
        "name": f"list_{table['name']}_of_{of.replace(' ', '_')}",
        "kind": "read",
        "description": f"The {table['name'].replace('_', ' ')} of one {of.replace('_', ' ')}.",
        "parameters": [whose, *_sorting(query), *paging],
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
    query: Data = {"table": table["name"], "filters": filters}
    for key in ("where", "show", "sort", "page_size"):
        if key in given:
            query[key] = given.pop(key)
    paging = [{"name": "page", "type": "integer", "optional": True, "minimum": 1, "description": "From 1"}]
    return {
        "name": f"search_{table['name']}",
        "kind": "read",
        "description": f"Search {table['name'].replace('_', ' ')}; every condition is optional.",
        "parameters": [*parameters, *_sorting(query), *paging],
        "query": query,
    }


def _sorting(query: Data) -> list[Data]:
    if not query.get("sort"):
        return []
    values = [word for name in query["sort"] for word in (name, f"-{name}")]
    words = "The field to sort by; a minus sorts downwards"
    return [{"name": "sort_by", "values": values, "optional": True, "description": words}]


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
    made: Data = {
        "kind": "write",
        "parameters": [_key(table)],
        "loads": [{"name": one, "table": table["name"], "key": f"${table['key']}"}],
        "rules": [],
        "effects": [],
        "result": f"${one}",
    }
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
