"""The journal: what was acknowledged is kept, what was cut is dropped and told, nothing escapes its folder."""

import asyncio
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.soaking.small_files import disk_of
from orchestra_lib.codec import event_to_line
from orchestra_lib.errors import BadInput, NewerSchema, StoreFault
from orchestra_lib.event import CallStarted, Generated, RunFinished, RunStarted, Streamed, TurnStarted
from orchestra_lib.generation import Generation
from orchestra_lib.grade import Grade
from orchestra_lib.pricing import Attempt
from orchestra_lib.store.journal import Journal
from orchestra_lib.tool import ToolCall
from orchestra_lib.trajectory import StopReason
from tests.episodes import events, setting, trajectory

ROOT = Path(__file__).resolve().parents[1]
LINES = [(event_to_line(event) + "\n").encode() for event in events() if not isinstance(event, Streamed | CallStarted)]
WHOLE = b"".join(LINES)


def write(home, run_id="run-1", stop_before=None, **changes):
    with Journal(home).open(run_id) as writer:
        for event in events(run_id, **changes):
            if event.kind == stop_before:
                return
            writer.append(event)


def test_a_run_reads_back_without_what_only_streams(tmp_path):
    write(tmp_path)
    kept = [event for event in events() if not isinstance(event, Streamed | CallStarted)]
    assert Journal(tmp_path).read("run-1") == kept
    assert Journal(tmp_path).trajectory("run-1") == trajectory()


def test_an_event_loop_goes_on_while_the_disk_makes_sure(tmp_path):
    async def one(run_id):
        with Journal(tmp_path).open(run_id) as writer:
            for event in events(run_id):
                await writer.keep(event)

    async def run():
        await asyncio.gather(*(one(f"run-{number}") for number in range(40)))

    asyncio.run(run())
    assert all(Journal(tmp_path).trajectory(f"run-{n}") == trajectory(f"run-{n}") for n in range(40))


def test_a_cancel_waits_for_the_write_that_is_under_way(tmp_path):
    start = next(iter(events()))

    async def run():
        with Journal(tmp_path).open("run-1") as writer:
            keeping = asyncio.create_task(writer.keep(start))
            await asyncio.sleep(0)
            keeping.cancel()
            with pytest.raises(asyncio.CancelledError):
                await keeping

    asyncio.run(run())
    assert Journal(tmp_path).read("run-1") == [start]


def test_what_cannot_be_kept_is_a_store_fault_in_an_event_loop_too(tmp_path):
    async def run():
        with Journal(tmp_path).open("run-1") as writer, disk_of(10), pytest.raises(StoreFault, match="cannot write"):
            await writer.keep(next(iter(events())))

    asyncio.run(run())


@pytest.mark.parametrize("run_id", ["", ".", "..", "../x", "a/b", "a\\b", ".hidden", "a\n", "a\0b", "x" * 129, "ü"])
def test_an_id_that_is_no_name_reaches_no_file(tmp_path, run_id):
    for act in (Journal(tmp_path).open, Journal(tmp_path).read, Journal(tmp_path).is_live):
        with pytest.raises(BadInput, match="no run id"):
            act(run_id)
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_an_id_is_used_once_and_an_unknown_one_is_named(tmp_path):
    write(tmp_path)
    with pytest.raises(BadInput, match="'run-1' exists already"):
        Journal(tmp_path).open("run-1")
    with pytest.raises(BadInput, match="no run 'run-2'"):
        Journal(tmp_path).read("run-2")


@given(cut=st.integers(0, len(WHOLE)))
def test_a_file_cut_at_any_byte_still_opens_with_every_whole_line(cut):
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home, "journals")
        folder.mkdir()
        (folder / "run-1.jsonl").write_bytes(WHOLE[:cut])
        reading = Journal(Path(home)).load("run-1")
        whole = WHOLE[:cut].count(b"\n")
        assert len(reading.events) == whole
        assert (reading.size_bytes, reading.torn_bytes) == (len(b"".join(LINES[:whole])), cut - reading.size_bytes)


@given(cut=st.integers(len(LINES[0]), len(WHOLE) - 1))
def test_a_run_cut_at_any_byte_is_closed_as_interrupted(cut):
    with tempfile.TemporaryDirectory() as home:
        path = Path(home, "journals", "run-1.jsonl")
        path.parent.mkdir()
        path.write_bytes(WHOLE[:cut])
        assert Journal(Path(home)).recover() == ("run-1",)
        ended = Journal(Path(home)).trajectory("run-1")
        assert (ended.status, ended.faults[-1].kind) == ("fault", "interrupted")
        assert Journal(Path(home)).load("run-1").torn_bytes == 0
        assert Journal(Path(home)).recover() == ()


def test_a_run_is_live_as_long_as_its_writer_and_then_interrupted(tmp_path):
    journal = Journal(tmp_path)
    with journal.open("run-1") as writer:
        writer.append(RunStarted(seq=1, t_s=0.0, setting=setting()))
        assert journal.is_live("run-1")
        assert journal.recover() == ()
    assert not journal.is_live("run-1")
    assert journal.recover() == ("run-1",)


def test_a_finished_run_is_left_as_it_is(tmp_path):
    write(tmp_path)
    before = Journal(tmp_path).stamp("run-1")
    assert Journal(tmp_path).recover() == ()
    assert Journal(tmp_path).stamp("run-1") == before


def test_a_run_of_which_nothing_was_written_never_was(tmp_path):
    Journal(tmp_path).open("run-1").close()
    assert Journal(tmp_path).stamps() == {}
    (tmp_path / "journals" / "run-1.jsonl").touch()  # what a kill before the first line leaves
    assert Journal(tmp_path).recover() == ()
    assert Journal(tmp_path).trajectory("run-1") is None


@pytest.mark.parametrize("line", [b"{", b"[]", b'{"schema":1,"kind":"nonsense"}', b"\xff\xfe", b"\0\0", b"[" * 10**5])
def test_an_unreadable_line_in_the_middle_is_named_with_file_and_line(tmp_path, line):
    write(tmp_path)
    path = tmp_path / "journals" / "run-1.jsonl"
    path.write_bytes(LINES[0] + line + b"\n" + b"".join(LINES[1:-1]))
    with pytest.raises(StoreFault, match=r"run-1\.jsonl line 2 cannot be read"):
        Journal(tmp_path).read("run-1")
    assert Journal(tmp_path).recover() == ()


def test_a_newer_schema_says_to_update_and_is_not_touched(tmp_path):
    write(tmp_path, stop_before="run_finished")
    path = tmp_path / "journals" / "run-1.jsonl"
    newer = path.read_bytes().replace(b'{"schema":1', b'{"schema":2')
    path.write_bytes(newer)
    with pytest.raises(NewerSchema, match="update it"):
        Journal(tmp_path).read("run-1")
    assert Journal(tmp_path).recover() == ()
    assert path.read_bytes() == newer


def test_a_file_under_another_runs_name_is_refused(tmp_path):
    write(tmp_path)
    os.rename(tmp_path / "journals" / "run-1.jsonl", tmp_path / "journals" / "run-2.jsonl")
    with pytest.raises(StoreFault, match="not the start of run 'run-2'"):
        Journal(tmp_path).read("run-2")


def test_events_out_of_order_are_a_fault_not_a_traceback(tmp_path):
    write(tmp_path)
    (tmp_path / "journals" / "run-1.jsonl").write_bytes(LINES[0] + LINES[2])
    with pytest.raises(StoreFault, match="out of order"):
        Journal(tmp_path).trajectory("run-1")


def test_hostile_text_survives_one_line_per_event(tmp_path):
    """G4"""
    text = "NUL \0 lone \ud83d line\u2028sep\x85 \r\n literal \\u00fc ü 中 😀"
    call = ToolCall(id="1", tool="search", arguments={"n": 10**30, "x": float("nan")}, arguments_text="{cut")
    with Journal(tmp_path).open("run-1") as writer:
        writer.append(RunStarted(seq=1, t_s=0.0, setting=setting()))
        writer.append(TurnStarted(seq=2, t_s=0.0, turn=0))
        writer.append(Generated(seq=3, t_s=0.0, turn=0, generation=Generation(raw_text=text, calls=(call,))))
    generation = Journal(tmp_path).trajectory("run-1").turns[0].generation
    assert generation.raw_text == text.replace("\ud83d", "\ufffd")
    assert generation.calls[0].arguments == {"n": 10**30, "x": None}
    assert (tmp_path / "journals" / "run-1.jsonl").read_bytes().count(b"\n") == 3


def test_a_full_disk_is_a_fault_that_leaves_no_half_line_and_can_be_retried(tmp_path):
    """G6"""
    journal = Journal(tmp_path)
    finished = RunFinished(seq=9, t_s=1.0, stop=StopReason.ANSWERED, answer="x" * 500)
    with journal.open("run-1") as writer:
        writer.append(RunStarted(seq=1, t_s=0.0, setting=setting()))
        with disk_of(len(LINES[0]) + 100), pytest.raises(StoreFault, match="cannot write the journal"):
            writer.append(finished)
        assert journal.load("run-1").torn_bytes == 0
        writer.append(finished)
    assert [event.kind for event in journal.read("run-1")] == ["run_started", "run_finished"]


def test_a_folder_that_cannot_be_made_and_a_closed_writer_are_faults(tmp_path):
    writer = Journal(tmp_path).open("run-1")
    writer.close()
    with pytest.raises(StoreFault, match="closed"):
        writer.append(TurnStarted(seq=2, t_s=0.0, turn=0))
    (tmp_path / "blocked").write_text("")
    with pytest.raises(StoreFault, match="cannot create the journal"):
        Journal(tmp_path / "blocked").open("run-1")


WRITES_UNTIL_KILLED = """
import sys
from pathlib import Path
from orchestra_lib.event import TurnFinished
from orchestra_lib.store.journal import Journal
from tests.episodes import events
with Journal(Path(sys.argv[1])).open("run-1") as writer:
    for event in events(turns=5000):
        writer.append(event)
        if isinstance(event, TurnFinished):
            print(event.seq, flush=True)
"""


def test_twenty_kills_lose_nothing_that_was_acknowledged(tmp_path):
    """G6, G5: every turn is on disk before the next one begins."""
    for round_ in range(20):
        home = tmp_path / str(round_)
        command = [sys.executable, "-c", WRITES_UNTIL_KILLED, str(home)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
            told = [child.stdout.readline() for _ in range(1 + round_ * 7)]
            assert Journal(home).is_live("run-1")
            child.kill()
            told += child.stdout.readlines()
        acknowledged = {int(line) for line in told if line.endswith("\n")}
        assert Journal(home).recover() == ("run-1",)
        kept = [event.seq for event in Journal(home).read("run-1")]
        assert len(acknowledged) > round_
        assert acknowledged <= set(kept)
        assert kept == sorted(set(kept))


def test_a_grade_is_added_to_a_run_that_has_ended_and_the_last_one_counts(tmp_path):
    write(tmp_path)
    journal, judged = Journal(tmp_path), Attempt(priced_as="gpt-5", wall_s=1.0)
    journal.grade("run-1", Grade(at=datetime(2030, 1, 1, tzinfo=UTC), by="exact", outcome=False))
    journal.grade("run-1", Grade(at=datetime(2030, 1, 2, tzinfo=UTC), by="model:gpt-5", outcome=True), [judged])
    graded = journal.trajectory("run-1")
    assert graded.outcome is True
    assert [grade.by for grade in graded.grades] == ["exact", "model:gpt-5"]
    assert graded.judge_attempts == (judged,)
    assert journal.recover() == ()


def test_a_run_that_still_goes_on_takes_no_grade(tmp_path):
    journal = Journal(tmp_path)
    with journal.open("run-1") as writer:
        writer.append(next(iter(events())))
        with pytest.raises(BadInput, match="still goes on"):
            journal.grade("run-1", Grade(at=datetime(2030, 1, 1, tzinfo=UTC), by="exact", outcome=True))


def test_events_that_come_together_are_kept_together_or_not_at_all(tmp_path):
    started, *rest = events()

    async def run():
        with Journal(tmp_path).open("run-1") as writer:
            await writer.keep(started)
            whole = Journal(tmp_path).path("run-1").stat().st_size
            with disk_of(whole + 10), pytest.raises(StoreFault, match="cannot write"):
                await writer.keep(*rest)
            assert Journal(tmp_path).path("run-1").stat().st_size == whole
            await writer.keep(*rest)

    asyncio.run(run())
    assert Journal(tmp_path).trajectory("run-1") == trajectory()
