"""`orchestra tasks sample`: files in, rows out, the same bytes for the same seed."""

import json
import sys

import pyarrow.parquet as pq
import pytest
from published_rows import row
from worlds import cancellation

from orchestra_lib.cli import main
from orchestra_lib.environment.assignment import write_assignments

TOOLS = """
def is_tool(function):
    function.__tool__, function.__tool_type__ = True, "read"
    return function

class Tools:
    def __init__(self, db):
        self.db = db

    @is_tool
    def get_forecast(self, location_id: str) -> str:
        '''The forecast of a place.'''
        return "30 %"
"""


@pytest.fixture
def tasks(tmp_path, monkeypatch, capsys):
    """Call `orchestra tasks …` in this process and folder: (exit code, stdout, stderr)."""
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("OPENAI_MODEL", raising=False)
    monkeypatch.chdir(tmp_path)
    rows = [{"question": f"What is {at} + 1?", "answer": str(at + 1)} for at in range(5)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(one) + "\n" for one in [*rows, rows[0]]), "utf-8")
    (tmp_path / "assignments").mkdir()
    given = [cancellation(), cancellation(id="mock-2", split="test"), cancellation(id="mock-3")]
    write_assignments(given, tmp_path / "assignments" / "mock.jsonl")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["orchestra", "tasks", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return (ended.value.code or 0, *capsys.readouterr())

    return call


BOTH = ("--tasks", "assignments", "--questions", "sums.jsonl", "--n", "9", "--seed", "7", "--qa-ratio", "1/3")


def lines(file):
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_rows_are_drawn_and_what_was_drawn_is_said(tasks, tmp_path):
    code, out, err = tasks("sample", *BOTH, "--out", "rows.jsonl", "--split", "train")
    assert code == 0
    assert "questions 3, function calls 6: qa ratio 1/3, exactly" in out
    assert "nobody charges them" in out
    assert "sums.jsonl: left out 1, repeated" in err
    assert "mock.jsonl: left out 1, not of split train" in err
    assert "func_call: fewer cases than instances, a case comes up to 3 times" in err
    rows = lines(tmp_path / "rows.jsonl")
    assert {row["case"] for row in rows if row["category"] == "func_call"} == {"mock-1", "mock-3"}
    assert [message["role"] for message in rows[0]["prompt"]] == ["system", "user"]


@pytest.mark.parametrize("protocol", ["chat", "toolorchestra"])
def test_the_same_seed_writes_the_same_bytes(tasks, tmp_path, protocol):
    for name in ("a", "b"):
        assert tasks("sample", *BOTH, "--protocol", protocol, "--out", f"{name}.jsonl")[0] == 0
        assert tasks("sample", *BOTH, "--protocol", protocol, "--out", name)[0] == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    files = sorted(file.relative_to(tmp_path / "a") for file in (tmp_path / "a").rglob("*.*"))
    assert [str(file) for file in files] == ["README.md", "data/train-00000.parquet"]
    assert all((tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes() for file in files)


def test_the_folder_holds_the_same_rows_and_a_card(tasks, tmp_path):
    tasks("sample", *BOTH, "--out", "rows.jsonl")
    tasks("sample", *BOTH, "--out", "set")
    table = pq.read_table(tmp_path / "set" / "data" / "train-00000.parquet")
    assert table.to_pylist() == lines(tmp_path / "rows.jsonl")
    card = (tmp_path / "set" / "README.md").read_text("utf-8")
    assert all(f"- name: {name}" in card for name in table.schema.names)
    assert '"qa_ratio": "1/3"' in card
    assert str(tmp_path) not in card


def test_the_datasets_library_reads_the_folder(tasks, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from datasets import load_dataset

    tasks("sample", *BOTH, "--out", "rows.jsonl")
    tasks("sample", *BOTH, "--out", "set")
    loaded = load_dataset(str(tmp_path / "set"), split="train")
    assert [dict(one) for one in loaded] == lines(tmp_path / "rows.jsonl")


def test_what_was_drawn_as_json(tasks):
    code, out, _ = tasks("sample", *BOTH, "--out", "rows.jsonl", "--regime", "inverted", "--avoid", "0", "--json")
    said = json.loads(out)
    assert code == 0
    assert said["counts"] == {"qa": 3, "func_call": 6}
    assert said["regimes_drawn"] == {"inverted": 9}
    assert [file["cases"] for file in said["files"]] == [3, 5]


def test_a_domain_of_ones_own_checkout_gives_tasks(tasks, tmp_path):
    folder = tmp_path / "weather"
    folder.mkdir()
    (folder / "db.json").write_text('{"locations": {"65": {"city": "Boston"}}}', "utf-8")
    (folder / "policy.md").write_text("Say only what the tool said.", "utf-8")
    (folder / "tasks.json").write_text(json.dumps([row("1", [("get_forecast", {"location_id": "65"})])]), "utf-8")
    (tmp_path / "tools.py").write_text(TOOLS, "utf-8")
    own = ("--tau2", "weather", "--toolkit", "tools.py:Tools", "--n", "2", "--qa-ratio", "0", "--out", "rows.jsonl")
    assert tasks("sample", *own)[0] == 0
    [first, _] = lines(tmp_path / "rows.jsonl")
    assert "Say only what the tool said." in first["prompt"][0]["content"]
    assert first["prompt"][1]["content"].startswith("You plan a picnic")
    assert [tool["function"]["name"] for tool in json.loads(first["tools"])] == ["get_forecast", "call_expert"]
    (tmp_path / "scale.jsonl").write_text(json.dumps(row("9", [], domain="bank")), "utf-8")
    code, _, err = tasks("sample", *own, "--toolscale", "scale.jsonl")
    assert (code, "has no task of weather" in err) == (2, True)


def test_published_training_rows_are_drawn_anew(tasks, tmp_path):
    tools = [{"type": "function", "function": {"name": "get_forecast", "parameters": {"type": "object"}}}]
    called = {"index": "weather____9", "category": "func_call", "example": row("9", []), "tools": tools}
    asked = {"index": "stem____1", "category": "qa", "problem": "2 + 2?", "answer": "4"}
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, (called, asked))), "utf-8")
    given = ("--training-rows", "data.jsonl", "--n", "4", "--qa-ratio", "0.5", "--out", "rows.jsonl")
    assert tasks("sample", *given)[0] == 0
    assert sorted(one["case"] for one in lines(tmp_path / "rows.jsonl")) == ["9", "9", "stem____1", "stem____1"]


@pytest.mark.parametrize("arguments, words", [
    ((), "there is nothing to sample from"),
    (("--questions", "none.jsonl"), "none.jsonl cannot be read"),
    (("--tasks", "assignments"), "instances of qa are wanted and there is no case of it; give a file of questions"),
    (("--tasks", "home"), "home: cannot be read"),
    (("--tasks", "assignments", "--tasks", "assignments/mock.jsonl"), "the id 'mock-1' stood in"),
    (("--tau2", "weather"), "needs both: --tau2 FOLDER, and --toolkit"),
    (("--questions", "sums.jsonl", "--qa-ratio", "2"), "--qa-ratio '2' lies outside"),
    (("--questions", "sums.jsonl", "--qa-ratio", "1", "--out", "assignments"), "is there already"),
])  # fmt: skip
def test_what_cannot_be_drawn_says_why_and_leaves_nothing(tasks, tmp_path, arguments, words):
    out = () if "--out" in arguments else ("--out", "rows.jsonl")
    code, _, err = tasks("sample", *arguments, *out)
    assert (code, words in err) == (2, True), err
    assert not list(tmp_path.glob("rows*"))
    assert not list(tmp_path.glob("*.part"))
