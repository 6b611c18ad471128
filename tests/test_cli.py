import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestra_lib.cli import main
from orchestra_lib.cli.terminal import dollars, one_line, print_json, printable, seconds

ROOT = Path(__file__).resolve().parent.parent
OFFLINE = ("--orchestrator", "conductor-no-model")


@pytest.fixture
def orchestra(tmp_path, monkeypatch, capsys):
    """Call the command line in this process: (exit code, stdout, stderr)."""
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["orchestra", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return (ended.value.code or 0, *capsys.readouterr())

    return call


def test_run_prints_the_trajectory_and_the_product_comes_from_a_real_call(orchestra):
    code, out, _ = orchestra("run", "What is 48213 * 977?", *OFFLINE, "--json")
    run = json.loads(out)
    assert (code, run["status"], run["answer"]) == (0, "answered", "47104101")
    (call,) = run["calls"]
    assert (call["tool"], call["status"]) == ("code_interpreter", "ok")
    assert "48213" in call["arguments"]["code"]
    assert call["cost_usd"] > 0
    assert {"id", "orchestrator", "protocol", "preference", "prices", "turns", "cost_usd", "latency_s"} <= set(run)
    assert {"input_tokens", "output_tokens"} <= set(run)


def test_a_run_is_listed_shown_and_counted(orchestra):
    _, out, _ = orchestra("run", "What is the capital of Mongolia?", *OFFLINE, "--json")
    run = json.loads(out)
    assert "Ulaanbaatar" in run["answer"]
    assert run["id"] in orchestra("list")[1]
    assert "local_search" in orchestra("show", run["id"])[1]
    _, out, _ = orchestra("query", "SELECT count(*) AS runs FROM trajectories", "--json")
    assert json.loads(out) == [{"runs": 1}]


def test_a_preference_changes_which_tool_is_used(orchestra):
    def tools(*prefer):
        _, out, _ = orchestra("run", "What is the capital of Mongolia?", *OFFLINE, *prefer, "--json")
        return [call["tool"] for call in json.loads(out)["calls"]]

    assert tools() == ["local_search"]
    assert "local_search" not in tools("--prefer", "tool.local_search=-1")


def test_rebuild_makes_the_store_from_the_journals_again(orchestra, tmp_path):
    orchestra("run", "What is 2 + 2?", *OFFLINE)
    for file in tmp_path.glob("workbench.duckdb*"):
        file.unlink()
    code, out, _ = orchestra("rebuild")
    assert (code, out) == (0, "1 runs\n")


@pytest.mark.parametrize(
    "arguments, says",
    [
        (("run", ""), "the task is empty"),
        (("run", "x", "--orchestrator", "nobody"), "no orchestrator 'nobody'"),
        (("run", "x", "--orchestrator", "openai:m"), "OPENAI_API_KEY"),
        (("run", "x", "--tools", "spoon"), "no tool 'spoon'"),
        (("run", "x", "--tools", "coder"), "coder is off"),
        (("run", "x", "--prefer", "cost=2"), "out of range"),
        (("run", "x", "--prefer", "cost"), "NAME=WEIGHT"),
        (("run", "x", "--prices", "gold"), "no price table"),
        (("run", "x", "--max-turns", "0"), "max_turns = 0"),
        (("show", "nothing"), "no run 'nothing'"),
        (("query", "DROP TABLE turns"), "DROP is not allowed"),
        (("index", "/no/such/folder"), "no such file"),
        (("models", "fly"), "unknown action 'fly'"),
    ],
)
def test_bad_input_is_one_line_with_the_value_and_exit_code_2(orchestra, arguments, says):
    code, out, err = orchestra(*arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert err.strip().count("\n") == 0


def test_a_server_that_is_down_ends_the_run_as_a_fault_with_exit_code_1(orchestra, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-000")
    code, out, err = orchestra("run", "x", "--orchestrator", "openai:m", "--json")
    assert (code, json.loads(out)["status"]) == (1, "fault")
    assert "cannot be reached" in json.loads(out)["faults"][0]["message"]
    assert "canary" not in out + err


def test_indexed_files_are_found_by_a_run(orchestra, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "zorblax.md").write_text("# Zorblax\n\nThe zorblax festival takes place every year in Quillhaven.\n")
    assert orchestra("index", str(notes))[0] == 0
    _, out, _ = orchestra("run", "Where does the zorblax festival take place?", *OFFLINE, "--json")
    assert "Quillhaven" in json.dumps(json.loads(out)["calls"])


def test_doctor_names_what_is_off_and_why(orchestra):
    code, out, _ = orchestra("doctor", "--json")
    checks = {check["what"]: check for check in json.loads(out)}
    assert code == 0
    assert checks["tool code_interpreter"]["state"] == checks["sandbox"]["state"] == "ok"
    assert checks["tool coder"]["state"] == "warn"
    assert "orchestra models fetch" in checks["tool coder"]["remedy"]


def test_ctrl_c_stops_the_run_and_keeps_its_record(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connections wait in its queue and are never answered
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        environment = {**os.environ, "ORCHESTRA_HOME": str(tmp_path), "OPENAI_BASE_URL": address}
        command = [sys.executable, "-m", "orchestra_lib", "run", "x", "--orchestrator", "openai:m", "--json"]
        run = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        while not list(tmp_path.glob("journals/*.jsonl")):
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=30)
    assert run.returncode == 1
    assert json.loads(out)["status"] == "cancelled"


def test_text_of_models_cannot_drive_the_terminal():
    assert printable("\x1b[31mred\x07\u202eevil\u200b\r") == "\ufffd[31mred\ufffd\ufffdevil\ufffd\ufffd"
    assert one_line("a\n b\tc" + "x" * 99, 10) == "a b cxxxx…"


def test_unknown_is_a_dash_and_next_to_nothing_is_not_nothing():
    assert [dollars(cost) for cost in (None, 0.0, 0.00001, 0.0061, 12.0)] == [
        "—",
        "$0.0000",
        "<$0.0001",
        "$0.0061",
        "$12.00",
    ]
    assert [seconds(time_s) for time_s in (None, 0.04, 33.94)] == ["—", "0.04 s", "33.9 s"]


def test_a_function_of_ones_own_is_a_tool_and_is_named_in_the_saved_configuration(orchestra, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text('def shout(word: str) -> str:\n    """Say a word loudly."""\n    return word.upper()\n')
    _, out, _ = orchestra("run", "hello", "--orchestrator", "random", "--tools", f"{file}:shout", "--json")
    run = json.loads(out)
    assert run["answer"] == "HELLO"
    assert f"{file}:shout" in orchestra("show", run["id"], "--config")[1]


def test_printed_json_is_json_in_literal_letters(capsys):
    """A12, G4: no escapes but for what could drive the terminal, and null where JSON has no number."""
    print_json({"mean": float("nan"), "city": "Zürich", "bell": "\x07"})
    out = capsys.readouterr().out
    assert json.loads(out) == {"mean": None, "city": "Zürich", "bell": "\x07"}
    assert "Zürich" in out
    assert "\x07" not in out
