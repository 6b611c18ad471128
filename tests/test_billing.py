"""Bills: exact sums per payee, the judge apart, and what is unknown stays unknown."""

import math
from dataclasses import replace
from datetime import date

import pytest
from amounts import ledgers, tables
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.billing import JUDGE, bill
from orchestra_lib.pricing import Attempt, Price, PriceTable, Usage, cost_usd


def table(**rows):
    return PriceTable(name="t", dated=date(2026, 1, 1), source="test", prices=rows)


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


def test_the_judge_is_on_the_bill_and_in_no_total():
    rows = table(model=Price(input_usd_per_mtok=1.0, output_usd_per_mtok=1.0, source="test"))
    spent = Attempt(priced_as="model", usage=Usage(input_tokens=1_000_000, output_tokens=0), wall_s=2.0)
    made = bill([("orchestrator", spent), (JUDGE, spent), (JUDGE, replace(spent, usage=None))], rows)
    assert (made.cost_usd, made.input_tokens, made.busy_s) == (1.0, 1_000_000, 2.0)
    assert (made.of(JUDGE).cost_usd, made.of(JUDGE).known_usd, made.of(JUDGE).busy_s) == (None, 1.0, 4.0)
    assert made.of("orchestrator").cost_usd == 1.0


def test_what_the_provider_says_stands_beside_our_figure_and_is_unknown_when_it_was_silent_once():
    rows = table(model=Price(call_usd=0.5, source="test"))
    said = Attempt(priced_as="model", wall_s=1.0, reported_cost_usd=0.4)
    made = bill([("x", said), ("x", said)], rows)
    assert (made.cost_usd, made.rows[0].reported_usd) == (1.0, 0.8)
    assert bill([("x", said), ("x", replace(said, reported_cost_usd=None))], rows).rows[0].reported_usd is None
    assert bill([("x", replace(said, billed=False, reported_cost_usd=None))], rows).rows[0].reported_usd is None
