"""Grading runs: by themselves when they end, afterwards by check, judge or person; nothing hides an earlier grade."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from judging import Judge, verdict
from scripted_workbench import scripted_workbench

from orchestra_lib.check import Check, CheckKind
from orchestra_lib.errors import BadInput
from orchestra_lib.event import Graded, fold
from orchestra_lib.grading import Wish, checked_by, grade, graded_by
from orchestra_lib.judge.calibrating import Labelled, padded, rate
from orchestra_lib.judge.state import Found
from orchestra_lib.unfolding import unfold
from orchestra_lib.workbench import Order

SUM = "What is 48213 * 977?"


@pytest.fixture
def bench(tmp_path):
    made = scripted_workbench(tmp_path, pace_s=0.0)
    yield made
    made.store.close()


def play(bench, task=SUM, **order):
    async def events():
        return [event async for event in bench.play(Order(task=task, orchestrator="scripted", **order))]

    return asyncio.run(events())


def test_a_run_with_a_reference_is_graded_when_it_ends(bench):
    events = play(bench, reference="47,104,101")
    assert isinstance(events[-1], Graded)
    assert (events[-1].grade.by, events[-1].grade.outcome) == ("numeric", True)
    assert "as the reference is a number" in events[-1].grade.reason
    (listed,) = bench.store.list()
    assert listed.outcome is True
    assert bench.store.get(listed.id) == bench.journal.trajectory(listed.id) == fold(e for e in events)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


def test_a_clock_that_is_set_forward_while_a_run_goes_on_does_not_date_its_grade(bench):
    """Times of a run are those of its own clock; the time of day only says when it began."""
    times = iter(range(10))
    bench._now = lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=next(times))
    told = play(bench, reference="47104101")
    assert isinstance(told[-1], Graded)
    assert told[-1].t_s < 3600


def test_a_named_check_is_used_with_its_parameters(bench):
    check = Check(kind=CheckKind.NUMERIC, tolerance=0.1)
    assert fold(play(bench, reference="48 million", check=check)).outcome is True
    assert fold(play(bench, reference="48 million")).outcome is False


@pytest.mark.parametrize("order", [{}, {"check": Check(kind=CheckKind.MODEL, model="fair"), "reference": "1"}])
def test_what_needs_a_judge_waits_until_somebody_asks(bench, order):
    assert fold(play(bench, **order)).grades == ()
    assert bench.roster.judges["fair"].asked == []


@pytest.mark.parametrize("task", ["fault, please"])
def test_a_run_that_the_world_ended_is_not_graded(bench, task):
    run = fold(play(bench, task, reference="1"))
    assert (run.outcome, run.grades) == (None, ())
    with pytest.raises(BadInput, match="ended by fault"):
        asyncio.run(bench.grade(run.id, Wish()))
    bench.grade_by_person(run.id, "person:Ada", "not_solved")
    assert bench.store.get(run.id).outcome is False


def test_a_run_that_ran_out_of_turns_is_not_solved(bench):
    from orchestra_lib.limits import Limits

    run = fold(play(bench, reference="1", limits=Limits(max_turns=1)))
    assert (run.status, run.outcome) == ("max_turns", False)
    assert "no answer" in run.grades[0].reason


def test_a_reference_that_its_check_cannot_use_stops_the_run_before_it_starts(bench):
    with pytest.raises(BadInput, match="is no number"):
        play(bench, reference="many", check=Check(kind=CheckKind.NUMERIC))
    assert bench.store.count() == 0


def test_grades_are_kept_and_the_last_one_counts(bench):
    run = fold(play(bench, reference="47104101"))
    bench.grade_by_person(run.id, "person:Ada", "not_solved", "rounded")
    assert bench.store.get(run.id).outcome is False
    bench.grade_by_person(run.id, "person:Ada", "unknown")
    graded = bench.store.get(run.id)
    assert graded.outcome is None
    assert [(one.by, one.outcome) for one in graded.grades] == [
        ("numeric", True), ("person:Ada", False), ("person:Ada", None),
    ]  # fmt: skip
    rows = bench.store.query("SELECT graded_by, outcome FROM grades ORDER BY position").rows
    assert list(rows) == [("numeric", True), ("person:Ada", False), ("person:Ada", None)]
    assert fold(unfold(graded)) == graded


def test_what_a_judge_took_stands_apart_and_is_priced(bench):
    run = fold(play(bench))
    asyncio.run(bench.grade(run.id, Wish(by="model:fair")))
    judged = bench.store.get(run.id)
    assert (judged.outcome, judged.grades[0].by) == (True, "model:fair")
    assert judged.bill().cost_usd == run.bill().cost_usd
    assert judged.bill().judge[0].cost_usd == pytest.approx(110 * 0.18e-6)


@pytest.mark.parametrize("reply", ["prose", OSError("no route")])
def test_a_judge_that_fails_changes_no_outcome(bench, reply):
    run = fold(play(bench, reference="47104101"))
    bench.roster.judges["bad"] = Judge(reply)
    event = asyncio.run(bench.grade(run.id, Wish(by="model:bad")))
    assert event.grade is None
    judged = bench.store.get(run.id)
    assert (judged.outcome, len(judged.grades)) == (True, 1)
    assert judged.judge_faults == (event.fault,)
    assert judged.faults == ()
    assert judged.judge_attempts
    assert fold(unfold(judged)) == judged


def test_the_database_speaks_for_itself_condition_by_condition(bench):
    class Database:
        def __init__(self, **holds):
            self.look = lambda trajectory: Found(conditions=holds)

    run = fold(play(bench))

    def outcome(**holds):
        wish = Wish(by="state")
        marked = asyncio.run(grade(run, wish, models=dict.get, now=bench._now, environment=Database(**holds)))
        return marked.grade.outcome, dict(marked.grade.conditions)

    assert outcome(db=True, calls=True) == (True, {"db": True, "calls": True})
    assert outcome(db=True, calls=False, said=None)[0] is False
    assert outcome(db=True, calls=None)[0] is None
    with pytest.raises(BadInput, match="no database to look at"):
        asyncio.run(bench.grade(run.id, Wish(by="state")))


@pytest.mark.parametrize("by", ["", "gut", "model:", "person: ", "person:" + "x" * 81, "model:a\x1b[31m", "model"])
def test_a_grader_that_there_is_not_is_refused(by):
    with pytest.raises(BadInput):
        checked_by(by)


@pytest.mark.parametrize(
    ("who", "outcome", "reason"),
    [("Ada", "solved", None), ("person:Ada", "perhaps", None), ("person:Ada", "solved", "x" * 2001)],
)
def test_a_person_gives_a_name_an_outcome_and_a_short_reason(bench, who, outcome, reason):
    run = fold(play(bench))
    with pytest.raises(BadInput):
        bench.grade_by_person(run.id, who, outcome, reason)
    assert bench.store.get(run.id).grades == ()


def test_a_short_reference_among_other_words_is_left_to_people(bench):
    run = fold(play(bench, "parallel", reference="answered"))
    assert run.grades[0].outcome is None
    assert graded_by(run, Wish()) is False
    assert graded_by(run, Wish(by="model:fair")) is False


def test_another_process_sees_a_grade_at_once(bench, tmp_path):
    run = fold(play(bench))
    assert bench.store.list()[0].outcome is None
    code = (
        "import sys; from datetime import UTC, datetime; from orchestra_lib.grade import Grade\n"
        "from orchestra_lib.store.store import Store\n"
        "with Store.open(sys.argv[1]) as store:\n"
        "    store.grade(sys.argv[2], Grade(at=datetime.now(UTC), by='person:Bo', outcome=True))\n"
        "    store.write_note(sys.argv[2], 'from elsewhere')"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path), run.id], check=True)
    assert bench.store.list()[0].outcome is True
    assert bench.store.note_of(run.id).text == "from elsewhere"


def test_half_a_grade_that_a_crash_left_is_overwritten(bench):
    run = fold(play(bench))
    with bench.journal.path(run.id).open("ab") as file:
        file.write(b'{"schema":1,"kind":"graded","seq":9')
    bench.grade_by_person(run.id, "person:Ada", "solved")
    assert bench.store.get(run.id).outcome is True
    assert bench.journal.load(run.id).torn_bytes == 0


def test_a_note_is_one_text_that_can_be_taken_away(bench):
    run = fold(play(bench))
    assert bench.store.write_note(run.id, " look\nagain ").text == "look\nagain"
    bench.store.write_note(run.id, "second")
    bench.store.rebuild()
    assert bench.store.note_of(run.id).text == "second"
    assert bench.store.write_note(run.id, "  ") is None
    with pytest.raises(BadInput, match="keep it under 20,000"):
        bench.store.write_note(run.id, "x" * 20_001)
    with pytest.raises(BadInput, match="no run 'nope'"):
        bench.store.write_note("nope", "x")


def test_a_judge_is_asked_three_times_about_a_labelled_answer():
    model = Judge(lambda request: verdict("correct" if "helps to go through" in str(request.messages) else "incorrect"))
    rated = asyncio.run(rate(model, Labelled(task="t", answer="5", reference="4", human=False)))
    assert (rated.rating.judge, rated.rating.swapped, rated.rating.padded) == (False, False, True)
    assert (len(rated.attempts), rated.faults) == (3, ())
    assert len(padded("x" * 900)) > 1_800


def test_a_grade_that_is_still_to_come_is_seen_when_it_has(bench):
    """Whoever lists runs between the end of one and its own grade looks again."""
    *events, graded = play(bench, reference="47104101")
    run_id = events[0].setting.run_id
    bench.store.delete(run_id)
    bench.store.trash.purge(run_id)
    with bench.journal.open(run_id) as writer:
        for event in events:
            writer.append(event)
        assert bench.store.list()[0].outcome is None
        writer.append(graded)
    assert bench.store.list()[0].outcome is True
