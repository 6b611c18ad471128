"""Lists as they are written, and whether one holds the expected items and no other."""

import pytest

from orchestra_lib.check import Check, CheckKind
from orchestra_lib.errors import BadInput
from orchestra_lib.judge.listing import items, listing

ANY_ORDER, IN_ORDER = Check(kind=CheckKind.LIST), Check(kind=CheckKind.LIST, ordered=True)
ANY = Check(kind=CheckKind.LIST, need="any")
AFRICA = "Kenya; Tanzania; Uganda"


@pytest.mark.parametrize(
    "text",
    ["a1, b2 and c3", "a1; b2; c3", '["a1", "b2", "c3"]', "- a1\n- b2\n- c3", "1. a1\n2. b2\n3. c3", "a1\nb2\nc3"],
)
def test_spellings_of_a_list(text):
    assert items(text) == ("a1", "b2", "c3")


def test_thousands_are_not_taken_apart():
    assert items("1,000, 2,500 and 3") == ("1,000", "2,500", "3")


@pytest.mark.parametrize(
    ("answer", "check", "solved"),
    [
        ("uganda, kenya and tanzania", ANY_ORDER, True),
        ("uganda, kenya and tanzania", IN_ORDER, False),
        ("They are: Kenya, Tanzania, Uganda", IN_ORDER, True),
        ("They are Kenya, Tanzania and Uganda.", ANY_ORDER, True),
        ("Kenya, Tanzania, Uganda and Rwanda", ANY_ORDER, False),
        ("Kenya, Kenya, Tanzania, Uganda", ANY_ORDER, False),
        ("Kenya and Uganda", ANY_ORDER, False),
        ("Uganda it is", ANY, True),
        ("Rwanda", ANY, False),
        ("Kenya borders Tanzania while Uganda lies inland", ANY_ORDER, None),
    ],
)
def test_all_items_and_no_other(answer, check, solved):
    assert listing(check, answer, AFRICA).outcome is solved


def test_numbers_are_compared_as_numbers():
    assert listing(IN_ORDER, "[1000, 0.5]", "1,000; 1/2").outcome is True


def test_a_list_without_items_is_refused():
    with pytest.raises(BadInput, match="has 0 items"):
        listing(ANY_ORDER, "x", ";")
