"""What workers have left: taken in by id when they are gone, and left alone while they live."""

import asyncio
from contextlib import aclosing

import pytest
from engine_workers import scripted

from orchestra_lib.errors import StoreFault
from orchestra_lib.event import RunFinished
from orchestra_lib.store.artefacts import Artefacts
from orchestra_lib.store.journal import INTERRUPTED
from orchestra_lib.store.store import Store
from orchestra_lib.store.worker_folders import WORKERS, WorkerFolder, gather, next_id, unpack
from orchestra_lib.tool import File
from orchestra_lib.workbench import Order, Workbench


def play(home, folder, run_id, *, most=None):
    """A run in a worker's folder; after `most` events nobody writes it any more, as when its process was killed."""

    async def go():
        workbench = Workbench(home, records=folder.path)
        scripted(workbench)
        order = Order(task="Six times seven?", orchestrator="right", tools=("code_interpreter",), reference="42")
        try:
            async with aclosing(workbench.play(order, run_id=run_id)) as events:
                seen = [event async for event in events]
        finally:
            await workbench.close()
        assert any(isinstance(event, RunFinished) for event in seen)

    asyncio.run(go())
    if most is not None:
        path = folder.journal.path(run_id)
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:most]))


@pytest.fixture
def folder(tmp_path):
    return WorkerFolder(tmp_path, "aa-1")


def test_what_a_dead_worker_has_left_is_taken_in_once(tmp_path, folder):
    play(tmp_path, folder, "whole")
    play(tmp_path, folder, "cut", most=3)
    folder.journal.path("nothing").touch()
    folder.close(remove=False)
    assert sorted(gather(tmp_path)) == ["cut", "whole"]
    with Store.open(tmp_path) as store:
        assert store.get("whole").outcome is True
        assert [fault.kind for fault in store.get("cut").faults] == [INTERRUPTED]
    assert (gather(tmp_path), [*(tmp_path / WORKERS).glob("*/")]) == ((), [])


def test_a_living_worker_keeps_its_folder(tmp_path, folder):
    play(tmp_path, folder, "whole")
    assert gather(tmp_path) == ()
    assert folder.parcel("whole") is not None
    folder.close(remove=True)
    assert not folder.path.exists()


def test_a_run_that_is_there_stays_as_it_is(tmp_path, folder):
    play(tmp_path, folder, "whole")
    parcel = folder.parcel("whole")
    assert unpack([parcel], tmp_path) == ("whole",)
    kept = (tmp_path / "journals" / "whole.jsonl").read_bytes()
    assert kept == parcel.journal == folder.journal.path("whole").read_bytes()
    assert unpack([parcel], tmp_path) == ()


def test_files_of_calls_come_along(tmp_path, folder):
    play(tmp_path, folder, "whole")
    ref = Artefacts(folder.path).put(File(name="plot.png", media_type="image/png", data=b"points"))
    path = folder.journal.path("whole")
    named = f'"artefacts":[{{"sha256":"{ref.sha256}","media_type":"image/png","size_bytes":6,"name":"plot.png"}}]'
    text = path.read_text("utf-8")
    assert '"artefacts":[]' in text
    path.write_text(text.replace('"artefacts":[]', named, 1), "utf-8")
    folder.close(remove=False)
    gather(tmp_path)
    assert Artefacts(tmp_path).get(ref.sha256) == b"points"


def test_tries_are_counted_by_name(folder, tmp_path):
    assert [next_id("run"), next_id("run.2"), next_id("ev-a-b-0.9")] == ["run.2", "run.3", "ev-a-b-0.10"]
    play(tmp_path, folder, "one")
    play(tmp_path, folder, "one.2")
    assert folder.attempts("one") == ("one", "one.2")
    assert folder.attempts("two") == ()


def test_a_folder_that_cannot_be_had_is_said(tmp_path):
    (tmp_path / WORKERS).write_text("in the way", "utf-8")
    with pytest.raises(StoreFault, match=r"the worker's folder .* cannot be used"):
        WorkerFolder(tmp_path, "aa-1")
