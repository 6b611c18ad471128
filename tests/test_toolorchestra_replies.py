"""What is read out of an expert's reply, and what is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.toolorchestra.aliases import AnswerStyle
from orchestra_lib.toolorchestra.replies import read_answer, read_code, read_query

PARTS = ["\\boxed{", "{", "}", "<answer>", "</answer>", "<think>", "x"]
BOXED, TAGGED = AnswerStyle.BOXED, AnswerStyle.TAGGED


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (r"So \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
        (r"First \boxed{3}, no: \boxed{4}", "4"),
        (r"\boxed {x}", "x"),
        (r"\boxed{a \boxed{b}}", "b"),
        (r"ends in \boxed{5} and \boxed{6", "5"),
        ("no mark at all", "no mark at all"),
        (r"<think>\boxed{1}</think>\boxed{2}", "2"),
        (r"\boxed{1}</think> It is 2.", "It is 2."),
    ],
)
def test_the_last_closed_box_is_the_answer(reply, answer):
    """F4: braces are balanced and the last box wins; what stands in reasoning does not count (F2)."""
    assert read_answer(reply, BOXED) == answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("<think>x</think>\n<answer>\nTuul\n</answer>", "Tuul"),
        ("<answer>a</answer> or rather <answer>b</answer>", "b"),
        ("<answer>not closed", "not closed"),
        ("<think><answer>a</answer></think>", ""),
        (r"It is \boxed{7}.", "7"),
        (r"<answer>\boxed{7}</answer>", r"\boxed{7}"),
        ("Just words.", "Just words."),
    ],
)
def test_the_last_tagged_answer_counts(reply, answer):
    assert read_answer(reply, TAGGED) == answer


def test_a_cut_reply_without_a_mark_is_no_answer():
    assert read_answer("First I", TAGGED, cut=True) == ""
    assert read_answer(r"\boxed{2} and", BOXED, cut=True) == "2"


@pytest.mark.parametrize(
    ("reply", "query"),
    [
        ("<query> Tuul river </query>", "Tuul river"),
        ("<query>first</query> <query>second one</query>", "second one"),
        ("Tuul river", "Tuul river"),
        ("<query>Tuu</query>", None),
        ("<think>Tuul river", None),
        ("", None),
    ],
)
def test_a_query_has_five_characters_or_is_none(reply, query):
    assert read_query(reply) == query


def test_a_query_is_cut_to_390_characters():
    assert read_query("x" * 1000) == "x" * 390


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("```python\nprint(1)\n```", "\nprint(1)\n"),
        ("```python\na\n```\n```python\nb\n```", "\nb\n"),
        ("```python\nnot closed", "\nnot closed"),
        ("```\nprint(1)\n```", None),
        ("```python\n```", None),
        ("<think>```python\nx\n```</think>no", None),
    ],
)
def test_the_last_python_block_is_the_code(reply, code):
    assert read_code(reply) == code


@given(st.text() | st.lists(st.sampled_from(PARTS)).map("".join))
def test_any_reply_can_be_read(reply):
    for style in AnswerStyle:
        assert isinstance(read_answer(reply, style), str)
    read_query(reply)
    read_code(reply)
