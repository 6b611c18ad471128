"""A call's arguments against its tool's JSON schema (Draft 2020-12), before anything runs."""

import json
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from orchestra_lib.codec import dumps
from orchestra_lib.errors import ModelMistake
from orchestra_lib.tool import ToolCall, ToolSpec

# jsonschema imports every format checker that is installed; the one that comes with Jupyter parses a
# grammar for over a second at import. No format is checked here, so it is hidden for the moment.
_hidden = sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None makes an import fail
import jsonschema  # noqa: E402
from jsonschema import Draft202012Validator  # noqa: E402

if _hidden is None:
    del sys.modules["rfc3987_syntax"]

MAX_MESSAGE = 600
_MAX_VALUE = 80
_MAX_PROBLEMS = 3
_NOTHING = ("", "null")


def check(spec: ToolSpec, call: ToolCall) -> Mapping[str, Any]:
    """The arguments, unchanged, when they meet the schema.

    A tool without required parameters takes nothing, `null` and `{}` alike. Raises `ModelMistake` that
    names the field and what it should be; nothing is guessed or converted.
    """
    arguments = call.arguments
    if arguments is None and call.arguments_text.strip() in _NOTHING and not spec.parameters.get("required"):
        arguments = {}
    if arguments is None:
        raise ModelMistake(_bounded(f"{spec.name}: the arguments are not a JSON object. {_expected(spec)}"))
    problems = list(islice(_validator(dumps(spec.parameters)).iter_errors(dict(arguments)), _MAX_PROBLEMS + 1))
    if problems:
        raise ModelMistake(_bounded(f"{spec.name}: {'; '.join(_problems(problems))}. {_expected(spec)}"))
    return arguments


def schema_problem(schema: Mapping[str, Any]) -> str | None:
    """What is wrong with a JSON schema, in a line; None for a good one. References are not followed."""
    try:
        Draft202012Validator.check_schema(dict(schema))
    except jsonschema.SchemaError as error:
        return _bounded(f"{'.'.join(map(str, error.absolute_path)) or 'the schema'}: {error.message[: _MAX_VALUE * 2]}")
    return None


@lru_cache(maxsize=256)
def _validator(schema_text: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads(schema_text))


def _problems(problems: list[jsonschema.ValidationError]) -> Iterable[str]:
    # The library reports each missing field on its own; one sentence names them all.
    yield from dict.fromkeys(_problem(problem) for problem in problems[:_MAX_PROBLEMS])
    if len(problems) > _MAX_PROBLEMS:
        yield "and more"


def _problem(problem: jsonschema.ValidationError) -> str:
    where = ".".join(str(part) for part in problem.absolute_path)
    field = f"`{where}`" if where else "the arguments"
    value, wanted = problem.instance, problem.validator_value
    match problem.validator:
        case "required":
            missing = [f"`{f'{where}.' if where else ''}{name}`" for name in wanted if name not in value]
            return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        case "additionalProperties":
            known = problem.schema.get("properties", {})
            extra = ", ".join(f"`{name[:_MAX_VALUE]}`" for name in islice((n for n in value if n not in known), 5))
            return f"{field} may not have {extra}"
        case "type":
            kinds = wanted if isinstance(wanted, str) else " or ".join(wanted)
            return f"{field} must be of type {kinds}, not {_shown(value)}"
        case "enum":
            return f"{field} must be one of {_shown(wanted)}, not {_shown(value)}"
        case "maxLength" | "minLength":
            bound = "at most" if problem.validator == "maxLength" else "at least"
            return f"{field} has {len(value):,} characters; {bound} {wanted:,} are allowed"
        case "maximum" | "minimum":
            bound = "at most" if problem.validator == "maximum" else "at least"
            return f"{field} must be {bound} {wanted}, not {_shown(value)}"
        case _:
            return f"{field}: {problem.message[: _MAX_VALUE * 2]}"


def _expected(spec: ToolSpec) -> str:
    properties: Mapping[str, Any] = spec.parameters.get("properties", {})
    if not properties:
        return "It takes no arguments."
    required = spec.parameters.get("required", ())
    fields = (
        f"{name} ({schema.get('type', 'any') if isinstance(schema, Mapping) else 'any'}"
        f"{'' if name in required else ', optional'})"
        for name, schema in islice(properties.items(), 12)
    )
    return f"It takes {', '.join(fields)}."


def _shown(value: object) -> str:
    text = dumps(value)
    return text if len(text) <= _MAX_VALUE else f"{text[:_MAX_VALUE]}…"


def _bounded(message: str) -> str:
    return message if len(message) <= MAX_MESSAGE else f"{message[: MAX_MESSAGE - 1]}…"
