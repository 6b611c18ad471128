"""The bill: what the attempts of a run cost under a price table, summed by payee.

Sums follow from attempts and prices and are never stored. Money is in USD, time in seconds.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

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


class Charge(NamedTuple):
    """An attempt with the price row that holds for it, and what it cost in USD; None is unknown."""

    attempt: Attempt
    price: Price | None
    cost_usd: float | None


def charges(attempts: Iterable[Attempt], prices: PriceTable) -> list[Charge]:
    """Each attempt priced once, for those who sum the same attempts in several ways."""
    priced = ((attempt, prices.find(attempt.priced_as)) for attempt in attempts)
    return [Charge(attempt, price, cost_usd(attempt, price)) for attempt, price in priced]


def bill(ledger: Iterable[tuple[str, Attempt]], prices: PriceTable) -> Bill:
    """Sum (payee, attempt) pairs under a price table, payees in order of first appearance."""
    pairs = list(ledger)
    priced = charges((attempt for _, attempt in pairs), prices)
    return bill_of(((payee, charge) for (payee, _), charge in zip(pairs, priced, strict=True)), prices)


def bill_of(charged: Iterable[tuple[str, Charge]], prices: PriceTable) -> Bill:
    """The same bill of attempts that `charges` has priced under this table."""
    groups: dict[tuple[str, str], list[Charge]] = {}
    for payee, charge in charged:
        groups.setdefault((payee, charge.attempt.priced_as), []).append(charge)
    rows = tuple(_row(payee, name, group, prices) for (payee, name), group in groups.items())
    return Bill(
        rows=tuple(row for row in rows if row.payee != JUDGE), judge=tuple(row for row in rows if row.payee == JUDGE)
    )


@record
class Spent:
    """What some attempts took together; None when a part of it is unknown."""

    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    known_usd: float
    """A lower bound where `cost_usd` is None."""


def spent_on(attempts: Iterable[Attempt], prices: PriceTable) -> Spent:
    """The totals that `bill` gives for these attempts, for those who need no rows."""
    return spent(charges(attempts, prices))


def spent(group: Sequence[Charge]) -> Spent:
    """The same totals of attempts that are priced."""
    sent: int | None = 0
    made: int | None = 0
    for usage in _counted(group):
        sent = None if sent is None or usage.input_tokens is None else sent + usage.input_tokens
        made = None if made is None or usage.output_tokens is None else made + usage.output_tokens
    known = [usd for _, _, usd in group if usd is not None]
    known_usd = math.fsum(known)
    cost_usd = known_usd if len(known) == len(group) else None
    return Spent(input_tokens=sent, output_tokens=made, cost_usd=cost_usd, known_usd=known_usd)


def _row(payee: str, name: str, group: Sequence[Charge], prices: PriceTable) -> BillRow:
    found = prices.resolve(name)
    counted = _counted(group)
    attempts = [charge.attempt for charge in group]
    costs = [charge.cost_usd for charge in group]
    reported = [attempt.reported_cost_usd for attempt in attempts if attempt.billed]
    return BillRow(
        payee=payee,
        priced_as=name,
        row=found.row,
        price=found.price,
        attempts=len(attempts),
        input_tokens=total_tokens([usage.input_tokens for usage in counted]),
        output_tokens=total_tokens([usage.output_tokens for usage in counted]),
        cached_tokens=total_tokens([usage.cached_tokens for usage in counted]),
        reasoning_tokens=total_tokens([usage.reasoning_tokens for usage in counted]),
        cost_usd=total(costs),
        known_usd=math.fsum([cost for cost in costs if cost is not None]),
        reported_usd=total(reported) if reported else None,
        estimated=any([usage.estimated for usage in counted]),
        wall_s=math.fsum([attempt.wall_s for attempt in attempts]),
        queue_s=math.fsum([attempt.queue_s for attempt in attempts]),
        backoff_s=math.fsum([attempt.backoff_s for attempt in attempts]),
    )


_NO_USAGE = Usage()


def _counted(group: Iterable[Charge]) -> list[Usage]:
    """Tools without tokens and attempts that were never billed count 0 tokens, a silent model counts as unknown."""
    return [
        attempt.usage or _NO_USAGE
        for attempt, price, _ in group
        if attempt.usage is not None or _uses_tokens(attempt, price)
    ]


def _uses_tokens(attempt: Attempt, price: Price | None) -> bool:
    return attempt.billed and price is not None and price.input_usd_per_mtok is not None
