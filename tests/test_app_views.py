"""What the pages show is computed here, and is right about the unknown."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from episodes import PRICES, TOOLS, attempt, events, setting, trajectory

from app import views
from app.comparison import comparison
from app.detail_api import ledger_view
from orchestra_lib.event import CallFinished, Generated, RunStarted, TurnFinished, apply
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import Attempt, Price, PriceTable
from orchestra_lib.store.summary import Mark, Summary
from orchestra_lib.tool import CallStatus, Observation, ToolCall


def framed(**changes):
    folded = None
    made = []
    for event in events(**changes):
        folded = apply(folded, event)
        made.append((event, views.frame(event, folded)))
    return made


def test_the_last_frame_carries_the_bill_of_the_trajectory():
    last = framed()[-1][1]["derived"]["bill"]
    assert last["cost_usd"] == pytest.approx(trajectory().bill().cost_usd)
    assert [row["payee"] for row in last["rows"]] == ["orchestrator", "search"]


def test_a_long_observation_is_cut_on_the_stream_and_says_so():
    text = "ü" * 200_000
    frame = next(view for event, view in framed(observation=text) if isinstance(event, CallFinished))
    assert len(frame["observation"]["text"]) == views.PREVIEW_CHARS
    assert frame["derived"]["cut"]
    assert frame["derived"]["bytes"] == 400_000


def test_a_short_observation_is_whole():
    frame = next(view for event, view in framed(observation="a\nb") if isinstance(event, CallFinished))
    assert frame["observation"]["text"] == "a\nb"
    assert not frame["derived"]["cut"]
    assert frame["derived"]["lines"] == 2


def test_tools_that_state_their_time_are_named_and_what_they_state_goes_with_the_call():
    frames = framed(tools=(replace(TOOLS[0], simulated=True), TOOLS[1]))
    assert frames[0][1]["derived"]["stating"] == ["search"]
    assert next(view for event, view in frames if isinstance(event, CallFinished))["derived"]["busy_s"] == 0.25
    assert frames[-1][1]["derived"]["latency_s"] == trajectory().latency_s  # it waited longer than it states


def test_raw_text_stays_off_the_stream():
    frames = [view for event, view in framed() if isinstance(event, Generated)]
    assert all(frame["generation"]["raw_text"] == "" for frame in frames)


def test_a_missing_price_is_unknown_with_its_reason_and_never_zero():
    shown = views.cost_view([attempt("unheard-of")], PRICES)
    assert shown["kind"] == "unknown"
    assert shown["usd"] is None
    assert "unheard-of" in shown["why"]


def test_missing_tokens_are_unknown_with_their_reason():
    shown = views.cost_view([attempt("small", tokens=None)], PRICES)
    assert shown["kind"] == "unknown"
    assert "tokens" in shown["why"]


def test_free_not_billed_and_nothing_are_three_different_things():
    free = PriceTable(name="f", dated=PRICES.dated, source="test", prices={"x": Price(call_usd=0.0, source="test")})
    unbilled = Attempt(priced_as="x", wall_s=1.0, billed=False, error="429")
    assert views.cost_view([Attempt(priced_as="x", wall_s=1.0)], free)["kind"] == "free"
    assert views.cost_view([unbilled], free)["kind"] == "not_billed"
    assert views.cost_view([], free)["kind"] == "none"


def test_an_unknown_part_makes_the_total_unknown_and_names_what_is_known():
    prices = replace(PRICES, prices={"small": PRICES.prices["small"]})
    bill = views.bill_view(replace(trajectory(), setting=setting(prices=prices)))
    assert bill["cost_usd"] is None
    assert bill["known_usd"] > 0
    assert "search" in bill["why"]


@pytest.mark.parametrize(
    ("price", "words"),
    [
        (None, None),
        (Price(call_usd=0.0, source="t"), "free"),
        (Price(input_usd_per_mtok=0.25, output_usd_per_mtok=2.0, source="t"), "$0.25 / $2.00 per M"),
        (Price(call_usd=0.008, source="t"), "$0.0080 / call"),
        (Price(input_usd_per_mtok=0.004, output_usd_per_mtok=0.0, source="t"), "$0.0040 / $0.00 per M"),
    ],
)
def test_prices_read_as_people_write_them(price, words):
    assert views.price_text(price) == words


def test_wishes_are_short():
    assert views.wish_text(Preference(outcome=0.8, cost=1.0, latency=0.0)) == "quality .8 cost 1"
    assert views.wish_text(Preference(outcome=0, cost=0, latency=0, tools={"a": 1.0})) == "no goals · 1 tool wish"


def row(**changes):
    values = {
        "id": "run-1", "started_at": datetime(2026, 11, 30, tzinfo=UTC), "task": "t", "orchestrator": "c",
        "protocol": "chat", "status": "answered", "answer": "a", "outcome": None, "cost_usd": None, "known_usd": 0.1,
        "latency_s": 2.0, "input_tokens": 1, "output_tokens": 1, "turns": 1, "calls": 2, "failed_calls": 1, "tools": (),
        "preference": Preference(), "price_table": "nominal", "nominal": True, "simulated": False, "fault": None,
        "marks": (
            Mark(tool="a", kind="basic", status="error", started_s=0.5, finished_s=1.0),
            Mark(tool="a", kind=None, status=None, started_s=None, finished_s=None),
        ),
    }  # fmt: skip
    return Summary(**(values | changes))


def test_a_row_shows_an_unknown_cost_as_unknown():
    assert views.list_row(row())["cost"]["kind"] == "unknown"
    assert views.list_row(row(cost_usd=0.0))["cost"] == {"kind": "known", "usd": 0.0, "why": None}


def test_a_glyph_draws_only_calls_that_ended():
    assert views.glyph(row()) == {
        "spans": [{"kind": "basic", "start": 0.5, "end": 1.0, "status": "error"}], "end": 2.0,
    }  # fmt: skip


def test_a_run_without_times_has_none_anywhere():
    run = trajectory()
    untimed = replace(run, setting=replace(run.setting, timed=False), finished_s=None)
    assert views.bill_view(run)["wall_s"] > 0
    shown = views.bill_view(untimed)
    assert [shown["wall_s"], *(one["wall_s"] for one in shown["rows"])] == [None] * (1 + len(shown["rows"]))
    assert {one["wall_s"] for one in ledger_view(untimed)["rows"]} == {None}
    compared = comparison(run, untimed)
    assert [one["seconds"] for one in compared["rows"]] == [None] * len(run.calls)
    assert [compared["a"]["timed"], compared["b"]["timed"]] == [True, False]
    assert views.list_row(row(latency_s=None))["glyph"] is None
    assert views.list_row(row(latency_s=None, status="running"))["glyph"] is not None


def test_the_first_frame_tells_the_whole_setting():
    event, frame = framed()[0]
    assert isinstance(event, RunStarted)
    assert frame["setting"]["sentence"] == "Keep the cost low."
    assert frame["derived"]["bill"]["cost_usd"] == 0.0


def test_a_crowded_turn_has_the_bill_now_and_then_and_at_its_end():
    many = tuple(ToolCall.of(f"c{n}", "search", {"n": n}) for n in range(300))
    run = [event for event in events() if event.kind in {"run_started", "turn_started", "generated"}][:3]
    run[2] = replace(run[2], generation=replace(run[2].generation, calls=many))
    for n in range(300):
        seen = Observation(call_id=f"c{n}", status=CallStatus.OK, text="x", started_s=0.1, finished_s=0.2)
        run.append(CallFinished(seq=n + 4, t_s=0.3, turn=0, observation=seen, attempts=(attempt("search", None),)))
    run.append(TurnFinished(seq=400, t_s=0.4, turn=0))
    trajectory, bills = None, []
    for event in run:
        trajectory = apply(trajectory, event)
        bills.append(views.frame(event, trajectory)["derived"].get("bill"))
    assert len([bill for bill in bills if bill]) < 12
    assert bills[-1]["known_usd"] == pytest.approx(0.3 + bills[2]["known_usd"])
