"""One row per attempt, and what does not add up: the faults of accounting that others met (B2 to B6)."""

import asyncio
from dataclasses import replace
from datetime import date

import pytest
from amounts import ledgers, prices, tables, usages
from episodes import setting, trajectory
from hypothesis import given
from hypothesis import strategies as st
from playing import Echo, run

from orchestra_lib.billing import JUDGE, bill
from orchestra_lib.generation import Generation
from orchestra_lib.ledger import Flag, flags, ledger
from orchestra_lib.limits import Limits
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.pricing import Attempt, Match, Price, PriceTable, Usage, cost_usd
from orchestra_lib.trajectory import Trajectory, Turn

UNIT = Price(input_usd_per_mtok=1.0e6, output_usd_per_mtok=2.0e6, cached_usd_per_mtok=0.1e6, source="test")
NO_CACHE = replace(UNIT, cached_usd_per_mtok=None)
"""Prices of one dollar a token, as the bug reports count."""


def attempt(**fields):
    return Attempt(**{"priced_as": "model", "wall_s": 1.0} | fields)


@pytest.mark.parametrize(
    "price, usage, usd, odd",
    [
        pytest.param(UNIT, (1000, 50, 900, None), 290.0, [], id="B3 cached once"),
        pytest.param(UNIT, (1000, 50, None, None), 1100.0, [Flag.CACHED_UNKNOWN], id="B3 null details"),
        pytest.param(UNIT, (1000, 50, 5000, None), 200.0, [Flag.CACHED_ABOVE_INPUT], id="B3 cached over prompt"),
        pytest.param(NO_CACHE, (1000, 50, 900, None), 1100.0, [], id="B3 no cache price"),
        pytest.param(NO_CACHE, (0, 200, 0, 150), 400.0, [], id="B4 reasoning inside"),
        pytest.param(NO_CACHE, (0, 200, 0, 900), 400.0, [Flag.REASONING_ABOVE_OUTPUT], id="B4 reasoning over output"),
        pytest.param(NO_CACHE, (None, None, None, None), None, [Flag.USAGE_MISSING], id="B2 no usage"),
        pytest.param(NO_CACHE, (10, None, None, None), None, [Flag.USAGE_MISSING], id="B2 half a usage"),
        pytest.param(None, (10, 10, None, None), None, [Flag.UNPRICED], id="unpriced"),
    ],
)
def test_tokens_are_billed_once_and_what_is_odd_is_said(price, usage, usd, odd):
    sent, written, cached, reasoning = usage
    counts = Usage(input_tokens=sent, output_tokens=written, cached_tokens=cached, reasoning_tokens=reasoning)
    made = attempt(usage=counts)
    assert cost_usd(made, price) == (None if usd is None else pytest.approx(usd, rel=1e-12))
    assert list(flags(made, price)) == odd


def test_counts_of_our_own_are_a_cost_and_marked_as_an_estimate():
    """B2: a provider that reports no usage."""
    made = attempt(usage=Usage(input_tokens=10, output_tokens=5, estimated=True))
    table = PriceTable(name="t", dated=date(2026, 1, 1), source="t", prices={"model": NO_CACHE})
    assert list(flags(made, NO_CACHE)) == [Flag.USAGE_ESTIMATED]
    assert (bill([("x", made)], table).cost_usd, bill([("x", made)], table).estimated) == (20.0, True)


def test_every_billed_try_counts_once_and_one_that_was_refused_only_takes_time():
    """B5: an unreadable reply, a 503, and the reply that counts."""
    tries = (
        attempt(usage=Usage(input_tokens=100, output_tokens=20)),
        attempt(billed=False, error="HTTP 503", wall_s=0.5),
        attempt(usage=Usage(input_tokens=110, output_tokens=15), backoff_s=3.0),
    )
    (row,) = bill(
        [(JUDGE, one) for one in tries],
        PriceTable(name="t", dated=date(2026, 1, 1), source="t", prices={"model": NO_CACHE}),
    ).judge
    assert (row.input_tokens, row.output_tokens, row.attempts) == (210, 35, 3)
    assert (row.cost_usd, row.wall_s, row.backoff_s) == (210 + 70.0, 2.5, 3.0)


def test_a_stream_that_broke_after_its_usage_was_seen_is_billed():
    """B5: the money is gone although the reply is."""
    broken = attempt(usage=Usage(input_tokens=100, output_tokens=20), error="the stream broke off")
    assert cost_usd(broken, NO_CACHE) == 140.0


@pytest.mark.parametrize("said, odd", [(140.0, []), (141.0, []), (70.0, [Flag.REPORTED_COST_DIFFERS]), (None, [])])
def test_a_providers_own_figure_is_compared_and_never_used(said, odd):
    made = attempt(usage=Usage(input_tokens=100, output_tokens=20), reported_cost_usd=said)
    assert cost_usd(made, NO_CACHE) == 140.0
    assert list(flags(made, NO_CACHE)) == odd


@given(usage=st.none() | usages, price=st.none() | prices, said=st.none() | st.floats(0, 1e6))
def test_any_attempt_can_be_judged_and_one_that_was_not_billed_is_never_odd(usage, price, said):
    made = attempt(usage=usage, reported_cost_usd=said)
    odd = list(flags(made, price))
    assert len(set(odd)) == len(odd)
    unknown = {Flag.UNPRICED, Flag.USAGE_MISSING} & set(odd)
    assert bool(unknown) == (cost_usd(made, price) is None)
    assert list(flags(replace(made, billed=False), price)) == []


@given(pairs=ledgers, table=tables)
def test_the_rows_of_the_ledger_are_the_bill(pairs, table):
    own = tuple(one for payee, one in pairs if payee == "orchestrator")
    turn = Turn(index=1, started_s=0.0, generation=Generation(raw_text="", attempts=own))
    graded = Trajectory(setting=setting(prices=table), turns=(turn,), judge_attempts=own)
    rows, made = ledger(graded), graded.bill()
    assert len(rows) == 2 * len(own)
    for payee in ("orchestrator", JUDGE):
        costs = [row.cost_usd for row in rows if row.payee == payee]
        part = made.of(payee)
        assert part.cost_usd == (None if None in costs else pytest.approx(sum(costs)))
    assert made.cost_usd == made.of("orchestrator").cost_usd


def test_a_row_names_its_turn_its_call_and_the_price_row_behind_it():
    rows = ledger(trajectory())
    assert [(row.payee, row.turn is None, row.call_id is None) for row in rows[:2]] == [
        ("orchestrator", False, True),
        ("search", False, False),
    ]
    assert {row.row: row.matched for row in rows} == {"small": Match.ROW, "search": Match.ROW}


def pause(seconds):
    async def work(word):
        await asyncio.sleep(seconds)
        return word

    return work


def four_calls():
    return [("echo", {"word": str(n)}) for n in range(4)]


def test_busy_time_adds_up_what_ran_side_by_side_and_wall_time_does_not():
    """B6: four tools at once."""
    played = run(Scripted([four_calls(), "done"]), [Echo(work=pause(0.3))])
    made = played.bill()
    assert made.busy_s >= 4 * 0.3 - 0.01
    assert played.finished_s < 0.75 * made.busy_s
    assert made.queue_s < 0.3


def test_the_wait_for_a_place_is_apart_from_the_work_and_part_of_the_wall_time():
    """B6: calls queued behind a limit."""
    played = run(Scripted([four_calls(), "done"]), [Echo(work=pause(0.1))], limits=Limits(parallel_calls=1))
    made = played.bill()
    assert made.queue_s >= (0.1 + 0.2 + 0.3) - 0.02
    assert played.finished_s >= made.busy_s >= 0.4 - 0.01
