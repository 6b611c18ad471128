import asyncio
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.grading import grade, refuses, states  # noqa: E402  # benchmarks are no installed package
from orchestra_lib.policy.conductor.examples import load_examples  # noqa: E402
from orchestra_lib.toolkit.local_search import LocalSearch  # noqa: E402


def rows(name):
    return [json.loads(line) for line in (ROOT / "benchmarks" / "tasks" / f"{name}.jsonl").read_text().splitlines()]


TASKS, DEV = rows("embedded"), rows("dev")


def words(text):
    return set(re.findall(r"\w+", text.casefold()))


def particulars(text):
    """What makes a question this one: its names and numbers."""
    return set(re.findall(r"\b[A-Z]\w+|\d[\d,.]*\d|\d|\w+(?=\()", text[1:])) - {"Python"}


def alike(one, other):
    shared = len(words(one) & words(other)) / len(words(one) | words(other))
    return shared > 0.9 or (shared > 0.5 and bool(particulars(one)) and particulars(one) == particulars(other))


def test_there_are_enough_tasks_of_every_kind():
    count = {kind: sum(task["kind"] == kind for task in TASKS) for kind in {task["kind"] for task in TASKS}}
    assert len(TASKS) >= 60
    assert count["arithmetic"] + count["date"] >= 15
    assert (count["word_problem"], count["lookup"], count["multi"]) >= (10, 14, 10)
    assert min(count["code"], count["unanswerable"]) >= 8


def test_no_task_is_nearly_an_example_or_a_task_that_was_tuned_on():
    seen = [example.text for example in load_examples()] + [task["task"] for task in DEV]
    assert [(task["task"], text) for task in TASKS for text in seen if alike(task["task"], text)] == []


def test_every_fact_that_a_task_asks_for_stands_in_the_library():
    library = LocalSearch()
    for task in TASKS:
        for land, fact in task.get("facts", ()):
            passages = [hit.passage for hit in library.search(land, 3) if hit.passage.title == land]
            assert passages, f"{task['id']}: {land}"
            assert fact in passages[0].text, f"{task['id']}: {land} {fact}"
    assert all("facts" in task for task in TASKS if task["kind"] in ("lookup", "multi"))


@pytest.mark.parametrize(
    "answer, right",
    [
        ("47104101", True),
        ("It is 47,104,101.", True),
        ("12 or 13 or 47104101 or 14", False),
        ("47104102", False),
        ("", False),
        ("About 4.7e7", False),
        ("First 3 * 4 = 12.\nThen the sum is 47104101.", True),
    ],
)
def test_a_number_is_right_when_it_is_what_the_answer_says(answer, right):
    assert states(answer, 47104101, 0) is right


def test_a_refusal_that_names_a_figure_is_none():
    assert refuses("I cannot know this from here.")
    assert not refuses("I cannot be sure, but it is $412.30.")
    assert not refuses("Sunny.")


def test_words_that_must_not_occur_count():
    row = {"grade": {"any": ["Kenya"], "none": ["Poland has"]}}
    assert asyncio.run(grade(row, "Kenya (41,800,000)", None))
    assert not asyncio.run(grade(row, "Poland has more than Kenya", None))
