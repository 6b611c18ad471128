"""A model's proposals of tasks: executed before they count, rejected with a reason that goes back, never run."""

import asyncio
import json
from dataclasses import replace

import pytest
from proposing import LEXICON, MODEL, PRICES, WORLD, Proposer, good

from orchestra_lib.environment.assignment import AssignmentKind, to_line
from orchestra_lib.errors import BadInput, ContextOverflow, ProviderFault
from orchestra_lib.generation import Completion
from orchestra_lib.pricing import Attempt
from orchestra_lib.synthesis.filters import Filters
from orchestra_lib.synthesis.proposing.asking import Asker, Purse
from orchestra_lib.synthesis.proposing.journal import Journal
from orchestra_lib.synthesis.proposing.reading import proposed
from orchestra_lib.synthesis.proposing.run import Proposals, Wanted, rejections

FACTS = {"model": MODEL, "seed": 7}


def propose(folder, model, n=1, *, limit=None, jobs=1, evolve=0.0, repairs=2, prices=PRICES):
    with Journal(folder / "llm" / "mock.jsonl", FACTS) as journal:
        asker = Asker(model, journal, Purse(MODEL, prices, limit), repairs=repairs)
        wanted = Wanted(n=n, jobs=jobs, evolve=evolve)
        outcome = asyncio.run(Proposals(WORLD, LEXICON, asker, model=MODEL).run(wanted))
        return outcome, list(journal.tries), rejections(journal)


def bent(**changes):
    """A good task with some keys changed, by a function of it or to a value."""
    return lambda request: {
        key: value(task) if callable(value) else value
        for task in [good(request)]
        for key, value in {**task, **changes}.items()
    }


def test_good_proposals_become_tasks_that_pass_every_filter(tmp_path):
    outcome, tries, rejected = propose(tmp_path, Proposer(), 8)
    assert (len(outcome.tasks), outcome.slots, outcome.stopped, rejected) == (8, 8, None, {})
    filters = Filters(WORLD, LEXICON)
    assert [filters.executable(one) for one in outcome.tasks] == [None] * 8
    assert {one.kind for one in outcome.tasks} == {AssignmentKind.WRITE, AssignmentKind.REFUSAL}
    assert outcome.tasks[0].source == f"llm {MODEL}"
    assert all(one.last and one.proposal for one in tries)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("I would suggest a task about bikes.", "reply"),
        ('{"instruction": "I want to cancel my', "reply"),
        ('{"a": ' * 5000 + "1" + "}" * 5000, "reply"),
        ('{"instruction": "pay me ' + "9" * 5000 + '", "n": ' + "9" * 5000 + "}", "reply"),
        ("x" * 300_000, "reply"),
        ({"instruction": "Please do it now.", "golden": [{"operation": "__import__", "arguments": {}}]}, "golden"),
        (bent(golden=[{"operation": "eval", "arguments": {"expression": "1"}}]), "golden"),
        (bent(file="../../etc/passwd"), "form"),
        (bent(golden="rm -rf /"), "form"),
        (bent(instruction="<script>alert(1)</script> cancel my hire please"), "form"),
        (bent(instruction="Cancel my hire \x1b[31m right now please"), "form"),
        (bent(golden=lambda task: task["golden"][:-1]), "wish"),
        (bent(golden=lambda task: task["golden"][1:]), "policy"),
        (bent(golden=lambda task: [*task["golden"], task["golden"][-1]] * 8), "form"),
        (bent(facts=[]), "solvable"),
        (bent(required=[{"value": 123.45, "unit": "$", "what": "price"}]), "required"),
    ],
)  # fmt: skip
def test_what_is_no_task_is_rejected_with_its_kind_and_counted(tmp_path, reply, kind):
    said = json.dumps(reply) if isinstance(reply, dict) else reply
    outcome, tries, rejected = propose(tmp_path, model := Proposer(said), repairs=1)
    assert outcome.tasks == ()
    assert rejected == {kind: 2 * outcome.slots}
    again = model.asked[1].messages[-1]["content"]
    assert again.startswith(f"Rejected: {kind}: ")
    assert all(len(one.said) <= 2000 and one.proposal is None for one in tries)


def test_a_call_that_fails_or_breaks_the_policy_is_named_to_the_model(tmp_path):
    def unpayable(request):
        task = good(request)
        call = task["golden"][-1]
        return {**task, "golden": [*task["golden"][:-1], {**call, "arguments": {**call["arguments"], "days": 300}}]}

    _, tries, rejected = propose(tmp_path, Proposer(unpayable), repairs=0)
    assert rejected["policy"] >= 1
    assert any("A hire lasts at most" in one.reason for one in tries)


def test_half_a_proposal_is_repaired_by_its_reason(tmp_path):
    half = lambda request: json.dumps(good(request))[:200]  # noqa: E731
    outcome, tries, _ = propose(tmp_path, model := Proposer(half, good))
    assert len(outcome.tasks) == 1
    assert [one.reason is None for one in tries] == [False, True]
    assert "no JSON object that is whole" in model.asked[1].messages[-1]["content"]
    assert len(model.asked[1].messages) == 4


def test_a_reply_that_was_cut_off_is_no_proposal(tmp_path):
    class Cut(Proposer):
        async def stream(self, request):
            async for piece in super().stream(request):
                yield replace(piece, finish_reason="length") if isinstance(piece, Completion) else piece

    outcome, tries, _ = propose(tmp_path, Cut(), repairs=0)
    assert outcome.tasks == ()
    assert tries[0].reason == "reply: it was cut off at its longest; propose something shorter"


def test_a_killed_run_goes_on_and_gives_the_same_bytes(tmp_path):
    whole, _, _ = propose(tmp_path / "whole", Proposer(), 6)
    with pytest.raises(KeyboardInterrupt):
        propose(tmp_path / "killed", Proposer(good, good, raising(KeyboardInterrupt)), 6)
    file = tmp_path / "killed" / "llm" / "mock.jsonl"
    file.write_bytes(file.read_bytes() + b'{"slot": "mock/task/0000')  # and half a line
    outcome, _, _ = propose(tmp_path / "killed", model := Proposer(), 6)
    assert len(model.asked) == 4
    assert [to_line(one) for one in outcome.tasks] == [to_line(one) for one in whole.tasks]


def raising(error):
    def reply(_):
        raise error

    return reply


def test_what_ends_first_does_not_decide_the_order(tmp_path):
    class Uneven(Proposer):
        async def stream(self, request):
            await asyncio.sleep(0.02 / (1 + len(self.asked)))
            async for piece in super().stream(request):
                yield piece

    one, _, _ = propose(tmp_path / "one", Proposer(), 6)
    many, _, _ = propose(tmp_path / "many", Uneven(), 6, jobs=4)
    assert list(map(to_line, one.tasks)) == list(map(to_line, many.tasks))


def test_a_limit_holds_the_worst_case_and_counts_earlier_runs(tmp_path):
    outcome, tries, _ = propose(tmp_path, Proposer(), 6, limit=0.2)
    assert 0 < len(outcome.tasks) < 6
    assert "limit of $0.2" in outcome.stopped
    assert len(tries) * 0.011 <= 0.2  # 1,000 tokens in and 100 out at $10 a million each
    again, more, _ = propose(tmp_path, Proposer(), 6, limit=0.2)
    assert (len(more), again.tasks) == (len(tries), outcome.tasks)


def test_a_limit_without_a_price_is_refused(tmp_path):
    with pytest.raises(BadInput, match="cannot be kept"):
        propose(tmp_path, Proposer(), limit=1.0, prices=replace(PRICES, prices={}))


def test_a_model_that_cannot_be_reached_ends_the_run_and_its_slots_stay_open(tmp_path):
    with pytest.raises(ProviderFault):
        propose(tmp_path, Proposer(ProviderFault("down")), 5)
    outcome, tries, rejected = propose(tmp_path, Proposer(), 5)
    assert len(outcome.tasks) == 5
    assert sum(one.fault for one in tries) == 3
    assert rejected == {}


def test_a_request_that_is_too_long_closes_its_slot(tmp_path):
    class Short(Proposer):
        async def stream(self, request):
            self.asked.append(request)
            raise ContextOverflow("3,000 tokens do not fit")
            yield

    outcome, tries, _ = propose(tmp_path, model := Short(), 1)
    assert (outcome.tasks, outcome.slots, len(model.asked)) == ((), 3, 3)
    assert all(one.last and one.fault and "do not fit" in one.reason for one in tries)


def test_what_a_silent_model_may_have_cost_stays_held(tmp_path):
    class Silent(Proposer):
        async def stream(self, request):
            async for piece in super().stream(request):
                if isinstance(piece, Completion):
                    piece = replace(piece, attempts=(Attempt(priced_as=MODEL, wall_s=1.0),))
                yield piece

    outcome, _, _ = propose(tmp_path, Silent(), 6, limit=0.5)
    assert len(outcome.tasks) <= 3
    assert outcome.stopped


def test_a_journal_of_another_run_is_refused(tmp_path):
    propose(tmp_path, Proposer())
    with pytest.raises(BadInput, match="begun for something else"):
        Journal(tmp_path / "llm" / "mock.jsonl", {**FACTS, "seed": 8})


def test_two_runs_do_not_write_one_journal(tmp_path):
    with Journal(tmp_path / "j.jsonl", FACTS), pytest.raises(BadInput, match="another run"):
        Journal(tmp_path / "j.jsonl", FACTS)


def test_tasks_that_want_the_same_count_once(tmp_path):
    fixed = []

    def same(request):
        fixed.append(good(request))
        return fixed[0]

    outcome, _, rejected = propose(tmp_path, Proposer(same), 3, repairs=0)
    assert len(outcome.tasks) + outcome.twice <= 9
    assert len({to_line(one).partition('"golden"')[2] for one in outcome.tasks}) == len(outcome.tasks)
    assert rejected["wish"] >= 1


def test_evolution_must_make_a_task_harder(tmp_path):
    easy = []

    def stubborn(request):
        if "Make a harder one" in request.messages[1]["content"]:
            return easy[-1]
        easy.append(good(request))
        return easy[-1]

    _, _, rejected = propose(tmp_path, Proposer(stubborn), 3, evolve=1.0, repairs=0)
    assert rejected["evolution"] >= 2


def test_evolution_takes_a_harder_task(tmp_path):
    easy = []

    def willing(request):
        if "Make a harder one" not in request.messages[1]["content"]:
            easy.append(good(request))
            return easy[-1]
        task = easy[-1]
        email = task["golden"][0]["arguments"]["email"]
        zips = {one["email"]: one["zip"] for one in WORLD.records["members"].values()}
        fact = {"name": "zip", "says": f"My postal code is {zips[email]}.", "asked_by": ["zip"]}
        tier = {one["email"]: one["tier"] for one in WORLD.records["members"].values()}[email]
        told = {"value": tier, "unit": "", "what": "tier"}
        return {**task, "facts": [*task["facts"], fact], "required": [told]}

    outcome, tries, _ = propose(tmp_path, Proposer(willing), 6, evolve=1.0, repairs=0)
    evolved = [one for one in tries if "/evolution/" in one.slot and one.reason is None]
    assert evolved
    assert sum(len(one.facts) == 2 for one in outcome.tasks) == len(evolved)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ('{"a": 1} {"a": 2}', "2 JSON objects"),
        ('{"a": 1e300}', "beyond"),
        ('{"a": "%s"}' % ("x" * 5000), "characters"),
        ("[1, 2]", "no JSON"),
        ('{"a": NaN}', "whole"),
        ("{" + ", ".join(f'"k{n}": [1, 2, 3]' for n in range(8000)) + "}", "values"),
        ('{"a": ' * 60 + "1" + "}" * 60, "deep"),
    ],
)
def test_a_reading_says_what_is_wrong(reply, words):
    with pytest.raises(BadInput, match=words):
        proposed(reply)


def test_reasoning_and_a_code_fence_do_not_hide_an_object():
    assert proposed('<think>{"a": 1}</think>Here:\n```json\n{"a": 2}\n```') == {"a": 2}
