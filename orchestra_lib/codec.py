"""Values to JSON and back, in one place, with a schema version.

Unknown keys are refused: a record from a newer schema, or a misspelt one, must not be read as
if it said less. Lone surrogates, which no UTF-8 file can hold, are replaced by U+FFFD.
"""

import hashlib
import json
from collections.abc import Collection, Hashable, Mapping
from functools import cache
from typing import Annotated, Any, NotRequired, TypeVar, cast

from pydantic import Discriminator, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from orchestra_lib.errors import BadInput, NewerSchema, first_line
from orchestra_lib.event import Event
from orchestra_lib.json_writing import dumps as dumps
from orchestra_lib.json_writing import well_formed as well_formed

SCHEMA_VERSION = 1
T = TypeVar("T")
_EVENT = Annotated[Event, Discriminator("kind")]


@cache
def _adapter(kind: Hashable) -> TypeAdapter[Any]:
    return TypeAdapter(kind)  # type: ignore[arg-type]  # hashable so that it can be cached; a type all the same


def to_data(value: object, kind: Any = None, *, brief: bool = False) -> Any:
    """A frozen value as plain dicts, lists, strings and numbers; `brief` leaves out what is a field's default."""
    adapter = _adapter(kind or cast(Hashable, type(value)))
    try:
        return adapter.dump_python(value, mode="json", exclude_defaults=brief)
    except UnicodeEncodeError:  # a lone surrogate in a key of an inner object, which pydantic takes nowhere else amiss
        plain = _well_formed_parts(adapter.dump_python(value, exclude_defaults=brief))
        return _adapter(cast(Hashable, Any)).dump_python(plain, mode="json")


def _well_formed_parts(value: Any) -> Any:
    """A value with every text within it, keys too, made well-formed."""
    if isinstance(value, Mapping):
        return {_well_formed_parts(key): _well_formed_parts(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_well_formed_parts(part) for part in value]
    return well_formed(value) if isinstance(value, str) else value


def to_text(value: object, kind: Any = None, *, brief: bool = False) -> str:
    """A frozen value as JSON, the same that `dumps` makes of its plain data in a third of the time."""
    try:
        adapter = _adapter(kind or cast(Hashable, type(value)))
        text = adapter.dump_json(value, exclude_defaults=brief).decode()
    except ValueError:  # lone surrogates
        return dumps(to_data(value, kind, brief=brief))
    # Either is an innocent word of a text, or the constant that `dumps` refuses.
    return dumps(to_data(value, kind, brief=brief)) if "NaN" in text or "Infinity" in text else text


def from_data(data: object, kind: type[T], *, where: str) -> T:
    """Read plain data into a value. Raises `BadInput` that names `where`, the key and the remedy."""
    try:
        return _adapter(cast(Hashable, kind)).validate_python(data)  # type: ignore[no-any-return]
    except ValidationError as error:
        raise BadInput(f"{where}: {_first(error)}") from None


def event_to_line(event: Event) -> str:
    """One line of a journal, without the line end."""
    return to_line(event, _EVENT)


def event_from_line(line: str, *, where: str) -> Event:
    """Read one line of a journal. Raises `NewerSchema`, and `BadInput` for broken JSON or unknown keys."""
    event: Event = from_line(line, _EVENT, where=where)  # type: ignore[arg-type]  # a union is a form, not a class
    return event


def to_line(value: object, kind: Any = None, *, brief: bool = False) -> str:
    """A value as one line of a file of records, without the line end: its JSON, and the schema that it follows."""
    return f'{{"schema":{SCHEMA_VERSION},{to_text(value, kind, brief=brief)[1:]}'


def from_line(line: str, kind: type[T], *, where: str) -> T:
    """Read such a line. Raises `NewerSchema`, and `BadInput` for broken JSON or unknown keys."""
    try:
        data = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:  # also integers of over 4,300 digits and very deep nesting
        raise BadInput(f"{where}: not JSON ({error})") from None
    if not isinstance(data, dict):
        raise BadInput(f"{where}: a line is a JSON object")
    version = data.pop("schema", None)
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise NewerSchema(
            f"{where}: schema {version}, but this workbench reads {SCHEMA_VERSION}; update it to read newer records"
        )
    if version != SCHEMA_VERSION:
        raise BadInput(f"{where}: schema {version!r} is none that this workbench knows")
    return from_data(data, kind, where=where)


def fingerprint(data: object) -> str:
    """The SHA-256 of plain data in hex; the order of keys does not matter."""
    return hashlib.sha256(dumps(data, sort_keys=True).encode()).hexdigest()


def schema_of(kind: Any) -> Any:
    """The JSON schema of a value's plain data, without references."""
    schema = _adapter(cast(Hashable, kind)).json_schema(mode="serialization")
    return _plain_schema(schema, schema.get("$defs", {}))


class Form:
    """Named fields with any type annotations: their JSON schema, and plain data read into what they name.

    `schema` is of type object and closed, has no references and no titles that only repeat names.
    Raises `BadInput`, worded to follow the name of what has this form, for an annotation that no JSON can meet.
    """

    def __init__(self, fields: Mapping[str, Any], *, optional: Collection[str] = ()) -> None:
        for name, annotation in fields.items():
            try:
                TypeAdapter(annotation).json_schema()
            except Exception as error:  # annotations are the user's code, and run it
                raise BadInput(f"the type of {name!r} has no JSON form ({first_line(error)})") from None
        typed = {name: NotRequired[kind] if name in optional else kind for name, kind in fields.items()}
        shape = cast(Any, TypedDict)("shape", typed)  # a type checker cannot know its fields
        shape.__pydantic_config__ = {"extra": "forbid"}
        self._adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(shape)
        schema = self._adapter.json_schema()
        plain = _plain_schema(schema, schema.get("$defs", {}))
        self.schema: Mapping[str, Any] = {"type": "object", "properties": {}, **plain, "additionalProperties": False}

    def read(self, data: Mapping[str, Any], *, where: str) -> dict[str, Any]:
        """The fields as their annotations have them. Raises `BadInput`."""
        try:
            return self._adapter.validate_python(dict(data))
        except ValidationError as error:
            raise BadInput(f"{where}: {_first(error)}") from None


def _plain_schema(schema: Any, shared: Mapping[str, Any], within: tuple[str, ...] = ()) -> Any:
    """A schema with its references written out, so that it can stand anywhere, and without titles."""
    if isinstance(schema, list):
        return [_plain_schema(part, shared, within) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "$ref":
            name = value.rpartition("/")[2]
            if name in within:
                raise BadInput(f"the type {name} holds itself; use one of a fixed depth")
            kept |= _plain_schema(shared[name], shared, (*within, name))
        elif key == "properties":
            kept[key] = {name: _plain_schema(part, shared, within) for name, part in value.items()}
        elif key in ("default", "enum", "const", "examples"):
            kept[key] = value
        elif key not in ("$defs", "discriminator") and not (key == "title" and isinstance(value, str)):
            kept[key] = _plain_schema(value, shared, within)
    return kept


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "value"
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{place}: {first['msg']}{more}"
