"""Price tables that are drawn: nobody charges these prices, and the table says so."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from random import Random

from orchestra_lib.errors import BadInput
from orchestra_lib.pricing import Price, PriceTable
from orchestra_lib.toolorchestra.aliases import AliasTool

LOWEST_USD_PER_MTOK, HIGHEST_USD_PER_MTOK = 0.02, 20.0
"""The range of drawn input prices: from the cheapest hosted small models to the dearest large ones."""

_OUTPUT_TIMES = (1.0, 1.0, 2.0, 4.0, 5.0, 8.0)
"""What output costs in input prices; open models mostly have one price for both."""
_SERVICE_TIMES = 4.0
_PROVIDER_TIMES = 1.4


class Regime(StrEnum):
    """How the prices of an instance come about."""

    UNIFORM = "uniform"
    """Each model's price for itself, log-uniform."""
    PROPORTIONAL = "proportional"
    """The stronger a model, the dearer."""
    INVERTED = "inverted"
    """The stronger a model, the cheaper: nobody's market, so that prices have to be read."""
    PROVIDER = "provider"
    """A real provider's table, its level moved; a model that it does not have costs what was published."""


def by_strength(tools: Sequence[AliasTool]) -> tuple[str, ...]:
    """The models of a kit, the strongest first: each tool lists its aliases so, and the longer list decides."""
    order: list[str] = []
    for tool in sorted(tools, key=lambda tool: -len(tool.aliases)):
        place = 0
        for alias in tool.aliases:
            if alias.model in order:
                place = order.index(alias.model) + 1
            else:
                order.insert(place, alias.model)
                place += 1
    return tuple(order)


def draw_prices(
    draw: Random,
    regime: Regime,
    models: Sequence[str],
    services: Sequence[str],
    *,
    published: PriceTable,
    providers: Sequence[PriceTable] = (),
    free: Sequence[str] = (),
) -> PriceTable:
    """A table for these models, given with the strongest first, and for services such as a search or a sandbox.

    A service costs its `published` price up to four times or down to a fourth; one without a published price has none
    here either. What is `free` costs nothing. Raises `BadInput` for the regime `provider` when a model stands in
    neither table.
    """
    table = draw.choice(list(providers)) if providers and regime is Regime.PROVIDER else published
    if regime is Regime.PROVIDER:
        drawn = _of_provider(draw, models, table, published)
    else:
        drawn = _of_ranks(draw, regime, models)
    given = dict.fromkeys(free, Price(call_usd=0.0, source="free"))
    rows = {name: _scaled(row, _times(draw, _SERVICE_TIMES)) for name in services if (row := published.find(name))}
    return PriceTable(
        name=f"drawn-{regime}",
        dated=table.dated,
        source=f"drawn for training, regime {regime}, level of {table.name} of {table.dated}; nobody charges this",
        nominal=True,
        prices=dict(sorted({**given, **drawn, **rows}.items())),
    )


def _of_ranks(draw: Random, regime: Regime, models: Sequence[str]) -> Mapping[str, Price]:
    # Where prices follow strength, one ratio holds for all, so that input and output prices say the same.
    times = draw.choice(_OUTPUT_TIMES)
    ordered = regime is not Regime.UNIFORM
    prices = [_drawn(draw, times if ordered else draw.choice(_OUTPUT_TIMES)) for _ in models]
    if ordered:
        prices.sort(key=_level, reverse=regime is Regime.PROPORTIONAL)
    return dict(zip(models, prices, strict=True))


def _of_provider(draw: Random, models: Sequence[str], table: PriceTable, published: PriceTable) -> Mapping[str, Price]:
    times, found = _times(draw, _PROVIDER_TIMES), {}
    for model in models:
        row = table.find(model) or published.find(model)
        if row is None or row.input_usd_per_mtok is None:
            raise BadInput(f"neither {table.name} nor {published.name} prices {model}; leave the regime provider out")
        found[model] = _scaled(row, times)
    return found


def _drawn(draw: Random, times: float) -> Price:
    low, high = LOWEST_USD_PER_MTOK, HIGHEST_USD_PER_MTOK
    level = low * (high / low) ** draw.random()
    return Price(
        input_usd_per_mtok=_rounded(level),
        output_usd_per_mtok=_rounded(level * times),
        source="drawn",
    )


def _level(price: Price) -> tuple[float, float]:
    return price.input_usd_per_mtok or 0.0, price.output_usd_per_mtok or 0.0


def _scaled(row: Price, times: float) -> Price:
    """A row at another level; long prompts and caches are left out, no prompt shows them."""

    def at(price: float | None) -> float | None:
        return None if price is None else _rounded(price * times)

    return replace(
        Price(source="drawn"),
        input_usd_per_mtok=at(row.input_usd_per_mtok),
        output_usd_per_mtok=at(row.output_usd_per_mtok),
        call_usd=at(row.call_usd),
        second_usd=at(row.second_usd),
    )


def _times(draw: Random, most: float) -> float:
    return float(most ** draw.uniform(-1, 1))


def _rounded(price: float) -> float:
    """Two digits, as price lists have them."""
    return float(f"{price:.2g}")
