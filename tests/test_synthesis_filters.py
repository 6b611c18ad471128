"""The filters reject what they are for, each with its reason; the solver sees no more than an agent does."""

from dataclasses import replace

import pytest
import synthesising

from orchestra_lib.environment.assignment import AssignmentKind, GoldenCall, Information, write_assignments
from orchestra_lib.environment.success import Judge
from orchestra_lib.synthesis.pipeline import Accepted
from orchestra_lib.synthesis.trace import Known, Trace
from orchestra_lib.synthesis.verifying import verify


def writing():
    """A task with at least two writes, a write its last call."""
    writes = {one.name for one in synthesising.pipeline().place({}).composer.routes.writes}
    several = [one for one in synthesising.tasks(12) if one.difficulty.get("writes", 0) > 1]
    return next(one for one in several if one.golden[-1].operation in writes)


def changed(task, place, **arguments):
    golden = list(task.golden)
    golden[place] = replace(golden[place], arguments={**golden[place].arguments, **arguments})
    return replace(task, golden=tuple(golden))


def failure(task):
    return synthesising.place(task).filters.executable(task)


def test_accepted_tasks_pass():
    for task in synthesising.tasks(6):
        assert failure(task) is None


def test_a_golden_call_that_fails_is_named():
    task = writing()
    last = len(task.golden) - 1
    found = failure(changed(task, last, **{next(iter(task.golden[last].arguments)): "nothing"}))
    assert (found.filter, found.reason) == ("golden", "a golden call fails")
    assert f"golden call {last + 1}" in found.detail


def test_an_argument_from_nowhere_is_named():
    task = writing()
    other = next(one for one in synthesising.tasks(12) if one.golden[0].arguments != task.golden[0].arguments)
    found = failure(replace(task, golden=(other.golden[0], *task.golden)))
    assert (found.filter, found.reason) == ("solvable", "an argument without a source")


@pytest.mark.parametrize(("golden", "reason"), [((), "doing nothing succeeds"), (slice(0, 1), "reading only succeeds")])
def test_what_is_free_is_rejected(golden, reason):
    task = writing()
    calls = () if golden == () else task.golden[golden]
    assert failure(replace(task, golden=calls, required=())).reason == reason


def test_a_question_without_an_answer_is_free():
    drawn = (one.assignment for one in synthesising.pipeline().candidates() if isinstance(one, Accepted))
    task = next(one for one in drawn if one.kind is not AssignmentKind.WRITE)
    assert failure(task) is None
    assert failure(replace(task, required=())).reason == "reading only succeeds"


def test_a_write_that_makes_no_difference_is_rejected():
    task = next(one for one in synthesising.tasks(12) if one.difficulty.get("writes") == 1)
    profile = synthesising.place(task).world.state()
    found = synthesising.place(task).world.operations.run(profile, task.golden[0].operation, task.golden[0].arguments)
    key = found["passenger_id"]
    mail = {"passenger_id": key, "email": "first.new@example.org"}
    first = GoldenCall(operation="update_passenger_email", arguments=mail)
    second = replace(first, arguments={**mail, "email": "second.new@example.org"})
    text = f"{task.instruction} first.new@example.org second.new@example.org"
    doubled = replace(task, instruction=text, golden=(*task.golden, first, second))
    rejected = failure(doubled)
    assert (rejected.filter, rejected.reason) == ("discriminative", "leaving a write out makes no difference")


def test_the_solver_without_slips_solves_and_needs_the_user():
    task = next(one for one in synthesising.tasks(12) if len(one.facts) > 1)
    place = synthesising.place(task)
    assert place.filters.solvable(task, place.solver.play) == (None, pytest.approx(1, abs=7))
    deaf = replace(task, facts=())
    failed, tried = place.filters.solvable(deaf, place.solver.play, tries=3)
    assert (failed.reason, tried) == ("no try of the solver succeeds", 0)


def test_another_agent_may_be_put_in_the_solvers_place():
    task = writing()
    place = synthesising.place(task)
    seen = []

    def play(assignment, number):
        seen.append(number)
        state = place.world.state()
        for call in assignment.golden if number == 3 else ():
            place.world.operations.run(state, call.operation, call.arguments)
        return state, [" ".join(f"{one.unit or ''}{one.value} {one.unit or ''}" for one in assignment.required)]

    assert place.filters.solvable(task, play) == (None, 3)
    assert seen == [1, 2, 3]


def test_what_the_solver_knows_is_what_it_was_shown():
    task = writing()
    place = synthesising.place(task)
    trace = Trace(place.world, place.composer.routes)
    assert not list(Known(trace).records("bookings"))
    trace.do(task.golden[0].operation, task.golden[0].arguments)
    known = Known(trace)
    assert [list(one) for one in known.records("passengers")] == [["passenger_id"]]
    booking = next(iter(place.world.records["bookings"]))
    assert known.find("bookings", booking) is None
    assert not list(known.among("bookings", "booking_id", booking))


def test_tampered_tasks_in_files_are_named(tmp_path):
    tasks = synthesising.tasks(5)
    tampered = [
        tasks[0],
        replace(tasks[1], id="no-words", instruction="Hello.", facts=(), followups=()),
        replace(tasks[2], id="no-world", domain="nowhere"),
        replace(tasks[3], id="wrong", required=(*tasks[3].required, Information(value=987654, unit="$"))),
        replace(tasks[4], id="cut", golden=tasks[4].golden[:1], required=()),
    ]
    write_assignments(tampered, tmp_path / "tasks.jsonl")
    found = {one.assignment.id: one.failure and one.failure.filter for one in verify([tmp_path / "tasks.jsonl"])}
    assert found[tasks[0].id] is None
    assert found["no-words"] == "solvable"
    assert found["no-world"] == "golden"
    assert found["wrong"] == "solvable"
    assert found["cut"] == "not free"


def test_golden_and_judge_agree():
    task = writing()
    judge = Judge(synthesising.place(task).world, task)
    assert len(judge.golden.results) == len(task.golden)
