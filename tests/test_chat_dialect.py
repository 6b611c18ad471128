"""A chat model's dialect: what was sampled stays, only what is new becomes ids, hostile text frames nothing."""

from dataclasses import replace

import pytest
from episodes import setting
from hypothesis import given
from hypothesis import strategies as st
from trl.chat_template_utils import qwen2_5_chat_template, qwen3_chat_template

from orchestra_lib.chat import NUDGE, CallStyle
from orchestra_lib.errors import BadInput
from orchestra_lib.protocols import Situation
from orchestra_lib.tool import CallStatus, Observation
from orchestra_lib.training.chat_dialect import ChatDialect
from orchestra_lib.training.plain_tokenizer import plain_tokenizer
from orchestra_lib.trajectory import Call, Turn

NO_TOOLS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CALL = '<tool_call>\n{"name": "search", "arguments": {"query": "Peru"}}\n</tool_call>'


def dialect(template: str = qwen3_chat_template, **options) -> ChatDialect:
    return ChatDialect(plain_tokenizer([CALL, "the capital of Peru"], size=320, template=template), options=options)


def situation(*turns: Turn, **changes) -> Situation:
    return Situation(setting=setting(**changes), turns=turns, spent_usd=0.0, elapsed_s=0.0)


def turn(one: ChatDialect, ids: list[int], told: str = "Lima", *, index: int = 1) -> Turn:
    """A turn as the loop records it: what the dialect read, each call answered."""
    generation = one.read(ids, situation(*[Turn(index=n, started_s=0) for n in range(1, index)]))
    calls = tuple(
        Call(
            call=call,
            observation=Observation(call_id=call.id, status=CallStatus.OK, text=told, started_s=0, finished_s=1),
        )
        for call in generation.calls
    )
    return Turn(index=index, started_s=0, generation=generation, calls=calls)


def text(one: ChatDialect, ids) -> str:
    return one._tokenizer.decode(ids)


@pytest.mark.parametrize("template", [qwen3_chat_template, qwen2_5_chat_template, NO_TOOLS])
def test_the_ids_of_an_episode_are_the_template_of_the_whole_of_it(template):
    one = dialect(template)
    said = [*one._ids("<think>\nhm\n</think>\n\n" + CALL), one.eos]
    first = turn(one, said)
    whole = one.prompt(situation()) + said + one.continuation(situation(first))
    rendered = text(one, whole)
    assert rendered.count("<|im_start|>") == 5  # system, user, assistant, result, the next opening
    assert rendered.endswith("<tool_response>\nLima\n</tool_response><|im_end|>\n<|im_start|>assistant\n")
    assert "hm" in rendered, "reasoning of earlier turns stays, as its ids were sampled"
    assert whole == one._ids(rendered), "canonical pieces join into the canonical whole"
    assert one.style is (CallStyle.HERMES if template == NO_TOOLS else CallStyle.NATIVE)


def test_what_was_sampled_is_kept_though_the_tokenizer_would_write_it_otherwise():
    one = dialect()
    letters = [one._ids(letter)[0] for letter in CALL.replace("<tool_call>", "").replace("</tool_call>", "")]
    opening, closing = one._ids("<tool_call>"), one._ids("</tool_call>")
    sampled = [*opening, *letters, *closing, one.eos]
    read = one.read(sampled, situation())
    assert read.calls[0].arguments == {"query": "Peru"}
    assert read.token_ids == tuple(sampled)
    assert len(one._ids(CALL)) < len(sampled) - 1


def test_a_reply_without_its_end_is_neither_call_nor_answer_and_is_ended_by_us():
    one = dialect()
    cut = one._ids(CALL)
    first = turn(one, cut)
    assert not first.generation.calls
    assert first.generation.answer is None
    assert one.continuation(situation(first))[0] == one.eos
    assert NUDGE in text(one, one.continuation(situation(first)))
    whole = turn(one, [*cut, one.eos])
    assert one.continuation(situation(whole))[0] != one.eos


def test_an_answer_ends_and_a_broken_call_is_refused_in_words():
    one = dialect()
    assert one.read([*one._ids("<think>\n4\n</think>\n\nFour."), one.eos], situation()).answer == "Four."
    broken = one.read([*one._ids('<tool_call>\n{"name": "search", "arg\n</tool_call>'), one.eos], situation())
    assert [(call.tool, call.arguments) for call in broken.calls] == [("search", None)]
    assert broken.answer is None
    assert one.read([one.eos], situation()).answer is None


def test_thinking_that_the_prompt_opens_or_rules_out():
    opening = "<|im_start|>assistant\\n"
    opened = dialect(
        qwen2_5_chat_template.replace(opening + "' }}\n{%- endif %}", opening + "<think>\\n' }}\n{%- endif %}")
    )
    assert opened.read([*opened._ids(f"{CALL}\n</think>\nFour"), opened.eos], situation()).answer == "Four"
    plain = dialect(enable_thinking=False)
    assert text(plain, plain.prompt(situation())).endswith("<think>\n\n</think>\n\n")


HOSTILE = ("<|im_end|>", "<|im_start|>", "system\n", "<|endoftext|>", "</tool_response>", "<", "|")


@given(st.lists(st.sampled_from(HOSTILE)))
def test_hostile_text_frames_nothing(parts):
    def frames(words, tools):
        ids = ONE.prompt(situation(task=words, sentence=words, tools=tools))
        ids += ONE.continuation(situation(turn(ONE, SAID, words)))
        return [ids.count(frame) for frame in (ONE.eos, *ONE._ids("<|im_start|><|endoftext|></tool_response>"))]

    hostile = "".join(parts) + "x"
    described = tuple(replace(spec, description=hostile) for spec in setting().tools)
    assert frames(hostile, described) == frames("x", setting().tools)


ONE = dialect()
SAID = [*ONE._ids(CALL), ONE.eos]


def test_a_base_model_and_a_template_that_rewrites_the_past_are_refused():
    with pytest.raises(BadInput, match="instruct model"):
        dialect("")
    rewriting = qwen2_5_chat_template.replace(
        "{%- for message in messages %}", "{{ messages|length }}{%- for message in messages %}"
    )
    with pytest.raises(BadInput, match="rewrites earlier turns"):
        dialect(rewriting)
