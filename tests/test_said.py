"""What counts as said: whole numbers with units, whole words, dates in any form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.environment.assignment import Information
from orchestra_lib.environment.said import is_said, upstream_said


@pytest.mark.parametrize(
    "value, unit, message, said",
    [
        (10, None, "You have 10 left.", True),
        (10, None, "It is 2010.", False),
        (10, None, "Order A10 and 10.5", False),
        (10, None, "Version 1.10.3", False),
        (10, None, "You have **10**.", True),
        (1234.5, "$", "That is $1,234.50.", True),
        (1234.5, "$", "That is 1234.5 USD.", True),
        (1234.5, "$", "That is 1234.5 hours.", False),
        (50, "$", "That is $50", True),
        (50, "$", "$50.01", False),
        (24, "hours", "within 24 hours", True),
        (24, "hours", "a 24-hour window", True),
        (24, "hours", "within 24 days", False),
        (10, "%", "10 % off", True),
        (10, "percent", "10% off", True),
        (10, "percent", "10 of them", False),
        (-5, None, "the balance is -5", True),
        (5, None, "the difference - 5 - is paid", True),
        (7, None, "3-7 days", True),
        ("H1003", None, "Your hire H1003 is cancelled.", True),
        ("H1003", None, "Your hire H10031", False),
        ("H1003", None, "XH1003", False),
        ("city bike", None, "your City\n bike", True),
        ("2026-05-09", None, "on 2026-05-09.", True),
        ("2026-05-09", None, "on May 9th, 2026", True),
        ("2026-05-09", None, "on 9 May", True),
        ("2026-05-09", None, "on May 19", False),
        ("2026-05-09", None, "on 19 May", False),
    ],
)
def test_said(value, unit, message, said):
    assert is_said(Information(value=value, unit=unit), [message]) is said


def test_any_one_message_says_it():
    wanted = Information(value=3)
    assert is_said(wanted, ["one", "it is 3"])
    assert not is_said(wanted, [])


@given(st.floats(0.01, 9_999_999).map(lambda amount: round(amount, 2)))
def test_an_amount_is_found_however_it_is_written(amount):
    wanted = Information(value=amount, unit="$")
    for text in (f"${amount:,.2f}", f"{amount:.2f} dollars", f"The total is ${amount:.2f}."):
        assert is_said(wanted, [text]), text


@given(st.text(max_size=60), st.integers(0, 999) | st.text(max_size=8))
def test_any_text_can_be_asked(message, value):
    assert is_said(Information(value=value), [message]) in (True, False)


def test_upstream_finds_parts_and_misses_commas():
    assert upstream_said(Information(value="10"), ["It is 2010."])
    assert not upstream_said(Information(value="1,234"), ["It is 1,234."])
