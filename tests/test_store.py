"""The query store: nothing lost, nothing doubled, found again by any process, whatever state the file is in."""

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from orchestra_lib.errors import BadInput, Fault, NewerSchema, StoreFault
from orchestra_lib.event import CallStarted, RunFinished, Streamed
from orchestra_lib.generation import Generation
from orchestra_lib.preference import Preference
from orchestra_lib.store.database import OWNED
from orchestra_lib.store.journal import Journal
from orchestra_lib.store.migrations import MIGRATIONS, version
from orchestra_lib.store.store import Store
from orchestra_lib.store.summary import Filter, Mark
from orchestra_lib.tool import CallStatus, ToolCall
from orchestra_lib.trajectory import Call, Turn
from tests.episodes import START, attempt, events, trajectory
from tests.full_disk import disk_of

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path) as opened:
        yield opened


def journal(home, *run_ids, **changes):
    for minutes, run_id in enumerate(run_ids):
        with Journal(home).open(run_id) as writer:
            for event in events(run_id, **{"minutes": minutes} | changes):
                writer.append(event)


def ids(summaries):
    return [summary.id for summary in summaries]


OPEN = """
import sys
from pathlib import Path
from orchestra_lib.store.store import Store
store = Store(Path(sys.argv[1]))
"""


def elsewhere(home, code):
    """Run `code` on `Store(home)` in another process; returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", OPEN + code, str(home)], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


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


def test_journals_are_taken_in_without_being_told(store, tmp_path):
    journal(tmp_path, "a", "b")
    assert ids(store.list()) == ["b", "a"]
    assert store.sync() == 0
    assert store.get("a") == trajectory("a")


def test_a_run_is_listed_while_it_runs_and_followed_to_its_end(store, tmp_path):
    with Journal(tmp_path).open("live") as writer:
        for event in events("live"):
            if isinstance(event, RunFinished):
                assert [summary.status for summary in store.list()] == ["running"]
                assert store.get("live").stop is None
            writer.append(event)
    assert [summary.status for summary in store.list()] == ["answered"]


def test_opening_closes_what_a_dead_process_left(tmp_path):
    """G6: as interrupted."""
    with Journal(tmp_path).open("dead") as writer:
        writer.append(next(events("dead")))
    with Store(tmp_path) as store:
        assert [(seen.status, "cut off" in seen.fault) for seen in store.list()] == [("fault", True)]


def test_a_process_that_dies_while_the_store_is_open_is_noticed(store, tmp_path):
    code = (
        "from tests.episodes import events\nimport os\nstore.journal.open('x').append(next(events('x')))\nos._exit(0)"
    )
    with Journal(tmp_path).open("dead") as writer:
        writer.append(next(events("dead")))
        assert [seen.status for seen in store.list()] == ["running"]
    elsewhere(tmp_path, code)
    assert [(seen.id, seen.status) for seen in store.list()] == [("x", "fault"), ("dead", "fault")]


def test_a_journal_added_in_the_instant_of_a_scan_is_found(store, tmp_path):
    for number in range(30):
        journal(tmp_path, f"run-{number}")
        assert store.count() == number + 1


def test_an_old_folder_is_not_scanned_again_and_a_new_journal_is_still_found(store, tmp_path):
    journal(tmp_path, "a", "b")
    os.utime(tmp_path / "journals", (1, 1))
    assert store.count() == store.count() == 2
    journal(tmp_path, "c")
    assert store.count() == 3


def test_rebuild_gives_the_same_rows_and_names_what_it_cannot_read(store, tmp_path):
    journal(tmp_path, "a", "b", "c")
    tables = ("trajectories", "turns", "calls", "attempts")
    dump = [f"SELECT * FROM {table} ORDER BY ALL" for table in tables]
    before = [store.query(sql).rows for sql in dump]
    (tmp_path / "journals" / "bad.jsonl").write_bytes(b"{\n")
    (tmp_path / "journals" / "newer.jsonl").write_bytes(b'{"schema":9}\n')
    (tmp_path / "journals" / "empty.jsonl").touch()
    rebuilt = store.rebuild()
    assert rebuilt.runs == 3
    assert [(bad.run_id, "line 1" in bad.reason) for bad in rebuilt.unreadable] == [("bad", True), ("newer", True)]
    assert [store.query(sql).rows for sql in dump] == before
    with pytest.raises(NewerSchema, match="update it"):
        store.get("newer")


def test_rebuild_forgets_what_has_no_journal(store, tmp_path):
    journal(tmp_path, "kept")
    store.add(trajectory("only-added"))
    assert store.rebuild().runs == 1


def test_two_stores_in_one_process_do_not_double_anything(store, tmp_path):
    """G2: the same file twice in one process."""
    journal(tmp_path, "a")
    with Store(tmp_path) as other:
        other.add(trajectory("b"))
        assert store.count() == other.count() == 2
        journal(tmp_path, "c")
        assert store.count() == other.count() == 3


def test_threads_add_and_list_at_once(store):
    def add(first):
        for number in range(5):
            store.add(trajectory(f"run-{first}-{number}"))

    threads = [threading.Thread(target=add, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert len(store.list(limit=100)) <= 20
    assert store.count() == 20


def test_the_members_of_a_group_are_waited_for_while_another_thread_is_syncing(store, tmp_path):
    journal(tmp_path, "a", group="new")
    held, go = threading.Event(), threading.Event()

    def sync():
        with store._lock:
            held.set()
            go.wait(10)

    other = threading.Thread(target=sync)
    other.start()
    held.wait(10)
    assert store.groups() == ()  # a list does not wait
    threading.Timer(0.2, go.set).start()
    assert store.members("new") == ("a",)
    other.join()


def test_a_second_process_sees_everything_while_the_first_holds_the_file(store, tmp_path):
    """G2: nobody is locked out, and the truth is in the journals."""
    journal(tmp_path, "a", "b")
    assert store.owner
    assert elsewhere(tmp_path, "print(store.owner, store.count(), store.get('a').answer)") == ["False", "2", "4"]


def test_the_copy_of_a_second_process_begins_with_what_the_file_holds(tmp_path):
    with Store(tmp_path) as store:
        store.add(trajectory("without a journal"))
    os.utime(tmp_path / OWNED, (1, 1))
    with Store(tmp_path) as store:
        journal(tmp_path, "a")
        assert store.owner
        assert elsewhere(tmp_path, "print(store.owner, store.count())") == ["False", "2"]


def test_a_file_that_is_being_written_is_not_copied(store, tmp_path):
    journal(tmp_path, "a")
    os.utime(tmp_path / OWNED, None)
    assert elsewhere(tmp_path, "print(store.count(), store.note)") == ["1", "None"]
    assert not list(tmp_path.glob(".copy-*"))


def test_three_processes_at_once_agree(store, tmp_path):
    journal(tmp_path, "a", "b")
    third = OPEN + "print(store.owner, store.count(), store.list()[0].id)"
    nested = (
        "import subprocess\n"
        f"done = subprocess.run([sys.executable, '-c', {third!r}, sys.argv[1]], capture_output=True, text=True)\n"
        "print(done.stdout, store.count())"
    )
    assert elsewhere(tmp_path, nested) == ["False", "2", "b", "2"]
    assert store.count() == 2


def test_a_run_of_a_second_process_reaches_the_owner(store, tmp_path):
    """G2: a writer beside the one that holds the file."""
    write = (
        "from tests.episodes import events\n"
        "with store.journal.open('cli') as writer:\n"
        "    for event in events('cli'): writer.append(event)\n"
        "print(store.count())"
    )
    assert elsewhere(tmp_path, write) == ["1"]
    assert store.get("cli") == trajectory("cli")


def damaged(kind, path):
    data = bytearray(path.read_bytes())
    match kind:
        case "text":
            data = b"not a database"
        case "empty":
            data = b""
        case "cut":
            data = data[: len(data) // 2]
        case "header":
            data[4096:4300] = b"\x55" * 204
        case "blocks":
            data[12288 + 100 :] = b"\x55" * (len(data) - 12388)
    path.write_bytes(data)


@pytest.mark.parametrize("kind", ["text", "empty", "cut", "header", "blocks"])
def test_a_damaged_file_is_set_aside_and_rebuilt(tmp_path, kind):
    """G6"""
    journal(tmp_path, "a", "b")
    Store(tmp_path).close()
    damaged(kind, tmp_path / OWNED)
    with Store(tmp_path) as store:
        assert ids(store.list()) == ["b", "a"]
        assert store.get("a") == trajectory("a")
        assert "set aside as workbench.damaged-" in store.note
        assert len(list(tmp_path.glob("workbench.damaged-*.duckdb"))) == 1


def test_a_file_with_strange_tables_is_set_aside(tmp_path):
    Store(tmp_path).close()
    with duckdb.connect(str(tmp_path / OWNED)) as connection:
        connection.execute("ALTER TABLE journals DROP COLUMN unfinished")
    journal(tmp_path, "a")
    with Store(tmp_path) as store:
        assert ids(store.list()) == ["a"]
        assert "set aside" in store.note


@pytest.mark.parametrize("cut", [1, 40, 400])
def test_a_kill_with_a_cut_log_loses_no_run(tmp_path, cut):
    """G6"""
    journal(tmp_path, "a", "b")
    code = "import os\nfrom tests.episodes import trajectory\nprint(store.count(), flush=True)\nos._exit(0)"
    assert elsewhere(tmp_path, code) == ["2"]
    log = tmp_path / f"{OWNED}.wal"
    log.write_bytes(log.read_bytes()[:-cut])
    with Store(tmp_path) as store:
        assert ids(store.list()) == ["b", "a"]


def test_a_file_that_cannot_be_used_leaves_the_journals_readable(tmp_path):
    journal(tmp_path, "a")
    for name in (OWNED, "workbench.reader.duckdb"):
        (tmp_path / name).mkdir()
    with Store(tmp_path) as store:
        assert (store.owner, ids(store.list())) == (False, ["a"])
        assert "cannot be used" in store.note


def test_a_full_disk_is_a_fault_and_what_was_stored_stays_readable(store, tmp_path):
    store.add(trajectory("before"))
    journal(tmp_path, "later", observation="x" * 200_000)
    with disk_of(60_000):
        with pytest.raises(StoreFault, match="query store failed"):
            store.add(trajectory("big", observation="x" * 200_000))
        assert ids(store.list()) == ["before"]
        with disk_of(1000), pytest.raises(StoreFault):
            store.rebuild()
        assert store.get("before") == trajectory("before")
    assert ids(store.list()) == ["later", "before"]
    store.add(trajectory("after"))
    assert store.count() == 3


@pytest.mark.parametrize("old", range(len(MIGRATIONS)))
def test_a_file_of_any_older_version_is_brought_up_to_date(tmp_path, old):
    with duckdb.connect(str(tmp_path / OWNED)) as connection:
        assert version(connection) == 0
        for number, (name, sql) in enumerate(MIGRATIONS[:old], start=1):
            connection.execute(sql)
            connection.execute("INSERT INTO migrations (number, name) VALUES (?, ?)", [number, name])
    journal(tmp_path, "a")
    with Store(tmp_path) as store:
        assert store.query("SELECT max(number) FROM migrations").rows == ((len(MIGRATIONS),),)
        assert store.get("a") == trajectory("a")


def test_a_file_of_a_newer_version_is_refused_and_not_touched(tmp_path):
    Store(tmp_path).close()
    with duckdb.connect(str(tmp_path / OWNED)) as connection:
        connection.execute("INSERT INTO migrations (number, name) VALUES (99, 'from the future')")
    with pytest.raises(NewerSchema, match=r"version 99.*update the workbench"):
        Store(tmp_path)
    assert not list(tmp_path.glob("*.damaged-*"))


def test_what_the_journal_leaves_out_is_only_what_streams():
    assert {type(event) for event in events()} >= {Streamed, CallStarted, RunFinished}
