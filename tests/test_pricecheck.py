"""What is reported about tables: figures that moved, age, names without a price."""

from dataclasses import replace
from datetime import date

import pytest

from orchestra_lib.pricecheck import changes, differing, near, stale, unpriced, words
from orchestra_lib.pricing import Price, PriceTable, Tier

DAY = date(2026, 11, 30)
GPT = Price(input_usd_per_mtok=1.25, output_usd_per_mtok=10.0, cached_usd_per_mtok=0.125, source="there")
VENDOR = PriceTable(
    name="vendor", dated=DAY, source="there", prices={"gpt-5": GPT}, aliases={"gpt-5-2025-08-07": "gpt-5"}
)


def table(name="mine", dated=DAY, **changed):
    return PriceTable(name=name, dated=dated, source="here", prices={"gpt-5": replace(GPT, source="here", **changed)})


def test_a_figure_that_moved_is_a_change_and_a_remark_is_none():
    (moved,) = changes(VENDOR, table("vendor", output_usd_per_mtok=12.0))
    assert (moved.row, moved.before.output_usd_per_mtok, moved.after.output_usd_per_mtok) == ("gpt-5", 10.0, 12.0)
    assert changes(VENDOR, table("vendor", assumed="something")) == ()
    assert [change.before for change in changes(None, VENDOR)] == [None]


def test_a_table_that_differs_from_genai_prices_is_told_with_both_figures():
    (found,) = differing([table(input_usd_per_mtok=9.0, output_usd_per_mtok=9.0)], {"vendor": VENDOR}, DAY)
    assert (found.kind, found.table, found.name) == ("differs", "mine", "gpt-5")
    assert "$9 in" in found.detail
    assert "$1.25 in" in found.detail


@pytest.mark.parametrize("kind", ["nominal", "historic"])
def test_tables_that_differ_on_purpose_are_left_alone(kind):
    assert list(differing([replace(table(call_usd=9.0), **{kind: True})], {"vendor": VENDOR}, DAY)) == []


def test_a_made_table_is_compared_row_by_row():
    short = replace(VENDOR, prices={}, aliases={})
    assert [found.name for found in differing([short], {"vendor": VENDOR}, DAY)] == ["gpt-5"]
    assert list(differing([VENDOR], {"vendor": VENDOR}, DAY)) == []


@pytest.mark.parametrize("age, days, told", [(60, 60, False), (61, 60, True), (0, 0, False), (1, 0, True)])
def test_a_table_is_stale_after_so_many_days_by_the_clock_that_is_given(age, days, told):
    today = date.fromordinal(DAY.toordinal() + age)
    assert bool(list(stale([table()], today, days))) is told
    assert list(stale([replace(table(), historic=True)], today, days)) == []


def test_a_name_in_use_that_no_table_prices_is_told_with_what_is_near():
    findings = list(unpriced(["gpt-5-2025-08-07", "gpt-5-2025-08-08", "gpt-5-2025-08-08", "nothing alike"], [VENDOR]))
    assert [found.name for found in findings] == ["gpt-5-2025-08-08", "nothing alike"]
    assert "near: gpt-5-2025-08-07" in findings[0].detail
    assert "near" not in findings[1].detail


def test_names_are_near_whatever_their_case_or_owner():
    hub = PriceTable(name="t", dated=DAY, source="t", prices={"meta-llama/Llama-3.3-70B-Instruct": GPT})
    assert near("llama-3.3-70b-instruct", [hub]) == ["meta-llama/Llama-3.3-70B-Instruct"]
    assert near("", [hub]) == []


def test_a_price_in_words_leaves_out_what_does_not_apply():
    assert words(None) == "no price"
    assert words(Price(call_usd=0.01, second_usd=0.5, source="t")) == "$0.01 a call; $0.5 a second"
    tier = Tier(above_input_tokens=200_000, input_usd_per_mtok=2.5, output_usd_per_mtok=15.0)
    said = words(replace(GPT, tiers=(tier,)))
    assert said == "$1.25 in, $10 out, $0.125 cached per million tokens; above 200,000 $2.5 in, $15 out"
