"""`orchestra reward`: files that anyone can check by hand, and stored runs weighed and priced anew."""

import json
import sys
from dataclasses import replace

import pytest
from episodes import trajectory

from orchestra_lib.cli import main
from orchestra_lib.cli.terminal import print_json, print_json_rows
from orchestra_lib.store.store import Store

ROWS = [
    {"id": name, "outcome": True, "cost_usd": cost, "latency_s": 2.0, "tool_counts": {"search": 1}}
    for name, cost in (("a", 0.01), ("b", 0.05), ("c", 0.10))
]


@pytest.fixture
def reward(tmp_path, monkeypatch, capsys):
    """Call `orchestra reward …` in this process: (exit code, stdout, stderr)."""
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path))

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["orchestra", "reward", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return (ended.value.code or 0, *capsys.readouterr())

    return call


@pytest.fixture
def rows(tmp_path):
    def write(data):
        file = tmp_path / "rows.json"
        file.write_text(data if isinstance(data, str) else json.dumps(data), "utf-8")
        return file

    return write


@pytest.mark.parametrize("mode, expected", [("paper", [1.0, 0.56, 0.0]), ("released_code", [2.33, 2.78, 3.33])])
def test_the_worked_example_in_both_modes(reward, rows, mode, expected):
    code, out, _ = reward(rows(ROWS), "--prefer", "cost=1", "--mode", mode, "--json")
    found = json.loads(out)
    assert (code, [round(row["reward"], 2) for row in found]) == (0, expected)
    assert all({"id", "reward", "advantage", "kept", "components"} <= set(row) for row in found)
    assert {"raw", "min", "max", "normalised", "weight", "contribution"} <= set(found[0]["components"]["cost"])


def test_the_table_says_what_was_compared(reward, rows):
    _, out, err = reward(rows(ROWS), "--prefer", "cost=1")
    assert out.splitlines()[0].split() == ["id", "outcome", "cost", "time", "cost", "R", "A", "kept"]
    assert "paper · 3 compared · mean 0.519, std 0.501 (n - 1)" in out
    assert err == ""


def test_our_extension_is_named(reward, rows):
    used = [{**row, "tool_counts": {"search": at}} for at, row in enumerate(ROWS)]
    assert "this project's extension" in reward(rows(used), "--prefer", "tool.search=-1")[1]
    assert "extension" not in reward(rows(used), "--prefer", "tool.search=1")[1]


def test_what_is_left_out_is_counted_and_a_group_that_teaches_nothing_says_so(reward, rows):
    code, out, err = reward(rows([ROWS[0], {**ROWS[1], "outcome": None, "cost_usd": None}]), "--json")
    assert (code, [row["kept"] for row in json.loads(out)]) == (0, [False, False])
    assert "1 of 2 left out" in err
    assert "not in the loss: a group of one has nothing to compare" in err


@pytest.mark.parametrize(
    "data, words",
    [
        ([{**ROWS[0], "cost_usd": None}, *ROWS[1:]], "rollout 'a': cost_usd is unknown"),
        (json.dumps(ROWS).replace("0.05", "NaN"), "rollout 'b': cost_usd = nan"),
        (json.dumps(ROWS).replace("0.05", "1e999"), "rollout 'b': cost_usd = inf"),
        ([{**ROWS[0], "tool_counts": {"search": 10**400}}], "rollout 'a': tool.search = 1000"),
        ([{**ROWS[0], "tool_counts": {"search": -1}}], "rollout 'a': tool.search = -1"),
        ([{**ROWS[0], "cost_usd": "cheap"}], "row 1 (id a): cost_usd"),
        ([{key: value for key, value in ROWS[0].items() if key != "latency_s"}], "row 1 (id a): latency_s"),
        ([{**ROWS[0], "colour": 1}], "row 1 (id a): colour"),
        ([ROWS[0], ROWS[0]], "rollout 'a' is given twice"),
        ([1], "row 1: "),
        ([], "write a list of rollouts"),
        ({"rows": ROWS}, "write a list of rollouts"),
        ("[", "is no JSON"),
    ],
)
def test_a_bad_file_is_one_clear_line(reward, rows, data, words):
    code, out, err = reward(rows(data))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err


@pytest.mark.parametrize(
    "more, words",
    [
        (["--prefer", "cost=2"], "cost = 2.0 is out of range"),
        (["--prefer", "tool.gpt=1"], "weighs 'gpt', which no rollout lists"),
        (["--prices", "vendor"], "re-prices stored runs"),
        (["other"], "give one file"),
    ],
)
def test_what_does_not_go_with_a_file_is_refused(reward, rows, more, words):
    code, _, err = reward(rows(ROWS), *more)
    assert (code, words in err) == (2, True)


def test_a_file_or_run_that_is_not_there_is_named(reward, tmp_path):
    assert "none.json cannot be read" in reward(tmp_path / "none.json")[2]
    assert "nothing" in reward("nothing")[2]


@pytest.fixture
def stored(tmp_path):
    with Store.open(tmp_path) as store:
        for name, turns, outcome in (("run-1", 2, True), ("run-2", 4, True), ("run-3", 2, False)):
            store.add(replace(trajectory(name, turns=turns), outcome=outcome))
        store.add(replace(trajectory("run-4", task="Another task."), outcome=True))


RUNS = ("run-1", "run-2", "run-3")


def test_stored_runs_are_weighed_as_they_were_played_or_anew(reward, stored):
    played = json.loads(reward(*RUNS, "--json")[1])
    assert {row["components"]["tool.search"]["weight"] for row in played} == {-0.5}
    assert played[0]["reward"] > played[1]["reward"] > played[2]["reward"] == 0
    anew = json.loads(
        reward(*RUNS, "--prefer", "tool.search=1", "--prefer", "cost=0", "--prefer", "time=0", "--json")[1]
    )
    assert anew[1]["reward"] > anew[0]["reward"]


def test_stored_runs_are_priced_anew_without_a_call(reward, stored, tmp_path):
    (tmp_path / "prices").mkdir()
    (tmp_path / "prices" / "mine.toml").write_text(
        'name = "mine"\ndated = 2026-01-02\nsource = "s"\n[prices.search]\ncall_usd = 7.0\nsource = "s"\n'
        '[prices.small]\ncall_usd = 0.0\nsource = "s"\n'
    )
    found = json.loads(reward(*RUNS, "--prices", "mine", "--json")[1])
    assert [row["cost_usd"] for row in found] == [7.0, 21.0, 7.0]
    assert found[0]["prices"] == {"table": "mine", "dated": "2026-01-02", "nominal": False}
    assert "priced by sample of 2026-11-01, nominal: nobody is billed" in reward(*RUNS)[1]
    code, _, err = reward(*RUNS, "--prices", "vendor")
    assert (code, "run run-1: its cost is unknown under vendor" in err) == (2, True)


def test_runs_of_two_tasks_are_no_group(reward, stored):
    code, _, err = reward("run-1", "run-4")
    assert (code, "run run-4 has another task than run-1" in err) == (2, True)


def test_a_group_is_named_and_all_groups_are_weighed_at_once(reward, stored, tmp_path):
    with Store.open(tmp_path) as store:
        store.group("mine", RUNS)
        store.group("single", ["run-4"])
    named = json.loads(reward("mine", "--json")[1])
    assert named == json.loads(reward(*RUNS, "--json")[1])
    code, out, err = reward("--all", "--json")
    rows = {(row["group"], row["id"]): row["reward"] for row in json.loads(out)}
    assert code == 0
    assert [rows["mine", row["id"]] for row in named] == [row["reward"] for row in named]
    assert "2 groups of 4 rollouts, 1 of them in the loss; no model was called" in err
    assert "single" not in reward("--all", "--text", "2 + 2")[1]
    assert reward("mine", "--all")[0] == reward()[0] == reward("mine", "--text", "x")[0] == 2


def test_rows_are_printed_as_they_come_and_are_the_same_list(capsys):
    rows = [{"id": "a", "text": "x\ny\u202e"}, {"id": "b", "parts": {"cost": [1, 2]}}]
    said = []

    def coming():
        for row in rows:
            yield row
            said.append(capsys.readouterr().out)

    print_json_rows(coming())
    assert ['"id": "a"' in said[0], '"id": "b"' in said[1]] == [True, True]
    streamed = "".join(said) + capsys.readouterr().out
    print_json(rows)
    assert streamed == capsys.readouterr().out
    print_json_rows([])
    assert json.loads(capsys.readouterr().out) == []


def test_a_weight_on_a_tool_that_no_run_lists_is_refused_before_anything_is_printed(reward, stored, tmp_path):
    with Store.open(tmp_path) as store:
        store.group("mine", RUNS)
    code, out, err = reward("--all", "--json", "--prefer", "tool.gpt=1")
    assert (code, out, "weighs 'gpt', which no rollout lists" in err) == (2, "", True)
