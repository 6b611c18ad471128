"""A caller's own tools behind the server: calls are handed over, and the run goes on with what the caller sends."""

import json

import pytest
from ensembling import Chat, box, native
from serving import PARIS, WEATHER, ServedRoster, eventually, serving

from orchestra_lib.ensemble import build_domain
from orchestra_lib.tool import CallStatus
from orchestra_lib.trajectory import StopReason
from orchestra_lib.workbench import Order

ASK = [{"role": "system", "content": "Help."}, {"role": "user", "content": "Where does it rain?"}]


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("home")) as house:
        yield house


def ask(house, messages, *, model="traveller", **more):
    return house.client().chat.completions.create(model=model, messages=messages, tools=[WEATHER], **more)


def carried_on(messages, found, results):
    """The messages with what the assistant said and the results of its calls."""
    said = found.choices[0].message
    told = [
        {"role": "tool", "tool_call_id": call.id, "content": results[json.loads(call.function.arguments)["city"]]}
        for call in said.tool_calls
    ]
    return [*messages, said.model_dump(exclude_none=True), *told]


def test_a_run_hands_calls_over_and_goes_on_with_their_results_as_one_trajectory(house):
    first = ask(house, ASK)
    (call,) = first.choices[0].message.tool_calls
    assert (call.function.name, call.function.arguments) == ("weather", '{"city": "Paris"}')
    assert first.choices[0].finish_reason == "tool_calls"
    second_messages = carried_on(ASK, first, {"Paris": "rain"})
    second = ask(house, second_messages)
    assert [json.loads(c.function.arguments)["city"] for c in second.choices[0].message.tool_calls] == ["Paris", "Rome"]
    last = ask(house, carried_on(second_messages, second, {"Paris": "rain again", "Rome": "drizzle"}))
    assert last.choices[0].message.content == "It rains in both."
    run = house.run_of(last)
    assert {one.model_extra["orchestra"]["run_id"] for one in (first, second, last)} == {run.id}
    results = [[call.observation.text for call in turn.calls] for turn in run.turns]
    assert results[0][1:] == ["rain"]
    assert results[1] == ["rain again", "drizzle"]
    assert run.tools_used == {"local_search": 1, "weather": 3}
    assert run.bill().of("weather").cost_usd == 0.0


def test_streamed_calls_come_whole_and_usage_is_told_once(house):
    chunks = list(ask(house, ASK, stream=True, stream_options={"include_usage": True}))
    calls = [c for chunk in chunks if chunk.choices for c in chunk.choices[0].delta.tool_calls or ()]
    assert [(c.index, c.function.name) for c in calls] == [(0, "weather")]
    finished = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices]
    assert (finished[-1], set(finished[:-1])) == ("tool_calls", {None})


def test_one_call_at_a_time_where_the_caller_wants_that(house):
    messages, seen = ASK, []
    for _ in range(4):
        found = ask(house, messages, parallel_tool_calls=False)
        if not found.choices[0].message.tool_calls:
            break
        (call,) = found.choices[0].message.tool_calls
        seen.append(call.function.arguments)
        messages = carried_on(messages, found, {"Paris": "sun", "Rome": "snow"})
    assert len(seen) == 3
    assert found.choices[0].message.content == "It rains in both."
    assert len(house.run_of(found).turns) == 3


@pytest.mark.parametrize("edit", ["words", "tools"])
def test_an_edited_conversation_begins_a_new_run_with_the_turns_that_it_tells_of(house, edit):
    first = ask(house, ASK)
    messages = carried_on(ASK, first, {"Paris": "rain"})
    if edit == "words":
        messages[1] = {"role": "user", "content": "Where does it snow?"}
        second = ask(house, messages)
    else:
        tools = [WEATHER, {**WEATHER, "function": {**WEATHER["function"], "name": "climate"}}]
        second = house.client().chat.completions.create(model="traveller", messages=messages, tools=tools)
    run = second.model_extra["orchestra"]
    assert run["run_id"] != first.model_extra["orchestra"]["run_id"]
    assert (run["given_turns"], run["turns"], run["tools_used"]) == (1, 1, {})
    last = ask(house, carried_on(messages, second, {"Paris": "a", "Rome": "b"})) if edit == "words" else None
    if last:
        kept = house.run_of(last)
        assert kept.turns[0].calls[0].call.recovered == "came with the caller's messages"
        assert kept.setting.task.text.startswith("Where does it snow?")
        assert kept.tools_used == {"weather": 2}
        counted = "SELECT t.calls, t.called, count(*) FROM trajectories t JOIN calls c ON c.run_id = t.id"
        rows = house.workbench.store.query(f"{counted} WHERE t.id = '{kept.id}' GROUP BY ALL").rows
        assert rows == ((2, ["weather"], 2),)


def test_a_reply_to_an_answer_goes_on_with_all_that_was_said(house):
    talk = [*ASK, {"role": "assistant", "content": "Which part?"}, {"role": "user", "content": "Europe."}]
    found = ask(house, talk)
    trajectory = house.workbench.store.get(found.model_extra["orchestra"]["run_id"])
    assert trajectory.setting.given_turns == 1
    assert (trajectory.turns[0].generation.content, trajectory.turns[0].calls[0].observation.text) == (
        "Which part?", "Europe.",
    )  # fmt: skip


def test_a_run_with_given_turns_is_replayed_byte_for_byte(house):
    talk = [*ASK, {"role": "assistant", "content": "Which part?"}, {"role": "user", "content": "Europe."}]
    scripted = ask(house, talk, model="billed")
    answer, _ = house.workbench.replay(house.run_of(scripted).id)
    assert answer.difference is None
    assert answer.trajectory.setting.given_turns == 1


def test_a_run_whose_caller_does_not_come_back_is_stopped_and_kept_and_its_results_begin_anew(tmp_path):
    with serving(tmp_path, wait_s=0.3) as house:
        first = ask(house, ASK)
        run = house.run_of(first)
        assert (run.stop, run.calls[1].observation.status) == (StopReason.CANCELLED, CallStatus.CANCELLED)
        second = ask(house, carried_on(ASK, first, {"Paris": "rain"}))
        assert second.model_extra["orchestra"]["given_turns"] == 1


def test_the_run_that_waits_longest_makes_room(tmp_path):
    with serving(tmp_path, waiting=2) as house:
        ids = [ask(house, ASK).model_extra["orchestra"]["run_id"] for _ in range(3)]
        assert house.stored(ids[0]).stop is StopReason.CANCELLED
        assert [house.workbench.store.get(run_id).stop for run_id in ids[1:]] == [None, None]
    assert all(house.workbench.journal.read(run_id)[-1].stop is StopReason.CANCELLED for run_id in ids)


def test_a_call_that_does_not_fit_the_callers_schema_is_never_handed_over(house):
    found = ask(house, ASK, model="misled")
    assert found.choices[0].message.content == "No weather."
    assert house.run_of(found).calls[0].observation.status is CallStatus.REJECTED


def test_a_callers_tool_takes_the_place_of_ours_of_its_name(house):
    tool = {"type": "function", "function": {"name": "local_search", "parameters": WEATHER["function"]["parameters"]}}
    body = {"model": "endless", "messages": ASK, "tools": [tool], "orchestra": {"max_turns": 1}}
    run = house.stored(house.post(body).json()["orchestra"]["run_id"])
    (spec,) = [spec for spec in run.setting.tools if spec.name == "local_search"]
    assert spec.parameters["required"] == ["city"]


def test_results_that_are_missing_double_or_of_no_call_are_refused(house):
    messages = carried_on(ASK, ask(house, ASK), {"Paris": "rain"})
    for wrong, words in (
        (messages[:-1], "has no tool message"),
        ([*messages, messages[-1]], "answers no call"),
        ([*messages[:-1], {"role": "user", "content": "x"}], "has no tool message yet"),
    ):
        told = house.post({"model": "traveller", "messages": wrong, "tools": [WEATHER]})
        assert (told.status_code, words in told.json()["error"]["message"]) == (400, True)


def test_two_callers_at_once_get_each_their_own_run(house):
    firsts = [ask(house, [*ASK[:1], {"role": "user", "content": who}]) for who in ("Ann", "Ben")]
    for who, first in reversed(list(zip(("Ann", "Ben"), firsts, strict=True))):
        messages = carried_on([*ASK[:1], {"role": "user", "content": who}], first, {"Paris": f"rain for {who}"})
        second = ask(house, messages)
        assert second.model_extra["orchestra"]["run_id"] == first.model_extra["orchestra"]["run_id"]
        last = ask(house, carried_on(messages, second, {"Paris": "x", "Rome": "y"}))
        assert house.run_of(last).calls[1].observation.text == f"rain for {who}"


def test_a_limit_in_usd_holds_beside_tools_that_cost_us_nothing(tmp_path):
    scripts = {"saver": [[PARIS], "Done."]}
    with serving(tmp_path, scripts=scripts, order=Order(tools=())) as house:
        found = ask(house, ASK, model="saver", extra_body={"orchestra": {"cost_usd": 0.01}})
        assert found.choices[0].finish_reason == "tool_calls"
        eventually(lambda: ask(house, carried_on(ASK, found, {"Paris": "x"}), model="saver").choices)


class Handing(ServedRoster):
    """An orchestrator of protocol toolorchestra that hands the turn to an expert, who calls the caller's tool."""

    def __init__(self):
        super().__init__()
        self.expert = Chat(native("weather", '{"city": "Paris"}'), name="gpt-5-mini")
        self.conducting = Chat(box("call_expert", expert="expert-2"), "<message>It rains.</message>", name="small")

    def ensemble_in_domain(self, name, policy_text, functions):
        return build_domain(self.conducting, {"expert-2": self.expert}, policy_text, functions, name=name)


def test_an_expert_is_called_inside_and_its_call_of_the_callers_tool_is_handed_over(tmp_path):
    roster = Handing()
    with serving(tmp_path, roster=roster, order=Order(protocol="toolorchestra")) as house:
        first = ask(house, ASK, model="brief")
        assert [call.function.name for call in first.choices[0].message.tool_calls] == ["weather"]
        last = ask(house, carried_on(ASK, first, {"Paris": "rain"}), model="brief")
        assert last.choices[0].message.content == "It rains."
        run = house.run_of(last)
    assert [call.call.tool for call in run.calls] == ["call_expert", "weather"]
    assert roster.expert.requests[0].messages[0]["content"].count("Help.") == 1
    shown = [tool["function"]["name"] for tool in roster.conducting.requests[0].tools]
    assert shown == ["weather", "call_expert"]
    assert last.usage.prompt_tokens + first.usage.prompt_tokens == 3000
