"""The query store's file damaged, cut, on a full disk, of another version: no run is lost."""

import duckdb
import pytest

from benchmarks.soaking.small_files import disk_of
from orchestra_lib.errors import NewerSchema, StoreFault
from orchestra_lib.store.database import OWNED
from orchestra_lib.store.migrations import MIGRATIONS, version
from orchestra_lib.store.store import Store
from tests.episodes import trajectory
from tests.storing import elsewhere, ids, journal


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path) as opened:
        yield opened


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
