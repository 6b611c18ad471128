"""One query store for several threads, stores and processes: nobody is locked out, nothing is lost or doubled."""

import os
import threading

import pytest

from orchestra_lib.store.database import OWNED
from orchestra_lib.store.store import Store
from tests.episodes import trajectory
from tests.storing import OPEN, elsewhere, journal


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path) as opened:
        yield opened


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
