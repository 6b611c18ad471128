"""A call's arguments against an operation's parameters, and those as a JSON schema.

The loop checks calls of models against the schema; this check is for calls that no loop made, and far quicker.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from orchestra_lib.environment.code import Code
from orchestra_lib.environment.operators import moment
from orchestra_lib.environment.schema import Field, FieldType, Operation
from orchestra_lib.errors import ModelMistake
from orchestra_lib.json_schema import closed

_ISO = {
    FieldType.DATE: re.compile(r"\d{4}-\d\d-\d\d"),
    FieldType.DATETIME: re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ?"),
}
_SHAPES = {FieldType.DATE: "YYYY-MM-DD", FieldType.DATETIME: "YYYY-MM-DDThh:mm:ss"}
_JSON_TYPES = {
    FieldType.INTEGER: "integer",
    FieldType.NUMBER: "number",
    FieldType.MONEY: "number",
    FieldType.BOOLEAN: "boolean",
    FieldType.OBJECT: "object",
    FieldType.LIST: "array",
}


class Checker:
    """Raises `ModelMistake` for arguments that an operation cannot take, naming the one and what it should be."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._fields = {one.name: one for one in operation.parameters}

    def __call__(self, arguments: Mapping[str, Any]) -> None:
        for name, one in self._fields.items():
            if not one.optional and arguments.get(name) is None:
                raise ModelMistake(f"{self._operation.name}: `{name}` is missing.")
        for name, value in arguments.items():
            field = self._fields.get(name)
            if field is None:
                raise ModelMistake(f"{self._operation.name}: there is no `{name}`; it takes {', '.join(self._fields)}.")
            if value is not None and (wrong := wrong_value(field, value)):
                raise ModelMistake(f"{self._operation.name}: `{name}` {wrong}")

    def write(self, code: Code) -> None:
        """Set a variable for each parameter from the arguments `a`. What plain tests do not pass, this looks at."""
        tests, many = [], [str(sum(not one.optional for one in self._fields.values()))]
        for name, field in self._fields.items():
            key, variable = code.constant(name).text, code.variable(name, sure=not field.optional)
            code.line(f"{variable} = a.get({key})")
            fits = _fits(code, field, variable)
            tests.append(f"({variable} is None or {fits})" if field.optional else fits)
            if field.optional:
                many.append(f"({key} in a)")
        tests.append(f"{code.constant(len).text}(a) == {' + '.join(many)}")
        with code.block(f"if not ({' and '.join(tests)}):"):
            code.line(f"{code.constant(self).text}(a)")


def _fits(code: Code, field: Field, variable: str) -> str:
    """A test that the value of a variable surely passes for a field; others may fit as well."""
    own = f"{variable}.__class__"
    match field.type:
        case FieldType.TEXT:
            text = f"{own} is {code.constant(str).text}"
            return f"{text} and {variable} in {code.constant(frozenset(field.values)).text}" if field.values else text
        case FieldType.BOOLEAN:
            return f"{own} is {code.constant(bool).text}"
        case FieldType.INTEGER | FieldType.NUMBER | FieldType.MONEY:
            whole, broken = f"{own} is {code.constant(int).text}", f"{own} is {code.constant(float).text}"
            text = whole if field.type is FieldType.INTEGER else f"({whole} or {broken})"
            low = "" if field.minimum is None else f" and {variable} >= {code.constant(field.minimum).text}"
            high = "" if field.maximum is None else f" and {variable} <= {code.constant(field.maximum).text}"
            return f"{text}{low}{high}"
        case FieldType.DATE | FieldType.DATETIME:
            fits = code.constant(_is_date if field.type is FieldType.DATE else _is_datetime).text
            return f"{own} is {code.constant(str).text} and {fits}({variable})"
        case _:
            return "False"


@lru_cache(maxsize=65_536)
def _is_date(text: str) -> bool:
    return not _wrong_text(Field(name="", type=FieldType.DATE), text)


@lru_cache(maxsize=65_536)
def _is_datetime(text: str) -> bool:
    return not _wrong_text(Field(name="", type=FieldType.DATETIME), text)


def wrong_value(field: Field, value: Any) -> str:
    """What is wrong with a value for a field, in words that follow its name; nothing when it fits."""
    return _WRONG[field.type](field, value)


def _wrong_boolean(field: Field, value: Any) -> str:
    return "" if isinstance(value, bool) else "must be true or false."


def _wrong_text(field: Field, value: Any) -> str:
    if not isinstance(value, str):
        return "must be text."
    if field.values and value not in field.values:
        return f"must be one of {', '.join(field.values)}."
    if field.type is FieldType.TEXT:
        return ""
    shape = _ISO[field.type]
    try:
        fits = bool(shape.fullmatch(value)) and moment(value) is not None
    except ValueError:
        fits = False
    return "" if fits else f"must be written {_SHAPES[field.type]}."


def _wrong_number(field: Field, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "must be a number."
    if field.type is FieldType.INTEGER and value != int(value):
        return "must be a whole number."
    if field.minimum is not None and value < field.minimum:
        return f"must be at least {field.minimum:g}."
    if field.maximum is not None and value > field.maximum:
        return f"must be at most {field.maximum:g}."
    return ""


def _wrong_list(field: Field, value: Any) -> str:
    if not isinstance(value, list | tuple):
        return "must be a list."
    one = Field(name=field.name, type=field.item or FieldType.TEXT, values=field.values)
    for place, part in enumerate(value):
        wrong = _wrong_object(field, part) if field.fields else wrong_value(one, part)
        if wrong:
            return f"[{place}] {wrong}"
    return ""


def _wrong_object(field: Field, value: Any) -> str:
    if not isinstance(value, Mapping):
        return "must be an object."
    known = {one.name: one for one in field.fields}
    for name, one in known.items():
        if value.get(name) is None:
            if not one.optional:
                return f"needs `{name}`."
        elif wrong := wrong_value(one, value[name]):
            return f"has `{name}` that {wrong}"
    extra = [name for name in value if name not in known]
    return f"has no `{extra[0]}`; it takes {', '.join(known)}." if extra and known else ""


_WRONG: Mapping[FieldType, Callable[[Field, Any], str]] = {
    **dict.fromkeys((FieldType.TEXT, FieldType.DATE, FieldType.DATETIME), _wrong_text),
    **dict.fromkeys((FieldType.INTEGER, FieldType.NUMBER, FieldType.MONEY), _wrong_number),
    FieldType.BOOLEAN: _wrong_boolean,
    FieldType.LIST: _wrong_list,
    FieldType.OBJECT: _wrong_object,
}


def json_schema(operation: Operation) -> dict[str, Any]:
    """The parameters as a closed JSON schema of type object."""
    return _object_schema(operation.parameters)


def _object_schema(fields: tuple[Field, ...]) -> dict[str, Any]:
    optional = frozenset(one.name for one in fields if one.optional)
    return closed({one.name: _schema(one) for one in fields}, optional=optional)


def _schema(field: Field) -> dict[str, Any]:
    words = field.description or field.words
    if field.type in _SHAPES:
        words += f" ({_SHAPES[field.type]})"
    elif field.unit and field.unit not in words:
        words += f" ({field.unit})"
    schema: dict[str, Any] = {"type": _JSON_TYPES.get(field.type, "string"), "description": words}
    if field.type is FieldType.OBJECT:
        schema |= _object_schema(field.fields)
    elif field.type is FieldType.LIST:
        item = Field(name=field.name, type=field.item or FieldType.TEXT, values=field.values)
        schema["items"] = _object_schema(field.fields) if field.fields else _schema(item)
    elif field.values:
        schema["enum"] = list(field.values)
    if field.minimum is not None:
        schema["minimum"] = field.minimum
    if field.maximum is not None:
        schema["maximum"] = field.maximum
    return schema
