"""Tables from genai-prices: what ships is what the code makes, and names are priced as upstream prices them."""

import re
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from genai_prices import Usage as TheirUsage
from genai_prices.data import providers
from genai_prices.types import (
    ClauseAnd,
    ClauseContains,
    ClauseEndsWith,
    ClauseEquals,
    ClauseOr,
    ClauseRegex,
    ModelInfo,
    ModelPrice,
    Provider,
)
from hypothesis import assume, given
from hypothesis import strategies as st

from orchestra_lib.pricebook import PROVIDERS, _pattern, _usable_periods, left_out, snapshot_date, tables
from orchestra_lib.pricelist import SHIPPED, dump_table, load_table, own_rows
from orchestra_lib.pricing import Attempt, Match, Usage, cost_usd

MADE = tables(own_rows())
VENDOR = MADE["vendor"]
BY_ID = {provider.id: provider for provider in providers}


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_the_shipped_table_is_the_one_that_the_code_makes(name):
    assert (SHIPPED / f"{name}.toml").read_text("utf-8") == dump_table(MADE[name])
    assert load_table(SHIPPED / f"{name}.toml") == MADE[name]


def test_a_table_is_dated_by_what_its_source_last_checked():
    assert VENDOR.dated == snapshot_date() == date(2026, 11, 3)
    assert MADE["deepinfra"].dated == date(2026, 11, 30)


@pytest.mark.parametrize("name, row, by", [
    ("gpt-5-2025-08-07", "gpt-5", Match.ALIAS),
    ("gpt-5", "gpt-5", Match.ROW),
    ("gpt-5.6", "gpt-5.6-sol", Match.ALIAS),
    ("claude-opus-4-1-20250805", "claude-opus-4-1", Match.RULE),
    ("gemini-2.5-pro-preview-06-05", "gemini-2.5-pro", Match.RULE),
    ("gpt-6-sol-2026-10-01", "gpt-6-sol", Match.RULE),
    ("o3-mini-2025-01-31", "o3-mini", Match.ALIAS),
])  # fmt: skip
def test_a_dated_name_is_priced_by_the_makers_own_rule(name, row, by):
    found = VENDOR.resolve(name)
    assert (found.row, found.by) == (row, by)
    assert found.price is not None


@pytest.mark.parametrize(
    "name",
    ["gpt-5-foo", "gpt-5-2025-08-08", "claude-opus-4-10", "gpt-7", "my-gpt-5", "gpt-5 ", "Qwen3-32B", "GPT", "",
     "text-embedding-3-small", "whisper-1", "gpt-4o-mini-tts-2030"],
)  # fmt: skip
def test_an_unknown_name_and_what_writes_no_text_stay_unpriced(name):
    assert VENDOR.find(name) is None


def names():
    listed = [model.id for made in PROVIDERS["vendor"] for model in BY_ID[made].models]
    tails = st.sampled_from(["", "-latest", "-20250805", "-2026-10-01", "-preview", "-preview-tts", "0", "-foo", "@1"])
    return st.builds(lambda name, tail: name + tail, st.sampled_from([*listed, *VENDOR.aliases]), tails)


@given(name=names())
def test_a_name_that_we_price_is_priced_alike_by_upstream(name):
    """Ours is the narrower: what a rule prices here, the provider's own look-up prices alike."""
    found = VENDOR.resolve(name)
    if found.by is not Match.RULE:
        return
    provider = found.price.source.split(", ")[1].split(" ")[0]
    assert BY_ID[provider].find_model(name).id == found.row


QUOTED = [
    (table, row) for table in MADE.values() for row, price in table.prices.items() if "genai-prices" in price.source
]


@given(
    quoted=st.sampled_from(QUOTED),
    day=st.dates(date(2024, 1, 1), date(2027, 12, 31)),
    sent=st.integers(0, 2_000_000),
    parts=st.tuples(st.floats(0, 0.5), st.floats(0, 0.5)),
    written=st.integers(0, 100_000),
)
def test_a_bill_is_what_genai_prices_itself_computes(quoted, day, sent, parts, written):
    table, row = quoted
    price = table.at(day).prices[row]
    assume("peak hours" not in (price.assumed or ""))
    cached, stored = (int(sent * part) for part in parts)
    provider, model = price.source.split(", ")[1].split(" ")
    counts = {"input_tokens": sent, "output_tokens": written, "cache_write_tokens": stored}
    theirs = (
        BY_ID[provider]
        .models[index(provider)[model]]
        .calc_price(
            TheirUsage(**counts, cache_read_tokens=cached),
            BY_ID[provider],
            genai_request_timestamp=datetime(day.year, day.month, day.day, 12, tzinfo=UTC),
        )
    )
    ours = Attempt(priced_as=row, usage=Usage(**counts, cached_tokens=cached), wall_s=1.0)
    assert cost_usd(ours, price) == pytest.approx(float(theirs.total_price), rel=1e-9, abs=1e-15)


def index(provider):
    return {model.id: place for place, model in enumerate(BY_ID[provider].models)}


def test_dated_prices_follow_the_day():
    prices = [VENDOR.at(date.fromisoformat(day)).find("gemini-3.8-flash") for day in ("2026-12-31", "2027-01-01")]
    assert [price.output_usd_per_mtok for price in prices] == [3.75, 7.5]
    assert VENDOR.at(date(2026, 8, 20)).find("gpt-5.6-sol").input_usd_per_mtok == 5.0


def test_prices_by_the_hour_are_read_as_the_dearest_hour_and_say_so():
    price = VENDOR.find("deepseek-chat")
    assert (price.input_usd_per_mtok, price.output_usd_per_mtok) == (0.27, 1.1)
    assert "off-peak $0.135 in" in price.assumed


def test_the_nominal_prices_are_the_quotes_that_they_name():
    nominal = load_table(SHIPPED / "nominal.toml")
    quotes = {"Qwen2.5-Coder-1.5B-Instruct": ("openrouter", "deepseek/deepseek-r1-distill-qwen-1.5b")}
    quotes["Qwen2.5-Coder-0.5B-Instruct"] = ("groq", "llama-3.2-1b-preview")
    for row, (provider, model) in quotes.items():
        quote = BY_ID[provider].find_model(model).get_prices(datetime(2026, 11, 3, tzinfo=UTC))
        assert Decimal(str(nominal.find(row).input_usd_per_mtok)) == quote.input_mtok


def test_a_price_that_no_row_can_hold_leaves_its_model_unpriced():
    """A cache that costs more than fresh input is a slip of the snapshot: no figure is made up for it."""
    dear = ModelPrice(input_mtok=Decimal(1), output_mtok=Decimal(2), cache_read_mtok=Decimal(3))
    model = ModelInfo(id="m", match=ClauseEquals("m"), prices=dear)
    provider = Provider(id="p", name="P", api_pattern="p", models=[model])
    assert _usable_periods(provider, model, date(2026, 11, 3)) == ()
    assert left_out() == ()


def test_the_price_at_openrouter_says_that_it_is_the_cheapest_hosts():
    price = MADE["openrouter"].find("deepseek/deepseek-v4-pro-0813")
    assert "the cheapest host" in price.assumed
    assert MADE["openrouter"].find("deepseek-v4-pro-0813") is None


words = st.text("ab1.-", min_size=1, max_size=4)
clauses = st.recursive(
    st.one_of(
        st.builds(ClauseEquals, words), st.builds(ClauseContains, words), st.builds(ClauseEndsWith, words),
        st.builds(ClauseRegex, st.sampled_from([r"^a\d?$", "b|1", r"^(?!.*b)"])),
    ),
    lambda parts: st.builds(ClauseOr, st.lists(parts, min_size=1, max_size=3))
    | st.builds(ClauseAnd, st.lists(parts, min_size=1, max_size=3)),
    max_leaves=5,
)  # fmt: skip


@given(clause=clauses, name=st.text("ab1.-", max_size=8))
def test_a_rule_as_a_pattern_fits_only_what_the_rule_fits(clause, name):
    if re.search(_pattern(clause), name):
        assert clause.is_match(name)
