"""Expressions: what they come to, that they are total, and how a wrong one is named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import world

from orchestra_lib.environment.expression import STATE, Compiler
from orchestra_lib.environment.kinds import Kind, Type
from orchestra_lib.environment.names import parameters_in, roots
from orchestra_lib.environment.operators import cents
from orchestra_lib.errors import BadInput

NAMES = {"hire": Compiler(world().domain).tables["hires"], "n": Type(kind=Kind.INTEGER), "day": Type(kind=Kind.DATE)}


def value(expression, **scope):
    hire = world().records["hires"]["H1003"]
    run, _ = Compiler(world().domain).compile(expression, NAMES, "here")
    return run({STATE: world().state(), "hire": hire, "n": 3, "day": "2026-05-08", **scope})


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("$hire.status", "booked"),
        ("@free_hours", 24),
        ("@", "@"),
        ("$ 5", "$ 5"),
        (["const", ["==", 1]], ["==", 1]),
        ({"a": "$n", "b": ["list", 1, "$n"]}, {"a": 3, "b": [1, 3]}),
        (["+", "$n", 1, 2], 6),
        (["*", 3, 19.99], 59.97),
        (["percent", 12.5, 10], 1.25),
        (["money", 2.675], 2.68),
        (["round", 2.5], 3),
        (["/", 1, 0], None),
        (["if", ["==", "$n", 3], "yes", "no"], "yes"),
        (["and", ["<", "$n", 4], ["not", [">", "$n", 3]]], True),
        (["in", "$hire.status", ["list", "booked", "running"]], True),
        (["hours_between", "$now", "$hire.starts_on"], 87),
        (["days_between", "$today", "$day"], 4),
        (["add_days", "$day", 30], "2026-06-07"),
        (["add_hours", "$now", 20], "2026-05-05T05:00:00"),
        (["weekday", "$day"], "Friday"),
        (["sum", "p", "$hire.payments", "$p.amount"], 50.0),
        (["map", "p", "$hire.payments", "$p.payment_id"], ["wallet_31"]),
        (["count", "p", "$hire.payments", [">", "$p.amount", 60]], 0),
        (["least", "b", ["records", "bikes", "x", ["==", "$x.kind", "city"]], "$b.day_price"], 11.0),
        (["exists", ["record", "members", "nobody"]], False),
    ],
)
def test_an_expression_comes_to(expression, expected):
    assert value(expression) == expected


def test_an_object_of_a_keyed_list_is_found_by_its_key():
    found = ["at", ["default", "$m.payment_methods", ["const", []]], "card_11"]
    tables = Compiler(world().domain).tables
    run, kind = Compiler(world().domain).compile(found, {"m": tables["members"]}, "here")
    assert run({"m": world().records["members"]["ana_berg_1201"]}) == {"id": "card_11", "kind": "card"}
    assert (kind.optional, set(kind.fields)) == (True, {"id", "kind", "balance"})


@pytest.mark.parametrize(
    "expression, words",
    [
        ("$nobody.x", r"here: nothing is named \$nobody; known are hire"),
        ("$hire.state", "has no 'state'; hire has hire_id"),
        ("@fee", "no policy parameter @fee; known are free_hours"),
        (["=", 1, 2], "unknown operator '='; known are =="),
        (["==", 1], "takes 2 parts, not 1"),
        (["==", "$n", "$hire.status"], "integer is never equal to text"),
        (["<", "$day", "$now"], "take date_of"),
        (["+", "$n", "$hire.status"], r"a number is expected, not text \(status\)"),
        (["at", ["const", []], 1], "the list has no key"),
        (["and", "$n"], "a condition is expected, this is integer"),
        (["if", ["==", 1, 1], 1, "a"], "make them one type"),
        (["any", "hire", ["list", 1], ["==", "$hire", 1]], "'hire' is no new name"),
        (["records", "cars", "c", True], "with one of the tables members, bikes, hires"),
        (["sum", "p", "$n", 1], "a list is expected, this is integer"),
        ([[1]], "is no expression"),
    ],
)
def test_a_wrong_expression_is_named_with_its_place(expression, words):
    with pytest.raises(BadInput, match=words):
        Compiler(world().domain).compile(expression, NAMES, "here")


def test_loops_within_loops_end_somewhere():
    nested = True
    for depth in range(4):
        nested = ["all", f"x{depth}", ["records", "hires", f"h{depth}", True], nested]
    with pytest.raises(BadInput, match="more than 3 loops"):
        Compiler(world().domain).compile(nested, NAMES, "here")


numbers = st.none() | st.integers(-1000, 1000) | st.floats(-1e6, 1e6)


@given(numbers, numbers, st.sampled_from(["<", "<=", ">", ">=", "+", "-", "*", "/", "min", "max", "percent"]))
def test_arithmetic_is_total_and_null_spreads(left, right, operator):
    kind = Type(kind=Kind.NUMBER, optional=True)
    run, _ = Compiler(world().domain).compile([operator, "$a", "$b"], {"a": kind, "b": kind}, "here")
    result = run({"a": left, "b": right})
    if left is None or right is None:
        assert result in (None, False)
    else:
        assert isinstance(result, bool | int | float) or (operator == "/" and right == 0)


@given(st.integers(-10_000_000, 10_000_000), st.integers(0, 100))
def test_money_goes_to_the_nearest_cent(whole, rate):
    exact = whole * rate  # in hundredths of a cent
    got = round(cents(whole / 100 * rate / 100) * 100)
    assert abs(got * 100 - exact) <= 50


def test_the_names_and_parameters_of_an_expression():
    expression = ["any", "p", "$hire.payments", ["<", ["-", "$p.amount", "$fee"], "@change_fee"]]
    assert roots(expression) == {"hire", "fee"}
    assert parameters_in({"a": [expression, "@"]}) == {"change_fee"}
