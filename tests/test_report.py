"""The flat report: every attempt with its price row, the orchestrator's share, the judge apart, times apart."""

import json
import math
from dataclasses import replace

import pytest
from episodes import PRICES, attempt, setting, trajectory

from orchestra_lib.generation import Generation
from orchestra_lib.pricing import Attempt, Usage
from orchestra_lib.report import report
from orchestra_lib.tool import ToolCall
from orchestra_lib.trajectory import Call, Trajectory, Turn


def graded(**changes):
    return replace(trajectory(), judge_attempts=(attempt(), attempt()), **changes)


def test_a_row_per_attempt_says_which_price_it_met():
    row = report(trajectory())["ledger"][0]
    assert (row["table"], row["dated"], row["row"], row["source"]) == ("sample", "2026-11-01", "small", "test")
    assert {"input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "estimated"} <= set(row)
    assert {"wall_s", "queue_s", "backoff_s", "reported_cost_usd", "flags", "since", "assumed"} <= set(row)


def test_the_bill_is_the_sum_of_its_rows():
    data = report(trajectory())
    assert data["cost_usd"] == pytest.approx(math.fsum(row["cost_usd"] for row in data["ledger"]))
    assert data["busy_s"] == pytest.approx(math.fsum(row["wall_s"] for row in data["ledger"]))
    assert sum(row["attempts"] for row in data["bill"]) == len(data["ledger"])


def test_the_judge_is_shown_and_not_part_of_the_run():
    plain, judged = report(trajectory()), report(graded())
    assert plain["judge"] is None
    assert judged["judge"]["cost_usd"] == pytest.approx(2 * 0.0012)
    for total in ("cost_usd", "known_usd", "busy_s", "input_tokens", "orchestrator_share"):
        assert judged[total] == plain[total]
    assert [row["payee"] for row in judged["ledger"]][-2:] == ["judge", "judge"]


def test_the_orchestrators_own_share_is_a_part_of_the_cost():
    share = report(trajectory())["orchestrator_share"]
    assert share["cost_usd"] == pytest.approx(share["fraction"] * report(trajectory())["cost_usd"])
    assert 0 < share["fraction"] < 1


def test_no_share_is_told_of_a_cost_that_is_unknown_or_nothing():
    silent = replace(graded().turns[0], generation=Generation(raw_text="", attempts=(attempt(tokens=None),)))
    unknown = report(Trajectory(setting=setting(), turns=(silent,)))
    assert (unknown["cost_usd"], unknown["orchestrator_share"]["fraction"]) == (None, None)
    assert "usage_missing" in unknown["ledger"][0]["flags"]
    assert report(Trajectory(setting=setting()))["orchestrator_share"]["fraction"] is None


def test_what_an_endpoint_said_is_printed_as_it_was_said():
    odd = Attempt(
        priced_as="small",
        usage=Usage(input_tokens=10, output_tokens=5, cached_tokens=50, reasoning_tokens=9),
        wall_s=1.0,
        queue_s=2.0,
        backoff_s=3.0,
        reported_cost_usd=0.5,
    )
    call = Call(call=ToolCall.of("c1", "coder", {}), attempts=(odd,))
    (row,) = report(Trajectory(setting=setting(), turns=(Turn(index=1, started_s=0.0, calls=(call,)),)))["ledger"]
    assert (row["payee"], row["turn"], row["call"], row["cached_tokens"], row["reasoning_tokens"]) == (
        "coder",
        1,
        "c1",
        50,
        9,
    )
    assert (row["queue_s"], row["backoff_s"], row["reported_cost_usd"]) == (2.0, 3.0, 0.5)
    assert row["flags"] == ["cached_above_input", "reasoning_above_output", "reported_cost_differs"]


def test_another_table_prices_a_stored_run_anew():
    dearer = replace(PRICES, prices={name: replace(p, call_usd=1.0) for name, p in PRICES.prices.items()})
    assert trajectory().bill(dearer).cost_usd > trajectory().bill().cost_usd


def test_a_report_is_json():
    assert json.loads(json.dumps(report(graded()), allow_nan=False))["id"] == "run-1"
