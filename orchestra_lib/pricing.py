"""Dated prices, what was used, and what it cost.

Cost is derived from usage and a price table and never stored as a fact. What is unknown
(no price row, no usage reported) is None all the way up and never 0. Money is in US dollars as
floats; every sum is a `math.fsum`, so that the order of its parts changes nothing.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from datetime import date
from enum import StrEnum

from orchestra_lib.errors import BadInput
from orchestra_lib.record import record

CREDIBLE_TOKENS = 10**12
"""A server that reports more tokens than this for one request has reported nothing."""


@record
class Tier:
    """The rates of a whole request whose prompt is longer than `above_input_tokens`, in USD per million tokens."""

    above_input_tokens: int
    input_usd_per_mtok: float
    output_usd_per_mtok: float
    cached_usd_per_mtok: float | None = None
    cache_write_usd_per_mtok: float | None = None

    def __post_init__(self) -> None:
        _check_rates(self)


@record
class Price:
    """What one thing costs, in USD: tokens per million, a call, a busy second.

    A part that is None does not apply; a part that is 0 is free. `cached_usd_per_mtok` None means
    that cached input pays the full input rate, `cache_write_usd_per_mtok` None that storing a
    prompt costs nothing extra. `tiers` are the dearer rates of long prompts. `since` is the first
    day of this price, None when the source gives none. `assumed` says what the source leaves open
    and how it was read, `source` where the figures come from.
    """

    input_usd_per_mtok: float | None = None
    output_usd_per_mtok: float | None = None
    cached_usd_per_mtok: float | None = None
    cache_write_usd_per_mtok: float | None = None
    call_usd: float | None = None
    second_usd: float | None = None
    tiers: tuple[Tier, ...] = ()
    since: date | None = None
    assumed: str | None = None
    source: str

    def __post_init__(self) -> None:
        _check_rates(self)
        for name in ("call_usd", "second_usd"):
            _check_amount(name, getattr(self, name))
        if (self.input_usd_per_mtok is None) != (self.output_usd_per_mtok is None):
            raise BadInput("a token price needs both input_usd_per_mtok and output_usd_per_mtok")
        if self.tiers and self.input_usd_per_mtok is None:
            raise BadInput("tiers need the rates below them: input_usd_per_mtok and output_usd_per_mtok")
        below, below_rates = -1, _rates(self)
        for tier in self.tiers:
            rates = _rates(tier)
            if tier.above_input_tokens <= below or any(new < old for new, old in zip(rates, below_rates, strict=True)):
                raise BadInput("tiers go from short prompts to long ones, and a longer prompt never costs less a token")
            below, below_rates = tier.above_input_tokens, rates

    def for_prompt(self, input_tokens: int) -> "Price | Tier":
        """Where the token rates of a request stand whose prompt has this many tokens."""
        if not self.tiers:
            return self
        fitting = [tier for tier in self.tiers if input_tokens > tier.above_input_tokens]
        return fitting[-1] if fitting else self

    @property
    def free(self) -> bool:
        parts = (self.input_usd_per_mtok, self.output_usd_per_mtok, self.call_usd, self.second_usd)
        return any(part is not None for part in parts) and not any(parts) and self._tokens_are_free

    @property
    def _tokens_are_free(self) -> bool:
        levels: tuple[Price | Tier, ...] = (self, *self.tiers)
        return not any(rate for level in levels for rate in _rates(level))


def _rates(level: Price | Tier) -> tuple[float, float, float, float]:
    """Input, output, cached and written input, in USD per million tokens, with the defaults filled in."""
    fresh, out = level.input_usd_per_mtok or 0.0, level.output_usd_per_mtok or 0.0
    cached, written = level.cached_usd_per_mtok, level.cache_write_usd_per_mtok
    return fresh, out, fresh if cached is None else cached, fresh if written is None else written


def _check_rates(level: Price | Tier) -> None:
    for name in ("input_usd_per_mtok", "output_usd_per_mtok", "cached_usd_per_mtok", "cache_write_usd_per_mtok"):
        _check_amount(name, getattr(level, name))
    fresh, _, cached, _ = _rates(level)
    if cached > fresh:
        raise BadInput("cached_usd_per_mtok is above input_usd_per_mtok; cached input never costs more")


def _check_amount(name: str, value: float | None) -> None:
    if value is not None and not (math.isfinite(value) and value >= 0):
        raise BadInput(f"price {name} = {value!r}; a price is a number of dollars, 0 or more")


class Match(StrEnum):
    """How a name was looked up in a price table."""

    ROW = "row"
    """It is the name of a row."""
    ALIAS = "alias"
    RULE = "rule"
    """The provider's own rule for names leads to one row."""
    AMBIGUOUS = "ambiguous"
    """Rules lead to several rows, so none is taken."""
    UNKNOWN = "unknown"


@record
class Resolution:
    """Which row of a table prices a name and why; `row` and `price` are None when none does."""

    name: str
    by: Match
    row: str | None = None
    price: Price | None = None
    rule: str | None = None


@record
class NameRule:
    """A provider's own rule for names: `pattern`, a regular expression searched in the lower-case name, means `row`."""

    row: str
    pattern: str


@record
class PriceTable:
    """Prices of one source on one day.

    `nominal` marks prices that nobody is billed for, `historic` figures of a publication that are
    kept as they were. `aliases` maps a dated or hosted model name to the row that prices it,
    exactly; `rules` are asked for a name that is neither. `changes` holds every price of a row
    whose price changes with time, oldest first; `prices` has the one of the table's own date.
    """

    name: str
    dated: date
    source: str
    nominal: bool = False
    historic: bool = False
    prices: Mapping[str, Price] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[NameRule, ...] = ()
    changes: Mapping[str, tuple[Price, ...]] = field(default_factory=dict)

    def find(self, name: str) -> Price | None:
        """The price of a model or tool; None when the table does not know it."""
        row = self.prices.get(name)
        return row if row is not None or not (self.aliases or self.rules) else self.resolve(name).price

    def resolve(self, name: str) -> Resolution:
        """The row for a model or tool, and why it is that row. A row wins over an alias, an alias over a rule."""
        if name in self.prices:
            return Resolution(name=name, by=Match.ROW, row=name, price=self.prices[name])
        if name in self.aliases:
            row = self.aliases[name]
            return Resolution(name=name, by=Match.ALIAS, row=row, price=self.prices.get(row))
        fitting = {rule.row: rule.pattern for rule in self.rules if re.search(rule.pattern, name.lower())}
        if len(fitting) == 1:
            row, pattern = next(iter(fitting.items()))
            return Resolution(name=name, by=Match.RULE, row=row, price=self.prices.get(row), rule=pattern)
        return Resolution(name=name, by=Match.AMBIGUOUS if fitting else Match.UNKNOWN)

    def at(self, day: date) -> "PriceTable":
        """The same table with the prices that hold on a day, where the source gives dates."""
        then = {name: _at(periods, day) for name, periods in self.changes.items() if periods}
        return replace(self, prices={**self.prices, **then}) if then else self

    def only(self, names: Iterable[str]) -> "PriceTable":
        """The same table with just the rows that these names need, as a run records it."""
        found = [hit for name in names if (hit := self.resolve(name)).price is not None]
        return PriceTable(
            name=self.name,
            dated=self.dated,
            source=self.source,
            nominal=self.nominal,
            historic=self.historic,
            prices=dict(sorted((hit.row, hit.price) for hit in found if hit.row and hit.price)),
            aliases=dict(sorted((hit.name, hit.row) for hit in found if hit.row and hit.row != hit.name)),
        )

    def with_rows_of(self, other: "PriceTable") -> "PriceTable":
        """The same table with the rows and aliases of another one that it lacks; its own win."""
        return replace(
            self,
            prices=dict(sorted({**other.prices, **self.prices}.items())),
            aliases=dict(sorted({**other.aliases, **self.aliases}.items())),
        )


def _at(periods: tuple[Price, ...], day: date) -> Price:
    begun = [price for price in periods if price.since is None or price.since <= day]
    return begun[-1] if begun else periods[0]


@record
class Usage:
    """Tokens as the provider reported them; None where it said nothing.

    `cached_tokens` (read from its cache) and `cache_write_tokens` (stored in it) are parts of
    `input_tokens`, `reasoning_tokens` part of `output_tokens`. `estimated` marks counts of our own
    tokenizer, for a provider that reported none.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_tokens: int | None = None
    estimated: bool = False


def with_reasoning_inside(usage: Usage) -> Usage:
    """The usage of a provider that counts reasoning apart from its output, in our terms, where it is part of it."""
    if usage.output_tokens is None or usage.reasoning_tokens is None:
        return usage
    return replace(usage, output_tokens=usage.output_tokens + usage.reasoning_tokens)


@record
class Attempt:
    """One row of the ledger: one try at a model or a tool, retries included.

    `priced_as` is the name to look up in a price table. `wall_s` excludes `queue_s`, the wait for
    a free place, and `backoff_s`, the wait that a failed try before it asked for. `billed` is False
    for a try that failed before anything was charged. `reported_cost_usd` is what the provider
    itself says it charged; it is kept beside our figure and never replaces it, and what is no
    amount of money counts as not reported.
    """

    priced_as: str
    usage: Usage | None = None
    wall_s: float
    queue_s: float = 0.0
    backoff_s: float = 0.0
    billed: bool = True
    error: str | None = None
    reported_cost_usd: float | None = None

    def __post_init__(self) -> None:
        said = self.reported_cost_usd
        if said is not None and not (math.isfinite(said) and said >= 0):
            object.__setattr__(self, "reported_cost_usd", None)


def cost_usd(attempt: Attempt, price: Price | None) -> float | None:
    """What one attempt cost in USD; None when its price or its usage is unknown."""
    if not attempt.billed:
        return 0.0
    if price is None:
        return None
    parts = [price.call_usd or 0.0, (price.second_usd or 0.0) * attempt.wall_s]
    if price.input_usd_per_mtok is not None:
        tokens = _token_costs(attempt.usage, price)
        if tokens is None:
            return None
        parts += tokens
    return math.fsum(parts)


def _token_costs(usage: Usage | None, price: Price) -> list[float] | None:
    told = _told(usage)
    if told is None or usage is None:
        return [] if price._tokens_are_free else None
    sent, made = told
    fresh_rate, output_rate, cached_rate, written_rate = _rates(price.for_prompt(sent))
    # A server may report more cached tokens than prompt tokens: the prompt wins.
    cached = min(max(usage.cached_tokens or 0, 0), sent)
    written = min(max(usage.cache_write_tokens or 0, 0), sent - cached)
    fresh = sent - cached - written
    return [
        fresh * fresh_rate / 1e6,
        made * output_rate / 1e6,
        cached * cached_rate / 1e6,
        written * written_rate / 1e6,
    ]


def _told(usage: Usage | None) -> tuple[int, int] | None:
    """Input and output tokens, None unless both were reported and can be true."""
    if usage is None or (sent := usage.input_tokens) is None or (made := usage.output_tokens) is None:
        return None
    return (sent, made) if 0 <= sent <= CREDIBLE_TOKENS and 0 <= made <= CREDIBLE_TOKENS else None


def worst_case_usd(
    price: Price | None, *, max_input_tokens: int | None, max_output_tokens: int | None, timeout_s: float
) -> float | None:
    """The most that one call can cost; None when the price or a token bound is unknown."""
    fresh_rate, _, _, written_rate = _rates(price.for_prompt(max_input_tokens or 0)) if price else (0.0,) * 4
    written = max_input_tokens if written_rate > fresh_rate else None
    usage = Usage(input_tokens=max_input_tokens, output_tokens=max_output_tokens, cache_write_tokens=written)
    return cost_usd(Attempt(priced_as="", usage=usage, wall_s=timeout_s), price)


def total(parts: Iterable[float | None]) -> float | None:
    """The sum, or None when any part is unknown."""
    known = list(parts)
    return None if None in known else math.fsum(known)  # type: ignore[arg-type]  # none of them is None


def total_tokens(parts: Iterable[int | None]) -> int | None:
    """The sum of token counts, or None when any is unknown."""
    known = list(parts)
    return None if None in known else sum(known)  # type: ignore[arg-type]  # none of them is None
