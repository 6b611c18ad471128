import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.coercion import coerce

SCHEMA = {
    "type": "object",
    "properties": {
        "k": {"type": "integer"},
        "x": {"type": "number"},
        "on": {"type": "boolean"},
        "q": {"type": "string"},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "ids": {"type": "array", "items": {"type": "integer"}},
        "where": {"$ref": "#/$defs/Place"},
        "size": {"enum": [1, 2]},
        "unit": {"enum": ["km", "1"]},
        "any": {},
    },
    "$defs": {"Place": {"type": "object", "properties": {"floor": {"type": ["integer", "null"]}}}},
}
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text('0123456789.e[]{}"tru', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(SCHEMA["properties"])), inner, max_size=3)
    ),
    max_leaves=10,
)


@pytest.mark.parametrize(
    "name, written, meant",
    [
        ("k", "3", 3),
        ("k", 3.0, 3),
        ("x", "2.5", 2.5),
        ("x", "3", 3),
        ("on", "true", True),
        ("maybe", "7", 7),
        ("maybe", "null", None),
        ("ids", "[1, 2]", [1, 2]),
        ("ids", ["1", 2], [1, 2]),
        ("where", '{"floor": "2"}', {"floor": 2}),
        ("size", "2", 2),
    ],
)
def test_a_string_becomes_what_only_it_can_mean(name, written, meant):
    coerced = coerce({name: written}, SCHEMA)
    assert coerced == {name: meant}
    assert type(coerced[name]) is type(meant)


@pytest.mark.parametrize(
    "name, written",
    [
        ("k", "three"),
        ("k", "3.5"),
        ("k", 3.5),
        ("k", "True"),
        ("k", True),
        ("on", "yes"),
        ("on", 1),
        ("q", 5),
        ("q", "5"),
        ("ids", "1"),
        ("ids", "1,2"),
        ("unit", "1"),
        ("any", "1"),
        ("new", "1"),
        ("x", "NaN"),
        ("k", "007"),
        ("k", None),
    ],
)
def test_nothing_is_guessed(name, written):
    arguments = {name: written}
    assert coerce(arguments, SCHEMA) is arguments


@given(st.dictionaries(st.sampled_from(list(SCHEMA["properties"])), json_values))
def test_coercing_keeps_the_keys_and_is_done_after_once(arguments):
    once = coerce(arguments, SCHEMA)
    assert list(once) == list(arguments)
    assert coerce(once, SCHEMA) is once


@pytest.mark.parametrize(
    "schema",
    [{}, {"properties": 3}, {"$ref": "#"}, {"properties": {"k": {"$ref": "#/no"}}}, {"anyOf": [{"$ref": "#"}]}],
)
def test_a_strange_schema_changes_nothing(schema):
    arguments = {"k": "3"}
    assert coerce(arguments, schema) is arguments
