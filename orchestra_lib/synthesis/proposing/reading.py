"""A proposal as a model wrote it, read as data: one JSON object of modest size, or a reason why it is none."""

from typing import Any

from orchestra_lib.errors import BadInput
from orchestra_lib.json_text import objects
from orchestra_lib.reading import without_reasoning

MAX_CHARS = 200_000
"""A longer reply is not looked at."""
MAX_NUMBER = 1e9
"""No amount, count or number of days in a domain comes near."""
MAX_TEXT, MAX_DEPTH, MAX_PARTS = 4_000, 40, 20_000
"""The longest text, the deepest nesting and the most values of a proposal."""


def proposed(reply: str) -> dict[str, Any]:
    """The one object of a reply. Raises `BadInput` with a reason that is written for the model to read."""
    if len(reply) > MAX_CHARS:
        raise BadInput(f"the reply has {len(reply):,} characters; a proposal has at most {MAX_CHARS:,}")
    said = without_reasoning(reply)
    found = objects(said)
    if len(found) == 1:
        _modest(found[0])
        return found[0]
    if found:
        raise BadInput(f"the reply holds {len(found)} JSON objects; give one")
    if "{" in said:
        raise BadInput("the reply holds no JSON object that is whole and can be read; give it complete and valid")
    raise BadInput("the reply is no JSON; reply with one JSON object and nothing else")


def _modest(whole: Any) -> None:
    """Raise `BadInput` for what is far beyond anything that a domain or a task can hold."""
    parts, left = [(whole, 1)], MAX_PARTS
    while parts:
        value, depth = parts.pop()
        left -= 1
        if left < 0:
            raise BadInput(f"the proposal has over {MAX_PARTS:,} values; propose less")
        if depth > MAX_DEPTH:
            raise BadInput(f"the proposal is nested more than {MAX_DEPTH} deep; write it flatter")
        match value:
            case bool():
                pass
            case int() | float() if abs(value) > MAX_NUMBER:
                raise BadInput(f"a number is beyond {MAX_NUMBER:,.0f}; use numbers that the domain can hold")
            case str() if len(value) > MAX_TEXT:
                raise BadInput(f"a text has {len(value):,} characters; write at most {MAX_TEXT:,}")
            case dict():
                parts += [(part, depth + 1) for one in value.items() for part in one]
            case list():
                parts += [(part, depth + 1) for part in value]
