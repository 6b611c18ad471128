"""Arguments brought to the types that their schema names, where only one reading is possible.

Small models write `"3"` for 3 and `"[1, 2]"` for [1, 2]. Such a string is read as JSON when the schema
admits no string there and admits what the JSON is; a float without a fraction becomes an integer where only
integers are admitted. Both lose nothing. No value becomes a string, a yes is no `true`, nothing
missing is filled in, and what is left is for the schema check to refuse.
"""

import json
from collections.abc import Mapping
from typing import Any

_ALL = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
_MAX_DEPTH = 20
_MAX_NESTED = 4
"""Alternatives within alternatives, beyond which every type counts as admitted."""


def coerce(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments as the schema means them; the very same object when nothing had to change."""
    coerced: Mapping[str, Any] = _Coercion(schema).value(arguments, schema, 0)
    return coerced


class _Coercion:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def value(self, value: Any, schema: Any, depth: int) -> Any:
        schema = self._resolved(schema)
        if depth > _MAX_DEPTH or schema is None:
            return value
        value = _read_as(value, self._types(schema))
        if isinstance(value, Mapping):
            properties = self._only_branch(schema, "properties")
            return _unless_same(value, {k: self.value(v, properties.get(k), depth + 1) for k, v in value.items()})
        if isinstance(value, list):
            items = self._only_branch(schema, "items")
            return _unless_same(value, [self.value(part, items or None, depth + 1) for part in value])
        return value

    def _types(self, schema: Mapping[str, Any], nested: int = 0) -> frozenset[str]:
        """The JSON types that a schema admits; all when it does not say."""
        named = schema.get("type")
        if named is not None:
            return frozenset([named] if isinstance(named, str) else named)
        if "const" in schema or "enum" in schema:
            return frozenset(_type(value) for value in schema.get("enum", [schema.get("const")]))
        branches = [self._resolved(branch) for branch in _branches(schema)]
        if not branches or nested > _MAX_NESTED or None in branches:
            return _ALL
        return frozenset().union(*(self._types(branch, nested + 1) for branch in branches if branch is not None))

    def _only_branch(self, schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        """What stands under `key`, also in the one alternative that has it; empty when that is not one."""
        found = [part for part in (schema, *map(self._resolved, _branches(schema))) if part and key in part]
        inner = found[0][key] if len(found) == 1 else {}
        return inner if isinstance(inner, Mapping) else {}

    def _resolved(self, schema: Any) -> Mapping[str, Any] | None:
        """A schema with its local `$ref` followed; None for what is no schema object."""
        for _ in range(_MAX_DEPTH):
            if not isinstance(schema, Mapping):
                return None
            reference = schema.get("$ref")
            if not isinstance(reference, str):
                return schema
            schema = self._root
            for part in reference.removeprefix("#").strip("/").split("/"):
                schema = schema.get(part) if isinstance(schema, Mapping) and part else schema
        return None


def _read_as(value: Any, types: frozenset[str]) -> Any:
    if isinstance(value, float) and "integer" in types and "number" not in types and value.is_integer():
        return int(value)
    if not isinstance(value, str) or "string" in types:
        return value
    try:
        read = json.loads(value, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return value
    kind = _type(read)
    return read if kind in types or (kind == "integer" and "number" in types) else value


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _branches(schema: Mapping[str, Any]) -> list[Any]:
    return [branch for key in ("anyOf", "oneOf") if isinstance(schema.get(key), list) for branch in schema[key]]


def _type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case _:
            return "object"


def _unless_same(before: Any, after: Any) -> Any:
    """The value before, when no part was replaced."""
    parts = (
        zip(before.values(), after.values(), strict=True)
        if isinstance(before, Mapping)
        else zip(before, after, strict=True)
    )
    return before if all(old is new for old, new in parts) else after
