"""The lab on the command line: rollouts, replay, fork and its tree, groups, compare."""

import json
import sys
from dataclasses import replace

import pytest
from episodes import trajectory

from orchestra_lib.cli import main
from orchestra_lib.store.store import Store

OFFLINE = ("--orchestrator", "conductor-no-model")


@pytest.fixture
def orchestra(tmp_path, monkeypatch, capsys):
    """Call the command line in this process: (exit code, stdout, stderr)."""
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path))

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["orchestra", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return (ended.value.code or 0, *capsys.readouterr())

    return call


@pytest.fixture
def stored(tmp_path):
    with Store.open(tmp_path) as store:
        store.add_many([trajectory("a"), trajectory("b", turns=3), trajectory("c", task="Another task.")])


def test_rollouts_are_kept_as_a_group_and_one_is_replayed_and_forked(orchestra):
    code, out, err = orchestra("run", "What is 12 * 12?", *OFFLINE, "--group", "2", "--group-name", "mine", "--json")
    made = json.loads(out)
    assert (code, made["group"], [one["seed"] for one in made["runs"]]) == (0, "mine", [0, 1])
    assert "conductor-no-model does not sample" in err
    assert "there is a group 'mine' already" in orchestra("run", "x", *OFFLINE, "--group-name", "mine")[2]
    first = made["runs"][0]["id"]
    replayed = json.loads(orchestra("replay", first, "--json")[1])
    assert (replayed["same"], replayed["kept"]) == (True, None)
    call = '{"tool": "code_interpreter", "arguments": {"code": "print(1)"}}'
    _, out, _ = orchestra("fork", first, "--turn", "1", "--prefer", "cost=1", "--call", call, "--json")
    forked = json.loads(out)
    assert (forked["fork"]["run_id"], forked["fork"]["edited"], forked["preference"]["cost"]) == (first, True, 1.0)
    assert forked["fork"]["paid_before"]["cost_usd"] == 0
    assert forked["id"] in orchestra("fork", "--tree", first)[1]


def test_a_record_that_the_loop_does_not_make_again_is_exit_code_1(orchestra, stored):
    code, out, err = orchestra("replay", "a")
    assert (code, out.startswith("differs at ")) == (1, True)
    assert "recorded" in out
    assert "denied it the network" in err


def test_groups_are_made_listed_shown_and_dropped_from(orchestra, stored):
    assert orchestra("groups", "make", "mine", "a", "b")[:2] == (0, "2 runs in mine\n")
    assert json.loads(orchestra("groups", "list", "--json")[1])[0]["runs"] == 2
    assert json.loads(orchestra("groups", "show", "mine", "--json")[1]) == {"name": "mine", "runs": ["a", "b"]}
    assert "run c has another task than a" in orchestra("groups", "make", "mine", "c")[2]
    assert orchestra("groups", "drop", "mine", "a")[1] == "1 runs in mine\n"
    assert "there is no group 'yours'" in orchestra("groups", "show", "yours")[2]


def test_the_better_and_the_worse_of_a_group_are_training_pairs(orchestra, tmp_path):
    cheap, dear = (
        replace(trajectory(name, turns=turns, answer=name), outcome=True) for name, turns in (("a", 2), ("b", 4))
    )
    with Store.open(tmp_path) as store:
        store.add_many([dear, cheap, trajectory("u")])
    orchestra("groups", "make", "mine", "a", "b", "u")
    code, _, err = orchestra("groups", "pairs", "mine", str(tmp_path / "pairs.jsonl"), "--prefer", "cost=1")
    (pair,) = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    assert (code, "1 pairs to" in err) == (0, True)
    assert len(pair["chosen"]) < len(pair["rejected"])
    flat = ("--prefer", "cost=0", "--prefer", "latency=0")
    assert "have different rewards" in orchestra("groups", "pairs", "mine", str(tmp_path / "x"), *flat)[2]


def test_runs_are_compared_in_words_and_as_json(orchestra, stored):
    out = orchestra("compare", "a", "b")[1]
    assert "Call 2 only B calls Search." in out
    found = json.loads(orchestra("compare", "a", "b", "c", "--json")[1])
    assert [one["b"] for one in found["compared"]] == ["b", "c"]
    assert [pair["difference"] for pair in found["compared"][0]["pairs"]] == ["same", "only_b"]
    assert "another task" in found["rewards"]["why"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("replay", "nothing"), "nothing"),
        (("fork", "a"), "--turn K"),
        (("fork", "a", "--turn", "7"), "has no turn 7"),
        (("fork", "a", "--turn", "1", "--call", "{"), "--call is no JSON"),
        (("fork", "a", "--turn", "1", "--call", '{"tool": "x"}'), "--call: write"),
        (("compare", "a"), "two runs or more"),
        (("compare", "a", "a"), "each once"),
        (("run", "x", "--group", "0"), "a group of 0"),
        (("run", "x", "--group-name", "x.json"), "reads like a file"),
    ],
)
def test_bad_input_is_one_line_with_exit_code_2(orchestra, stored, arguments, words):
    code, out, err = orchestra(*arguments)
    assert (code, out, err.strip().count("\n")) == (2, "", 0)
    assert words in err
