"""Every boundary reads or refuses what it is given; what the fuzzers once found stays found."""

import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from episodes import attempt, events, trajectory

from fuzz.__main__ import main, told
from fuzz.mutation import changed, garbled
from fuzz.target import CORPUS, clear
from fuzz.targets import TARGETS
from orchestra_lib.codec import event_from_line, event_to_line
from orchestra_lib.errors import BadInput
from orchestra_lib.event import Generated
from orchestra_lib.generation import Generation
from orchestra_lib.importing import import_file
from orchestra_lib.spans import spans
from orchestra_lib.store import store as store_module
from orchestra_lib.store.journal import Journal
from orchestra_lib.store.store import Store
from orchestra_lib.tool import ToolCall
from orchestra_lib.trajectory import Fork

CHANGES = 25
ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_kept_and_what_is_near_it_is_read_or_refused(name):
    target, rng = TARGETS[name], random.Random(name)
    for seed in target.seeds():
        data = seed.read_bytes()
        target.try_out(data)
        for _ in range(CHANGES):
            target.try_out(changed(data, target.form, rng) or garbled(data, rng))


def test_every_target_has_inputs_that_are_small_and_no_folder_is_left_over():
    assert {folder.name for folder in CORPUS.iterdir()} == set(TARGETS)
    assert [file for target in TARGETS.values() for file in target.seeds() if file.stat().st_size > 16_384] == []


@pytest.mark.parametrize("name", ["move", "completion", "messages", "questions", "toml", "sql"])
def test_a_target_reads_at_least_one_input_whole(name):
    read = []
    for seed in TARGETS[name].seeds():
        try:
            TARGETS[name].read(seed.read_bytes())
            read.append(seed.name)
        except TARGETS[name].refusals:
            pass
    assert read


def test_an_input_can_be_run_again_by_a_command(monkeypatch, capsys):
    def again(name):
        monkeypatch.setattr(sys, "argv", ["fuzz", "--again", name, str(CORPUS / "profile" / "small")])
        main()

    again("profile")
    assert "as documented" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no target 'x'"):
        again("x")


def test_the_folder_of_a_target_that_was_ended_is_removed_and_no_other():
    """libFuzzer ends its process at once, so nothing tidies up in there."""
    code = "import os; from fuzz.target import scratch; print(scratch(), flush=True); os._exit(0)"
    ends = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT) for _ in "ab"]
    one, other = (Path(process.communicate()[0].strip()) for process in ends)
    assert one.is_dir()
    clear(ends[0].pid)
    assert (one.exists(), other.exists()) == (False, True)
    clear(ends[1].pid)
    assert not other.exists()


SAID = """\
#3\tINITED cov: 43 ft: 44 corp: 2/504b exec/s: 0 rss: 120Mb
#4\tNEW    cov: 48 ft: 49 corp: 3/903b lim: 60000 exec/s: 0 rss: 120Mb L: 399/418 MS: 1 Custom-
FOUND order-0123456789ab: KeyError at x.py:3: 'a'
#929\tDONE   cov: 55 ft: 66 corp: 9/1724b lim: 60000 exec/s: 132 rss: 120Mb
stat::number_of_executed_units: 929
"""


def test_a_row_tells_executions_what_was_reached_anew_and_every_crash():
    row = told("order", SAID, 0, 1.25)
    assert (row.runs, row.edges, row.new, row.corpus) == (929, 55, 12, 9)
    assert row.found == ("order-0123456789ab: KeyError at x.py:3: 'a'",)
    assert row.line().split() == ["order", "929", "1.2", "55", "12", "9", "1"]
    ended = told("order", "Killed\n", -9, 0.0)
    assert ended.found == ("order: ended with -9; see its log",)
    assert (ended.runs, ended.edges, ended.new) == (0, 0, 0)


FOUND = [  # (target, what broke it, what it says now)
    ("order", b"9" * 5000, "not JSON"),
    ("order", b"[" * 100_000, "not JSON"),
    ("toolscale", b'{"evaluation_criteria": {"actions": 3}}', "user_scenario is missing"),
    ("domain", b'{"archetype": "' + b"a" * 300 + b'"}', "name: Field required"),
]


@pytest.mark.parametrize("name, data, says", FOUND)
def test_what_a_fuzzer_found_is_refused_in_words(name, data, says):
    with pytest.raises(TARGETS[name].refusals, match=says):
        TARGETS[name].read(data)


def test_a_damaged_member_of_an_archive_and_a_name_that_is_no_text_in_a_table_are_refused():
    archive = (CORPUS / "inspect" / "archive").read_bytes()
    table = (CORPUS / "toolscale_table" / "table").read_bytes()
    with pytest.raises(BadInput, match="cannot be unpacked"):
        TARGETS["inspect"].read(archive.replace(b"\xabV*K-*", b"\xff\xff\xff\xff\xff\xff", 1))
    with pytest.raises(BadInput, match="no Parquet file"):
        TARGETS["toolscale_table"].read(table.replace(b"weather", b"weath\xe1r"))


@pytest.mark.parametrize(("mark", "flags", "name", "says"), [
    (b"PK\x01\x02", 8, 46, "no whole zip archive"), (b"PK\x03\x04", 6, 30, "cannot be unpacked"),
])  # fmt: skip
def test_a_member_whose_name_is_said_to_be_utf_8_and_is_not_is_refused(mark, flags, name, says):
    """In the archive's directory, and at the member itself."""
    archive = bytearray((CORPUS / "inspect" / "archive").read_bytes())
    entry = archive.index(mark)
    archive[entry + flags + 1] |= 0x08
    archive[entry + name] = 0x8B
    with pytest.raises(BadInput, match=says):
        TARGETS["inspect"].read(bytes(archive))


def test_a_record_that_contradicts_itself_is_not_taken_for_a_run(tmp_path):
    row = json.loads((CORPUS / "messages" / "recorded").read_bytes())
    row["trajectory"]["turns"][0]["calls"] = []
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(row), "utf-8")
    with pytest.raises(BadInput, match="contradicts itself in turns"):
        import_file(file, Journal(tmp_path))


@pytest.mark.parametrize("run_id", ["../../out", "/tmp/out", "..", "a/b", "a\\b", "a\0"])
def test_a_record_whose_id_is_a_path_is_refused_and_nothing_is_written(tmp_path, run_id):
    row = json.loads((CORPUS / "messages" / "recorded").read_bytes())
    row["trajectory"]["setting"]["run_id"] = run_id
    file, home = tmp_path / "rows.jsonl", tmp_path / "one" / "home"
    file.write_text(json.dumps(row), "utf-8")
    with pytest.raises(BadInput, match="is no run id"):
        import_file(file, Journal(home))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]


def test_what_a_judge_took_that_gave_no_score_is_kept(tmp_path):
    log = json.loads((CORPUS / "inspect" / "log").read_bytes())
    log["samples"][0]["scores"] = {}
    file = tmp_path / "log.json"
    file.write_text(json.dumps(log), "utf-8")
    assert import_file(file, Journal(tmp_path)).new == 3
    kept = [Journal(tmp_path).trajectory(path.stem) for path in (tmp_path / "journals").glob("*.jsonl")]
    assert [len(run.judge_attempts) for run in kept if run.grades] == [1]


@pytest.mark.parametrize("turn", [2**31, -(10**20)])
def test_a_turn_that_no_table_holds_keeps_its_run_out_and_no_other(tmp_path, turn):
    row = json.loads((CORPUS / "messages" / "recorded").read_bytes())
    row["trajectory"]["turns"][0]["index"] = turn
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(row), "utf-8")
    with pytest.raises(BadInput, match=f"no turn {turn}"):
        import_file(file, Journal(tmp_path))
    with pytest.raises(BadInput, match="fork at turn"):
        Fork(run_id="run-1", turn=2**31)


def test_a_run_that_the_tables_refuse_costs_only_itself(tmp_path, monkeypatch):
    """Its rows are refused by DuckDB itself; those that come after it are taken in all the same."""
    for run_id in ("run-1", "run-2", "run-3"):
        Journal(tmp_path).put([event for event in events(run_id) if event.kind not in ("streamed", "call_started")])
    real = store_module.entry

    def spoilt(run_id, stamp, told):
        made = real(run_id, stamp, told)
        bad = [(*made.rows.turns[0][:1], 2**40, *made.rows.turns[0][2:])]
        return replace(made, rows=replace(made.rows, turns=bad)) if run_id == "run-1" else made

    monkeypatch.setattr(store_module, "entry", spoilt)
    store = Store(tmp_path)
    assert {one.id for one in store.list()} == {"run-2", "run-3"}
    store.close()


@pytest.mark.parametrize("arguments", [{"\ud800": 1}, {"a": {"\ud800": [{"\udfff": "\ud800"}]}}])
def test_half_a_character_in_any_key_of_a_call_is_kept_as_its_replacement(arguments):
    """A model can spell it in JSON, and a run must not break of it."""
    call = ToolCall.of("call_1", "echo", arguments)
    told = Generated(seq=1, t_s=0.0, turn=1, generation=Generation(raw_text="", calls=(call,), attempts=(attempt(),)))
    line = event_to_line(told)
    assert event_to_line(event_from_line(line, where="here")) == line
    assert ("\ufffd" in line, "\ud800" in line) == (True, False)
    assert event_from_line(line, where="here").generation.attempts == told.generation.attempts


def test_a_time_that_no_span_can_hold_is_refused():
    late = replace(trajectory(), finished_s=1e308)
    with pytest.raises(BadInput, match="after 2554"):
        spans(late)
