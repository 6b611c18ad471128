import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import Echo, events_of, run, setting

from orchestra_lib.chat import CallStyle
from orchestra_lib.codec import event_from_line, event_to_line
from orchestra_lib.event import fold
from orchestra_lib.generation import Channel, Completion, Delta, Generation, RawCall
from orchestra_lib.limits import Limits
from orchestra_lib.policy.chat_model import ChatPolicy
from orchestra_lib.protocols import PolicySpec, Situation
from orchestra_lib.reading import MAX_CALLS, read


class Says:
    """A `ChatModel` that says the same completions, one a turn, and remembers what it was asked."""

    name = "says"

    def __init__(self, *completions):
        self.completions, self.asked = list(completions), []

    async def stream(self, request):
        self.asked.append(request)
        completion = self.completions[len(self.asked) - 1]
        for piece in (completion.content[:7], completion.content[7:]):
            yield Delta(channel=Channel.CONTENT, text=piece)
        yield completion


def policy(*completions, style=CallStyle.NATIVE, **options):
    return ChatPolicy(PolicySpec(name="says"), Says(*completions), style=style, **options)


def act(policy, tools=None):
    async def parts():
        offered = [Echo()] if tools is None else tools
        situation = Situation(setting=setting(offered), turns=(), spent_usd=0.0, elapsed_s=0.0)
        return [part async for part in policy.act(situation)]

    return asyncio.run(parts())


BOX = '<think>so</think>Let me. <tool_call>{"name":"echo","arguments":{"word":"hi"}}</tool_call>'


def test_native_calls_get_ids_of_our_own_even_when_the_server_repeats_them():
    calls = tuple(RawCall(id="0", name="echo", arguments_text=f'{{"word":"{word}"}}') for word in "ab")
    trajectory = run(policy(Completion(content="", calls=calls), Completion(content="done")), [Echo()])
    assert [call.call.id for call in trajectory.calls] == ["call_1_1", "call_1_2"]
    assert trajectory.answer == "done"


def test_a_hermes_box_is_called_and_its_reasoning_is_kept_apart():
    trajectory = run(policy(Completion(content=BOX), Completion(content="hi"), style=CallStyle.HERMES), [Echo()])
    generation = trajectory.turns[0].generation
    assert (generation.reasoning, generation.content, generation.raw_text) == ("so", "Let me.", BOX)
    assert trajectory.calls[0].observation.text == "hi"


def test_streamed_reasoning_and_content_come_on_their_own_channels():
    deltas = [part for part in act(policy(Completion(content=BOX))) if isinstance(part, Delta)]
    assert "".join(delta.text for delta in deltas if delta.channel is Channel.REASONING) == "so"


@pytest.mark.parametrize(
    "text, called, answer",
    [
        ('{"tool":"echo","arguments":{"word":"hi"}}', ["echo"], None),
        ('{"answer":"42"}', [], "42"),
        ('{"answer":', [], None),
        ('{"answer":"4\n2"}', [], "4\n2"),
        ('<think>so {</think>{"answer":"42"}', [], "42"),
        ('{"answer":{"a":1}}', [], None),
        ('{"tool":7,"arguments":{}}', ["7"], None),
        ("[]", [], None),
    ],
)
def test_a_constrained_reply_is_one_call_or_one_answer(text, called, answer):
    generation = act(policy(Completion(content=text), style=CallStyle.CONSTRAINED))[-1]
    assert [call.tool for call in generation.calls] == called
    assert generation.answer == answer


def test_a_reply_cut_by_the_token_limit_is_no_answer():
    generation = act(policy(Completion(content="The answer is", finish_reason="length")))[-1]
    assert isinstance(generation, Generation)
    assert generation.answer is None


def test_only_native_requests_carry_tools_and_only_constrained_ones_a_schema():
    for style in CallStyle:
        chosen = policy(Completion(content="x"), style=style)
        act(chosen)
        (request,) = chosen._model.asked
        assert bool(request.tools) == (style is CallStyle.NATIVE)
        assert bool(request.schema) == (style is CallStyle.CONSTRAINED)


COUNT = {"type": "object", "properties": {"word": {"type": "string"}, "times": {"type": "integer"}}}


def calls_of(*calls, finish="tool_calls", content="", **options):
    raw = tuple(RawCall(id="x", name=name, arguments_text=text) for name, text in calls)
    return act(policy(Completion(content=content, calls=raw, finish_reason=finish), **options))[-1].calls


@pytest.mark.parametrize(
    "text, arguments, recovered",
    [
        ('{"word":"a"}', {"word": "a"}, None),
        ("", {}, None),
        ("null", {}, None),
        ('""', {}, None),
        ('{"word":"a\nb"}', {"word": "a\nb"}, "control_characters"),
        ("{'word': 'a'}", {"word": "a"}, "python_literal"),
        ('"{\\"word\\":\\"a\\"}"', {"word": "a"}, "text_arguments"),
        ('{"word":"Z\\u00fc"}{"word":"Zü"}', {"word": "Zü"}, "repeated"),
        ('{"word":"a"}{"word":"b"}', None, None),
        ('{"word":"a"}{"word":"a"}{"word":"a"}', None, None),
        ('{"word":"a', None, None),
        ("[]", None, None),
        ("7", None, None),
        ('{"word":"a"} // note', None, None),
    ],
)
def test_arguments_that_a_server_sent_are_read_or_refused(text, arguments, recovered):
    """A8, A12, A14"""
    (call,) = calls_of(("echo", text))
    assert (call.arguments, call.recovered, call.arguments_text) == (arguments, recovered, text)


def test_arguments_are_brought_to_their_schema_and_it_is_recorded():
    generation = act(
        policy(Completion(content="", calls=(RawCall(id="", name="echo", arguments_text='{"times":"3"}'),))),
        tools=[Echo(parameters=COUNT)],
    )[-1]
    assert (generation.calls[0].arguments, generation.calls[0].recovered) == ({"times": 3}, "coerced")
    assert generation.calls[0].arguments_text == '{"times":"3"}'


def test_a_call_whose_arguments_were_cut_off_never_runs_without_them():
    idle = Echo(parameters={"type": "object", "properties": {}})
    cut = Completion(content="", calls=(RawCall(id="", name="echo", arguments_text=""),), finish_reason="length")
    trajectory = run(policy(cut, Completion(content="x")), [idle])
    (call,) = trajectory.calls
    assert (call.call.arguments, call.call.recovered, call.observation.status) == (None, "cut_off", "rejected")
    assert read(trajectory.turns[0].generation.raw_text).calls[0].arguments is None


def test_a_flood_of_calls_is_bounded_and_its_text_is_kept():
    generation = act(policy(Completion(content="", calls=(RawCall(id="", name="echo", arguments_text="{}"),) * 500)))[
        -1
    ]
    assert len(generation.calls) == MAX_CALLS
    assert generation.raw_text.count("<tool_call>") == 500


def test_a_call_that_stands_in_the_text_as_well_is_made_once():
    made = calls_of(("echo", '{"word":"hi"}'), content=BOX)
    assert [call.arguments for call in made] == [{"word": "hi"}]


@pytest.mark.parametrize("style", list(CallStyle))
def test_with_no_tools_nothing_is_called_and_a_box_is_words(style):
    """A10: tool_choice none"""
    generation = act(policy(Completion(content=BOX), style=style), tools=[])[-1]
    assert generation.calls == ()
    if style is not CallStyle.CONSTRAINED:
        assert generation.answer == BOX.removeprefix("<think>so</think>")


def test_reasoning_in_a_field_and_in_the_text_are_both_kept_and_never_run():
    """A10"""
    inline = BOX.replace("<think>so</think>", "") + "</think>fine"
    generation = act(policy(Completion(content=inline, reasoning="first")))[-1]
    assert (generation.calls, generation.answer) == ((), "fine")
    assert generation.reasoning.startswith("first\nLet me. <tool_call>")


def test_a_template_that_opens_reasoning_is_told_beforehand():
    parts = act(policy(Completion(content="so it is</think>42"), opens_thinking=True))
    assert "".join(part.text for part in parts[:-1] if part.channel is Channel.REASONING) == "so it is"
    assert (parts[-1].reasoning, parts[-1].answer) == ("so it is", "42")


def test_no_part_of_a_box_is_shown_while_it_streams():
    """A10"""
    shown = "".join(part.text for part in act(policy(Completion(content=BOX)))[:-1] if part.channel is Channel.CONTENT)
    assert shown == "Let me. "


def test_a_claimed_call_is_not_a_call():
    """A15"""
    claim = "I ran a search and found that it is 42."
    trajectory = run(policy(Completion(content=claim)), [Echo()])
    assert (trajectory.answer, trajectory.status, trajectory.calls) == (claim, "answered", ())
    assert trajectory.tools_used == {}


def test_only_calls_that_ran_count_as_use():
    """A15"""
    calls = tuple(RawCall(id="", name=name, arguments_text='{"word":"a"}') for name in ("echo", "search", "echo"))
    cut = RawCall(id="", name="echo", arguments_text='{"word":')
    trajectory = run(policy(Completion(content="", calls=(*calls, cut)), Completion(content="x")), [Echo()])
    assert trajectory.tools_used == {"echo": 2}


def test_a_call_of_the_right_name_in_another_case_is_refused_with_near_names():
    """A11"""
    bad = tuple(RawCall(id="", name=name, arguments_text="{}") for name in ("Echo", "ecoh", "search", "Says it."))
    fine = RawCall(id="", name=" echo ", arguments_text='{"word":"hi"}')
    trajectory = run(policy(Completion(content="", calls=(*bad, fine)), Completion(content="x")), [Echo()])
    statuses = [call.observation.status for call in trajectory.calls]
    assert statuses == ["rejected"] * 4 + ["ok"]
    assert "Did you mean echo?" in trajectory.calls[0].observation.text


def test_token_ids_and_raw_text_are_kept_as_they_came():
    """D2"""
    generation = act(policy(Completion(content=BOX, token_ids=(5, 6, 7)), style=CallStyle.HERMES))[-1]
    assert (generation.token_ids, generation.raw_text) == ((5, 6, 7), BOX)


@given(
    st.lists(
        st.tuples(st.sampled_from(["echo", "x"]), st.sampled_from(['{"word":"a"}', "", "{", "null", "7"])), max_size=4
    )
)
def test_stored_text_reads_as_the_calls_that_were_made(sent):
    """The calls that a server took out of the text are in the raw text, and read there as they were sent."""
    raw = tuple(RawCall(id="", name=name, arguments_text=text) for name, text in sent)
    generation = act(policy(Completion(content="So.", calls=raw)))[-1]
    again = read(generation.raw_text).calls
    assert [(call.tool, call.arguments) for call in generation.calls] == [(call.name, call.arguments) for call in again]


WORDS = st.lists(
    st.sampled_from(
        [
            "<think>",
            "</think>",
            "<tool_call>",
            "</tool_call>",
            "{",
            "}",
            '"',
            "'",
            "[",
            "\\",
            "\ud83d",
            "\0",
            " a ",
            "<|im_end|>",
            '{"name":"echo","arguments":{"word":"b"}}',
            '{"tool":"echo","arguments":{}}',
            '{"answer":"c"}',
            "1e999",
            "NaN",
        ]
    ),
    max_size=8,
).map("".join)
SAID = st.builds(
    Completion,
    content=WORDS,
    reasoning=WORDS,
    calls=st.lists(
        st.builds(RawCall, id=WORDS, name=st.sampled_from(["echo", " echo", "", "Echo"]) | WORDS, arguments_text=WORDS),
        max_size=3,
    ).map(tuple),
    finish_reason=st.sampled_from(["stop", "length", "tool_calls", "nonsense", None]),
)


@settings(deadline=None)
@given(st.lists(SAID, min_size=5, max_size=5), st.sampled_from(list(CallStyle)))
def test_whatever_a_model_says_every_call_is_answered_once_and_the_record_is_whole(said, style):
    """C5, G4"""
    model = policy(*said, style=style)
    events = asyncio.run(events_of(model, [Echo()], limits=Limits(max_turns=5)))
    trajectory = fold(event_from_line(event_to_line(event), where="test") for event in events)
    answered = [event.observation.call_id for event in events if event.kind == "call_finished"]
    assert answered == list(dict.fromkeys(answered))
    assert set(answered) == {call.call.id for call in trajectory.calls}
    assert trajectory.stop in ("answered", "max_turns", "loop")
    for request in model._model.asked:
        _check_conversation(request.messages, style)


def _check_conversation(messages, style):
    """What an API demands of a conversation: it can be sent, and every call has its result right behind it."""
    json.dumps(messages, ensure_ascii=False, allow_nan=False).encode()
    for place, message in enumerate(messages):
        asked = [call["id"] for call in message.get("tool_calls", ())]
        results = [later["tool_call_id"] for later in messages[place + 1 : place + 1 + len(asked)]]
        assert results == asked
        assert all(
            isinstance(json.loads(call["function"]["arguments"]), dict) for call in message.get("tool_calls", ())
        )
