"""The query store follows the journals: runs come in untold, dead ones are closed, all rows can be made again."""

import os

import pytest

from orchestra_lib.errors import NewerSchema
from orchestra_lib.event import CallStarted, RunFinished, Streamed
from orchestra_lib.store.journal import Journal
from orchestra_lib.store.store import Store
from tests.episodes import events, trajectory
from tests.storing import elsewhere, ids, journal


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path) as opened:
        yield opened


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


def test_what_the_journal_leaves_out_is_only_what_streams():
    assert {type(event) for event in events()} >= {Streamed, CallStarted, RunFinished}
