"""A domain file as people write it, resolved to the plain form: shorthand fields, bundles, macros and an archetype.

    "price:money (EUR) -- Per day"     name[:type][?][->table][=a|b|c] [(unit)] [-- description]
    {"macro": "finder", "table": "members", "by": ["email"]}

Other keys of a macro's object are those of an operation; lists are appended to what the macro makes, texts replace
it. `data/domains/README.md` lists the macros.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from orchestra_lib.environment.macros import MACROS
from orchestra_lib.errors import BadInput

Data = dict[str, Any]
_FIELD = re.compile(
    r"(?P<name>\w+)(?::(?P<type>\w+))?(?P<optional>\?)?(?:->(?P<references>\w+))?"
    r"(?:=(?P<values>[^(]+?))?(?:\s*\((?P<unit>[^)]*)\))?(?:\s+--\s+(?P<description>.*))?"
)
_MAX_FIELD = 500
_LISTS = ("parameters", "loads", "lets", "rules", "effects", "effect_text")


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
