"""Prices, usages and ledgers as hypothesis draws them."""

from datetime import date

from hypothesis import strategies as st

from orchestra_lib.pricing import Attempt, Price, PriceTable, Tier, Usage

dollars = st.floats(0, 1000)
seconds = st.floats(0, 1e6)
tokens = st.integers(0, 10**9)
usages = st.builds(
    Usage,
    input_tokens=tokens,
    output_tokens=tokens,
    cached_tokens=st.none() | tokens,
    cache_write_tokens=st.none() | tokens,
)


@st.composite
def token_levels(draw):
    """A price by tokens with up to two dearer tiers above it."""
    rates = sorted(draw(st.lists(st.tuples(dollars, dollars), min_size=1, max_size=3)))
    out, share, stored = 0.0, draw(st.floats(0, 1)), draw(st.none() | st.floats(1, 3))
    levels = []
    for rate, more in rates:
        out += more
        written = None if stored is None else rate * stored
        levels.append({
            "input_usd_per_mtok": rate, "output_usd_per_mtok": out,
            "cached_usd_per_mtok": rate * share, "cache_write_usd_per_mtok": written,
        })  # fmt: skip
    starts = sorted(draw(st.sets(tokens, min_size=len(levels) - 1, max_size=len(levels) - 1)))
    tiers = tuple(Tier(above_input_tokens=start, **level) for start, level in zip(starts, levels[1:], strict=True))
    return Price(**levels[0], tiers=tiers, source="test")


token_prices = token_levels()
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
