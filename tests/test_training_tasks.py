"""Training tasks: drawn by a seed with kinds in turn, from what ships, from a file, and refused in clear words."""

import json
from collections import Counter
from pathlib import Path

import pytest

from orchestra_lib.errors import BadInput
from orchestra_lib.judge.checks import compare_by_itself
from orchestra_lib.training_tasks import SHIPPED, training_sample


def rows(file):
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_ten_tasks_that_ship_are_spread_over_the_kinds_and_stay_the_same(tmp_path):
    one, again, other = (training_sample(None, tmp_path, count=10, seed=seed) for seed in (3, 3, 4))
    assert one == again
    assert one.tasks != other.tasks
    assert len(set(one.tasks)) == 10
    assert {count for count in Counter(task.kind for task in one.tasks).values()} <= {1, 2}


def test_what_ships_is_graded_by_a_check_and_stands_in_no_benchmark():
    shipped = rows(SHIPPED)
    assert all(compare_by_itself(one["answer"], one["answer"])[1].outcome for one in shipped)
    files = (Path(__file__).parent.parent / "benchmarks" / "tasks").glob("*.jsonl")
    measured = {row["task"].casefold() for file in files for row in rows(file)}
    assert not measured & {row["question"].casefold() for row in shipped}


def test_a_file_of_ones_own_may_tell_kinds_or_none(tmp_path):
    file = tmp_path / "own.jsonl"
    file.write_text('{"question": "a?", "answer": "1", "kind": "x"}\n{"question": "b?", "answer": "2"}\n', "utf-8")
    found = training_sample(str(file), tmp_path, count=5, seed=0)
    assert (found.whole, sorted(task.kind for task in found.tasks)) == (2, ["own", "x"])
    assert [task.kind for task in training_sample("simulated", tmp_path, count=4, seed=1).tasks] == [
        "math", "code", "lookup", "reasoning"]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "count", "said"), [("domains", 3, "orchestrator's"), (None, 0, "1 to 200"), ("gone.jsonl", 3, "gone")]
)
def test_what_cannot_be_read_is_named(tmp_path, source, count, said):
    with pytest.raises(BadInput, match=said):
        training_sample(source, tmp_path, count=count, seed=0)
