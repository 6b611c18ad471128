"""Sampled instances as exercises: played by scripts in the real loop, billed and judged as they are in training."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from playing import MemoryArtefacts

from orchestra_lib.codec import from_data
from orchestra_lib.errors import BadInput, ProviderFault
from orchestra_lib.event import fold
from orchestra_lib.generation import Completion
from orchestra_lib.play import play
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.pricing import Attempt, Usage
from orchestra_lib.training.sampled_course import SampledCourse, SampledSettings

EXPERTS = {"gpt-5": "big", "Qwen3-32B": "local/qwen"}


class Says:
    """A chat model that says its name, or fails."""

    def __init__(self, name, fails=False):
        self.name, self.fails = name, fails

    async def stream(self, request):
        attempts = (Attempt(priced_as=self.name, usage=Usage(input_tokens=1000, output_tokens=100), wall_s=0.5),)
        if self.fails:
            raise ProviderFault("the endpoint is away", attempts)
        yield Completion(content=f"42, says {self.name}", attempts=attempts)


@pytest.fixture
def questions(tmp_path):
    file = tmp_path / "thought.jsonl"
    rows = (
        {"question_id": f"{n}", "question": f"What is {n} + 1?", "reference_answer": f"{n + 1}", "task": "maths"}
        for n in range(40, 44)
    )
    file.write_text("\n".join(json.dumps({**row, "prev_messages": None}) for row in rows))
    return str(file)


def course(tmp_path, questions, model=Says, **changes):
    settings = SampledSettings(questions=(questions,), experts=EXPERTS, count=8, **changes)
    return SampledCourse(settings, 3, tmp_path, model)


def rollout(exercise, moves):
    setting = replace(exercise.setting, started_at=datetime.now(UTC), run_id="r1")
    stream = play(setting, Scripted(moves), exercise.tools(0), artefacts=MemoryArtefacts())

    async def go():
        return [event async for event in stream]

    return fold(asyncio.run(go()))


def of_kind(course, in_domain):
    return next(one for one in map(course.exercise, range(8)) if (one.setting.assigned is not None) is in_domain)


def test_a_question_is_answered_through_an_expert_that_is_priced_as_the_one_it_stands_for(tmp_path, questions):
    one = of_kind(course(tmp_path, questions), in_domain=False)
    expert = one.setting.tools[0]
    assert expert.priced_as in EXPERTS
    reference = one.setting.task.reference
    played = rollout(one, [[(expert.name, {"question": "?"})], f"It is {reference}."])
    assert EXPERTS[expert.priced_as] in played.calls[0].observation.text
    assert played.calls[0].attempts[0].priced_as == expert.priced_as
    assert played.bill().cost_usd > 0
    assert one.grade(played) is True
    assert one.grade(rollout(one, ["It is 7."])) is False
    assert one.setting.limits.max_turns == 50


def test_an_expert_that_is_away_is_a_fault_on_the_bill_and_no_bug(tmp_path, questions):
    one = of_kind(course(tmp_path, questions, lambda name: Says(name, fails=True)), in_domain=False)
    played = rollout(one, [[(one.setting.tools[0].name, {"question": "?"})], "No idea."])
    assert played.faults[0].message == "the endpoint is away"
    assert played.calls[0].attempts[0].priced_as in EXPERTS


def test_a_task_in_a_domain_is_judged_by_its_state(tmp_path, questions):
    one = of_kind(course(tmp_path, questions), in_domain=True)
    assignment = one.setting.assigned.assignment
    golden = [[(call["operation"], call["arguments"])] for call in assignment["golden"]]
    said = [" ".join(f"{told['value']} {told['unit'] or ''}" for told in assignment["required"]) or "Done."]
    assert one.grade(rollout(one, golden + said)) is True
    assert one.grade(rollout(one, ["Done."])) is False


def test_the_same_number_is_the_same_exercise_and_the_course_begins_again(tmp_path, questions):
    first, second = course(tmp_path, questions), course(tmp_path, questions)
    assert [first.exercise(n).setting for n in range(8)] == [second.exercise(n).setting for n in range(8)]
    assert first.exercise(9).setting == first.exercise(1).setting
    assert first.exercise(9).id != first.exercise(1).id
    assert all(first.exercise(n).strongest <= {spec.name for spec in first.exercise(n).setting.tools} for n in range(8))


@pytest.mark.parametrize(
    "changes, says",
    [
        ({"qa_share": 2.0}, "between 0 and 1"),
        ({"questions": []}, "names no file"),
        ({"experts": {}}, "names nobody"),
        ({"experts": {"gpt-9": "x"}}, "has no such model"),
        ({"experts": {"Qwen2.5-Coder-32B-Instruct": "x"}}, "nobody can stand behind"),
        ({"tasks": ["nowhere"]}, "nowhere"),
        ({"regimes": ["high"]}, "regimes"),
    ],
)
def test_bad_settings_are_one_line(tmp_path, questions, changes, says):
    data = {"questions": [questions], "experts": EXPERTS, **changes}
    with pytest.raises(BadInput, match=says) as caught:
        SampledCourse(from_data(data, SampledSettings, where="course"), 3, tmp_path, Says)
    assert "\n" not in str(caught.value)
