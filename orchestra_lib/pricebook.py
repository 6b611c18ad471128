"""Price tables made from the installed genai-prices snapshot (MIT) and from our own dated rows beside it.

The shipped tables and `orchestra prices update` come from here. Only prices of text are taken.
Names are matched by the provider's own rules as the snapshot states them: names that it lists
become aliases, its patterns become rules. Nothing here looks at the network.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from importlib.metadata import version

from genai_prices.data import providers as snapshot
from genai_prices.types import (
    ClauseAnd,
    ClauseContains,
    ClauseEndsWith,
    ClauseEquals,
    ClauseOr,
    ClauseRegex,
    ClauseStartsWith,
    ModelInfo,
    ModelPrice,
    Provider,
    StartDateConstraint,
    TieredPrices,
)

from orchestra_lib.errors import BadInput
from orchestra_lib.pricing import NameRule, Price, PriceTable, Tier

PROVIDERS: Mapping[str, tuple[str, ...]] = {
    "vendor": (
        "anthropic", "openai", "google", "deepseek", "mistral", "x-ai", "moonshotai", "zai", "minimax", "cohere",
    ),
    "together": ("together",),
    "openrouter": ("openrouter",),
    "deepinfra": (),
}  # fmt: skip
"""Which providers of the snapshot make which table. `vendor` is every maker's own price; none of them is DeepInfra."""

LOCAL = "local"
"""The name of our own rows that every table holds besides: what runs on this machine, and web searches."""

_TEXT_UNITS = {
    "input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok",
    "web_searches_kcount", "storage_searches_kcount", "input_audio_mtok", "cache_audio_read_mtok",
    "input_image_mtok", "cache_image_read_mtok", "input_video_mtok",
}  # fmt: skip
"""What a model may charge for and still be one that writes text."""

_CHECKED = re.compile(r"(?i)(?:verified|checked|as of)\D{0,30}(\d{4}-\d{2}-\d{2})")
_HALF_HOURS = tuple(time(half // 2, 30 * (half % 2), tzinfo=UTC) for half in range(48))
_Clause = ClauseStartsWith | ClauseEndsWith | ClauseContains | ClauseRegex | ClauseEquals | ClauseOr | ClauseAnd


def tables(own: Mapping[str, PriceTable]) -> dict[str, PriceTable]:
    """Every table that is made: the snapshot's rows, and our own rows (by table name) where it knows nothing."""
    return {name: _table(name, [own[part] for part in (name, LOCAL) if part in own]) for name in PROVIDERS}


def left_out() -> tuple[tuple[str, str, str], ...]:
    """What the snapshot prices in a way that no row can hold: table, model and why. Such a model stays unpriced."""
    found = []
    for name, providers in PROVIDERS.items():
        for provider, model in _models(providers):
            try:
                _periods(provider, model, snapshot_date())
            except BadInput as error:
                found.append((name, model.id, str(error)))
    return tuple(found)


def snapshot_date() -> date:
    """The latest day on which the snapshot says that it checked a price."""
    comments = (text for provider in snapshot for text in _comments(provider) if text)
    return max(date.fromisoformat(found) for text in comments for found in _CHECKED.findall(text))


def _comments(provider: Provider) -> Iterator[str | None]:
    yield provider.price_comments
    yield from (model.price_comments for model in provider.models)


def _table(name: str, own: list[PriceTable]) -> PriceTable:
    dated = snapshot_date() if PROVIDERS[name] else max(part.dated for part in own)
    quoted = _quoted(PROVIDERS[name], dated)
    prices = {row: price for part in own for row, price in part.prices.items()} | dict(quoted.prices)
    aliases = {alias: row for part in own for alias, row in part.aliases.items()} | dict(quoted.aliases)
    sources = [quoted.source] if PROVIDERS[name] else []
    made = PriceTable(
        name=name,
        dated=dated,
        source="; ".join(sources + [part.source for part in own]),
        prices=dict(sorted(prices.items())),
        aliases=dict(sorted((alias, row) for alias, row in aliases.items() if alias not in prices)),
        rules=quoted.rules,
        changes=quoted.changes,
    )
    return made.at(dated)


def _quoted(providers: tuple[str, ...], dated: date) -> PriceTable:
    """What the snapshot says about these providers."""
    periods: dict[str, tuple[Price, ...]] = {}
    aliases: dict[str, str] = {}
    rules: set[tuple[str, str]] = set()
    for provider, model in _models(providers):
        found = _usable_periods(provider, model, dated)
        if found and model.id not in periods:
            periods[model.id] = found
            aliases |= {alias: model.id for alias in _equal_names(model.match)}
            rules |= {(model.id, pattern) for pattern in _patterns(model.match)}
    return PriceTable(
        name="",
        dated=dated,
        source=f"genai-prices {version('genai-prices')} (MIT): {', '.join(providers)}",
        prices={row: found[0] for row, found in periods.items()},
        aliases=aliases,
        rules=tuple(NameRule(row=row, pattern=pattern) for row, pattern in sorted(rules)),
        changes={row: found for row, found in sorted(periods.items()) if len(found) > 1},
    )


def _models(names: tuple[str, ...]) -> Iterator[tuple[Provider, ModelInfo]]:
    """Their models, without those that one of the others makes (Google also sells Claude, at its own price)."""
    makers = [provider for name in names for provider in snapshot if provider.id == name]
    for provider in makers:
        others = [maker.model_match for maker in makers if maker is not provider and maker.model_match]
        for model in provider.models:
            if not any(other.is_match(model.id.lower()) for other in others) and _is_name(provider, model):
                yield provider, model


def _is_name(provider: Provider, model: ModelInfo) -> bool:
    """Whether requests carry this name: at OpenRouter maker/model, where the snapshot also lists shorter ones."""
    return provider.id != "openrouter" or re.fullmatch(r"[^~:]+/[^:]+", model.id) is not None


def _usable_periods(provider: Provider, model: ModelInfo, dated: date) -> tuple[Price, ...]:
    try:
        return _periods(provider, model, dated)
    except BadInput:  # told by `left_out`
        return ()


def _periods(provider: Provider, model: ModelInfo, dated: date) -> tuple[Price, ...]:
    """The prices of a model, oldest first; empty when it is not priced by tokens of text."""
    found: list[Price] = []
    for since in (None, *_starts(model)):
        day = since or min(_starts(model), default=dated + timedelta(days=1)) - timedelta(days=1)
        price = _price(provider, model, day, since)
        if price is None:
            return ()
        if not found or _rates(price) != _rates(found[-1]):
            found.append(price)
    return tuple(found)


def _starts(model: ModelInfo) -> list[date]:
    if isinstance(model.prices, ModelPrice):
        return []
    limits = [conditional.constraint for conditional in model.prices]
    return sorted({limit.start_date for limit in limits if isinstance(limit, StartDateConstraint)})


def _rates(price: Price) -> tuple[object, ...]:
    return (
        price.input_usd_per_mtok, price.output_usd_per_mtok, price.cached_usd_per_mtok,
        price.cache_write_usd_per_mtok, price.tiers, price.assumed,
    )  # fmt: skip


def _price(provider: Provider, model: ModelInfo, day: date, since: date | None) -> Price | None:
    hourly = [model.get_prices(datetime.combine(day, hour)) for hour in _HALF_HOURS]
    units = {unit: amount for unit, amount in vars(max(hourly, key=_dearness)).items() if amount is not None}
    if not {"input_mtok", "output_mtok"} <= set(units) <= _TEXT_UNITS:
        return None
    return Price(
        input_usd_per_mtok=_base(units["input_mtok"]),
        output_usd_per_mtok=_base(units["output_mtok"]),
        cached_usd_per_mtok=_base(units.get("cache_read_mtok")),
        cache_write_usd_per_mtok=_base(units.get("cache_write_mtok")),
        tiers=tuple(_tier(units, start) for start in _tier_starts(units)),
        since=since,
        assumed="; ".join(_assumptions(provider, model, units, hourly)) or None,
        source=f"genai-prices {version('genai-prices')}, {provider.id} {model.id}",
    )


def _dearness(price: ModelPrice) -> tuple[float, float]:
    return _base(price.input_mtok) or 0.0, _base(price.output_mtok) or 0.0


def _base(amount: Decimal | TieredPrices | None) -> float | None:
    if amount is None:
        return None
    return float(amount.base if isinstance(amount, TieredPrices) else amount)


def _tier_starts(units: Mapping[str, Decimal | TieredPrices]) -> list[int]:
    return sorted(
        {tier.start for amount in units.values() if isinstance(amount, TieredPrices) for tier in amount.tiers}
    )


def _tier(units: Mapping[str, Decimal | TieredPrices], start: int) -> Tier:
    def above(unit: str) -> float | None:
        amount = units.get(unit)
        reached = (
            [tier.price for tier in amount.tiers if tier.start <= start] if isinstance(amount, TieredPrices) else []
        )
        return float(reached[-1]) if reached else _base(amount)

    return Tier(
        above_input_tokens=start,
        input_usd_per_mtok=above("input_mtok") or 0.0,
        output_usd_per_mtok=above("output_mtok") or 0.0,
        cached_usd_per_mtok=above("cache_read_mtok"),
        cache_write_usd_per_mtok=above("cache_write_mtok"),
    )


def _assumptions(
    provider: Provider, model: ModelInfo, units: Mapping[str, object], hourly: Iterable[ModelPrice]
) -> Iterator[str]:
    """What the snapshot knows more about a price than a row can say, and how the row reads it."""
    if provider.id == "openrouter":
        yield "the cheapest host; a request may be passed on to a dearer one"
    low = min(hourly, key=_dearness)
    if _dearness(low) != _dearness(max(hourly, key=_dearness)):
        yield f"peak hours; off-peak ${low.input_mtok} in, ${low.output_mtok} out"
    kinds = sorted({value for variant in model.price_variants or () for value in variant.when.values()} - {"default"})
    if kinds:
        yield f"standard processing, not {', '.join(kinds)}"
    if "cache_write_1h_mtok" in units:
        yield "prompts stored for the short time, not for an hour"
    if any(unit.startswith(("input_audio", "input_image", "input_video")) for unit in units):
        yield "text input only"
    if "web_searches_kcount" in units or "storage_searches_kcount" in units:
        yield "without the provider's own searches"


def _equal_names(match: _Clause) -> Iterator[str]:
    """The names that a rule lists one by one."""
    if isinstance(match, ClauseEquals):
        yield match.equals
    elif isinstance(match, ClauseOr):
        for clause in match.or_:
            yield from _equal_names(clause)


def _patterns(match: _Clause) -> Iterator[str]:
    """The parts of a rule that no list of names can say, as regular expressions for a lower-case name."""
    if isinstance(match, ClauseOr):
        for clause in match.or_:
            yield from _patterns(clause)
    elif not isinstance(match, ClauseEquals):
        yield _pattern(match)


def _pattern(match: _Clause) -> str:
    match match:
        case ClauseEquals():
            return f"^{re.escape(match.equals.lower())}$"
        case ClauseStartsWith():
            return f"^{_literal(match.starts_with)}"
        case ClauseEndsWith():
            return f"{re.escape(match.ends_with.lower())}$"
        case ClauseContains():
            return _literal(match.contains)
        case ClauseRegex():
            return match.regex
        case ClauseOr():
            return "(?:" + "|".join(map(_pattern, match.or_)) + ")"
        case ClauseAnd():
            return "^" + "".join(f"(?=.*?(?:{_pattern(clause)}))" for clause in match.and_)


def _literal(text: str) -> str:
    """The text; where it ends in a version number, that number and no longer one: 4-1 is not 4-10."""
    closed = r"(?!\d)" if re.search(r"[-.]\d{1,2}$", text) else ""
    return re.escape(text.lower()) + closed
