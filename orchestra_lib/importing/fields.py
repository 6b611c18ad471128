"""Fields of foreign JSON, read as the type they should have; a wrong type is named with what was expected."""

from collections.abc import Mapping
from typing import Any

from orchestra_lib.errors import BadInput
from orchestra_lib.json_writing import spoken

Object = Mapping[str, Any]
_CREDIBLE = 10**15
"""What is counted or timed here never comes near it, and every database holds it."""


def as_object(value: object, name: str) -> Object:
    """A JSON object. Raises `BadInput`."""
    if not isinstance(value, dict):
        raise BadInput(f"{name} is {_kind(value)}; it should be an object")
    return value


def objects(data: Object, key: str) -> list[Object]:
    """A list of objects, empty where there is none. Raises `BadInput`."""
    value = data.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadInput(f"{key} is {_kind(value)}; it should be a list")
    return [as_object(part, f"{key}[{place}]") for place, part in enumerate(value)]


def text(data: Object, key: str) -> str | None:
    """A text, None where there is none; a number is read as its digits. Raises `BadInput`."""
    value = data.get(key)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise BadInput(f"{key} is {_kind(value)}; it should be a text")


def number(data: Object, key: str) -> float | None:
    """A number, None where there is none. Raises `BadInput`."""
    value = data.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise BadInput(f"{key} is {_kind(value)}; it should be a number")
    if not abs(value) <= _CREDIBLE:
        raise BadInput(f"{key} is beyond measure; numbers go up to {_CREDIBLE:,}")
    return value


def count(data: Object, key: str) -> int | None:
    """A whole number, 0 or more, None where there is none. Raises `BadInput`."""
    value = number(data, key)
    if value is None:
        return None
    if value < 0 or value != int(value):
        raise BadInput(f"{key} = {value!r}; it should be a whole number, 0 or more")
    return int(value)


def content_text(content: object) -> str:
    """The text of a message's content: a text, or a list of parts of which those that are no text are only named."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise BadInput(f"content is {_kind(content)}; it should be a text or a list of parts")
    return "\n".join(_part_text(part) for part in content if _kind_of_part(part) != "reasoning")


def reasoning_text(content: object) -> str:
    """The reasoning among the parts of a message's content, empty where there is none."""
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("reasoning", "")) for part in parts if _kind_of_part(part) == "reasoning")


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    said = as_object(part, "a part of content")
    told = said.get("text", said.get("refusal"))
    return told if isinstance(told, str) else f"[{_kind_of_part(part)}]"


def _kind_of_part(part: object) -> str:
    return str(part.get("type", "part"))[:40] if isinstance(part, dict) else "text"


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case dict():
            return "an object"
        case list():
            return "a list"
        case _:
            shown = spoken(value)
            return shown if len(shown) <= 40 else shown[:40] + "…"
