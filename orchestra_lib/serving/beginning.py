"""What a served run begins with, of the conversation that its caller sent.

With tools of the caller's own on offer its turns become turns of the run; without any they become words of the task.
"""

from collections.abc import Iterator

from orchestra_lib.call_text import arguments_of
from orchestra_lib.event import CallFinished, Event, Generated, TurnFinished, TurnStarted
from orchestra_lib.generation import Generation
from orchestra_lib.json_writing import spoken
from orchestra_lib.serving.conversation import Before, Conversation
from orchestra_lib.tool import ASK_USER, CallStatus, Observation, ToolCall

GIVEN = "came with the caller's messages"
"""How a call of a given turn was read."""


def history(before: tuple[Before, ...]) -> tuple[Event, ...]:
    """The turns that a run begins with; the user's replies are those to `ask_user`. They cost nothing here."""
    moves = []
    for one in before:
        if one.calls or one.reply is None:
            moves.append((one.content, [(call.tool, call.arguments_text, call.result or "") for call in one.calls]))
        if one.reply is not None:
            said = "" if one.calls else one.content
            moves.append((said, [(ASK_USER, spoken({"message": said}), one.reply)]))
    return tuple(event for turn, move in enumerate(moves, start=1) for event in _turn(turn, *move))


def _turn(turn: int, content: str, calls: list[tuple[str, str, str]]) -> Iterator[Event]:
    made = tuple(
        ToolCall(
            id=f"call_{turn}_{place}", tool=tool, arguments=arguments_of(text)[0], arguments_text=text, recovered=GIVEN
        )
        for place, (tool, text, _) in enumerate(calls, start=1)
    )
    yield TurnStarted(seq=0, t_s=0.0, turn=turn)
    yield Generated(seq=0, t_s=0.0, turn=turn, generation=Generation(raw_text=content, content=content, calls=made))
    for call, (_, _, result) in zip(made, calls, strict=True):
        seen = Observation(call_id=call.id, status=CallStatus.OK, text=result, started_s=0.0, finished_s=0.0)
        yield CallFinished(seq=0, t_s=0.0, turn=turn, observation=seen)
    yield TurnFinished(seq=0, t_s=0.0, turn=turn)


def question(conversation: Conversation) -> str:
    """The whole conversation as one task: the last words first, what they came with after them."""
    replies = [one.reply for one in conversation.before if one.reply is not None]
    ends_with_call = conversation.before and conversation.before[-1].reply is None
    asked = replies[-1] if replies and not ends_with_call else conversation.opening
    said = _transcript(conversation) if conversation.before else ""
    return _joined(asked, conversation, f"\n\n<conversation_so_far>\n{said}\n</conversation_so_far>" if said else "")


def assignment(conversation: Conversation) -> str:
    """The task of a run whose further turns are given: the user's first words, and the instructions after them."""
    return _joined(conversation.opening, conversation, "")


def _joined(asked: str, conversation: Conversation, said: str) -> str:
    rules = f"\n\n<instructions>\n{conversation.instructions}\n</instructions>" if conversation.instructions else ""
    greeting = f"\n\n(You had begun with: {conversation.greeting})" if conversation.greeting else ""
    return f"{asked}{greeting}{rules}{said}"


def _transcript(conversation: Conversation) -> str:
    lines = [f"User: {conversation.opening}"]
    for one in conversation.before:
        lines += [f"Assistant: {one.content}"] if one.content else []
        lines += [f"Assistant called {call.tool}({call.arguments_text}): {call.result}" for call in one.calls]
        lines += [f"User: {one.reply}"] if one.reply is not None else []
    return "\n".join(lines)
