"""Dated prices, what was used, and the bill.

Cost is derived from usage and a price table and never stored as a fact. What is unknown
(no price row, no usage reported) is None all the way up and never 0.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import date

from orchestra_lib.errors import BadInput
from orchestra_lib.record import record


@record
class Price:
    """What one thing costs, in USD: tokens per million, a call, a busy second.

    A part that is None does not apply; a part that is 0 is free. `cached_usd_per_mtok`
    None means that cached input pays the full input rate. `source` says where the figures come from.
    """

    input_usd_per_mtok: float | None = None
    output_usd_per_mtok: float | None = None
    cached_usd_per_mtok: float | None = None
    call_usd: float | None = None
    second_usd: float | None = None
    source: str

    def __post_init__(self) -> None:
        for name in ("input_usd_per_mtok", "output_usd_per_mtok", "cached_usd_per_mtok", "call_usd", "second_usd"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise BadInput(f"price {name} = {value!r}; a price is a number of dollars, 0 or more")
        if (self.input_usd_per_mtok is None) != (self.output_usd_per_mtok is None):
            raise BadInput("a token price needs both input_usd_per_mtok and output_usd_per_mtok")
        if self.cached_usd_per_mtok is not None and self.cached_usd_per_mtok > (self.input_usd_per_mtok or 0.0):
            raise BadInput("cached_usd_per_mtok is above input_usd_per_mtok; cached input never costs more")

    @property
    def free(self) -> bool:
        parts = (self.input_usd_per_mtok, self.output_usd_per_mtok, self.call_usd, self.second_usd)
        return any(part is not None for part in parts) and not any(parts)


@record
class PriceTable:
    """Prices of one source on one day. `nominal` marks prices that nobody is billed for.

    `aliases` maps a dated or hosted model name to the row that prices it, exactly.
    """

    name: str
    dated: date
    source: str
    nominal: bool = False
    prices: Mapping[str, Price] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)

    def find(self, name: str) -> Price | None:
        """The row for a model or tool; None when the table does not know it."""
        return self.prices.get(self.aliases.get(name, name))

    def only(self, names: Iterable[str]) -> "PriceTable":
        """The same table with just the rows that these names need, as a run records it."""
        wanted = {name: price for name in names if (price := self.find(name)) is not None}
        return PriceTable(
            name=self.name,
            dated=self.dated,
            source=self.source,
            nominal=self.nominal,
            prices=dict(sorted(wanted.items())),
        )


@record
class Usage:
    """Tokens as the provider reported them; None where it said nothing.

    `cached_tokens` are part of `input_tokens`, `reasoning_tokens` part of `output_tokens`.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


@record
class Attempt:
    """One row of the ledger: one try at a model or a tool, retries included.

    `priced_as` is the name to look up in a price table. `wall_s` excludes `queue_s`, the wait for
    a free place. `billed` is False for a try that failed before anything was charged.
    """

    priced_as: str
    usage: Usage | None = None
    wall_s: float
    queue_s: float = 0.0
    billed: bool = True
    error: str | None = None


def cost_usd(attempt: Attempt, price: Price | None) -> float | None:
    """What one attempt cost in USD; None when its price or its usage is unknown."""
    if not attempt.billed:
        return 0.0
    if price is None:
        return None
    parts = [price.call_usd or 0.0, (price.second_usd or 0.0) * attempt.wall_s]
    if price.input_usd_per_mtok is not None:
        tokens = _token_cost(attempt.usage, price)
        if tokens is None:
            return None
        parts.append(tokens)
    return math.fsum(parts)


def _token_cost(usage: Usage | None, price: Price) -> float | None:
    input_rate, output_rate = price.input_usd_per_mtok, price.output_usd_per_mtok
    if input_rate == 0 and output_rate == 0:
        return 0.0
    if usage is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    assert input_rate is not None
    assert output_rate is not None
    # A server may report more cached tokens than prompt tokens: the prompt wins.
    cached = min(usage.cached_tokens or 0, usage.input_tokens)
    cached_rate = input_rate if price.cached_usd_per_mtok is None else price.cached_usd_per_mtok
    fresh = usage.input_tokens - cached
    return (fresh * input_rate + cached * cached_rate + usage.output_tokens * output_rate) / 1e6


def worst_case_usd(
    price: Price | None, *, max_input_tokens: int | None, max_output_tokens: int | None, timeout_s: float
) -> float | None:
    """The most that one call can cost; None when the price or a token bound is unknown."""
    usage = Usage(input_tokens=max_input_tokens, output_tokens=max_output_tokens)
    return cost_usd(Attempt(priced_as="", usage=usage, wall_s=timeout_s), price)


@record
class BillRow:
    """All attempts of one payee at one priced name. Sums are None when a summand is unknown.

    `known_usd` sums the attempts whose cost is known.
    """

    payee: str
    priced_as: str
    price: Price | None
    attempts: int
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    known_usd: float
    wall_s: float


@record
class Bill:
    """Rows per payee and their totals. `cost_usd` is None when any row's cost is unknown.

    Token totals leave out attempts that use no tokens, and are None when a model did not report them.
    """

    rows: tuple[BillRow, ...]

    @property
    def cost_usd(self) -> float | None:
        return total(row.cost_usd for row in self.rows)

    @property
    def known_usd(self) -> float:
        """What is known to have been spent, a lower bound when `cost_usd` is None."""
        return math.fsum(row.known_usd for row in self.rows)

    @property
    def input_tokens(self) -> int | None:
        return total_tokens(row.input_tokens for row in self.rows)

    @property
    def output_tokens(self) -> int | None:
        return total_tokens(row.output_tokens for row in self.rows)


def bill(ledger: Iterable[tuple[str, Attempt]], prices: PriceTable) -> Bill:
    """Sum (payee, attempt) pairs under a price table, payees in order of first appearance."""
    groups: dict[tuple[str, str], list[Attempt]] = {}
    for payee, attempt in ledger:
        groups.setdefault((payee, attempt.priced_as), []).append(attempt)
    return Bill(rows=tuple(_row(payee, name, attempts, prices) for (payee, name), attempts in groups.items()))


def _row(payee: str, name: str, attempts: list[Attempt], prices: PriceTable) -> BillRow:
    price = prices.find(name)
    # Tools without tokens and attempts that were never billed count 0 tokens, a silent model counts as unknown.
    counted = [
        attempt.usage or Usage() for attempt in attempts if attempt.usage is not None or _uses_tokens(attempt, price)
    ]
    costs = [cost_usd(attempt, price) for attempt in attempts]
    return BillRow(
        payee=payee,
        priced_as=name,
        price=price,
        attempts=len(attempts),
        input_tokens=total_tokens(usage.input_tokens for usage in counted),
        output_tokens=total_tokens(usage.output_tokens for usage in counted),
        cost_usd=total(costs),
        known_usd=math.fsum(cost for cost in costs if cost is not None),
        wall_s=math.fsum(attempt.wall_s for attempt in attempts),
    )


def _uses_tokens(attempt: Attempt, price: Price | None) -> bool:
    return attempt.billed and price is not None and price.input_usd_per_mtok is not None


def total(parts: Iterable[float | None]) -> float | None:
    """The sum, or None when any part is unknown."""
    known = list(parts)
    return None if any(part is None for part in known) else math.fsum(part for part in known if part is not None)


def total_tokens(parts: Iterable[int | None]) -> int | None:
    """The sum of token counts, or None when any is unknown."""
    known = list(parts)
    return None if any(part is None for part in known) else sum(part for part in known if part is not None)
