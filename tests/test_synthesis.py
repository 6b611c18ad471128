"""Synthesis: tasks are functions of a seed, hold the quota, and say what they come from."""

import dataclasses

import pytest
import synthesising

from orchestra_lib.environment.assignment import AssignmentKind, read_assignments, to_line
from orchestra_lib.environment.domain import domain_names
from orchestra_lib.environment.success import Judge
from orchestra_lib.errors import BadInput
from orchestra_lib.synthesis.duplicates import distinct, near_duplicates
from orchestra_lib.synthesis.metrics import LABELS, measure, published, worse
from orchestra_lib.synthesis.pipeline import QUOTA, Accepted, Rejection, accept, pipeline_of, variants
from orchestra_lib.synthesis.producing import order_of, produce

SHIPPED = [name for name in domain_names() if name != "mock"]


def test_a_candidate_is_a_function_of_its_number():
    again = pipeline_of("railway", seed=7)
    for number in (9, 3, 5):
        assert again.candidate(number) == synthesising.pipeline().candidate(number)
    other = pipeline_of("railway", seed=8)
    assert [other.candidate(number) for number in range(4)] != [again.candidate(number) for number in range(4)]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_domain_gives_tasks(name):
    (task,) = synthesising.tasks(1, name)
    assert task.domain == name
    assert task.golden[0].operation.startswith("find_")
    assert Judge(synthesising.place(task).world, task).golden.results


@pytest.mark.parametrize("name", SHIPPED)
def test_every_write_of_a_domain_has_words(name):
    pipeline = synthesising.pipeline(name)
    lexicon = pipeline.place({}).composer.lexicon
    for one in lexicon.routes.writes:
        assert len(lexicon.operations.get(one.name, ())) >= 3, one.name


def test_tasks_without_a_write_stay_within_the_quota():
    found = list(accept(pipeline_of("finance", seed=3), 20))
    tasks = [one.assignment for one in found if isinstance(one, Accepted)]
    assert len(tasks) == 20
    assert sum(one.kind is not AssignmentKind.WRITE for one in tasks) <= 20 * QUOTA
    assert all(one.reason for one in found if isinstance(one, Rejection))
    assert len({one.words for one in tasks}) == 20


def test_difficulty_is_counted():
    parts = [task.difficulty for task in synthesising.tasks(12)]
    assert all(one["requests"] == len(task.intents) for one, task in zip(parts, synthesising.tasks(12), strict=True))
    assert {"described", "hidden", "policy_rules", "writes", "reads"} <= {name for one in parts for name in one}


def test_held_out_values_are_for_evaluation_only():
    domain = synthesising.pipeline().world.domain
    held_out = {one.name: set(one.held_out) for one in domain.parameters}
    found = variants(domain, 7)
    assert {one.split for one in found} == {"train", "eval"}
    for one in found:
        foreign = [name for name, value in one.changes.items() if value in held_out[name]]
        assert bool(foreign) is (one.split == "eval")
    assert {one.split for one in variants(synthesising.pipeline("weather").world.domain, 7)} == {"held_out"}


def test_what_is_not_drawn_says_why():
    found = [synthesising.pipeline().candidate(number) for number in range(40)]
    reasons = {one.reason for one in found if isinstance(one, Rejection) and one.stage == "drawn"}
    assert "the payment method makes no difference" in reasons


def test_an_order_is_written_twice_the_same_and_not_drawn_again(tmp_path):
    order, told = order_of("railway,finance", 9, 7), []
    report = produce(order, tmp_path / "a")
    produce(order, tmp_path / "b")
    for name in ("railway.jsonl", "finance.jsonl", "report.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert [len(list(read_assignments(tmp_path / "a" / f"{name}.jsonl"))) for name in order.domains] == [5, 4]
    assert report["total"]["accepted"] == 9
    assert set(report["metrics"]) == set(LABELS)
    (tmp_path / "a" / "finance.jsonl").write_text("", "utf-8")
    produce(order, tmp_path / "a", lambda *step: told.append(step))
    assert [step for step in told if step[1] < step[2]] == [("finance", 1, 4), ("finance", 2, 4), ("finance", 3, 4)]
    assert (tmp_path / "a" / "finance.jsonl").read_bytes() == (tmp_path / "b" / "finance.jsonl").read_bytes()


def test_an_order_of_what_is_not_there_is_refused():
    with pytest.raises(BadInput, match="mock"):
        order_of("mock", 3, 7)
    with pytest.raises(BadInput, match="at least one task"):
        order_of("all", 3, 7)
    assert sum(order_of("all", 4063, 7).parts.values()) == 4063


def test_metrics_stand_beside_published_ones():
    tasks = synthesising.tasks(12)
    ours = measure([synthesising.pipeline().world], tasks, tried={1: 11, 3: 1, 0: 1})
    assert ours["free"] == 0
    assert ours["golden_errors"] == 0
    assert ours["solved_first"] == pytest.approx(11 / 13, abs=1e-5)
    assert all("source" in one for one in published().values())
    assert any(line.startswith(LABELS["golden_mean"]) for line in worse({**ours, "golden_mean": 1.0}))
    spoiled = dataclasses.replace(tasks[0], golden=tasks[0].golden[1:2], required=())
    assert measure([synthesising.pipeline().world], [spoiled])["golden_mean"] == 1


def test_near_duplicates_are_found():
    texts = [to_line(task) for task in synthesising.tasks(6)]
    copy = texts[0].replace("Hello", "Hi") + " Thanks."
    assert near_duplicates(texts) == 0
    assert near_duplicates([*texts, copy]) == 2
    assert distinct(["a b a b"], 2) == pytest.approx(2 / 3)
    assert distinct([], 1) is None
