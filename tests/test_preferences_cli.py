"""`orchestra preferences …` and wishes from pairs in `orchestra tasks sample`."""

import json
import sys
from dataclasses import replace

import pytest
from episodes import trajectory

from orchestra_lib.cli import main
from orchestra_lib.preference_needs import EVAL, TRAIN
from orchestra_lib.sampling.pairs import read_pairs
from orchestra_lib.store.store import Store

SIX = [
    {"name": "web_search", "title": "Web search", "remote": True},
    {"name": "local_search", "title": "Local search"},
    {"name": "qwen", "title": "Qwen3-235B", "kind": "generalist"},
    {"name": "llama", "title": "Llama-3.3-70B", "kind": "generalist"},
    {"name": "o3_mini", "title": "o3-mini", "kind": "generalist", "remote": True},
    {"name": "o3", "title": "o3", "kind": "generalist", "remote": True},
]
"""The tools of the paper's example."""


@pytest.fixture
def orchestra(tmp_path, monkeypatch, capsys):
    """Call `orchestra …` in this process and folder: (exit code, stdout, stderr)."""
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "six.json").write_text(json.dumps(SIX), "utf-8")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["orchestra", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return (ended.value.code or 0, *capsys.readouterr())

    return call


def test_the_papers_example_is_read_and_what_is_not_understood_is_said(orchestra):
    sentence = "avoid paid APIs, I have GPUs, data is confidential, sing"
    code, out, _ = orchestra("preferences", "read", sentence, "--tools", "six.json", "--json")
    said = json.loads(out)
    assert code == 0
    assert said["preference"]["tools"] == {"web_search": -1, "o3_mini": -1, "o3": -1, "qwen": 1, "llama": 1}
    assert said["not_understood"] == ["sing"]
    code, out, _ = orchestra("preferences", "read", sentence, "--tools", "six.json")
    assert "not understood: sing" in out
    assert "in our words: Answer well; cost matters a little; latency matters a little. Prefer Qwen3-235B" in out
    _, out, _ = orchestra("preferences", "read", sentence, "--tools", "local_search")
    assert "understood, but no such tool is on offer: avoid paid APIs" in out


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("read", " "), "the sentence is empty"),
        (("read", "be quick", "--by", "magic"), "use rules or model:NAME"),
        (("read", "be quick", "--by", "model:nobody"), "there is no model 'nobody'"),
        (("read", "be quick", "--tools", "sonar"), "there is no tool 'sonar'"),
        (("read", "be quick", "--tools", "none.json"), "none.json cannot be read"),
        (("generate", "--out", "pairs.csv"), "name a .jsonl file"),
        (("generate", "--out", "p.jsonl", "--n", "0"), "n = 0"),
        (("generate", "--out", "p.jsonl", "--llm", "nobody"), "there is no model 'nobody'"),
        (("generate", "--out", "p.jsonl", "--eval-share", "1"), "share for evaluation"),
        (("adherence", "nothing", "--base", "nothing"), "nothing"),
    ],
)
def test_bad_input_is_one_line(orchestra, arguments, words):
    code, _, err = orchestra("preferences", *arguments)
    assert code == 2
    assert words in err.splitlines()[-1]


def test_pairs_are_the_same_bytes_for_a_seed_and_are_read_back(orchestra, tmp_path):
    for name in ("a", "b"):
        code, out, _ = orchestra(
            "preferences",
            "generate",
            "--n",
            "40",
            "--seed",
            "7",
            "--tools",
            "six.json",
            "--out",
            f"{name}.jsonl",
            "--json",
        )
        assert code == 0
    assert json.loads(out)["accepted"] == {TRAIN: 32, EVAL: 8}
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    pairs = read_pairs(tmp_path / "a.jsonl")
    assert len(pairs) == 40
    first = json.loads((tmp_path / "a.jsonl").read_text("utf-8").splitlines()[0])
    assert len(first["vector"]) == len(SIX) + 3
    assert all(0 <= weight <= 1 for weight in first["vector"])
    line = (tmp_path / "a.jsonl").read_text("utf-8").splitlines()[0]
    (tmp_path / "a.jsonl").write_text(line + "\n" + json.dumps({**first, "vector": [0] * 9}) + "\n", "utf-8")
    code, _, err = orchestra("tasks", "sample", "--preferences", "a.jsonl", "--out", "rows.jsonl")
    assert (code, "a.jsonl:2: the vector is not what the preference says" in err) == (2, True)


def test_wishes_are_drawn_from_pairs_whose_tools_are_on_offer(orchestra, tmp_path):
    rows = [{"question": f"What is {at} + 1?", "answer": str(at + 1)} for at in range(6)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows), "utf-8")
    tools = "search,enhance_reasoning"
    assert orchestra("preferences", "generate", "--n", "40", "--tools", tools, "--out", "p.jsonl")[0] == 0
    sampled = ("tasks", "sample", "--questions", "sums.jsonl", "--qa-ratio", "1", "--n", "6")
    for split in (TRAIN, EVAL):
        code, _, _ = orchestra(
            *sampled, "--preferences", "p.jsonl", "--preferences-split", split, "--out", "rows.jsonl"
        )
        assert code == 0
        said = {pair.instruction: pair for pair in read_pairs(tmp_path / "p.jsonl") if pair.split == split}
        for row in map(json.loads, (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()):
            pair = said[row["instruction"]]
            offered = {tool["function"]["name"] for tool in json.loads(row["tools"])}
            assert set(pair.about) <= offered
            assert row["prompt"][-1]["content"].count(row["instruction"]) == 1
            weights = json.loads(row["preference"])
            assert set(weights["tools"]) <= offered
            assert weights["cost"] == pair.preference.cost
            assert row["extension"] is False
    code, _, err = orchestra(*sampled, "--preferences", "p.jsonl", "--preferences-split", "all", "--out", "rows.jsonl")
    assert (code, "use train or eval" in err) == (2, True)


def test_adherence_of_stored_runs_is_told_by_both_metrics(orchestra, tmp_path):
    with Store.open(tmp_path / "home") as store:
        for name, turns in (("dear", 4), ("cheap", 2)):
            store.add(replace(trajectory(name, turns=turns), outcome=True))
    code, out, _ = orchestra("preferences", "adherence", "cheap", "--base", "dear", "--prefer", "cost=1", "--json")
    said = json.loads(out)
    assert (code, said["total"]["compared"], said["total"]["left_out"]) == (0, 1, 0)
    assert 0.5 < said["total"]["bounded"] == said["rows"][0]["bounded"] <= 1
    assert said["rows"][0]["published"] == said["total"]["published"] < 0.8
    code, out, _ = orchestra("preferences", "adherence", "cheap", "--base", "dear")
    assert code == 0
    assert "ours, a mean in [0, 1]" in out
    assert "does not see what a run cost" in out
    assert orchestra("preferences", "adherence", "cheap", "--base", "cheap", "--base", "dear")[0] == 2
