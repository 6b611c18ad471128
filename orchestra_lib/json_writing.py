"""JSON as every writer here writes it: literal UTF-8, so that no model reads or learns escapes, no lone surrogates."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

# Made once: `json.dumps` makes an encoder for every value that it writes in another way than its own.
_PLAIN, _SORTED = (json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=sort) for sort in (False, True))
_COMPACT, _COMPACT_SORTED = (
    json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=sort)
    for sort in (False, True)
)


def dumps(data: object, *, sort_keys: bool = False) -> str:
    """JSON for programs, compact. Raises ValueError for NaN and the infinities."""
    return well_formed((_COMPACT_SORTED if sort_keys else _COMPACT).encode(data))


def spoken(
    data: object, *, indent: int | None = None, sort_keys: bool = False, default: Callable[[Any], Any] | None = None
) -> str:
    """JSON as models and people read it, with a space behind commas and colons; numbers that JSON lacks are null."""
    if indent is None and default is None:
        try:
            return well_formed((_SORTED if sort_keys else _PLAIN).encode(data))
        except (ValueError, TypeError):  # a number that JSON lacks, or a mapping that is no dict
            pass
    text = json.dumps(_finite(data), ensure_ascii=False, indent=indent, sort_keys=sort_keys, default=default)
    return well_formed(text)


def well_formed(text: str) -> str:
    """The text with every lone surrogate replaced by U+FFFD; no file or database takes one."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _finite(data: object) -> object:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    return [_finite(part) for part in data] if isinstance(data, list | tuple) else data
