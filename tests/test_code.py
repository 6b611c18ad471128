"""Functions are made of this package's own words: nothing that a domain says stands in their source."""

import io
import keyword
import tokenize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import changed, operation

from orchestra_lib.environment.code import Code, walk
from orchestra_lib.environment.code import operator as operator_form
from orchestra_lib.environment.domain import domain_names, load_world
from orchestra_lib.environment.operators import cents, tidy
from orchestra_lib.errors import BadInput, ModelMistake

OWN = {
    "made", "s", "a", "get", "find", "records", "among", "insert", "edit", "begin", "rollback", "changed", "base",
    "pages", "seen", "update", "append", "keep_page", "places", "broken", "rows", "found", "page", "asked", "fresh",
    "kept", "__class__",
}  # fmt: skip


def words(source):
    return [one for one in tokenize.generate_tokens(io.StringIO(source).readline) if one.type != tokenize.NEWLINE]


@pytest.mark.parametrize("name", domain_names())
def test_a_source_holds_no_word_of_its_domain(name, monkeypatch):
    sources = []
    nothing = compile("made = 0", "", "exec")
    monkeypatch.setattr("orchestra_lib.environment.code._compiled", lambda text: sources.append(text) or nothing)
    for one in load_world(name).operations._made.values():
        assert (one.run, one.broken, one.keeps, one.values) == (0, 0, 0, 0)
    assert len(sources) > 40
    for text in sources:
        for token in words(text):
            assert token.type != tokenize.STRING, token
            if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
                assert token.string in OWN or (token.string[0] in "vk" and token.string[1:].isdigit()), token


def test_hostile_words_are_values_and_run_nowhere():
    evil = "x'); __import__('os').system('false') #"

    def hostile(domain, records):
        cancel = operation(domain, "cancel_hire")
        cancel["rules"].append({"id": "evil", "when": ["!=", "$hire.note", evil], "error": evil})
        records["hires"]["H1003"]["note"] = evil

    made = changed(hostile)
    with pytest.raises(ModelMistake) as refused:
        made.operations.run(made.state(), "cancel_hire", {"hire_id": "H1003", "reason": "illness"})
    assert str(refused.value) == f"cancel_hire was not done: {evil}"


def test_what_is_made_has_no_builtins():
    code = Code()
    code.line("return open")
    with pytest.raises(NameError):
        code.function()(None, {})


def test_a_path_of_nulls_is_null():
    code = Code(scoped=True)
    code.line(f"return {walk(code, code.name('a'), ['b', 'c']).text}")
    run = code.function()
    assert [run({"a": one}) for one in (None, {}, {"b": None}, {"b": {"c": 3}})] == [None, None, None, 3]


def test_effects_within_effects_end_somewhere():
    def deep(domain, records):
        effect = ["set", "$hire.note", "x"]
        for _ in range(12):
            effect = ["if", ["==", 1, 1], [effect]]
        operation(domain, "cancel_hire")["effects"].append(effect)

    with pytest.raises(BadInput, match="more than 8 effects within one another"):
        changed(deep)


@given(st.floats(-1e13, 1e13) | st.integers(-(10**9), 10**9).map(lambda one: one / 100), st.floats(-1e3, 1e3))
def test_quick_rounding_is_rounding(left, right):
    for number in (left, left + right, left * right):
        assert repr(tidy(number)) == repr(round(number, 6))
    assert abs(cents(left) - left) <= max(0.0051, abs(left) * 1e-9)


@given(st.integers(-(10**7), 10**7), st.integers(-(10**7), 10**7))
def test_a_sum_that_is_written_out_is_the_tidy_one(left, right):
    code = Code(scoped=True)
    code.line(f"return {operator_form(code, '+', sum, [code.name('a'), code.name('b')]).text}")
    run = code.function()
    a, b = left / 100, right / 1000
    assert repr(run({"a": a, "b": b})) == repr(tidy(a + b))
    assert run({"a": left, "b": right}) == left + right
    assert run({"a": None, "b": b}) is None
