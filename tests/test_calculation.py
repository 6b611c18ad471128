import ast
import contextlib
import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.policy.conductor.calculation import program_for

whole = st.integers(-(10**9), 10**9)


def printed(program):
    """What our own program prints; its only inputs are digits and signs from the question."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(program, {})
    return out.getvalue().strip()


@pytest.mark.parametrize(
    "question, answer",
    [
        ("What is 48213 * 977?", "47104101"),
        ("What is 1,234 plus 4,321?", "5555"),
        ("What is 0.1 + 0.2?", "0.3"),
        ("Compute 20% of 45.", "9"),
        ("Divide 22 by 7 and round the result to two decimals.", "3.14"),
        ("Multiply 318 by 47 and subtract 1,000.", "13946"),
        ("What is the square root of 144?", "12"),
        ("What is 5 factorial?", "120"),
        ("Is 91 a prime number?", "no, 91 is not a prime number"),
        ("What is the median of 3, 9 and 5?", "5"),
        ("Convert 10 to binary.", "1010"),
        ("How many hours are in 2 days and 3 hours?", "51"),
        ("Which weekday was 1 January 2000?", "Saturday"),
        ("How many days are between 5 May 2020 and 7 July 2020?", "63"),
        ("What is the date 3 months after 30 November 2023?", "2024-02-29"),
        ("Was 1900 a leap year?", "no, 1900 is not a leap year"),
        ("What is the sum of the first 100 prime numbers?", "24133"),
        ("What is the 10th prime?", "29"),
        ("What is the derivative of x^3 + 2x?", "3*x**2 + 2"),
        ("Find the integral of 2x.", "x**2"),
        ("How many r's are in strawberry?", "3"),
        ('How many times does the letter "S" occur in the word Mississippi?', "4"),
        ("Reverse the string 'orchestra'.", "artsehcro"),
        ("Sort these words alphabetically: pear, apple, fig and sand", "apple, fig, pear, sand"),
    ],
)
def test_a_question_that_is_a_calculation_becomes_a_program_with_the_right_answer(question, answer):
    assert printed(program_for(question)) == answer


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of Peru?",
        "A box holds 6 eggs. How many eggs are in 9 boxes?",
        "Who was born on 1 January 1900?",
        "What is 7?",
        "Write a function that adds 2 + 2.",
        "What is 2 ** 3 ** 999999?",
        "How many days is February?",
        "What is the derivative of sin(x)?",
        "How many r's are in this strawberry cake?",
        "How many a's are in b'); import os; print('c?",
        "",
    ],
)
def test_anything_else_is_left_alone(question):
    assert program_for(question) is None


@given(whole, whole, st.sampled_from(["+", "-", "*", "plus", "minus", "times"]))
def test_whole_numbers_are_exact_however_large(a, b, sign):
    expected = {"+": a + b, "-": a - b, "*": a * b, "plus": a + b, "minus": a - b, "times": a * b}[sign]
    assert printed(program_for(f"What is ({a}) {sign} ({b})?")) == str(expected)


@given(st.integers(1, 10**12), st.integers(1, 10**12))
def test_greatest_common_divisors_are_exact(a, b):
    assert printed(program_for(f"What is the greatest common divisor of {a} and {b}?")) == str(math.gcd(a, b))


@given(st.text(max_size=120))
def test_no_text_brings_names_of_its_own_into_a_program(text):
    program = program_for(f"What is 2 + 2 {text}")
    if program is not None:
        allowed = {
            "value",
            "whole",
            "Fraction",
            "isinstance",
            "str",
            "print",
            "int",
            "float",
            "round",
            "math",
            "day",
            "date",
        }
        names = {node.id for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Name)}
        assert names <= allowed
