"""Texts that are the same but for what does not matter, and options of a question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.check import Check, CheckKind
from orchestra_lib.errors import BadInput
from orchestra_lib.judge.exact import exact, normalised

PLAIN = Check(kind=CheckKind.EXACT)
CAPITALS = Check(kind=CheckKind.EXACT, choices=("Paris", "Rome", "Paris, Texas"))


@pytest.mark.parametrize(
    ("answer", "reference", "solved"),
    [
        ("ulaanbaatar!", "Ulaanbaatar", True),
        ("São Paulo", "sao paulo", True),
        ("The Beatles", "beatles", True),
        ("Vitamin A", "Vitamin", False),
        ("jean-luc", "Jean‐Luc", True),
        ("C++", "C", False),
        ("3.14", "314", False),
        ("1,000", "1000", False),
        ("-5", "5", False),
        ("It is **Paris**.", "Paris", True),
        ("Let me see.\nAnswer: Paris", "Paris", True),
        ("The capital is Paris.", "Paris", False),
        ("?!", "?!", True),
        ("?", "!", False),
        ("ﬁne", "fine", True),
    ],
)
def test_case_accents_articles_and_punctuation_do_not_matter(answer, reference, solved):
    assert exact(PLAIN, answer, reference).outcome is solved


@pytest.mark.parametrize(
    ("answer", "solved"),
    [
        ("B", True),
        ("(b)", True),
        ("Option B.", True),
        ("Rome", True),
        ("The answer is B) Rome", True),
        ("A", False),
        ("It is Rome, of course.", True),
        ("Paris or Rome", False),
        ("A city in Italy", False),
    ],
)
def test_an_option_is_taken_by_letter_or_words(answer, solved):
    assert exact(CAPITALS, answer, "Rome").outcome is solved
    assert exact(CAPITALS, answer, "b").outcome is solved


def test_a_reference_that_is_no_option_is_refused():
    with pytest.raises(BadInput, match="none of the choices; use A to C"):
        exact(CAPITALS, "Rome", "Berlin")


@given(st.text(max_size=200))
def test_every_text_is_itself_and_normalising_twice_changes_nothing(text):
    if text.strip():
        assert exact(PLAIN, text, text).outcome is True
    assert normalised(normalised(text)) == normalised(text)
