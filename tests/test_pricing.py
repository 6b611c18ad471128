"""Prices: exact costs, monotone in use, one row for a name or none, and what is unknown stays unknown."""

import math
from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest
from amounts import attempts, prices, seconds, token_prices, tokens, usages
from hypothesis import assume, given
from hypothesis import strategies as st

from orchestra_lib.codec import from_data, to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.pricing import (
    Attempt,
    Match,
    NameRule,
    Price,
    PriceTable,
    Tier,
    Usage,
    cost_usd,
    total,
    total_tokens,
    with_reasoning_inside,
    worst_case_usd,
)


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
    for part in ("input_tokens", "output_tokens"):
        longer = replace(usage, **{part: getattr(usage, part) + more})
        dearer = cost_usd(Attempt(priced_as="a", usage=longer, wall_s=wall_s + more), price)
        assert dearer * (1 + 1e-12) >= base


@given(usage=usages, price=prices, wall_s=seconds)
def test_cached_input_never_costs_more_than_fresh_input(usage, price, wall_s):
    usage = replace(usage, cache_write_tokens=None)
    fresh = replace(usage, cached_tokens=None)
    cached, full = (cost_usd(Attempt(priced_as="a", usage=seen, wall_s=wall_s), price) for seen in (usage, fresh))
    assert cached <= full * (1 + 1e-12)


@given(price=token_prices, part=st.sampled_from(["input_tokens", "output_tokens", None]))
def test_a_silent_model_is_unknown_unless_its_tokens_are_free(price, part):
    usage = None if part is None else Usage(**{"input_tokens": 5, "output_tokens": 5} | {part: None})
    cost = cost_usd(Attempt(priced_as="a", usage=usage, wall_s=1.0), price)
    rates = (price, *price.tiers)
    free = not any(rate.input_usd_per_mtok or rate.output_usd_per_mtok for rate in rates)
    assert cost == (0.0 if free else None)


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


TIERED = Price(
    input_usd_per_mtok=1.0,
    output_usd_per_mtok=10.0,
    cached_usd_per_mtok=0.1,
    tiers=(
        Tier(above_input_tokens=200_000, input_usd_per_mtok=2.0, output_usd_per_mtok=15.0, cached_usd_per_mtok=0.2),
    ),
    source="test",
)


@pytest.mark.parametrize(
    "prompt, cached, usd", [(200_000, 0, 0.2 + 1.0), (200_001, 0, 0.400002 + 1.5), (400_000, 400_000, 0.08 + 1.5)]
)
def test_a_long_prompt_pays_the_dearer_rate_for_all_of_its_tokens(prompt, cached, usd):
    usage = Usage(input_tokens=prompt, output_tokens=100_000, cached_tokens=cached)
    assert cost_usd(Attempt(priced_as="a", usage=usage, wall_s=1.0), TIERED) == pytest.approx(usd, rel=1e-12)


def test_a_prompt_that_is_stored_pays_for_that():
    price = Price(input_usd_per_mtok=4.0, output_usd_per_mtok=0.0, cache_write_usd_per_mtok=5.0, source="test")
    usage = Usage(input_tokens=1_000_000, output_tokens=0, cache_write_tokens=600_000)
    assert cost_usd(Attempt(priced_as="a", usage=usage, wall_s=1.0), price) == pytest.approx(0.4 * 4 + 0.6 * 5)
    assert worst_case_usd(price, max_input_tokens=1_000_000, max_output_tokens=0, timeout_s=1.0) == pytest.approx(5.0)


@pytest.mark.parametrize(
    "tiers",
    [
        [Tier(above_input_tokens=9, input_usd_per_mtok=0.5, output_usd_per_mtok=10.0)],
        [Tier(above_input_tokens=n, input_usd_per_mtok=2.0, output_usd_per_mtok=10.0) for n in (9, 9)],
    ],
    ids=["cheaper", "twice"],
)
def test_tiers_rise_with_the_prompt(tiers):
    with pytest.raises(BadInput, match="never costs less"):
        Price(input_usd_per_mtok=1.0, output_usd_per_mtok=10.0, tiers=tuple(tiers), source="test")


def dated_table():
    old, new = (
        Price(call_usd=usd, since=since, source="test") for usd, since in ((5.0, None), (4.0, date(2026, 8, 21)))
    )
    return PriceTable(
        name="t", dated=date(2026, 11, 3), source="test", prices={"a": new, "b": new}, changes={"a": (old, new)}
    )


@pytest.mark.parametrize(
    "day, usd", [("2025-01-01", 5.0), ("2026-08-20", 5.0), ("2026-08-21", 4.0), ("2027-01-01", 4.0)]
)
def test_a_dated_price_holds_from_its_first_day(day, usd):
    then = dated_table().at(date.fromisoformat(day))
    assert (then.find("a").call_usd, then.find("b").call_usd) == (usd, 4.0)


def test_a_run_keeps_the_price_of_its_day_whatever_the_table_says_later():
    kept = dated_table().at(date(2026, 1, 1)).only(["a"])
    assert kept.at(date(2026, 12, 1)).find("a").call_usd == 5.0


def ruled_table():
    price = Price(call_usd=1.0, source="test")
    rules = (NameRule(row="gpt", pattern=r"^gpt-\d{8}$"), NameRule(row="old", pattern="^gpt-2024"))
    rows = {"gpt": price, "old": price, "gpt-20250101": price}
    return PriceTable(name="t", dated=date(2026, 1, 1), source="t", prices=rows, aliases={"gpt-5": "gpt"}, rules=rules)


@pytest.mark.parametrize(
    "name, by, row",
    [
        ("gpt", Match.ROW, "gpt"),
        ("gpt-20250101", Match.ROW, "gpt-20250101"),
        ("gpt-5", Match.ALIAS, "gpt"),
        ("GPT-20260202", Match.RULE, "gpt"),
        ("gpt-20240202", Match.AMBIGUOUS, None),
        ("gpt-5-mini", Match.UNKNOWN, None),
        ("gpt-5 ", Match.UNKNOWN, None),
        ("", Match.UNKNOWN, None),
    ],
)
def test_a_name_is_priced_by_one_row_or_by_none_and_says_why(name, by, row):
    found = ruled_table().resolve(name)
    assert (found.by, found.row, found.price is None) == (by, row, row is None)
    recorded = ruled_table().only([name])
    assert recorded.find(name) == found.price
    assert list(recorded.prices) == ([row] if row else [])


@pytest.mark.parametrize("count", [-5, 10**30, 10**400])
@pytest.mark.parametrize("part", ["input_tokens", "output_tokens"])
def test_a_count_that_no_request_can_have_leaves_the_cost_unknown(part, count):
    usage = Usage(**{"input_tokens": 5, "output_tokens": 5} | {part: count})
    assert cost_usd(Attempt(priced_as="a", usage=usage, wall_s=1.0), TIERED) is None


def test_reasoning_that_a_provider_counts_apart_becomes_part_of_the_output():
    """B4: the rule is the provider's and is applied once, where its reply is read."""
    apart = Usage(input_tokens=10, output_tokens=50, reasoning_tokens=150)
    assert with_reasoning_inside(apart) == replace(apart, output_tokens=200)
    assert with_reasoning_inside(Usage(reasoning_tokens=5)) == Usage(reasoning_tokens=5)


@pytest.mark.parametrize("said", [math.nan, math.inf, -0.01])
def test_what_is_no_amount_of_money_was_not_reported(said):
    assert Attempt(priced_as="a", wall_s=1.0, reported_cost_usd=said).reported_cost_usd is None


@pytest.mark.parametrize(
    "data, meant",
    [
        (
            {"priced_as": "a", "usage": {"input_tokens": 1, "output_tokens": 2}, "wall_s": 1.0, "queue_s": 0.5},
            Attempt(priced_as="a", usage=Usage(input_tokens=1, output_tokens=2), wall_s=1.0, queue_s=0.5),
        ),
        ({"call_usd": 1.0, "source": "then"}, Price(call_usd=1.0, source="then")),
        (
            {"name": "t", "dated": "2026-01-01", "source": "then", "prices": {}, "aliases": {}},
            PriceTable(name="t", dated=date(2026, 1, 1), source="then"),
        ),
    ],
)
def test_records_of_the_first_form_are_read_as_they_were_meant(data, meant):
    assert from_data(data, type(meant), where="an old journal") == meant
    assert from_data(to_data(meant), type(meant), where="a new one") == meant


@given(usage=usages, price=token_prices)
def test_a_cost_is_exact_to_the_last_digits_of_a_float(usage, price):
    level = price.for_prompt(usage.input_tokens)
    cached = min(usage.cached_tokens or 0, usage.input_tokens)
    stored = min(usage.cache_write_tokens or 0, usage.input_tokens - cached)
    written_rate = level.cache_write_usd_per_mtok
    parts = (
        (usage.input_tokens - cached - stored, level.input_usd_per_mtok),
        (cached, level.cached_usd_per_mtok),
        (stored, level.input_usd_per_mtok if written_rate is None else written_rate),
        (usage.output_tokens, level.output_usd_per_mtok),
    )
    exact = sum(Fraction(rate) * count for count, rate in parts) / 10**6
    assert cost_usd(Attempt(priced_as="a", usage=usage, wall_s=0.0), price) == pytest.approx(
        float(exact), rel=1e-15, abs=0.0
    )
