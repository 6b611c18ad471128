import json
from dataclasses import replace

from playing import PRICES, Echo, setting

from orchestra_lib.chat import NUDGE, CallStyle, action_schema, messages, openai_tools, price_words
from orchestra_lib.generation import Generation
from orchestra_lib.protocols import Situation
from orchestra_lib.tool import CallStatus, Observation, ToolCall
from orchestra_lib.trajectory import Call, Turn


def situation(*turns):
    return Situation(setting=setting([Echo()]), turns=turns, spent_usd=0.0, elapsed_s=0.0)


def turn_with(*texts, raw="<think>hm</think>ok", arguments=None):
    calls = tuple(ToolCall.of(f"c{place}", "echo", arguments or {"word": text}) for place, text in enumerate(texts))
    answered = tuple(
        Call(
            call=call,
            observation=Observation(call_id=call.id, status=CallStatus.OK, text=text, started_s=0, finished_s=1),
        )
        for call, text in zip(calls, texts, strict=True)
    )
    generation = Generation(raw_text=raw, content="ok", calls=calls)
    return Turn(index=1, started_s=0, generation=generation, calls=answered)


def test_every_call_id_has_exactly_one_tool_message_in_order():
    said = messages(situation(turn_with("a", "b")), CallStyle.NATIVE)
    asked = [call["id"] for call in said[2]["tool_calls"]]
    assert [message["tool_call_id"] for message in said[3:]] == asked == ["c0", "c1"]


def test_the_preference_stands_in_the_user_message_and_never_in_the_system_text():
    system, user = messages(situation(), CallStyle.HERMES)
    assert "Be quick." in user["content"]
    assert "Be quick." not in system["content"]


def test_each_turn_only_appends_to_the_conversation():
    first, second = turn_with("a"), replace(turn_with("b"), index=2)
    for style in CallStyle:
        before = messages(situation(first), style)
        assert messages(situation(first, second), style)[: len(before)] == before


def test_price_and_latency_stand_in_the_description_and_unknown_says_so():
    (tool,) = openai_tools(setting([Echo(typical_latency_s=2.0)]))
    assert "$0.01 per call. Latency: about 2 s." in tool["function"]["description"]
    assert price_words(Echo("other").spec, PRICES) == "Price: price unknown. Latency: unknown."


def test_arguments_on_the_wire_are_json_text_of_an_object_in_literal_utf8():
    said = messages(situation(turn_with("x", arguments={"word": "Zürich 東京"})), CallStyle.NATIVE)
    text = said[2]["tool_calls"][0]["function"]["arguments"]
    assert "Zürich 東京" in text
    assert json.loads(text) == {"word": "Zürich 東京"}


def test_reasoning_is_not_carried_to_the_next_turn():
    said = messages(situation(turn_with("a")), CallStyle.HERMES)
    assert said[2]["content"] == "ok"


def test_an_empty_turn_is_answered_with_a_nudge():
    spent = Turn(index=1, started_s=0, generation=Generation(raw_text=""))
    for style in CallStyle:
        assert messages(situation(spent), style)[-1] == {"role": "user", "content": NUDGE}


def test_the_schema_bounds_every_string_and_closes_every_object():
    schema = action_schema(setting([Echo()]))
    call, answer = schema["oneOf"]
    assert call["properties"]["arguments"]["properties"]["word"]["maxLength"] == 700
    assert answer["properties"]["answer"]["maxLength"] == 700
    assert call["additionalProperties"] is answer["additionalProperties"] is False
