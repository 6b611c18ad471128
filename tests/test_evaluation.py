"""Evaluation: what a report says of runs, budgets and interruptions, with scripted orchestrators and the real loop."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from test_openai_compatible import FINE, http, model, serving

from orchestra_lib.chat import CallStyle
from orchestra_lib.errors import BadInput, ProviderFault
from orchestra_lib.evaluation.intervals import difference, figure, holm, sign_flip
from orchestra_lib.evaluation.plan import Conditions, held
from orchestra_lib.evaluation.purse import Purse
from orchestra_lib.evaluation.running import Wanted, evaluate
from orchestra_lib.evaluation.suites import load_suite
from orchestra_lib.limits import Limits
from orchestra_lib.orchestrators import Offer
from orchestra_lib.policy.chat_model import ChatPolicy
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.protocols import PolicySpec
from orchestra_lib.store.summary import Filter
from orchestra_lib.workbench import Workbench

ROOT = Path(__file__).resolve().parent.parent
DATA = Path("/work/shared/data")


class Others:
    """Orchestrators of a test by name; a policy that is an error is raised from its first turn."""

    def __init__(self, **policies):
        self.policies = policies

    def offers(self):
        return tuple(Offer(name=name, title=name, note="a test's") for name in self.policies)

    def policy(self, name):
        return self.policies[name]


class Broken(Scripted):
    """An endpoint that dies after so many replies."""

    def __init__(self, lives):
        super().__init__(["42"], name="broken")
        self.lives = lives

    async def act(self, situation):
        if self.lives <= 0:
            raise ProviderFault("connection refused; is the server running?")
        self.lives -= 1
        async for part in super().act(situation):
            yield part


def questions(folder, count=6, answer="42"):
    file = folder / "tasks.jsonl"
    rows = [{"question": f"Say {n} once.", "answer": answer} for n in range(count)]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return file


def evaluated(home, suite, *, others=None, out=None, told=lambda step: None, **wanted):
    """The report of an evaluation in a workbench of its own."""
    conditions = wanted.pop("conditions", None) or Conditions(suite=suite.name, tools=suite.tools or ())

    async def go():
        workbench = Workbench(home)
        workbench.roster.others.append(others or Others())
        try:
            given = Wanted(suite=suite, conditions=conditions, **wanted)
            return await evaluate(workbench, given, out or home / "out", begins=lambda outlook: True, told=told)
        finally:
            await workbench.close()

    return asyncio.run(go())


def test_a_report_of_two_orchestrators_says_what_their_runs_came_to(tmp_path):
    suite = load_suite(str(questions(tmp_path)), tmp_path)
    others = Others(right=Scripted(["42"], name="right"), wrong=Scripted(["41"], name="wrong"))
    made = evaluated(tmp_path, suite, others=others, orchestrators=("right", "wrong"), seeds=2)
    right, wrong = made.lines
    assert (right.solved, right.done, wrong.solved, made.complete) == (12, 12, 0, True)
    accuracy = right.figures["accuracy"]
    assert accuracy.mean == accuracy.high == 1.0
    assert 0.5 < accuracy.low < 1.0, "six tasks do not prove that all are solved"
    assert (accuracy.spread.sd, right.undecided, right.stops) == (0.0, 0, {"answered": 12})
    (pair,) = made.pairs
    assert pair.differences["accuracy"].mean == 1.0
    assert pair.differences["accuracy"].p == pytest.approx(2 / 2**6)


def test_every_run_is_a_trajectory_that_its_tags_lead_to(tmp_path):
    suite = load_suite(str(questions(tmp_path, 3)), tmp_path)
    made = evaluated(tmp_path, suite, others=Others(one=Scripted(["42"], name="one")), orchestrators=("one",), seeds=1)
    with Workbench(tmp_path).store as store:
        assert store.count(Filter(tag="eval:tasks")) == store.count(Filter(tag=made.id)) == 3
    report = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert report["id"] == made.id


def test_more_tasks_and_orchestrators_go_on_from_what_is_there(tmp_path):
    file, played = questions(tmp_path), []
    others = Others(one=Scripted(["42"], name="one"), two=Scripted(["42"], name="two"))
    for limit, names in ((2, ("one",)), (4, ("one",)), (4, ("one", "two"))):
        suite = load_suite(str(file), tmp_path, limit=limit)
        steps = []
        made = evaluated(tmp_path, suite, others=others, orchestrators=names, seeds=1, told=steps.append)
        played.append(len(steps))
        assert made.complete
    assert played == [2, 2, 4]


def test_other_conditions_are_refused_in_the_same_folder(tmp_path):
    suite = load_suite(str(questions(tmp_path, 2)), tmp_path)
    others = Others(one=Scripted(["42"], name="one"))
    evaluated(tmp_path, suite, others=others, orchestrators=("one",), seeds=1)
    with pytest.raises(BadInput, match=r"limits .*not be comparable; ask for the same, or name another folder"):
        evaluated(
            tmp_path, suite, others=others, orchestrators=("one",), seeds=1,
            conditions=Conditions(suite=suite.name, tools=(), limits=Limits(max_turns=3)),
        )  # fmt: skip


def test_an_endpoint_that_dies_halfway_is_given_up_and_gone_on_with_later(tmp_path):
    suite = load_suite(str(questions(tmp_path, 20)), tmp_path)
    asked = {"orchestrators": ("broken", "one"), "seeds": 1, "concurrency": 1}
    fine = Scripted(["42"], name="one")
    made = evaluated(tmp_path, suite, others=Others(broken=Broken(8), one=fine), **asked)
    broken, one = made.lines
    assert (broken.done, broken.faults, broken.not_played) == (8, 5, 7)
    assert (one.done, made.complete) == (20, False)
    assert "connection refused" in broken.given_up
    assert broken.figures["accuracy"].of == 8, "a fault says nothing about the orchestrator"
    assert broken.rates["faults"].mean == pytest.approx(5 / 13)
    assert broken.rates["faults"].low < 5 / 13 < broken.rates["faults"].high
    assert {*broken.rates} == {"ungraded", "faults", "answered", "fault"}
    steps = []
    again = evaluated(tmp_path, suite, others=Others(broken=Broken(99), one=fine), told=steps.append, **asked)
    assert (len(steps), again.complete, again.lines[0].done, again.played_again) == (12, True, 20, 5)


def test_an_unknown_cost_and_a_missing_verdict_stand_beside_the_means(tmp_path):
    suite = load_suite(str(questions(tmp_path, 4, "a river that runs through the town " * 3)), tmp_path)
    made = evaluated(tmp_path, suite, others=Others(one=Scripted(["42"], name="one")), orchestrators=("one",), seeds=1)
    (line,) = made.lines
    assert (line.done, line.ungraded) == (4, 4)
    assert (line.figures["accuracy"].mean, line.figures["accuracy"].unknown) == (None, 4)


def test_a_budget_holds_and_a_higher_one_goes_on(tmp_path):
    suite = load_suite("simulated", tmp_path, limit=24)
    conditions = Conditions(suite=suite.name, tools=("sim:strongest",), limits=Limits(cost_usd=0.2))
    asked = {"orchestrators": ("strongest",), "seeds": 1, "concurrency": 2, "conditions": conditions}
    made = evaluated(tmp_path, suite, budget_usd=0.5, **asked)
    assert 0 < made.spent_usd <= 0.5
    assert made.lines[0].not_played > 0
    assert "the budget of $0.5 ended it" in made.notes[0]
    again = evaluated(tmp_path, suite, budget_usd=50.0, **asked)
    assert (again.complete, again.played_again) == (True, 0)


def test_limits_that_contradict_each_other_start_nothing(tmp_path):
    suite = load_suite("simulated", tmp_path, limit=2)
    with pytest.raises(BadInput, match="none could begin; lower --cost-limit or raise --budget-usd"):
        evaluated(
            tmp_path, suite, orchestrators=("strongest",), budget_usd=0.1,
            conditions=Conditions(suite=suite.name, tools=("sim:strongest",), limits=Limits(cost_usd=0.2)),
        )  # fmt: skip
    with pytest.raises(BadInput, match="is given twice"):
        evaluated(tmp_path, suite, orchestrators=("strongest", "strongest"))
    with pytest.raises(BadInput, match="there is no orchestrator 'nobody'"):
        evaluated(tmp_path, suite, orchestrators=("nobody",))
    assert not (tmp_path / "out").exists()


def test_a_journal_that_a_kill_left_empty_is_in_nobodys_way(tmp_path):
    suite = load_suite(str(questions(tmp_path, 2)), tmp_path)
    asked = {"others": Others(one=Scripted(["42"], name="one")), "orchestrators": ("one",), "seeds": 1}
    made = evaluated(tmp_path, suite, **asked)
    with Workbench(tmp_path).store as store:
        (gone, _) = store.list(Filter(tag=made.id))
        store.delete(gone.id)
    (tmp_path / "journals" / f"{gone.id}.jsonl").touch()
    again = evaluated(tmp_path, suite, **asked)
    assert (again.complete, again.lines[0].done, again.played_again) == (True, 2, 1)


def test_a_key_over_its_quota_keeps_the_finished_part_and_says_why(tmp_path):
    suite = load_suite(str(questions(tmp_path, 20, "Hello")), tmp_path)
    empty = http(429, b'{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}')

    async def go(*replies):
        async with serving(*replies) as server:
            spec = PolicySpec(name="keyed", priced_as="priced", max_input_tokens=4000, max_output_tokens=100)
            workbench = Workbench(tmp_path)
            workbench.roster.others.append(Others(keyed=ChatPolicy(spec, model(server), style=CallStyle.NATIVE)))
            wanted = Wanted(
                suite=suite, conditions=Conditions(suite=suite.name, tools=()), orchestrators=("keyed",), seeds=1,
                concurrency=1,
            )  # fmt: skip
            folder = tmp_path / "out"
            try:
                return await evaluate(workbench, wanted, folder, begins=lambda _: True, told=lambda _: None)
            finally:
                await workbench.close()

    made = asyncio.run(go(FINE, FINE, FINE, empty))
    (line,) = made.lines
    assert (line.solved, line.faults, line.not_played) == (3, 5, 12)
    assert "exceeded your current quota (the server is busy or the quota is used up" in line.given_up
    again = asyncio.run(go(FINE))
    assert (again.complete, again.lines[0].solved, again.played_again) == (True, 20, 5)


@pytest.mark.parametrize("name", ["simulated", "own"])
def test_a_kill_between_the_end_of_a_run_and_its_grade_leaves_nothing_ungraded(tmp_path, name):
    suite = load_suite(name if name == "simulated" else str(questions(tmp_path, 3)), tmp_path, limit=3)
    asked = {"others": Others(one=Scripted(["42"], name="one")), "seeds": 1}
    asked["orchestrators"] = ("cheapest",) if name == "simulated" else ("one",)
    made = evaluated(tmp_path, suite, **asked)
    for journal in (tmp_path / "journals").glob("*.jsonl"):
        *before, last = journal.read_text("utf-8").splitlines(keepends=True)
        assert '"graded"' in last
        journal.write_text("".join(before), "utf-8")
    again = evaluated(tmp_path, suite, **asked)
    assert (again.lines[0].ungraded, again.played_again) == (0, 0)
    assert again.lines[0].solved == made.lines[0].solved


COMMAND = [
    sys.executable, "-m", "orchestra_lib", "eval", "simulated", "--limit", "16", "--seeds", "2", "--concurrency", "2",
    "--orchestrator", "cheapest", "--orchestrator", "random", "--json",
]  # fmt: skip


@pytest.mark.timeout(300)  # three programs, on a busy machine too
def test_kill_9_loses_nothing_that_was_done_and_the_report_is_the_same(tmp_path):
    def begin(home):
        return subprocess.Popen(
            COMMAND, env={**os.environ, "ORCHESTRA_HOME": str(tmp_path / home)}, cwd=ROOT,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def report(home):
        said, told = begin(home).communicate()
        assert said, told.decode()
        return json.loads(said)

    killed, journals = begin("killed"), tmp_path / "killed" / "journals"
    while killed.poll() is None and len([*journals.glob("*.jsonl")]) < 12:
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    begun = len([*journals.glob("*.jsonl")])
    resumed, whole = report("killed"), report("whole")
    assert begun >= 12
    assert resumed["complete"]
    assert resumed["played_again"] <= 2, "only what went on when it died"
    for ours, theirs in zip(resumed["lines"], whole["lines"], strict=True):
        for same in ("orchestrator", "solved", "done", "ungraded", "undecided", "stops"):
            assert ours[same] == theirs[same]
        for what in ("accuracy", "cost_cents", "calls", "output_tokens"):
            assert ours["figures"][what] == theirs["figures"][what]


def test_figures_of_known_values():
    values = np.array([[1.0, 0.0], [1.0, 1.0], [np.nan, np.nan], [0.0, np.nan]])
    one = figure(values, 6)
    assert one.mean == pytest.approx((0.5 + 1 + 0) / 3)
    assert (one.of, one.unknown) == (5, 1)
    assert one.spread.least == pytest.approx(0.5)
    assert one.low < one.mean < one.high
    assert figure(values, 6) == one, "the same runs, the same lots"


def test_a_bootstrap_interval_covers_as_often_as_it_says():
    dice, within = np.random.default_rng(1), 0
    for _ in range(100):
        one = figure(dice.binomial(1, 0.4, size=(60, 1)).astype(float), 60, shares=True)
        within += one.low <= 0.4 <= one.high
    assert within >= 88


def test_sign_flips_are_mcnemars_exact_test_and_holm_never_lowers():
    apart = np.array([1.0] * 8 + [-1.0] * 2 + [0.0] * 5)
    exact = 2 * (1 + 10 + 45) / 2**10
    assert sign_flip(apart) == pytest.approx(exact)
    assert sign_flip(np.tile(apart, 3)) < exact
    assert sign_flip(np.zeros(3)) == 1.0
    assert holm([0.01, None, 0.04, 0.03]) == [0.03, None, pytest.approx(0.06), pytest.approx(0.06)]
    assert difference(np.full((2, 1), np.nan), np.ones((2, 1))).tasks == 0


def test_a_purse_holds_the_worst_case_of_what_goes_on():
    async def go():
        purse = Purse(1.0, 0.4)
        assert [await purse.admit(), await purse.admit()] == [True, True]
        third = asyncio.create_task(purse.admit())
        await asyncio.sleep(0)
        assert not third.done()
        await purse.settle(0.1)
        assert await third
        await purse.settle(None)
        await purse.settle(0.4)
        assert purse.spent_usd == pytest.approx(0.9), "what is unknown counts with the most that it may be"
        assert not await purse.admit()

    asyncio.run(go())


@pytest.mark.parametrize(
    "text, why",
    [
        ('{"question": "a"}\n', "has the columns question"),
        ('{"question": "a", "answer": ""}\n', "no question to evaluate on"),
        ('{"question": "a", "answer": "1", "id": "x"}\n{"question": "b", "answer": "1", "id": "x"}\n', "line 2"),
        ("not json\n", "line 1 is no JSON"),
        ("", "has no rows"),
        ('{"golden": [], "domain": "railway"}\n', "id"),
    ],
)
def test_a_bad_file_is_refused_in_a_line(tmp_path, text, why):
    file = tmp_path / "bad.jsonl"
    file.write_text(text, "utf-8")
    with pytest.raises(BadInput, match=why) as told:
        load_suite(str(file), tmp_path)
    assert "\n" not in str(told.value)


def test_missing_answers_and_duplicates_are_left_out_and_counted(tmp_path):
    file = tmp_path / "some.jsonl"
    rows = [("a", "1"), ("a", "1"), ("b", None), ("c", "2")]
    file.write_text("".join(json.dumps({"question": q, "answer": a}) + "\n" for q, a in rows), "utf-8")
    suite = load_suite(str(file), tmp_path)
    assert [item.text for item in suite.items] == ["a", "c"]
    assert dict(suite.left_out) == {"no question or no answer": 1, "repeated": 1}


def test_a_sample_is_the_beginning_of_a_larger_one(tmp_path):
    file = str(questions(tmp_path, 50))
    few, more = (load_suite(file, tmp_path, limit=count).items for count in (5, 20))
    assert few == more[:5]
    assert load_suite(file, tmp_path, limit=5, draw=1).items != few


def test_hle_is_the_users_own_and_pictures_are_left_out(tmp_path):
    with pytest.raises(BadInput, match="hle does not ship"):
        load_suite("hle", tmp_path)
    (tmp_path / "suites").mkdir()
    rows = [{"id": "1", "question": "What?", "answer": "A", "image": ""}]
    rows.append({"id": "2", "question": "What is shown?", "answer": "B", "image": "data:image/png;base64,xyz"})
    (tmp_path / "suites" / "hle.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    suite = load_suite("hle", tmp_path)
    assert ([item.id for item in suite.items], dict(suite.left_out)) == (["1"], {"needs a picture": 1})


def test_domains_are_played_and_judged_in_their_domain(tmp_path):
    suite = load_suite("domains:railway", tmp_path, limit=2)
    others = Others(one=Scripted(["I can do nothing."], name="one"))
    made = evaluated(tmp_path, suite, others=others, orchestrators=("one",), seeds=1)
    (line,) = made.lines
    assert (line.done, line.ungraded, line.faults) == (2, 0, 0)
    with pytest.raises(BadInput, match="there are no assignments of 'nowhere'"):
        load_suite("domains:nowhere", tmp_path)


TOOLKIT = """
class Tools:
    def __init__(self, db): self.db = db
    def pay(self, name: str) -> str:
        'Pay somebody.'
        self.db["people"][name]["paid"] = True
        return "paid"
    pay.__tool__ = True
    pay.__tool_type__ = "write"
"""


def test_published_tasks_are_judged_by_the_database_they_leave(tmp_path):
    folder = tmp_path / "payroll"
    folder.mkdir()
    (folder / "db.json").write_text('{"people": {"Ada": {"paid": false}, "Bo": {"paid": false}}}')
    (folder / "policy.md").write_text("Pay whom you are asked to pay.")
    (folder / "tools.py").write_text(TOOLKIT, "utf-8")
    told = {"user_scenario": {"instructions": "Pay Ada."}}
    golden = {"actions": [{"name": "pay", "arguments": {"name": "Ada"}}]}
    tasks = [{"id": name, **told, "evaluation_criteria": golden} for name in "ab"]
    tasks.append({"id": "d", "user_scenario": {"instructions": "Ada, please."}, "evaluation_criteria": golden})
    tasks.append({**tasks[0], "id": "c", "initial_state": {"initialization_data": {}}})
    (folder / "tasks.json").write_text(json.dumps(tasks))
    suite = load_suite("toolscale", tmp_path, tau2=folder, toolkit=f"{folder / 'tools.py'}:Tools")
    assert dict(suite.left_out) == {"begins with a changed database": 1, "repeated": 1}
    others = Others(
        pays=Scripted([[("pay", {"name": "Ada"})], "Done."], name="pays"),
        errs=Scripted([[("pay", {"name": "Bo"})], "Done."], name="errs"),
    )
    made = evaluated(tmp_path, suite, others=others, orchestrators=("pays", "errs"), seeds=1)
    assert [(line.done, line.solved, line.ungraded) for line in made.lines] == [(2, 2, 0), (2, 0, 0)]
    assert "without a user" in made.notes[0]
    with pytest.raises(BadInput, match="give --tau2 FOLDER"):
        load_suite("toolscale", tmp_path)


@pytest.mark.parametrize("name, file, count", [("frames", "frames.jsonl", 824), ("gsm8k", "gsm8k_test.jsonl", 1319)])
def test_published_suites_are_read(tmp_path, name, file, count):
    if not (DATA / file).is_file():
        pytest.skip(f"no copy of {name} here")
    suite = load_suite(name, tmp_path, path=DATA / file, limit=5)
    assert (len(suite.items), suite.whole) == (5, count)


def test_two_processes_cannot_be_at_one_evaluation(tmp_path):
    words = "another process is at the evaluation"
    with held(tmp_path / "out"), pytest.raises(BadInput, match=words), held(tmp_path / "out"):
        pass
