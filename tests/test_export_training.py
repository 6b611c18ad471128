"""What training programs read: ShareGPT, TRL's rows and pairs, the folder of a dataset. Arguments never mix."""

import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from episodes import PRICES
from episodes import trajectory as episode
from playing import Echo, run

from orchestra_lib.errors import BadInput
from orchestra_lib.export import FILES, ExportFormat, dataset, messages, stream, write
from orchestra_lib.export.conversation import sharegpt
from orchestra_lib.export.trl import preference_pair, trl_row
from orchestra_lib.limits import Limits
from orchestra_lib.policy.scripted import Scripted


def played(*moves, tools=None):
    return run(Scripted([*moves]), tools or [Echo(), Echo("slow")])


def mixed():
    """Two runs whose calls and tools share no argument but one, which has two types."""
    number = Echo("count", parameters={"type": "object", "properties": {"n": {"type": "integer"}}})
    return [
        played([("echo", {"word": "hi"})], "done"),
        played([("count", {"n": 3, "deep": {"list": [1, None]}})], "done", tools=[number]),
    ]


def rows(form, *trajectories):
    return [json.loads(line) for line in b"".join(stream(trajectories, form)).splitlines()]


def test_sharegpt_alternates_and_keeps_calls_results_and_words():
    two = [("echo", {"word": "Zürich"}), ("slow", {"word": "x"})]
    row = sharegpt(played([("echo", {"word": "a"})], two, "done"))
    assert [said["from"] for said in row["conversations"]] == [
        "human", "function_call", "observation", "function_call", "observation", "gpt",
    ]  # fmt: skip
    calls = [json.loads(said["value"]) for said in row["conversations"] if said["from"] == "function_call"]
    assert calls[0] == {"name": "echo", "arguments": {"word": "a"}}
    assert [call["name"] for call in calls[1]] == ["echo", "slow"]
    assert json.loads(row["conversations"][4]["value"]) == ["Zürich", "x"]
    assert "Zürich" in row["conversations"][3]["value"]
    assert [tool["name"] for tool in json.loads(row["tools"])] == ["echo", "slow"]
    assert row["system"].startswith("You are an orchestrator")


def test_a_row_of_trl_is_prompt_and_completion_with_what_a_reward_is_made_of():
    trajectory = played([("echo", {"word": "a"})], "done")
    row = trl_row(trajectory)
    assert [said["role"] for said in row["prompt"]] == ["system", "user"]
    assert [said["role"] for said in row["completion"]] == ["assistant", "tool", "assistant"]
    assert row["prompt"] + row["completion"] == messages(trajectory)["messages"]
    assert json.loads(row["tool_counts"]) == {"echo": 1, "slow": 0}
    assert (row["outcome"], row["cost_usd"]) == (None, pytest.approx(0.01))


def test_unknown_costs_are_null_and_not_0():
    (row,) = rows(ExportFormat.TRL, episode(prices=PRICES.only([])))
    assert row["cost_usd"] is None


def test_a_pair_shares_what_both_said_first():
    first = [("echo", {"word": "a"})]
    better = played(first, [("echo", {"word": "b"})], "yes")
    worse = played(first, [("slow", {"word": "b"})], "no")
    row = preference_pair(better, worse)
    assert [said["role"] for said in row["prompt"]] == ["system", "user", "assistant", "tool"]
    assert row["prompt"] + row["chosen"] == messages(better)["messages"]
    assert row["prompt"] + row["rejected"] == messages(worse)["messages"]
    assert row["chosen"][0]["tool_calls"][0]["function"]["name"] == "echo"
    assert row["rejected"][0]["tool_calls"][0]["function"]["name"] == "slow"


def test_a_pair_never_begins_with_a_result():
    """The same call with another result: the call goes to both sides."""
    quiet, loud = [("echo", {"word": "a"})], Echo(work=_shout)
    row = preference_pair(played(quiet, "yes"), played(quiet, "no", tools=[loud, Echo("slow")]))
    assert [said["role"] for said in row["prompt"]] == ["system", "user"]
    assert row["chosen"][0]["role"] == row["rejected"][0]["role"] == "assistant"


async def _shout(word):
    return word.upper()


def test_a_pair_needs_two_runs_of_one_task_that_differ():
    with pytest.raises(BadInput, match="say the same"):
        preference_pair(played("yes"), played("yes"))
    with pytest.raises(BadInput, match="different tasks"):
        preference_pair(episode(), episode(task="Another"))
    first = [("echo", {"word": "a"})]
    cut = run(Scripted([first]), [Echo(), Echo("slow")], limits=Limits(max_turns=1))
    with pytest.raises(BadInput, match="only begins like"):
        preference_pair(played(first, "yes"), cut)


def test_arguments_are_text_wherever_a_column_would_mix_them(tmp_path):
    """Loading such lines as columns must not give one call the argument names of another, as nulls."""
    write(mixed(), tmp_path / "folder", ExportFormat.HF)
    (shard,) = (tmp_path / "folder" / "data").iterdir()
    table = pq.read_table(shard)
    calls = [said["tool_calls"] for row in table.column("messages").to_pylist() for said in row if said["tool_calls"]]
    assert [json.loads(call[0]["function"]["arguments"]) for call in calls] == [
        {"word": "hi"}, {"n": 3, "deep": {"list": [1, None]}},
    ]  # fmt: skip
    tools = [json.loads(text)[0]["function"] for text in table.column("tools").to_pylist()]
    assert [list(tool["parameters"]["properties"]) for tool in tools] == [["word"], ["n"]]
    for form in (ExportFormat.TRL, ExportFormat.SHAREGPT):
        assert all(isinstance(row["tools"], str) for row in rows(form, *mixed()))
    for row in rows(ExportFormat.TRL, *mixed()):
        called = row["completion"][0]["tool_calls"][0]["function"]
        assert isinstance(called["arguments"], str)


def test_a_folder_has_shards_of_one_schema_and_a_card_that_names_it(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset, "SHARD", 2)
    assert write([played("one"), *mixed()], tmp_path / "runs", ExportFormat.HF) == 3
    shards = sorted((tmp_path / "runs" / "data").iterdir())
    assert [shard.name for shard in shards] == ["train-00000.parquet", "train-00001.parquet"]
    assert [pq.read_metadata(shard).num_rows for shard in shards] == [2, 1]
    card = (tmp_path / "runs" / "README.md").read_text()
    named = re.findall(r"^  - name: (\w+)$", card, re.MULTILINE)
    assert pq.read_schema(shards[0]) == pq.read_schema(shards[1])
    assert named == pq.read_schema(shards[0]).names
    assert "3 runs" in card
    assert list(tmp_path.iterdir()) == [tmp_path / "runs"]


def test_a_folder_without_runs_still_has_its_columns(tmp_path):
    assert write([], tmp_path / "none", ExportFormat.HF) == 0
    (shard,) = (tmp_path / "none" / "data").iterdir()
    assert pq.read_table(shard).num_rows == 0
    assert isinstance(pq.read_schema(shard).field("messages").type, pa.ListType)


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(BadInput, match="not an empty folder"):
        write([played("one")], tmp_path / "mine", ExportFormat.HF)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]


def test_a_broken_export_leaves_no_folder(tmp_path):
    def breaks():
        yield played("one")
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        write(breaks(), tmp_path / "runs", ExportFormat.HF)
    assert list(tmp_path.iterdir()) == []


def test_the_datasets_library_reads_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from datasets import load_dataset

    write(mixed(), tmp_path / "runs", ExportFormat.HF)
    loaded = load_dataset(str(tmp_path / "runs"), split="train")
    assert loaded.num_rows == 2
    assert json.loads(loaded[0]["messages"][2]["tool_calls"][0]["function"]["arguments"]) == {"word": "hi"}


@pytest.mark.parametrize("form", [form for form in FILES if form is not ExportFormat.PARQUET])
def test_lines_leave_while_the_next_trajectory_is_not_read_yet(form):
    taken = []

    def counted():
        for place in range(100):
            taken.append(place)
            yield played("one")

    pieces = stream(counted(), form)
    next(pieces)
    assert len(taken) == 1
