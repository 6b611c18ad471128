"""The form that a request asks an answer to have: a JSON object, that fits a schema where one is given."""

import json
from collections.abc import Mapping
from typing import Any

from orchestra_lib.coercion import coerce
from orchestra_lib.errors import BadInput, ModelMistake
from orchestra_lib.json_text import objects
from orchestra_lib.json_writing import spoken
from orchestra_lib.record import record
from orchestra_lib.serving.refusal import Refusal
from orchestra_lib.tool import ToolCall, ToolSpec
from orchestra_lib.toolkit.arguments import check
from orchestra_lib.toolkit.foreign_schema import plain_parameters

FIELD = "response_format"
_SCHEMA = f"{FIELD}.json_schema"


@record
class Form:
    """One JSON object. `schema` stands by itself and is None where any object will do."""

    schema: Mapping[str, Any] | None = None

    def instruction(self) -> str:
        """What an orchestrator is told of it before it begins."""
        alone = "with nothing before or after it"
        if self.schema is None:
            return f"The final answer must be one JSON object, {alone}."
        return f"The final answer must be one JSON object, {alone}, that fits this JSON schema:\n{spoken(self.schema)}"

    def read(self, answer: str) -> str:
        """The object of an answer as JSON: as it was written, or taken out of the words around it.

        Values are brought to the types of the schema where only one reading is possible, as arguments of tools are; a
        plain answer is the value of the only property of a schema that has one. Raises `ModelMistake`, for the model to
        read, where there is no object, more than one, or one that does not fit.
        """
        if self.schema is None:
            return _as_written(answer, _object(answer))
        try:
            return _as_written(answer, self._fitting(_object(answer)))
        except ModelMistake:
            if (alone := self._alone(answer)) is not None:
                return spoken(alone)
            raise

    def _fitting(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        assert self.schema is not None
        spec = ToolSpec(name="the answer", title="", description="", parameters=self.schema)
        return check(spec, ToolCall.of("answer", spec.name, coerce(value, self.schema)))

    def _alone(self, answer: str) -> Mapping[str, Any] | None:
        """A plain answer as the schema's only property; None where it has several, or the answer does not fit it."""
        properties = (self.schema or {}).get("properties", {})
        if len(properties) != 1 or "{" in answer:
            return None
        try:
            return self._fitting({next(iter(properties)): answer.strip()})
        except ModelMistake:
            return None


def _object(answer: str) -> Mapping[str, Any]:
    try:
        whole = json.loads(answer)
    except (ValueError, RecursionError):
        found = objects(answer)
        if len(found) == 1:
            return found[0]
        many = f"it holds {len(found)} JSON objects" if found else "it holds no JSON object that can be read"
        raise ModelMistake(f"the answer must be one JSON object, and {many}") from None
    if not isinstance(whole, dict):
        raise ModelMistake(f"the answer must be one JSON object, not {spoken(whole)[:80]}")
    return whole


def _as_written(answer: str, value: Mapping[str, Any]) -> str:
    try:
        return answer if json.loads(answer) == value else spoken(value)
    except (ValueError, RecursionError):
        return spoken(value)


def read_form(given: object) -> Form | None:
    """What a request says in `response_format`; None for plain text. Raises `Refusal`."""
    if given is None:
        return None
    asked = given if isinstance(given, Mapping) else {}
    kind = asked.get("type")
    match kind:
        case "text":
            return None
        case "json_object":
            return Form()
        case "json_schema":
            return Form(schema=_schema(asked.get("json_schema")))
    raise Refusal(
        f"{FIELD} is of type {str(kind)[:40]!r}; the types are text, json_object and json_schema", param=FIELD
    )


def _schema(given: object) -> Mapping[str, Any]:
    schema = given.get("schema") if isinstance(given, Mapping) else None
    if schema is None:
        raise Refusal(f"{_SCHEMA}.schema is missing; send the schema of the object", param=_SCHEMA)
    try:
        return plain_parameters(schema, where=f"{_SCHEMA}.schema")
    except BadInput as error:
        raise Refusal(str(error), param=_SCHEMA) from None
