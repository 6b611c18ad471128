"""Schemas of other people's tools: written out, bounded, and harmless."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.errors import BadInput, ModelMistake
from orchestra_lib.tool import ToolCall, ToolSpec
from orchestra_lib.toolkit.arguments import check
from orchestra_lib.toolkit.foreign_schema import plain_parameters

POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


def read(schema):
    return plain_parameters(schema, where="tool t")


def test_references_into_the_schema_are_written_out_and_arguments_checked_by_them():
    schema = {"properties": {"at": {"$ref": "#/$defs/Point"}}, "$defs": {"Point": POINT}, "$schema": "https://x"}
    parameters = read(schema)
    assert parameters == {"type": "object", "properties": {"at": POINT}}
    spec = ToolSpec(name="t", title="T", description="", parameters=parameters)
    with pytest.raises(ModelMistake, match=r"at.x"):
        check(spec, ToolCall.of("1", "t", {"at": {}}))


def test_a_schema_that_holds_itself_ends():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    parameters = read({"properties": {"first": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}})
    assert parameters["properties"]["first"]["properties"]["next"] == {}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("text", "no JSON schema but str"),
        ({"type": "string"}, "a tool takes an object"),
        ({"type": "object", "properties": {"a": {"type": "strange"}}}, "no JSON schema: properties.a.type"),
        ({"properties": {"a": {"$ref": "http://192.0.2.1/schema"}}}, "refers to 'http://192.0.2.1/schema'"),
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, "which it does not have"),
        ({"properties": {"a": {"description": "x" * 70_000}}}, "the limit is 60,000"),
        ({"properties": {"a": {"$ref": "#/default"}}, "default": {"type": 5}}, "no JSON schema at '#/default'"),
    ],
)
def test_what_cannot_be_offered_is_said(schema, words):
    with pytest.raises(BadInput, match=r"^tool t: ") as refused:
        read(schema)
    assert words in str(refused.value)


def test_references_that_multiply_are_stopped():
    defs = {f"d{n}": {"properties": {k: {"$ref": f"#/$defs/d{n + 1}"} for k in "abcdefgh"}} for n in range(9)}
    with pytest.raises(BadInput, match="too large once its references are written out"):
        read({"$ref": "#/$defs/d0", "$defs": {**defs, "d9": {"type": "object"}}})


def test_a_pattern_is_told_and_not_run():
    parameters = read({"properties": {"a": {"type": "string", "pattern": "(a+)+$", "description": "Letters."}}})
    assert parameters["properties"]["a"] == {"type": "string", "description": "Letters. (pattern: (a+)+$)"}


NAMES = st.sampled_from(["a", "type", "properties", "$ref", "$defs", "items", "anyOf", "required", "enum", "pattern"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["object", "string", "#", "#/$defs/a", "x"]),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(NAMES, one, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(NAMES, VALUES, max_size=5))
def test_whatever_comes_is_refused_or_can_check_arguments(schema):
    try:
        parameters = read(schema)
    except BadInput:
        return
    spec = ToolSpec(name="t", title="T", description="", parameters=parameters)
    for arguments in ({}, {"a": 1}, {"a": {"a": []}}):
        with suppress(ModelMistake):
            assert check(spec, ToolCall.of("1", "t", arguments)) == arguments
