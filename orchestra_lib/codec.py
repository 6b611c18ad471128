"""Values to JSON and back, in one place, with a schema version.

Unknown keys are refused: a record from a newer schema, or a misspelt one, must not be read as
if it said less. Lone surrogates, which no UTF-8 file can hold, are replaced by U+FFFD.
"""

import json
from collections.abc import Hashable
from functools import cache
from typing import Annotated, Any, TypeVar, cast

from pydantic import Discriminator, TypeAdapter, ValidationError

from orchestra_lib.errors import BadInput, NewerSchema
from orchestra_lib.event import Event

SCHEMA_VERSION = 1
T = TypeVar("T")
_EVENT = Annotated[Event, Discriminator("kind")]


@cache
def _adapter(kind: Hashable) -> TypeAdapter[Any]:
    return TypeAdapter(kind)  # type: ignore[arg-type]  # hashable so that it can be cached; a type all the same


def to_data(value: object, kind: Any = None) -> Any:
    """A frozen value as plain dicts, lists, strings and numbers."""
    return _adapter(kind or cast(Hashable, type(value))).dump_python(value, mode="json")


def from_data(data: object, kind: type[T], *, where: str) -> T:
    """Read plain data into a value. Raises `BadInput` that names `where`, the key and the remedy."""
    try:
        return _adapter(cast(Hashable, kind)).validate_python(data)  # type: ignore[no-any-return]
    except ValidationError as error:
        raise BadInput(f"{where}: {_first(error)}") from None


def event_to_line(event: Event) -> str:
    """One line of a journal, without the line end."""
    return dumps({"schema": SCHEMA_VERSION, **to_data(event, _EVENT)})


def event_from_line(line: str, *, where: str) -> Event:
    """Read one line of a journal. Raises `NewerSchema`, and `BadInput` for broken JSON or unknown keys."""
    try:
        data = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:  # also integers of over 4,300 digits and very deep nesting
        raise BadInput(f"{where}: not JSON ({error})") from None
    if not isinstance(data, dict):
        raise BadInput(f"{where}: a journal line is a JSON object")
    version = data.pop("schema", None)
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise NewerSchema(
            f"{where}: schema {version}, but this workbench reads {SCHEMA_VERSION}; update it to read newer records"
        )
    if version != SCHEMA_VERSION:
        raise BadInput(f"{where}: schema {version!r} is none that this workbench knows")
    event: Event = from_data(data, _EVENT, where=where)  # type: ignore[arg-type]  # a union is a form, not a class
    return event


def dumps(data: object) -> str:
    """JSON as every writer here writes it: literal UTF-8, no NaN, no lone surrogates."""
    return well_formed(json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def well_formed(text: str) -> str:
    """The text with every lone surrogate replaced by U+FFFD; no file or database takes one."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "value"
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{place}: {first['msg']}{more}"
