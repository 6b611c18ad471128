"""Numbers as they are written: every spelling gives its exact value, and nothing hostile takes long."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.judge.quantity import only_quantity, quantities


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("47,104,101", 47104101),
        ("$5.2 million", 5_200_000),
        ("€1.5bn", 1_500_000_000),
        ("-3.5e-4", Fraction(-35, 100_000)),
        ("6.02 × 10^23", 602 * 10**21),
        ("6.02×10²³", 602 * 10**21),
        (r"6.02 \times 10^{23}", 602 * 10**21),
        ("1 1/2", Fraction(3, 2)),
        ("2½", Fraction(5, 2)),
        (r"\frac{3}{4}", Fraction(3, 4)),
        (r"\$1{,}234.50", Fraction("1234.5")),
        ("1.234.567,89", Fraction("1234567.89")),
        ("−7", -7),
        ("twenty-one", 21),
        ("84 million people", 84_000_000),
    ],
)
def test_spellings_of_a_number(text, value):
    assert [one.value for one in quantities(text)] == [value]


def test_arithmetic_in_prose_is_not_taken_for_signs():
    assert [one.value for one in quantities("16 - 3 - 4 = 9, so 3-4")] == [16, 3, 4, 9, 3, 4]


def test_metres_are_no_millions():
    metres, money = quantities("5m")[0], quantities("$5m")[0]
    assert (metres.value, metres.after.strip(), money.value) == (5, "m", 5_000_000)


@pytest.mark.parametrize("text", ["1e999999999", "9" * 5000, "1/0", "v1.2.3", "", "no number"])
def test_what_is_no_number_is_none(text):
    assert quantities(text) == ()


def test_a_title_is_no_quantity():
    assert only_quantity("12 Angry Men") is None
    assert only_quantity("12 apples.").value == 12
    assert only_quantity("12 meters per second").value == 12


@given(st.integers(-(10**18), 10**18), st.integers(0, 6))
def test_what_python_writes_is_read_back(whole, decimals):
    value = Fraction(whole, 10**decimals)
    written = f"{whole / 10**decimals:,.{decimals}f}" if abs(whole) < 10**15 else f"{value.numerator // 1:,}"
    (read,) = quantities(f"so x = {written} .")
    assert read.value == Fraction(written.replace(",", ""))


@given(st.text(max_size=300))
def test_any_text_can_be_read(text):
    assert all(one.text for one in quantities(text))
