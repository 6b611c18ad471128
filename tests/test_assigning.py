"""Assignments as runs: played over the workbench, judged when they end, and judged again from the record."""

import asyncio
import json
from dataclasses import replace

import pytest
from domain_workbench import domain_workbench
from worlds import cancellation

from orchestra_lib.assigning import SAMPLE, Assignments
from orchestra_lib.configuration import order_of, to_toml
from orchestra_lib.environment.domain import DOMAINS
from orchestra_lib.environment.success import golden_of
from orchestra_lib.errors import BadInput
from orchestra_lib.event import fold
from orchestra_lib.grading import Wish
from orchestra_lib.workbench import Order


@pytest.fixture
def bench(tmp_path):
    made = domain_workbench(tmp_path)
    yield made
    made.store.close()


def play(bench, **order):
    async def collect():
        wanted = Order(**{"orchestrator": "worker", "assignment": "mock/mock-1", **order})
        return [event async for event in bench.play(wanted)]

    return fold(asyncio.run(collect()))


def test_a_run_that_does_its_assignment_is_graded_true_by_the_state(bench):
    run = play(bench)
    [grade] = run.grades
    assert (grade.by, grade.outcome) == ("state", True)
    assert dict(grade.conditions) == {"state": True, "said": True, "touched": True}
    assert bench.store.get(run.id).outcome is True
    assert run.bill().cost_usd is not None


def test_doing_nothing_is_graded_false_with_the_reasons(bench):
    run = play(bench, orchestrator="idle")
    [grade] = run.grades
    assert (grade.outcome, set(grade.conditions.values())) == (False, {False})
    assert "should have changed: bikes B104" in grade.reason
    assert "not said: what is paid back" in grade.reason


def test_a_run_keeps_what_it_takes_to_judge_it_again(bench, tmp_path):
    """The domain's files change afterwards, and it is judged as on its day."""
    run = play(bench)
    changed = tmp_path / "domains"
    (changed / "mock").mkdir(parents=True)
    (changed / "archetypes").symlink_to(DOMAINS / "archetypes")
    domain = json.loads((DOMAINS / "mock" / "domain.json").read_text("utf-8"))
    records = json.loads((DOMAINS / "mock" / "records.json").read_text("utf-8"))
    records["hires"]["H1003"]["status"] = "completed"
    (changed / "mock" / "domain.json").write_text(json.dumps(domain), "utf-8")
    (changed / "mock" / "records.json").write_text(json.dumps(records), "utf-8")
    later = Assignments(bench.home, changed)
    (bench.home / "toolscale" / "mock.jsonl").unlink()
    judged = later.judged(bench.store.get(run.id))
    assert (judged.verdict.success, judged.as_then) == (True, True)
    assert {(one.table, one.key) for one in judged.changed} == {(one.table, one.key) for one in judged.golden}
    next((bench.home / "worlds").glob("*.json.gz")).unlink()
    with pytest.raises(BadInput, match="golden call"):
        later.judged(run)


def test_the_same_run_again_has_its_assignment_whole(bench):
    run = play(bench)
    order = order_of(run.setting)
    assert (order.task, order.assignment) == ("", cancellation())
    assert "omar_haddad" in to_toml(order)
    assert play(bench, **{name: getattr(order, name) for name in ("assignment", "tools")}).outcome is True


def test_other_tools_stand_beside_the_domains(bench):
    run = play(bench, tools=("code_interpreter",))
    names = [spec.name for spec in run.setting.tools]
    assert names[-2:] == ["ask_user", "code_interpreter"]
    assert "cancel_hire" in names


def test_a_grade_on_request_is_the_same(bench):
    run = play(bench, orchestrator="idle")
    graded = asyncio.run(bench.grade(run.id, Wish(by="state")))
    assert graded.grade.outcome is False


@pytest.mark.parametrize(
    "order, words",
    [
        ({"assignment": "mock/none"}, "no assignment 'mock/none'"),
        ({"assignment": "../../etc/passwd/x"}, "no assignment"),
        ({"task": "And this?"}, "leave task, reference and check out"),
        ({"assignment": None, "task": "x", "user": "fair"}, "belongs to an assignment"),
        ({"orchestrator": "try-out"}, "without an assignment"),
        ({"protocol": "smoke"}, "no protocol"),
        ({"assignment": replace(cancellation(), domain="moon")}, "no domain 'moon'"),
        ({"assignment": replace(cancellation(), golden=cancellation().golden * 2)}, "golden call 10"),
    ],
)
def test_what_cannot_be_played_is_said_before_it_starts(bench, order, words):
    with pytest.raises(BadInput, match=words):
        play(bench, **order)
    assert bench.store.count() == 0


def test_without_an_assignment_and_a_task_nothing_starts(bench):
    with pytest.raises(BadInput, match="the task is empty"):
        play(bench, assignment=None)


def test_what_ships_can_be_played(bench):
    for file in SAMPLE.glob("*.jsonl"):
        for one in Assignments(bench.home / "none").of(file.stem):
            golden_of(bench.assignments.world(one.domain), one)
