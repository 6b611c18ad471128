"""The bill: what the attempts of a run cost under a price table, summed by payee.

Sums follow from attempts and prices and are never stored. Money is in USD, time in seconds.
"""

import math
from collections.abc import Iterable, Sequence

from orchestra_lib.pricing import Attempt, Price, PriceTable, Usage, cost_usd, total, total_tokens
from orchestra_lib.record import record

JUDGE = "judge"
"""The payee's name of whoever grades a run; what it costs is shown and never part of the run's total."""


@record
class BillRow:
    """All attempts of one payee at one priced name. Sums are None when a summand is unknown.

    `row` is the price row that was used. `known_usd` sums the attempts whose cost is known,
    `reported_usd` what the provider says it charged. `wall_s` is busy time, the attempts' seconds
    summed; waits for a place and after failures are apart. `estimated` marks sums that rest on our own token counts.
    """

    payee: str
    priced_as: str
    row: str | None
    price: Price | None
    attempts: int
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    cost_usd: float | None
    known_usd: float
    reported_usd: float | None
    estimated: bool
    wall_s: float
    queue_s: float
    backoff_s: float


@record
class Bill:
    """Rows per payee and their totals. `cost_usd` is None when any row's cost is unknown.

    Token totals leave out attempts that use no tokens, and are None when a model did not report them.
    `judge` holds what grading cost; no total counts it.
    """

    rows: tuple[BillRow, ...]
    judge: tuple[BillRow, ...] = ()

    @property
    def cost_usd(self) -> float | None:
        return total(row.cost_usd for row in self.rows)

    @property
    def known_usd(self) -> float:
        """What is known to have been spent, a lower bound when `cost_usd` is None."""
        return math.fsum(row.known_usd for row in self.rows)

    @property
    def estimated(self) -> bool:
        return any(row.estimated for row in self.rows)

    @property
    def input_tokens(self) -> int | None:
        return total_tokens(row.input_tokens for row in self.rows)

    @property
    def output_tokens(self) -> int | None:
        return total_tokens(row.output_tokens for row in self.rows)

    @property
    def busy_s(self) -> float:
        """Seconds of all attempts summed; above the run's wall time when calls ran side by side."""
        return math.fsum(row.wall_s for row in self.rows)

    @property
    def queue_s(self) -> float:
        return math.fsum(row.queue_s for row in self.rows)

    @property
    def backoff_s(self) -> float:
        return math.fsum(row.backoff_s for row in self.rows)

    def of(self, payee: str) -> "Bill":
        """The part of one payee, as a bill."""
        return Bill(rows=tuple(row for row in (*self.rows, *self.judge) if row.payee == payee))


def bill(ledger: Iterable[tuple[str, Attempt]], prices: PriceTable) -> Bill:
    """Sum (payee, attempt) pairs under a price table, payees in order of first appearance."""
    groups: dict[tuple[str, str], list[Attempt]] = {}
    for payee, attempt in ledger:
        groups.setdefault((payee, attempt.priced_as), []).append(attempt)
    rows = tuple(_row(payee, name, attempts, prices) for (payee, name), attempts in groups.items())
    return Bill(
        rows=tuple(row for row in rows if row.payee != JUDGE), judge=tuple(row for row in rows if row.payee == JUDGE)
    )


@record
class Spent:
    """What some attempts took together; None when a part of it is unknown."""

    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None


def spent_on(attempts: Iterable[Attempt], prices: PriceTable) -> Spent:
    """The totals that `bill` gives for these attempts, for those who need no rows."""
    priced = [(attempt, prices.find(attempt.priced_as)) for attempt in attempts]
    counted = _counted(priced)
    return Spent(
        input_tokens=total_tokens(usage.input_tokens for usage in counted),
        output_tokens=total_tokens(usage.output_tokens for usage in counted),
        cost_usd=total(cost_usd(attempt, price) for attempt, price in priced),
    )


def _row(payee: str, name: str, attempts: list[Attempt], prices: PriceTable) -> BillRow:
    found = prices.resolve(name)
    price = found.price
    counted = _counted([(attempt, price) for attempt in attempts])
    costs = [cost_usd(attempt, price) for attempt in attempts]
    reported = [attempt.reported_cost_usd for attempt in attempts if attempt.billed]
    return BillRow(
        payee=payee,
        priced_as=name,
        row=found.row,
        price=price,
        attempts=len(attempts),
        input_tokens=total_tokens(usage.input_tokens for usage in counted),
        output_tokens=total_tokens(usage.output_tokens for usage in counted),
        cached_tokens=total_tokens(usage.cached_tokens for usage in counted),
        reasoning_tokens=total_tokens(usage.reasoning_tokens for usage in counted),
        cost_usd=total(costs),
        known_usd=math.fsum(cost for cost in costs if cost is not None),
        reported_usd=total(reported) if reported else None,
        estimated=any(usage.estimated for usage in counted),
        wall_s=math.fsum(attempt.wall_s for attempt in attempts),
        queue_s=math.fsum(attempt.queue_s for attempt in attempts),
        backoff_s=math.fsum(attempt.backoff_s for attempt in attempts),
    )


def _counted(priced: Sequence[tuple[Attempt, Price | None]]) -> list[Usage]:
    """Tools without tokens and attempts that were never billed count 0 tokens, a silent model counts as unknown."""
    return [
        attempt.usage or Usage()
        for attempt, price in priced
        if attempt.usage is not None or _uses_tokens(attempt, price)
    ]


def _uses_tokens(attempt: Attempt, price: Price | None) -> bool:
    return attempt.billed and price is not None and price.input_usd_per_mtok is not None
