"""Messages of a caller, read: whatever its form, a conversation says the same; what makes no sense is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.event import CallFinished, Generated, TurnStarted
from orchestra_lib.serving.beginning import assignment, history, question
from orchestra_lib.serving.conversation import digest, read_messages
from orchestra_lib.serving.refusal import Refusal
from orchestra_lib.tool import ASK_USER

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).filter(str.strip)


@st.composite
def conversations(draw):
    """Messages that a client could send, with calls answered in any order."""
    messages = [{"role": "system", "content": draw(TEXTS)}] if draw(st.booleans()) else []
    messages.append({"role": "user", "content": draw(TEXTS)})
    for turn in range(draw(st.integers(0, 4))):
        calls = [
            {"id": f"c{turn}-{n}", "type": "function", "function": {"name": "look", "arguments": f'{{"n": {n}}}'}}
            for n in range(draw(st.integers(0, 3)))
        ]
        said = {"role": "assistant", "content": draw(TEXTS) if not calls else draw(st.none() | TEXTS)}
        messages.append({**said, "tool_calls": calls} if calls else said)
        for call in draw(st.permutations(calls)):
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": draw(TEXTS)})
        if not calls or draw(st.booleans()):
            messages.append({"role": "user", "content": draw(TEXTS)})
    return messages


@given(conversations())
def test_every_call_is_answered_once_and_nothing_said_is_lost(messages):
    read = read_messages(messages)
    events = history(read.before)
    made = [call for event in events if isinstance(event, Generated) for call in event.generation.calls]
    seen = [event.observation for event in events if isinstance(event, CallFinished)]
    assert [call.id for call in made] == [one.call_id for one in seen]
    assert len({call.id for call in made}) == len(made)
    told = "".join([read.instructions, read.opening, *(one.text for one in seen)])
    told += "".join(event.generation.content for event in events if isinstance(event, Generated))
    assert all((message["content"] or "") in told for message in messages)
    asked = sum(call.tool != ASK_USER for call in made)
    assert asked == sum(len(message.get("tool_calls", ())) for message in messages)
    turns = [event.turn for event in events if isinstance(event, TurnStarted)]
    assert turns == list(range(1, len(turns) + 1))


@given(conversations())
def test_the_same_words_in_another_form_are_the_same_conversation(messages):
    def other(message):
        changed = {**message, "name": "x", "refusal": None}
        if isinstance(message["content"], str):
            changed["content"] = [{"type": "text", "text": message["content"]}]
        for call in changed.get("tool_calls", ()):
            arguments = json.loads(call["function"]["arguments"])
            call = {**call, "index": 0, "function": {"name": "look", "arguments": json.dumps(arguments, indent=2)}}
        return changed

    assert digest([other(message) for message in messages]) == digest(messages)
    assert read_messages([other(message) for message in messages]) == read_messages(messages)
    edited = [*messages[:-1], {**messages[-1], "content": "quite another thing"}]
    assert (digest(edited) == digest(messages)) == (messages[-1]["content"] == "quite another thing")


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda one: st.lists(one), max_leaves=5)
ROLES = st.sampled_from(["system", "user", "assistant", "tool", "function", "x"]) | JSON


@given(
    st.lists(st.dictionaries(st.sampled_from(["role", "content", "tool_calls", "tool_call_id"]), ROLES | JSON)) | JSON
)
def test_whatever_comes_is_read_or_refused_in_words(messages):
    try:
        read = read_messages(messages)
    except Refusal:
        return
    assert read.opening.strip()


def test_greetings_and_rows_of_messages_are_joined():
    read = read_messages(
        [
            {"role": "system", "content": "Rules."},
            {"role": "developer", "content": "More."},
            {"role": "assistant", "content": "Hi! How can I help?"},
            {"role": "user", "content": "I"},
            {"role": "user", "content": "need help."},
        ]
    )
    assert (read.instructions, read.greeting, read.opening) == (
        "Rules.\n\nMore.",
        "Hi! How can I help?",
        "I\n\nneed help.",
    )
    assert assignment(read).startswith("I\n\nneed help.\n\n(You had begun with: Hi! How can I help?)")
    assert question(read) == assignment(read)


def test_a_call_before_the_user_spoke_and_two_of_one_id_are_refused():
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    with pytest.raises(Refusal, match="before the user has said anything"):
        read_messages([{"role": "assistant", "content": None, "tool_calls": [call]}])
    with pytest.raises(Refusal, match="two calls have the same id"):
        read_messages([{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [call, call]}])
