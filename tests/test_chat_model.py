import asyncio

import pytest
from playing import Echo, run, setting

from orchestra_lib.chat import CallStyle
from orchestra_lib.generation import Channel, Completion, Delta, Generation, RawCall
from orchestra_lib.policy.chat_model import ChatPolicy
from orchestra_lib.protocols import PolicySpec, Situation


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


def policy(*completions, style=CallStyle.NATIVE):
    return ChatPolicy(PolicySpec(name="says"), Says(*completions), style=style)


def act(policy):
    async def parts():
        situation = Situation(setting=setting([Echo()]), turns=(), spent_usd=0.0, elapsed_s=0.0)
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
