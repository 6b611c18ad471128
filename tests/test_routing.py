"""Routers learn from outcomes who solves what, choose as the oracle does by what they learned, and a cascade agrees."""

import asyncio
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from playing import Echo, run
from simulating import expert, played

from orchestra_lib.errors import BadInput
from orchestra_lib.policy.conductor.estimator import WordEmbedder
from orchestra_lib.policy.conductor.examples import load_examples
from orchestra_lib.policy.routing.outcomes import SHIPPED, Outcome, known_outcomes, load_outcomes, of_examples, tabled
from orchestra_lib.policy.routing.router import KNN, METHODS, MF, Lessons, agree, cascade, router
from orchestra_lib.preference import Preference
from orchestra_lib.protocols import PreparedPolicy, ToolResult
from orchestra_lib.roster import Roster
from orchestra_lib.simulated_tasks import KINDS, simulated_tasks

MATHS = expert("maths", skills={"math": {"any": 1.0}, "code": {"any": 0.0}}, usd=1.0)
CODE = expert("code", skills={"math": {"any": 0.0}, "code": {"any": 1.0}}, usd=1.0)
DEAR = expert("dear", 1.0, usd=30.0)
EXPERTS = [MATHS, CODE, DEAR]


def tasks(seed, kind, count):
    return [one for one in simulated_tasks(seed, count * len(KINDS)) if one.kind == kind]


def outcomes():
    solved = {
        "math": {"sim_maths": 1.0, "sim_code": 0.0, "sim_dear": 1.0},
        "code": {"sim_maths": 0.0, "sim_code": 1.0, "sim_dear": 1.0},
    }
    return [Outcome(text=one.text, solved=solved[kind]) for kind in solved for one in tasks(1, kind, 40)]


@pytest.fixture(scope="module")
def lessons():
    return Lessons(outcomes(), WordEmbedder())


@pytest.mark.parametrize("method", METHODS)
def test_it_calls_the_cheap_tool_that_solved_tasks_like_this_one(lessons, method):
    wish = Preference(outcome=0.3, cost=1.0, latency=0.0)
    for kind, tool in (("math", "sim_maths"), ("code", "sim_code")):
        first = [
            played(router(method, lessons), EXPERTS, one.task, preference=wish).calls[0].call.tool
            for one in tasks(2, kind, 12)
        ]
        assert first.count(tool) >= 11


@pytest.mark.parametrize("method", METHODS)
def test_its_choice_follows_the_preference_and_says_what_it_rests_on(lessons, method):
    (one,) = tasks(2, "math", 1)
    wish = Preference(outcome=0.0, cost=0.0, latency=0.0, tools={"sim_dear": 1.0})
    generation = played(router(method, lessons), EXPERTS, one.task, preference=wish).turns[0].generation
    assert generation.calls[0].tool == "sim_dear"
    assert "80 recorded outcomes say right with chance" in generation.estimates[0].note


def test_it_is_fitted_when_it_is_prepared_and_embeds_the_task_alone_in_a_run():
    asked = []

    class Counting(WordEmbedder):
        def embed(self, texts):
            asked.append(len(texts))
            return super().embed(texts)

    policy = router(KNN, Lessons(outcomes(), Counting()))
    assert isinstance(policy, PreparedPolicy)
    asyncio.run(policy.prepare())
    assert asked == [80]
    played(policy, EXPERTS, tasks(2, "math", 1)[0].task)
    assert asked == [80, 1]


def test_a_tool_that_no_outcome_tells_of_is_chosen_last(lessons):
    (one,) = tasks(2, "math", 1)
    stranger = expert("stranger", 1.0, usd=0.001)
    generation = played(router(KNN, lessons), [stranger, MATHS], one.task).turns[0].generation
    assert generation.calls[0].tool == "sim_maths"
    assert generation.estimates[-1].note == "no recorded outcome tells of it"


def test_a_tool_that_was_tried_on_some_tasks_alone_is_learned_from_those():
    rows = [Outcome(text=f"add {n}", solved={"a": 1.0} | ({"b": 0.0} if n % 2 else {})) for n in range(30)]
    table = tabled(rows)
    assert np.isnan(table.solved_NM).sum() == 15
    for method in METHODS.values():
        chances = dict(zip(table.tools, method(table, WordEmbedder()).chances("add 5"), strict=True))
        assert chances["a"] > 0.8 > 0.2 > chances["b"]


@pytest.mark.parametrize("method", METHODS)
def test_chances_of_held_out_tasks_are_better_than_each_tools_mean(method):
    rows = load_outcomes(SHIPPED)
    learned, held_out = tabled(rows[:320]), tabled(rows[320:])
    model = METHODS[method](learned, WordEmbedder())
    chances_NM = np.array([model.chances(text) for text in held_out.texts])
    loss = np.mean((chances_NM - held_out.solved_NM) ** 2)
    assert loss < 0.8 * np.mean((learned.solved_NM.mean(axis=0) - held_out.solved_NM) ** 2)
    assert ((chances_NM > 0) & (chances_NM < 1)).all()


def test_what_ships_and_what_a_home_has_are_learned_from_and_judged_figures_are_not(tmp_path):
    (tmp_path / "routing").mkdir()
    own = {"text": "Who am I?", "solved": {"mine": 1.0}}
    (tmp_path / "routing" / "own.jsonl").write_text(json.dumps(own) + "\n", "utf-8")
    known = known_outcomes(tmp_path)
    assert known[-1].solved == {"mine": 1.0}
    assert known[0].simulated
    examples = {one.text: one for one in load_examples()}
    for one in of_examples(load_examples()):
        assert set(one.solved) <= set(examples[one.text].measured)
    assert {KNN, MF, "cascade"} <= {offer.name for offer in Roster(tmp_path).orchestrators() if offer.off is None}


@pytest.mark.parametrize(
    "line, words",
    [
        ('{"text": "a"', r"own.jsonl:2: not JSON"),
        ('{"text": "a", "solved": {"b": 2}}', r"own.jsonl:2: .*outcome of b = 2"),
        ('{"text": "a", "solved": {}, "kind": 1}', r"own.jsonl:2: .*kind"),
    ],
)
def test_a_line_that_is_no_outcome_is_named(tmp_path, line, words):
    (tmp_path / "own.jsonl").write_text(f'{{"text": "x", "solved": {{}}}}\n{line}\n', "utf-8")
    with pytest.raises(BadInput, match=words):
        load_outcomes(tmp_path)


def test_no_outcomes_at_all_are_refused():
    with pytest.raises(BadInput, match="no outcomes to learn from"):
        tabled([])


def said(text):
    async def call(word):
        return ToolResult(text=text, failed=not text)

    return call


def answered(*texts):
    """What a cascade makes of tools that say these, in the order of the offer, as none has a price."""
    return run(cascade(), [Echo(f"tool_{at}", said(text)) for at, text in enumerate(texts)])


@pytest.mark.parametrize(
    "texts, calls, answer",
    [
        (("It is 12.", "Answer: 12.0", "13"), 2, "Answer: 12.0"),
        (("11", "12", "The total is 1,100, so 11"), 3, "The total is 1,100, so 11"),
        (("1", "2", "3"), 3, "3"),
        (("", "Ada", "Answer: ada."), 3, "Answer: ada."),
        (("", ""), 2, "No answer: no tool on offer gave one."),
    ],
)
def test_a_cascade_asks_on_until_two_agree(texts, calls, answer):
    trajectory = answered(*texts)
    assert (len(trajectory.calls), trajectory.answer, trajectory.status) == (calls, answer, "answered")


@given(st.text(max_size=40), st.text(max_size=40))
def test_agreeing_is_symmetric_and_takes_no_silence(a, b):
    assert agree(a, b) == agree(b, a)
    assert not agree("", a) or any(sign.isalnum() or sign == "_" for sign in a)
