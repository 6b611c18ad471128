"""What a request demands of an answer, over HTTP with the `openai` client: fitting answers, and runs that are told."""

import json

import openai
import pydantic
import pytest
from scripted_workbench import BIG
from serving import WEATHER, paid, serving

from orchestra_lib.limits import Limits
from orchestra_lib.protocols import PolicySpec
from orchestra_lib.trajectory import StopReason
from orchestra_lib.workbench import Order

HELLO = [{"role": "user", "content": "How many are there?"}]


class Count(pydantic.BaseModel):
    """What the answers of these tests have to be."""

    number: int


class Heeding:
    """Says what its script says, one line for each run: a policy that heeds what the task tells it."""

    def __init__(self, *lines):
        self.lines = list(lines)
        self.spec = PolicySpec(name="heeding", priced_as=BIG)

    async def act(self, situation):
        said = situation.setting.task.text.count("It cannot be used")
        yield self.lines[min(said, len(self.lines) - 1)]


CALL = paid(1, ("weather", {"city": "Paris"}))
SCRIPTS = {
    "fitting": ['{"number": 3}'],
    "plain": [" 3"],
    "wordy": ['Sure:\n```json\n{"number": "3"}\n```'],
    "heeding": Heeding(paid(1, answer="Three."), paid(1, answer='{"number": true}'), paid(1, answer='{"number": 3}')),
    "stubborn": Heeding(paid(1, answer="Three.")),
    "talker": Heeding(paid(1, answer="It rains."), CALL),
}


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("home"), scripts=SCRIPTS) as house:
        yield house


def parse(house, model, **more):
    return house.client().chat.completions.parse(model=model, messages=HELLO, response_format=Count, **more)


@pytest.mark.parametrize("model", ["fitting", "plain", "wordy"])
def test_an_answer_that_fits_is_parsed_by_the_client_and_the_task_told_the_schema(house, model):
    found = parse(house, model)
    assert found.choices[0].message.parsed == Count(number=3)
    task = house.run_of(found).setting.task.text
    assert "must be one JSON object" in task
    assert '"number": {"title": "Number", "type": "integer"}' in task


def test_an_answer_that_does_not_fit_is_asked_again_and_all_of_it_is_on_the_bill(house):
    found = parse(house, "heeding")
    assert found.choices[0].message.parsed == Count(number=3)
    assert found.usage.total_tokens == 3 * 110
    told = found.model_extra["orchestra"]
    first, second = (house.stored(run_id) for run_id in told["asked_again"])
    assert (first.answer, second.answer, told["turns"]) == ("Three.", '{"number": true}', 3)
    last = house.run_of(found).setting.task.text
    assert "`number` must be of type integer, not true" in last
    assert "holds no JSON object" in second.setting.task.text


def test_a_stream_goes_on_with_the_run_that_is_asked_again(house):
    with house.client().chat.completions.stream(model="heeding", messages=HELLO, response_format=Count) as stream:
        assert stream.get_final_completion().choices[0].message.parsed == Count(number=3)


def test_what_never_fits_is_a_422_that_says_what_was_answered(house):
    with pytest.raises(
        openai.UnprocessableEntityError, match=r"the last of 2: .*no JSON object.* It said: Three"
    ) as told:
        parse(house, "stubborn")
    assert told.value.code == "json_validate_failed"
    asked = {"model": "stubborn", "messages": HELLO, "response_format": {"type": "json_object"}}
    with pytest.raises(openai.APIError, match="the last of 2"):
        list(house.client().chat.completions.create(stream=True, **asked))


def test_a_call_that_is_required_is_made_or_nothing_is_answered(house):
    asked = {"messages": HELLO, "tools": [WEATHER]}
    for choice in ("required", {"type": "function", "function": {"name": "weather"}}):
        found = house.client().chat.completions.create(model="talker", tool_choice=choice, **asked)
        (call,) = found.choices[0].message.tool_calls
        assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": "Paris"})
    with pytest.raises(
        openai.UnprocessableEntityError, match=r"there was no call\. Call one of these tools now"
    ) as told:
        house.client().chat.completions.create(model="stubborn", tool_choice="required", **asked)
    assert told.value.code == "tool_choice_unmet"


def test_what_is_asked_again_has_what_the_limits_have_left(tmp_path):
    with serving(tmp_path, scripts=SCRIPTS, order=Order(limits=Limits(tokens=200))) as house:
        with pytest.raises(openai.UnprocessableEntityError, match="the last of 2"):
            parse(house, "heeding")
        second, first = house.runs()
        assert (first.setting.limits.tokens, second.setting.limits.tokens) == (200, 90)
        assert second.stop is StopReason.ANSWERED
