import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.policy.conductor.verifier import (
    code_in,
    grounded,
    is_error,
    is_timely,
    mended,
    named_function,
    odd_count,
    spoken,
    test_program,
    usable,
)

test_program.__test__ = False


@pytest.mark.parametrize(
    "text",
    [
        "NameError: name 'x' is not defined",
        'Traceback (most recent call last):\n  File "<cell 1>"',
        "coder failed: connection refused",
        "code_interpreter did not finish within 30 s.",
        "Not run: there is no tool 'x'.",
        "error: out of memory",
    ],
)
def test_an_error_text_is_no_answer(text):
    assert is_error(text)
    assert usable(text) is not None


@pytest.mark.parametrize("text", ["47104101", "Kenya (41,800,000)", "no", "Error bars show the spread of a mean."])
def test_an_answer_is_no_error(text):
    assert usable(text) is None


def test_a_model_that_shrugs_gave_no_answer():
    assert spoken("I'm sorry, but I don't have access to that.") is not None
    assert spoken("Paris.") is None


@pytest.mark.parametrize(
    "question, timely",
    [
        ("What is the latest version of Firefox?", True),
        ("Who won last night?", True),
        ("How many people live in Peru?", False),
        ("What is the capital of Peru?", False),
    ],
)
def test_wording_about_the_present_is_noticed(question, timely):
    assert is_timely(question) is timely


def test_code_is_taken_out_of_its_fence_and_prose_is_none():
    assert code_in("Here:\n```python\nx = 1\n```\nDone.") == "x = 1"
    assert code_in("17 * 12 - 95") == "17 * 12 - 95"
    assert code_in("It is 54.") is None
    assert code_in("```python\ndef f(:\n```") is None


def test_closing_marks_of_a_schema_are_cut_from_a_program_and_nothing_else():
    assert mended("print(1)}") == "print(1)"
    assert mended("print({1: 2})") == "print({1: 2})"
    assert mended("print(((") == "print((("


def test_the_test_of_code_asks_for_what_the_task_names():
    assert named_function("Write a Python function caesar(text, shift) that shifts.") == "caesar"
    assert named_function("Create a class Stack with push.") is None
    assert "callable(caesar)" in test_program("def caesar(t, s): ...", "Write a function caesar(text, shift).")


def test_only_what_stands_in_the_source_is_grounded():
    page = "The fee of the harbour is 9 euros a night."
    assert grounded("9 euros", page)
    assert not grounded("12 euros", page)
    assert not grounded("", page)


@pytest.mark.parametrize(
    "question, output, odd",
    [
        ("How many boxes are needed?", "12.5", True),
        ("How many apples are left?", "-3", True),
        ("How many litres are needed?", "12.5", False),
        ("How many boxes are needed?", "12", False),
        ("What does it cost?", "12.5", False),
    ],
)
def test_a_count_is_whole_and_not_below_zero(question, output, odd):
    assert (odd_count(question, output) is not None) is odd


@given(st.text(max_size=300))
def test_no_text_breaks_a_check(text):
    usable(text), spoken(text), code_in(text), mended(text), is_timely(text), odd_count(text, text)
    named_function(text), grounded(text, text)
