"""A conversation as a caller sends it in OpenAI's messages, read and checked."""

from collections.abc import Mapping
from typing import Any

from orchestra_lib.call_text import arguments_of
from orchestra_lib.codec import fingerprint
from orchestra_lib.record import record
from orchestra_lib.serving.refusal import Refusal

MAX_MESSAGES = 2_000


@record
class GivenCall:
    """A call that an earlier message made; `result` is its tool message."""

    id: str
    tool: str
    arguments_text: str
    result: str | None = None


@record
class Before:
    """What the assistant said or called earlier, and the user's reply to it, if that came next."""

    content: str
    calls: tuple[GivenCall, ...] = ()
    reply: str | None = None


@record
class Conversation:
    """`instructions` are the system messages, `opening` the user's first words, `greeting` the assistant's before them.

    `answers` are the tool messages at its end by call id, empty where the user spoke last; `digest` is that of all up
    to the assistant's last message.
    """

    instructions: str
    opening: str
    greeting: str
    before: tuple[Before, ...]
    answers: Mapping[str, str]
    digest: str


def read_messages(messages: object) -> Conversation:
    """Read OpenAI messages. Raises `Refusal` that names the message, the part and the remedy."""
    if not isinstance(messages, list) or not messages:
        raise Refusal("messages: send a list with at least one message", param="messages")
    if len(messages) > MAX_MESSAGES:
        raise Refusal(
            f"messages: {len(messages):,} are more than the {MAX_MESSAGES:,} that are taken", param="messages"
        )
    reader = _Reader()
    for place, message in enumerate(messages):
        reader.read(message, f"messages[{place}]")
    return reader.conversation(messages)


class _Reader:
    def __init__(self) -> None:
        self._instructions: list[str] = []
        self._opening: list[str] = []
        self._greeting: list[str] = []
        self._before: list[Before] = []
        self._open: dict[str, int] = {}

    def read(self, message: object, where: str) -> None:
        if not isinstance(message, Mapping):
            raise Refusal(f"{where}: a message is an object with role and content", param=where)
        role, text = message.get("role"), _text(message.get("content"), f"{where}.content")
        if self._open and role != "tool":
            missing = ", ".join(list(self._open)[:3])
            raise Refusal(f"{where}: the call {missing} has no tool message yet; send one for each call", param=where)
        match role:
            case "system" | "developer":
                self._instructions.append(text)
            case "user":
                self._user(text)
            case "assistant":
                self._assistant(text, _calls(message.get("tool_calls"), f"{where}.tool_calls"), where)
            case "tool":
                self._tool(message.get("tool_call_id"), text, where)
            case _:
                known = "system, developer, user, assistant and tool"
                raise Refusal(f"{where}.role = {str(role)[:40]!r}; the roles are {known}", param=f"{where}.role")

    def _user(self, text: str) -> None:
        if not self._before:
            self._opening.append(text)
            return
        last = self._before[-1]
        reply = text if last.reply is None else f"{last.reply}\n\n{text}"
        self._before[-1] = Before(content=last.content, calls=last.calls, reply=reply)

    def _assistant(self, text: str, calls: tuple[GivenCall, ...], where: str) -> None:
        if not self._opening:
            if calls:
                raise Refusal(f"{where}: a call before the user has said anything", param=where)
            self._greeting.append(text)
            return
        last = self._before[-1] if self._before else None
        if last and not last.calls and last.reply is None:  # two messages in a row are one
            text = "\n\n".join(part for part in (self._before.pop().content, text) if part)
        self._before.append(Before(content=text, calls=calls))
        self._open = {call.id: n for n, call in enumerate(calls)}
        if len(self._open) < len(calls):
            raise Refusal(f"{where}.tool_calls: two calls have the same id", param=where)

    def _tool(self, call_id: object, text: str, where: str) -> None:
        if not isinstance(call_id, str) or call_id not in self._open:
            raise Refusal(
                f"{where}.tool_call_id = {str(call_id)[:60]!r} answers no call of the message before it",
                param=f"{where}.tool_call_id",
            )
        last, place = self._before[-1], self._open.pop(call_id)
        asked = last.calls[place]
        done = GivenCall(id=asked.id, tool=asked.tool, arguments_text=asked.arguments_text, result=text)
        calls = (*last.calls[:place], done, *last.calls[place + 1 :])
        self._before[-1] = Before(content=last.content, calls=calls, reply=last.reply)

    def conversation(self, messages: list[Any]) -> Conversation:
        last = self._before[-1] if self._before else None
        if self._open:
            missing = ", ".join(list(self._open)[:3])
            raise Refusal(f"messages: the call {missing} has no tool message", param="messages")
        if last is not None and last.reply is None and not last.calls:
            raise Refusal(
                "messages: the last one is the assistant's; end with the user's or a tool's", param="messages"
            )
        if not any(part.strip() for part in self._opening):
            raise Refusal(
                "messages: there is no user message, or it is empty; say what should be done", param="messages"
            )
        ends = last is not None and last.reply is None
        end = max((n for n, one in enumerate(messages) if one["role"] == "assistant"), default=-1) + 1
        return Conversation(
            instructions="\n\n".join(part for part in self._instructions if part),
            opening="\n\n".join(part for part in self._opening if part),
            greeting="\n\n".join(part for part in self._greeting if part),
            before=tuple(self._before),
            answers={call.id: call.result or "" for call in last.calls} if last and ends else {},
            digest=digest(messages[:end]),
        )


def digest(messages: list[Any]) -> str:
    """What tells a conversation from every other, whatever form its client gave to the same words."""
    return fingerprint([_normal(message) for message in messages])


def _normal(message: Mapping[str, Any]) -> list[Any]:
    calls = _calls(message.get("tool_calls"), "")
    read = [[call.id, call.tool, arguments_of(call.arguments_text)[0] or call.arguments_text] for call in calls]
    return [message["role"], _text(message.get("content"), ""), read, message.get("tool_call_id")]


def _text(content: object, where: str) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise Refusal(f"{where} is {type(content).__name__}; send a text or a list of text parts", param=where)
    said = []
    for place, part in enumerate(content):
        kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
        words = part.get("text", part.get("refusal")) if isinstance(part, Mapping) else None
        if kind not in ("text", "refusal") or not isinstance(words, str):
            raise Refusal(
                f"{where}[{place}] is of type {str(kind)[:40]!r}; only text is taken: leave it out or describe it",
                param=f"{where}[{place}]",
            )
        said.append(words)
    return "\n".join(said)


def _calls(calls: object, where: str) -> tuple[GivenCall, ...]:
    if calls is None:
        return ()
    if not isinstance(calls, list):
        raise Refusal(f"{where} is no list", param=where)
    return tuple(_call(call, f"{where}[{place}]") for place, call in enumerate(calls))


def _call(call: object, where: str) -> GivenCall:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping):
        raise Refusal(f"{where} has no function; only function calls are known", param=where)
    call_id, name, arguments = call.get("id"), function.get("name"), function.get("arguments", "")
    if not isinstance(call_id, str) or not isinstance(name, str) or not isinstance(arguments, str):
        raise Refusal(f"{where}: id, function.name and function.arguments are texts", param=where)
    return GivenCall(id=call_id, tool=name, arguments_text=arguments)
