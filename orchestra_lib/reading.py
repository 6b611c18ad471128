"""Reading what a model says: reasoning apart, calls found, one reader for streamed and stored text.

Calls come as hermes boxes, `<tool_call>{"name": …, "arguments": {…}}</tool_call>`. Reasoning in
`<think>` is never searched for calls. JSON is scanned as JSON, so a box end inside a string does
not cut a call. What cannot be read becomes a call without arguments, which the loop rejects in words
that the model can read; no text is lost.
"""

import json
import re
from typing import Any

from orchestra_lib.generation import Channel, Delta
from orchestra_lib.record import record

_OPEN, _CLOSE = "<think>", "</think>"
_BOX = "<tool_call>"
_BOX_END = re.compile(r"\s*</?tool_call\s*>?")
_DECODER = json.JSONDecoder(strict=False)


class ThinkSplitter:
    """Splits text, in pieces of any size, into reasoning and content at `<think>` tags.

    A piece that ends in what may be half a tag is held back until the next one.
    """

    def __init__(self) -> None:
        self._thinking = False
        self._held = ""

    def feed(self, text: str) -> list[Delta]:
        """The deltas that are certain after this piece."""
        self._held += text
        deltas: list[Delta] = []
        while True:
            tag = _CLOSE if self._thinking else _OPEN
            at = self._held.find(tag)
            if at < 0:
                break
            self._give(deltas, at)
            self._held = self._held[len(tag) :]
            self._thinking = not self._thinking
        self._give(deltas, len(self._held) - _half_tag(self._held, tag))
        return deltas

    def close(self) -> list[Delta]:
        """The rest, once no more text comes."""
        deltas: list[Delta] = []
        self._give(deltas, len(self._held))
        return deltas

    def _give(self, deltas: list[Delta], count: int) -> None:
        text, self._held = self._held[:count], self._held[count:]
        if text:
            deltas.append(Delta(channel=Channel.REASONING if self._thinking else Channel.CONTENT, text=text))


def _half_tag(text: str, tag: str) -> int:
    """How many characters at the end of `text` may begin `tag`."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:size])), 0)


@record
class ReadCall:
    """A call found in text. `arguments` None: it could not be read as a JSON object.

    `recovered` names what was forgiven: `unclosed` box, `extra` objects in one box, `relaxed` control characters.
    """

    name: str
    arguments: dict[str, Any] | None
    text: str
    recovered: str | None = None


@record
class Reading:
    """A reply, read: reasoning, what is said outside the calls, and the calls in order."""

    reasoning: str
    content: str
    calls: tuple[ReadCall, ...]


def read(text: str) -> Reading:
    """Read a whole reply."""
    content, calls = _boxes(without_reasoning(text))
    return Reading(reasoning=_only(text, Channel.REASONING).strip(), content=content.strip(), calls=tuple(calls))


def without_reasoning(text: str) -> str:
    """A reply less what stands in `<think>`."""
    return _only(text, Channel.CONTENT)


def _only(text: str, channel: Channel) -> str:
    splitter = ThinkSplitter()
    return "".join(delta.text for delta in splitter.feed(text) + splitter.close() if delta.channel is channel)


def _boxes(text: str) -> tuple[str, list[ReadCall]]:
    content, calls, at = "", [], 0
    while (start := text.find(_BOX, at)) >= 0:
        content += text[at:start]
        found, at = _box(text, start + len(_BOX))
        if found:
            calls += found
        else:  # prose that only mentions the tag
            content += _BOX
    return content + text[at:], calls


def _box(text: str, at: int) -> tuple[list[ReadCall], int]:
    """The calls of one box that opens at `at`, and where reading goes on."""
    calls: list[ReadCall] = []
    while True:
        here = _skip_space(text, at)
        if here >= len(text) or text[here] != "{":
            break
        try:
            value, end = _DECODER.raw_decode(text, here)
        except (ValueError, RecursionError):  # also numbers of over 4,300 digits and nesting without end
            end = text.find("</tool_call", here)
            end = len(text) if end < 0 else end
            calls.append(ReadCall(name=_named(text[here:end]), arguments=None, text=text[here:end].strip()))
            at = end
            break
        calls.append(_call(value, text[here:end], "extra" if calls else None))
        at = end
    closing = _BOX_END.match(text, at)
    if closing is None and calls and calls[-1].arguments is not None:
        calls[-1] = _call({"name": calls[-1].name, "arguments": calls[-1].arguments}, calls[-1].text, "unclosed")
    return calls, closing.end() if closing and calls else at


def _call(value: Any, text: str, recovered: str | None) -> ReadCall:
    name = value.get("name") if isinstance(value, dict) else None
    arguments = value.get("arguments", value.get("parameters")) if isinstance(value, dict) else None
    if isinstance(arguments, str) and arguments.strip():
        arguments = _object(arguments)
    elif arguments in (None, ""):
        arguments = {}  # a tool without parameters; the schema decides whether that is enough
    readable = isinstance(arguments, dict) and isinstance(name, str)
    return ReadCall(
        name=name.strip() if isinstance(name, str) else "",
        arguments=arguments if readable else None,
        text=text,
        recovered=recovered or (None if _is_strict(text) else "relaxed"),
    )


def _object(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):  # also numbers of over 4,300 digits and nesting without end
        return None


def _is_strict(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):  # also numbers of over 4,300 digits and nesting without end
        return False
    return True


def _named(text: str) -> str:
    found = re.search(r'"name"\s*:\s*"([^"\\]{1,80})"', text)
    return found[1].strip() if found else ""


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
