"""JSON schemas of other people's tools: checked, without references, and harmless to check arguments against.

A reference can fetch an address or never end, and a regular expression can take for ever: the first are written out
where they point into the schema itself and refused elsewhere, the second become words of a description.
"""

from collections.abc import Mapping
from typing import Any

from orchestra_lib.codec import dumps
from orchestra_lib.errors import BadInput
from orchestra_lib.tool import is_too_deep
from orchestra_lib.toolkit.arguments import schema_problem

MAX_CHARS = 60_000
"""A schema as JSON, before and after its references are written out."""

_MAX_NODES = 5_000
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_UNSAID = {
    "$anchor", "$comment", "$dynamicAnchor", "$id", "$schema", "$vocabulary", "$defs", "definitions", "format",
    "patternProperties", "unevaluatedProperties", "unevaluatedItems", "pattern", *_REFERENCES,
}  # fmt: skip
"""What says nothing, is not checked here, or is written out."""
_ONE = ("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then")
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "dependentSchemas")


def plain_parameters(schema: object, *, where: str) -> Mapping[str, Any]:
    """The parameters of a foreign tool as a schema of type object that stands by itself.

    What holds itself may be anything from the second time on. Raises `BadInput`, worded to follow `where`, for what is
    no schema of an object, refers to elsewhere, or is too large.
    """
    if not isinstance(schema, Mapping):
        raise BadInput(f"{where}: the parameters are no JSON schema but {type(schema).__name__}")
    if is_too_deep(schema):
        raise BadInput(f"{where}: the schema is nested more than 100 deep")
    _check_size(schema, where)
    if schema.get("type", "object") != "object":
        raise BadInput(f"{where}: the parameters are of type {str(schema['type'])[:40]!r}; a tool takes an object")
    if (problem := schema_problem(schema)) is not None:
        raise BadInput(f"{where}: no JSON schema: {problem}")
    made = {"type": "object", "properties": {}, **_Plain(schema, where).node(schema, ())}
    _check_size(made, where)
    return made


def _check_size(schema: object, where: str) -> None:
    try:
        size = len(dumps(schema))
    except (ValueError, TypeError) as error:
        raise BadInput(f"{where}: the schema is no JSON ({error})") from None
    if size > MAX_CHARS:
        raise BadInput(f"{where}: the schema has {size:,} characters; the limit is {MAX_CHARS:,}")


class _Plain:
    """Writes out one schema, whose form has been checked; what references point at has not."""

    def __init__(self, root: Mapping[str, Any], where: str) -> None:
        self._root, self._where, self._nodes = root, where, 0
        self._good: set[str] = set()

    def node(self, schema: Any, within: tuple[str, ...]) -> Any:
        self._nodes += 1
        if self._nodes > _MAX_NODES or len(within) > 50:
            raise BadInput(f"{self._where}: the schema is too large once its references are written out")
        if not isinstance(schema, Mapping):
            return schema
        kept: dict[str, Any] = {}
        for word in _REFERENCES:
            if word in schema:
                kept |= self._referred(schema[word], within)
        kept |= {word: self._part(word, value, within) for word, value in schema.items() if word not in _UNSAID}
        if isinstance(pattern := schema.get("pattern"), str):
            kept["description"] = f"{kept.get('description', '')} (pattern: {pattern[:200]})".strip()
        return kept

    def _part(self, word: str, value: Any, within: tuple[str, ...]) -> Any:
        if word in _ONE:
            return self.node(value, within)
        if word in _MANY:
            return [self.node(one, within) for one in value]
        if word in _NAMED:
            return {name: self.node(one, within) for name, one in value.items()}
        return value

    def _referred(self, reference: str, within: tuple[str, ...]) -> Mapping[str, Any]:
        if not reference.startswith("#"):
            raise BadInput(f"{self._where}: the schema refers to {reference[:80]!r}; write that part into it")
        if reference in (*within, "#"):
            return {}
        found: Any = self._root
        for step in reference.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, Mapping) or step not in found:
                raise BadInput(f"{self._where}: the schema refers to {reference[:80]!r}, which it does not have")
            found = found[step]
        if not isinstance(found, Mapping):
            return {}
        if reference not in self._good and (problem := schema_problem(found)) is not None:
            raise BadInput(f"{self._where}: no JSON schema at {reference[:80]!r}: {problem}")
        self._good.add(reference)
        made: Mapping[str, Any] = self.node(found, (*within, reference))
        return made
