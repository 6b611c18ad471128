"""Answers read in the form that was asked for: what fits stays as it is, and nothing is guessed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.errors import ModelMistake
from orchestra_lib.serving.form import Form, read_form
from orchestra_lib.serving.refusal import Refusal

PAIR = {"type": "object", "properties": {"n": {"type": "integer"}, "of": {"type": "string"}}, "required": ["n"]}
ONE = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
SAID = {"type": "object", "properties": {"said": {"type": "string"}}, "required": ["said"]}
PLAIN = st.none() | st.booleans() | st.integers() | st.text()
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.sampled_from(["{}", "Sure:\n```json\n{}\n```", "{} Done."]))
def test_the_only_object_of_an_answer_is_read_and_what_is_whole_is_untouched(value, around):
    text = json.dumps(value)
    answer = around.replace("{}", text)
    assert json.loads(Form().read(answer)) == value
    assert Form().read(text) == text


@given(st.text())
def test_any_answer_is_fitting_json_or_a_mistake(answer):
    for schema in (None, PAIR, ONE, SAID):
        try:
            read = json.loads(Form(schema=schema).read(answer))
        except ModelMistake:
            continue
        assert isinstance(read, dict)
        assert schema != ONE or isinstance(read["n"], int)


@pytest.mark.parametrize(
    ("schema", "answer", "read"),
    [(ONE, "47", {"n": 47}), (ONE, '{"n": "47"}', {"n": 47}), (SAID, "In Rome.", {"said": "In Rome."})],
)
def test_a_value_is_brought_to_its_type_and_to_the_only_property(schema, answer, read):
    assert json.loads(Form(schema=schema).read(answer)) == read


@pytest.mark.parametrize(
    ("schema", "answer", "words"),
    [
        (None, "[1]", "one JSON object, not"),
        (None, "{} and {}", "it holds 2 JSON objects"),
        (PAIR, "47", "one JSON object, not 47"),
        (PAIR, "{}", "`n` is missing"),
        (ONE, "many", "it holds no JSON object"),
        (ONE, '{"n": 1, "m": 2}', "may not have `m`"),
        (SAID, '{"said": "cut of', "it holds no JSON object"),
    ],
)
def test_what_does_not_fit_is_a_mistake_that_the_model_can_read(schema, answer, words):
    with pytest.raises(ModelMistake, match=words):
        Form(schema=schema).read(answer)


def test_a_schema_is_checked_before_anything_starts():
    asked = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": PAIR}}
    assert read_form(asked) == Form(schema=PAIR)
    assert (read_form(None), read_form({"type": "text"})) == (None, None)
    for bad in ({}, {"schema": []}, {"schema": {"type": "array"}}, {"schema": {"$ref": "http://x"}}):
        with pytest.raises(Refusal, match=r"response_format\.json_schema\.schema"):
            read_form({"type": "json_schema", "json_schema": bad})
