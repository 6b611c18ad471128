"""Export and import on the command line."""

import json
import sys
from pathlib import Path

import pytest
from episodes import events, trajectory
from test_otlp import collector

from orchestra_lib.cli import main
from orchestra_lib.store.journal import Journal
from orchestra_lib.store.rollouts import StepRollouts, Worth
from orchestra_lib.store.store import Store

LOG = Path(__file__).parent / "pinned" / "inspect_sums.eval"


@pytest.fixture
def orchestra(tmp_path, monkeypatch, capsys):
    """Call the command line in this process over two stored runs: (exit code, stdout, stderr)."""
    home = tmp_path / "home"
    monkeypatch.setenv("ORCHESTRA_HOME", str(home))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.7")
    for run_id, tool in (("run-1", "search"), ("run-2", "coder")):
        with Journal(home).open(run_id) as journal:
            for event in events(run_id, tool=tool):
                journal.append(event)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["orchestra", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return (ended.value.code or 0, *capsys.readouterr())

    return call


def test_a_filtered_export_goes_to_a_file(orchestra, tmp_path):
    code, _, told = orchestra("export", tmp_path / "out.jsonl", "--format", "sharegpt", "--tool", "coder")
    (row,) = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert (code, row["id"]) == (0, "run-2")
    assert "1 trajectories" in told


def test_rollouts_of_training_are_listed_when_they_are_asked_for(orchestra, tmp_path):
    worth = Worth(reward=1.0, advantage=0.5, kept=True)
    for step in (1, 2):
        StepRollouts(tmp_path / "home", "tiny").put(step, [(trajectory(f"s{step}"), worth)])

    def listed(*arguments):
        code, out, said = orchestra("list", "--json", *arguments)
        return code, sorted(row["id"] for row in json.loads(out)), said

    assert listed() == (0, ["run-1", "run-2"], "2 rollouts of training are left out; --training lists them\n")
    assert listed("--training")[1:] == (["s1", "s2"], "")
    assert listed("--training-run", "tiny", "--training-step", "2")[1] == ["s2"]
    assert orchestra("export", tmp_path / "a.jsonl")[2].startswith("2 trajectories")
    assert orchestra("export", tmp_path / "b.jsonl", "--training-step", "1")[2].startswith("1 trajectories")


def test_the_list_is_narrowed_to_a_tag(orchestra, tmp_path):
    with Store(tmp_path / "home") as store:
        store.tag(["run-2"], "demo")
    assert [row["id"] for row in json.loads(orchestra("list", "--json", "--tag", "demo")[1])] == ["run-2"]


def test_rows_as_csv_end_as_lines_do_here_and_hold_nothing_that_a_spreadsheet_runs(orchestra):
    sql = "SELECT tool, '=1+1' AS said, -2 AS figure FROM calls ORDER BY ALL LIMIT 1"
    assert orchestra("query", sql, "--csv")[:2] == (0, "tool,said,figure\ncoder,'=1+1,-2\n")


def test_a_folder_of_partitions_is_asked_as_the_own_store_is(orchestra, tmp_path):
    folder = tmp_path / "parts"
    assert orchestra("export", folder, "--format", "partitions")[2] == f"2 trajectories to {folder}\n"
    assert orchestra("export", folder, "--format", "partitions", "--tool", "coder")[0] == 0
    for command in (
        ["list", "--json"],
        ["show", "run-2", "--json"],
        ["query", "SELECT tool, count(*) FROM calls GROUP BY ALL ORDER BY ALL", "--json"],
        ["bias", "--json"],
        ["reward", "run-1", "run-2", "--json"],
    ):
        assert orchestra(*command, "--store", folder)[:2] == orchestra(*command)[:2]
    assert orchestra("export", tmp_path / "again.jsonl", "--store", folder)[2].startswith("2 trajectories")
    assert orchestra("list", "--store", tmp_path / "home", "--json")[:2] == orchestra("list", "--json")[:2]


def test_what_holds_no_trajectories_says_so(orchestra, tmp_path):
    code, _, told = orchestra("list", "--store", tmp_path)
    assert (code, "neither journals nor partitions" in told) == (2, True)


def test_spans_are_sent_and_counted(orchestra, tmp_path):
    with collector(tmp_path) as (address, taken):
        code, _, told = orchestra("export", "--format", "otlp", "--endpoint", address, "--tool", "search")
        found = taken()
    assert (code, len(found)) == (0, 4)
    assert told == "4 spans of 1 trajectories sent and taken\n"
    assert {one["attributes"]["gen_ai.conversation.id"] for one in found} == {"run-1"}


def test_a_collector_that_refuses_is_one_line_and_no_success(orchestra, tmp_path):
    with collector(tmp_path, "refuse") as (address, _):
        code, _, told = orchestra("export", "--format", "otlp", "--endpoint", address)
    assert code == 1
    assert told.count("\n") == 1
    assert "answered 400" in told


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("--format", "csv"), "name the file"),
        (("out", "--endpoint", "http://x"), "--format otlp"),
        (("out", "--format", "otlp"), "writes no file"),
        (("/no/such/folder/out",), "cannot be written"),
    ],
)
def test_an_export_that_makes_no_sense_says_so(orchestra, arguments, words):
    code, _, told = orchestra("export", *arguments)
    assert code == 2
    assert words in told


def test_an_import_is_counted_listed_and_shown(orchestra):
    assert orchestra("import", LOG)[:2] == (0, "5 new, 0 known already, 0 bad\n")
    assert json.loads(orchestra("import", LOG, "--json")[1]) == {"new": 0, "known": 5, "bad": 0, "problems": []}
    listed = json.loads(orchestra("list", "--orchestrator", "mockllm/model", "--json")[1])
    assert len(listed) == 5
    assert {one["cost_usd"] for one in listed if one["status"] == "answered"} == {None}
    shown = json.loads(orchestra("show", listed[0]["id"], "--json")[1])
    assert shown["origin"].startswith("inspect_sums.eval sample")


def test_a_bad_row_is_named_and_skipped_only_on_demand(orchestra, tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text('{"messages": [{"role": "user", "content": "hi"}]}\n{"text": 1}\n')
    code, _, told = orchestra("import", file)
    assert code == 2
    assert f"{file}, row 2: it has no messages" in told
    assert len(json.loads(orchestra("list", "--json")[1])) == 2
    code, out, told = orchestra("import", file, "--skip-bad")
    assert (code, out) == (0, "1 new, 0 known already, 1 bad\n")
    assert told.startswith("row 2: it has no messages")
