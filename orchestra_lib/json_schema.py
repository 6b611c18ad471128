"""JSON schemas that several places write in the same way."""

from collections.abc import Mapping
from typing import Any


def closed(properties: Mapping[str, Any], *, optional: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The schema of an object with these properties and no others, all of them required but the optional ones."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }
