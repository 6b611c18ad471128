"""What a call's arguments must meet, and that a mistake is told to the model in its own terms."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.errors import ModelMistake
from orchestra_lib.tool import ToolCall, ToolSpec
from orchestra_lib.toolkit import arguments

SEARCH = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1, "maxLength": 10},
        "k": {"type": "integer", "minimum": 1, "maximum": 8},
        "unit": {"enum": ["km", "mi"]},
        "where": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
    "required": ["query"],
    "additionalProperties": False,
}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def spec(parameters: dict[str, Any]) -> ToolSpec:
    return ToolSpec(name="search", title="Search", description="Searches.", parameters=parameters)


def mistake(given_arguments: dict[str, Any]) -> str:
    with pytest.raises(ModelMistake) as caught:
        arguments.check(spec(SEARCH), ToolCall.of("1", "search", given_arguments))
    return str(caught.value)


def test_valid_arguments_pass_unchanged() -> None:
    call = ToolCall.of("1", "search", {"query": "Peru", "k": 3})
    assert arguments.check(spec(SEARCH), call) is call.arguments


@pytest.mark.parametrize("text", ["", "  ", "null", "{}"])
@pytest.mark.parametrize("parameters", [{}, {"type": "object", "properties": {}}])
def test_a_tool_without_parameters_takes_nothing_in_any_form(text: str, parameters: dict[str, Any]) -> None:
    read = {} if text == "{}" else None
    call = ToolCall(id="1", tool="search", arguments=read, arguments_text=text)
    assert arguments.check(spec(parameters), call) == {}


@pytest.mark.parametrize(
    "wrong, says",
    [
        ({}, "`query` is missing"),
        ({"query": 5}, "`query` must be of type string, not 5"),
        ({"query": "Peru", "k": "3"}, '`k` must be of type integer, not "3"'),
        ({"query": "Peru", "k": 9}, "`k` must be at most 8, not 9"),
        ({"query": "Peru", "k": True}, "`k` must be of type integer, not true"),
        ({"query": "a" * 11}, "`query` has 11 characters; at most 10 are allowed"),
        ({"query": ""}, "`query`"),
        ({"query": "Peru", "limit": 3}, "the arguments may not have `limit`"),
        ({"query": "Peru", "unit": "m"}, '`unit` must be one of ["km","mi"], not "m"'),
        ({"query": "Peru", "where": {}}, "`where.city` is missing"),
        ({"query": "Peru", "where": {"city": 1}}, "`where.city` must be of type string, not 1"),
    ],
)
def test_a_mistake_names_the_field_and_the_remedy(wrong: dict[str, Any], says: str) -> None:
    message = mistake(wrong)
    assert says in message
    assert "It takes query (string), k (integer, optional)" in message


def test_every_missing_field_is_named() -> None:
    two = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]}
    with pytest.raises(ModelMistake, match="`a`, `b` are missing"):
        arguments.check(spec(two), ToolCall.of("1", "search", {}))


@pytest.mark.parametrize("text", ["", "null", "[1]", '"x"', '{"query": "Pe'])
def test_text_that_is_no_object_is_refused_when_something_is_required(text: str) -> None:
    call = ToolCall(id="1", tool="search", arguments=None, arguments_text=text)
    with pytest.raises(ModelMistake, match="the arguments are not a JSON object"):
        arguments.check(spec(SEARCH), call)


def test_the_arguments_of_another_text_are_not_guessed() -> None:
    call = ToolCall(id="1", tool="search", arguments=None, arguments_text="Peru")
    with pytest.raises(ModelMistake):
        arguments.check(spec({"type": "object", "properties": {"query": {"type": "string"}}}), call)


@given(st.dictionaries(st.text(max_size=300), json_values, max_size=6))
def test_any_object_passes_or_is_refused_in_a_short_message(anything: dict[str, Any]) -> None:
    message = ""
    try:
        assert arguments.check(spec(SEARCH), ToolCall.of("1", "search", anything)) == anything
    except ModelMistake as mistaken:
        message = str(mistaken)
    assert len(message) <= arguments.MAX_MESSAGE
    assert message or isinstance(anything["query"], str)
