"""Bills: exact sums, monotone in use, and what is unknown stays unknown."""

import math
from datetime import date

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from orchestra_lib.errors import BadInput
from orchestra_lib.pricing import Attempt, Price, PriceTable, Usage, bill, cost_usd, total, total_tokens, worst_case_usd

dollars = st.floats(0, 1000)
seconds = st.floats(0, 1e6)
tokens = st.integers(0, 10**9)
usages = st.builds(Usage, input_tokens=tokens, output_tokens=tokens, cached_tokens=st.none() | tokens)
token_prices = st.builds(
    lambda rate, out, share: Price(
        input_usd_per_mtok=rate, output_usd_per_mtok=out, cached_usd_per_mtok=rate * share, source="test"
    ),
    dollars,
    dollars,
    st.floats(0, 1),
)
other_prices = st.builds(Price, call_usd=st.none() | dollars, second_usd=st.none() | dollars, source=st.just("test"))
prices = token_prices | other_prices
NAMES = ("a", "b", "c")
attempts = st.builds(
    Attempt, priced_as=st.sampled_from(NAMES), usage=st.none() | usages, wall_s=seconds, billed=st.booleans()
)
ledgers = st.lists(st.tuples(st.sampled_from(("orchestrator", "x")), attempts), max_size=12)
tables = st.builds(
    lambda rows: PriceTable(name="t", dated=date(2026, 1, 1), source="test", prices=rows),
    st.dictionaries(st.sampled_from(NAMES), prices),
)


def table(**rows):
    return PriceTable(name="t", dated=date(2026, 1, 1), source="test", prices=rows)


def test_tokens_calls_and_seconds_add_up():
    price = Price(
        input_usd_per_mtok=2.0,
        output_usd_per_mtok=10.0,
        cached_usd_per_mtok=0.5,
        call_usd=0.01,
        second_usd=0.001,
        source="test",
    )
    usage = Usage(input_tokens=1_000_000, output_tokens=100_000, cached_tokens=400_000)
    assert cost_usd(Attempt(priced_as="a", usage=usage, wall_s=3.0), price) == pytest.approx(1.2 + 0.2 + 1.0 + 0.013)


@given(attempt=attempts, price=st.none() | prices)
def test_a_cost_is_unknown_or_a_finite_sum_of_dollars(attempt, price):
    cost = cost_usd(attempt, price)
    assert cost is None or (math.isfinite(cost) and cost >= 0)
    if not attempt.billed:
        assert cost == 0
    elif price is None:
        assert cost is None


@given(usage=usages, more=tokens, price=prices, wall_s=seconds)
def test_using_more_never_costs_less(usage, more, price, wall_s):
    base = cost_usd(Attempt(priced_as="a", usage=usage, wall_s=wall_s), price)
    longer = Usage(
        input_tokens=usage.input_tokens, output_tokens=usage.output_tokens + more, cached_tokens=usage.cached_tokens
    )
    assert cost_usd(Attempt(priced_as="a", usage=longer, wall_s=wall_s + more), price) >= base


@given(usage=usages, price=prices, wall_s=seconds)
def test_cached_input_never_costs_more_than_fresh_input(usage, price, wall_s):
    fresh = Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
    cached, full = (cost_usd(Attempt(priced_as="a", usage=seen, wall_s=wall_s), price) for seen in (usage, fresh))
    assert cached <= full * (1 + 1e-12)


@given(price=token_prices, part=st.sampled_from(["input_tokens", "output_tokens", None]))
def test_a_silent_model_is_unknown_unless_its_tokens_are_free(price, part):
    usage = None if part is None else Usage(**{"input_tokens": 5, "output_tokens": 5} | {part: None})
    cost = cost_usd(Attempt(priced_as="a", usage=usage, wall_s=1.0), price)
    assert cost == (0.0 if price.input_usd_per_mtok == price.output_usd_per_mtok == 0 else None)


@given(usage=usages, price=prices, wall_s=seconds, spare=st.integers(0, 1000))
def test_the_worst_case_is_never_below_what_a_call_costs(usage, price, wall_s, spare):
    worst = worst_case_usd(
        price,
        max_input_tokens=usage.input_tokens + spare,
        max_output_tokens=usage.output_tokens + spare,
        timeout_s=wall_s,
    )
    assert worst * (1 + 1e-12) >= cost_usd(Attempt(priced_as="a", usage=usage, wall_s=wall_s), price)


def test_the_worst_case_is_unknown_without_a_price_or_a_bound():
    price = Price(input_usd_per_mtok=1.0, output_usd_per_mtok=1.0, source="test")
    assert worst_case_usd(None, max_input_tokens=1, max_output_tokens=1, timeout_s=1.0) is None
    assert worst_case_usd(price, max_input_tokens=None, max_output_tokens=1, timeout_s=1.0) is None


@given(ledger=ledgers, rows=tables)
def test_a_bill_is_the_sum_of_its_attempts(ledger, rows):
    costs = [cost_usd(attempt, rows.find(attempt.priced_as)) for _, attempt in ledger]
    made = bill(ledger, rows)
    assert (made.cost_usd is None) == (None in costs)
    assert made.known_usd == pytest.approx(math.fsum(cost for cost in costs if cost is not None))
    if made.cost_usd is not None:
        assert made.cost_usd == pytest.approx(made.known_usd)
    assert sum(row.attempts for row in made.rows) == len(ledger)


@given(ledger=ledgers, rows=tables, data=st.data())
def test_the_order_of_attempts_changes_no_sum(ledger, rows, data):
    shuffled = data.draw(st.permutations(ledger))
    one, other = bill(ledger, rows), bill(shuffled, rows)
    assert {(row.payee, row.priced_as): row for row in one.rows} == {
        (row.payee, row.priced_as): row for row in other.rows
    }


@given(ledger=ledgers, rows=tables)
def test_a_run_needs_only_the_rows_it_recorded(ledger, rows):
    assert bill(ledger, rows) == bill(ledger, rows.only(attempt.priced_as for _, attempt in ledger))


def test_one_unknown_attempt_leaves_the_others_known():
    price = Price(input_usd_per_mtok=1.0, output_usd_per_mtok=1.0, source="test")
    told = Attempt(priced_as="a", usage=Usage(input_tokens=1_000_000, output_tokens=0), wall_s=1.0)
    silent = Attempt(priced_as="a", wall_s=1.0)
    made = bill([("x", told), ("x", silent)], table(a=price))
    assert (made.cost_usd, made.known_usd) == (None, 1.0)
    assert (made.input_tokens, made.output_tokens) == (None, None)


def test_tools_without_tokens_and_tries_that_were_not_billed_leave_token_totals_known():
    rows = table(model=Price(input_usd_per_mtok=1.0, output_usd_per_mtok=1.0, source="test"))
    ledger = [
        ("x", Attempt(priced_as="model", usage=Usage(input_tokens=7, output_tokens=3), wall_s=1.0)),
        ("x", Attempt(priced_as="model", wall_s=1.0, billed=False, error="503")),
        ("y", Attempt(priced_as="search", wall_s=1.0)),
    ]
    assert (bill(ledger, rows).input_tokens, bill(ledger, rows).output_tokens) == (7, 3)


def test_an_empty_bill_is_zero_and_known():
    assert (bill([], table()).cost_usd, bill([], table()).known_usd, bill([], table()).input_tokens) == (0.0, 0.0, 0)


def test_an_alias_is_priced_exactly_and_no_other_name_is_guessed():
    price = Price(call_usd=1.0, source="test")
    aliased = PriceTable(
        name="t", dated=date(2026, 1, 1), source="test", prices={"gpt": price}, aliases={"gpt-2026": "gpt"}
    )
    assert aliased.find("gpt-2026") == aliased.only(["gpt-2026"]).find("gpt-2026") == price
    assert aliased.find("gpt-2026-mini") is None


@pytest.mark.parametrize("value", [-0.01, math.nan, math.inf])
@pytest.mark.parametrize("part", ["call_usd", "second_usd", "input_usd_per_mtok"])
def test_a_price_is_a_finite_number_of_dollars(part, value):
    with pytest.raises(BadInput, match=f"price {part}"):
        Price(**{part: value}, source="test")


def test_half_a_token_price_and_dear_cached_input_are_refused():
    with pytest.raises(BadInput, match="needs both"):
        Price(input_usd_per_mtok=1.0, source="test")
    with pytest.raises(BadInput, match="never costs more"):
        Price(input_usd_per_mtok=1.0, output_usd_per_mtok=1.0, cached_usd_per_mtok=1.1, source="test")


def test_free_means_that_some_part_applies_and_all_are_zero():
    assert Price(call_usd=0.0, source="test").free
    assert not Price(source="test").free
    assert not Price(call_usd=0.0, second_usd=0.1, source="test").free


@given(parts=st.lists(st.none() | st.integers(0, 10**6)))
def test_totals_are_none_exactly_when_a_part_is(parts):
    assume(len(parts) < 50)
    known = [part for part in parts if part is not None]
    expected = sum(known) if len(known) == len(parts) else None
    assert total(parts) == total_tokens(parts) == expected
