"""The query store: a trajectory's rows, its summary and the list, whatever models and tools wrote."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from orchestra_lib.errors import BadInput, Fault
from orchestra_lib.generation import Generation
from orchestra_lib.preference import Preference
from orchestra_lib.store.store import Store
from orchestra_lib.store.summary import Filter, Mark
from orchestra_lib.tool import CallStatus, ToolCall
from orchestra_lib.trajectory import Call, Turn
from tests.episodes import START, attempt, trajectory
from tests.storing import ids


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path) as opened:
        yield opened


def test_a_trajectory_comes_back_whole(store):
    stored = trajectory(turns=4, call_status=CallStatus.ERROR)
    store.add(stored)
    assert store.get("run-1") == stored


def test_adding_again_replaces_every_row(store):
    store.add(trajectory(turns=4))
    store.add(replace(trajectory(turns=2), outcome=True))
    counts = "SELECT (SELECT count(*) FROM trajectories), (SELECT count(*) FROM turns), (SELECT count(*) FROM calls)"
    assert store.query(counts).rows == ((1, 2, 1),)
    assert store.get("run-1").outcome is True


def test_many_are_added_at_once_and_the_last_of_an_id_stands(store):
    """G5: in one transaction; how fast is what `benchmarks/store.py` claims."""
    store.add(trajectory("run-1", turns=4))
    store.add_many(trajectory(f"run-{number % 120}", turns=1 + number // 120) for number in range(240))
    counts = "SELECT (SELECT count(*) FROM trajectories), (SELECT count(*) FROM turns)"
    assert store.query(counts).rows == ((120, 240),)
    assert store.get("run-7") == trajectory("run-7", turns=2)


def test_an_unknown_id_is_named(store):
    with pytest.raises(BadInput, match="no run 'nobody'"):
        store.get("nobody")
    for name in ("../etc", "\ud83d"):
        with pytest.raises(BadInput, match="no run id"):
            store.get(name)


def test_a_summary_tells_what_a_list_shows(store):
    store.add(trajectory(turns=2, task="t" * 500, fault=Fault(where="search", kind="provider", message="down")))
    (seen,) = store.list()
    assert (seen.status, seen.answer, seen.fault, seen.outcome) == ("fault", "4", "down", None)
    assert seen.cost_usd == pytest.approx(0.0034)
    assert (seen.turns, seen.calls, seen.failed_calls, seen.input_tokens, seen.output_tokens) == (2, 1, 0, 2000, 200)
    assert seen.marks == (Mark(tool="search", kind="basic", status="ok", started_s=0.2, finished_s=0.8),)
    assert (len(seen.task), seen.nominal, seen.price_table, seen.tools) == (400, True, "sample", ("search", "coder"))
    assert seen.preference == Preference(cost=0.9, tools={"search": -0.5})
    assert seen.started_at == START


def test_what_is_unknown_is_null_and_never_zero(store):
    unpriced = replace(trajectory().turns[0], generation=Generation(raw_text="", attempts=(attempt("no such row"),)))
    store.add(replace(trajectory(), turns=(unpriced,)))
    (seen,) = store.list()
    assert (seen.cost_usd, seen.known_usd) == (None, 0.001)
    priced = "SELECT count(*) FROM attempts WHERE cost_usd IS NULL AND price_source IS NULL"
    assert store.query(priced).rows == ((1,),)


def test_every_column_holds_what_its_name_says(store):
    store.add(trajectory(turns=2))
    turn = store.query("SELECT * EXCLUDE (run_id) FROM turns WHERE turn = 0").rows[0]
    assert turn == (0, 0.0, 0.2, 0.9, "", "", None, 1, 1000, 100, pytest.approx(0.0022))
    call = store.query("SELECT tool, kind, status, arguments_json->>'query', observation, latency_s FROM calls").rows[0]
    assert call == ("search", "basic", "ok", "ü 0", "four", pytest.approx(0.6))
    paid = store.query("SELECT payee, priced_as, wall_s, input_usd_per_mtok, call_usd, price_table FROM attempts")
    assert paid.rows[:2] == (
        ("orchestrator", "small", 0.25, 1.0, None, "sample"),
        ("search", "search", 0.25, None, 0.001, "sample"),
    )


def test_pages_follow_each_other_without_gap_or_repeat(store):
    for number in range(7):
        store.add(trajectory(f"run-{number}", minutes=number // 3))  # several start in the same moment
    seen, before = [], None
    while page := store.list(limit=2, before=before):
        seen += ids(page)
        before = (page[-1].started_at, page[-1].id)
    assert seen == [f"run-{number}" for number in (6, 5, 4, 3, 2, 1, 0)]


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_page_has_bounds(store, limit):
    with pytest.raises(BadInput, match="1 to 1,000"):
        store.list(limit=limit)


@pytest.mark.parametrize(
    "wanted, found",
    [
        (Filter(text="CAPITAL"), ["geo"]),
        (Filter(text="vienna"), ["geo"]),
        (Filter(text="100%_' OR 1=1"), []),
        (Filter(text="geo"), ["geo"]),
        (Filter(text="\ud83d"), []),
        (Filter(text="\0"), []),
        (Filter(tool="coder"), ["code"]),
        (Filter(status="fault"), ["code"]),
        (Filter(orchestrator="coder-8b"), ["geo"]),
        (Filter(prefer="cost"), ["code"]),
        (Filter(prefer="tool.coder"), ["geo"]),
        (Filter(avoid="search"), ["code"]),
        (Filter(since=START + timedelta(minutes=1)), ["geo"]),
        (Filter(tool="coder", status="answered"), []),
        (Filter(), ["geo", "code"]),
    ],
)
def test_filters_narrow_the_list_and_the_count(store, wanted, found):
    store.add(trajectory("code", tool="coder", fault=Fault(where="run", kind="x", message="x")))
    prefers = Preference(cost=0.1, tools={"coder": 1.0})
    store.add(
        trajectory(
            "geo",
            task="The capital of Austria?",
            observation="It is VIENNA.",
            minutes=1,
            orchestrator="coder-8b",
            preference=prefers,
        )
    )
    assert ids(store.list(wanted)) == found
    assert store.count(wanted) == len(found)


def test_filters_that_mean_nothing_are_refused():
    with pytest.raises(BadInput, match="no time zone"):
        Filter(since=datetime(2026, 1, 1))
    with pytest.raises(BadInput, match="'speed' is unknown"):
        Filter(prefer="speed")


def test_times_are_utc_also_in_the_repeated_hour_of_another_zone(tmp_path, monkeypatch):
    """G3"""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        at = datetime(2025, 11, 2, 5, 30, tzinfo=UTC)
        with Store(tmp_path) as store:
            store.add(trajectory(started_at=at))
            assert store.list()[0].started_at == store.get("run-1").setting.started_at == at
            assert store.query("SELECT epoch(started_at), started_at::VARCHAR FROM trajectories").rows == (
                (at.timestamp(), "2025-11-02 05:30:00+00"),
            )
    finally:
        monkeypatch.undo()
        time.tzset()


HOSTILE = "lone \ud83d NUL \0 literal \\u00fc ü 中 😀 '; DROP TABLE calls; --"


@pytest.mark.parametrize("arguments", [None, {}, {"n": 10**30, "x": float("nan"), HOSTILE: HOSTILE}])
@pytest.mark.parametrize("text", ["", '{"cut', HOSTILE])
def test_what_models_and_tools_write_never_keeps_a_run_out(store, arguments, text):
    """G4: NaN, cut JSON, a lone surrogate, NUL, an integer of 31 digits."""
    call = Call(call=ToolCall(id="1", tool=HOSTILE, arguments=arguments, arguments_text=text))
    move = Generation(raw_text=HOSTILE, content=HOSTILE, attempts=(attempt(tokens=10**30),))
    turn = Turn(index=0, started_s=0.0, generation=move, calls=(call,))
    store.add(replace(trajectory(), turns=(turn,), answer=HOSTILE))
    kept = HOSTILE.replace("\ud83d", "\ufffd")
    assert store.get("run-1").answer == kept
    row = store.query("SELECT arguments, arguments_json IS NULL, json_valid(arguments_json), tool FROM calls").rows[0]
    assert row == (text.replace("\ud83d", "\ufffd"), arguments is None, None if arguments is None else True, kept)
    assert store.list(Filter(text="drop table"))[0].marks[0].tool == kept


def test_types_do_not_follow_the_data_nor_the_order_in_which_runs_come(tmp_path):
    """G7: arguments that are an object in one run and broken text in another."""
    texts = {"a": ('{"q": 1}', {"q": 1}), "b": ('{"q": "x", "r": [2]}', {"q": "x", "r": [2]}), "c": ("q=1", None)}
    seen = set()
    for order in ("abc", "cba", "bca"):
        with Store(tmp_path / order) as store:
            for run_id in order:
                text, arguments = texts[run_id]
                call = Call(call=ToolCall(id="1", tool="t", arguments=arguments, arguments_text=text))
                store.add(replace(trajectory(run_id), turns=(Turn(index=1, started_s=0.0, calls=(call,)),)))
            columns = store.query(TYPES).rows
            rows = store.query("SELECT run_id, arguments, arguments_json::VARCHAR FROM calls ORDER BY run_id").rows
            seen.add((columns, rows))
    assert len(seen) == 1


TYPES = "SELECT typeof(arguments), typeof(arguments_json), typeof(started_s), typeof(status) FROM calls ORDER BY ALL"
