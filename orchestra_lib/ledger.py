"""The ledger of a run: one row per attempt, with the price row behind it and what does not add up.

The bill sums these rows; nothing is billed that has no row here, and no row is billed twice.
"""

from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum

from orchestra_lib.billing import JUDGE
from orchestra_lib.pricing import Attempt, Match, Price, PriceTable, Usage, cost_usd
from orchestra_lib.record import record
from orchestra_lib.trajectory import ORCHESTRATOR, Trajectory

REPORTED_TOLERANCE = 0.01
"""The provider's figure and ours count as different when they are further apart than this share of the larger."""


class Flag(StrEnum):
    """What is odd about an attempt, and how it was billed all the same."""

    UNPRICED = "unpriced"
    """The table has no row for it: its cost is unknown."""
    USAGE_MISSING = "usage_missing"
    """The provider did not report its tokens, or reported nonsense: its cost is unknown."""
    USAGE_ESTIMATED = "usage_estimated"
    """Our own tokenizer counted the tokens."""
    CACHED_UNKNOWN = "cached_unknown"
    """Nothing was said about cached input although it has a price: all input paid the full rate."""
    CACHED_ABOVE_INPUT = "cached_above_input"
    """More cached tokens than prompt tokens were reported: the prompt wins."""
    CACHE_WRITES_UNKNOWN = "cache_writes_unknown"
    """Nothing was said about stored prompts although storing has a price: all input paid the plain rate."""
    REASONING_ABOVE_OUTPUT = "reasoning_above_output"
    """More reasoning tokens than output tokens were reported: the output wins."""
    REPORTED_COST_DIFFERS = "reported_cost_differs"
    """The provider says that it charged something else; both figures are kept."""


@record
class LedgerRow:
    """One attempt: who it was for, what it used, which price row it met, what it cost in USD, and what is odd.

    `turn` and `call_id` are None where there is none; `matched` says how `row` was found.
    """

    payee: str
    turn: int | None
    call_id: str | None
    attempt: Attempt
    row: str | None
    matched: Match
    price: Price | None
    cost_usd: float | None
    flags: tuple[Flag, ...]


def ledger(trajectory: Trajectory, prices: PriceTable | None = None) -> tuple[LedgerRow, ...]:
    """Every attempt in order, the judge's last, under the recorded prices or under another table."""
    table = prices or trajectory.setting.prices
    return tuple(_row(payee, turn, call_id, attempt, table) for payee, turn, call_id, attempt in _attempts(trajectory))


def repriced(trajectory: Trajectory, table: PriceTable) -> Trajectory:
    """The same run under another table, with the prices that this table has for the day of the run."""
    setting = trajectory.setting
    names = [row.attempt.priced_as for row in ledger(trajectory)]
    prices = table.at(setting.started_at.date()).only(names)
    return replace(trajectory, setting=replace(setting, prices=prices))


def _attempts(trajectory: Trajectory) -> Iterator[tuple[str, int | None, str | None, Attempt]]:
    for turn in trajectory.turns:
        for attempt in turn.generation.attempts if turn.generation else ():
            yield ORCHESTRATOR, turn.index, None, attempt
        for call in turn.calls:
            for attempt in call.attempts:
                yield call.call.tool, turn.index, call.call.id, attempt
    for attempt in trajectory.judge_attempts:
        yield JUDGE, None, None, attempt


def _row(payee: str, turn: int | None, call_id: str | None, attempt: Attempt, table: PriceTable) -> LedgerRow:
    found = table.resolve(attempt.priced_as)
    return LedgerRow(
        payee=payee,
        turn=turn,
        call_id=call_id,
        attempt=attempt,
        row=found.row,
        matched=found.by,
        price=found.price,
        cost_usd=cost_usd(attempt, found.price),
        flags=tuple(flags(attempt, found.price)),
    )


def flags(attempt: Attempt, price: Price | None) -> Iterator[Flag]:
    """Everything about an attempt that does not add up; nothing for one that was never billed."""
    if not attempt.billed:
        return
    if price is None:
        yield Flag.UNPRICED
    usage = attempt.usage or Usage()
    ours, theirs = cost_usd(attempt, price), attempt.reported_cost_usd
    if price is not None and ours is None:
        yield Flag.USAGE_MISSING
    if usage.estimated:
        yield Flag.USAGE_ESTIMATED
    yield from _cache_flags(usage, price)
    if usage.output_tokens is not None and (usage.reasoning_tokens or 0) > usage.output_tokens:
        yield Flag.REASONING_ABOVE_OUTPUT
    if ours is not None and theirs is not None and abs(ours - theirs) > REPORTED_TOLERANCE * max(ours, theirs):
        yield Flag.REPORTED_COST_DIFFERS


def _cache_flags(usage: Usage, price: Price | None) -> Iterator[Flag]:
    if usage.input_tokens is None:
        return
    if (usage.cached_tokens or 0) + (usage.cache_write_tokens or 0) > usage.input_tokens:
        yield Flag.CACHED_ABOVE_INPUT
    if price is None:
        return
    if price.cached_usd_per_mtok is not None and usage.cached_tokens is None:
        yield Flag.CACHED_UNKNOWN
    if price.cache_write_usd_per_mtok is not None and usage.cache_write_tokens is None:
        yield Flag.CACHE_WRITES_UNKNOWN
