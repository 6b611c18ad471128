"""Calls as models and servers write them: hermes boxes, and arguments sent as text."""

import re
from typing import Any

from orchestra_lib.json_text import Extent, decode
from orchestra_lib.record import record

BOX, BOX_END = "<tool_call>", "</tool_call>"
OPEN, CLOSE = "<think>", "</think>"

UNCLOSED, EXTRA, LIST, BRACKETS = "unclosed", "extra_object", "list", "stray_brackets"
TEXT_ARGUMENTS, REPEATED, CUT_OFF, COERCED = "text_arguments", "repeated", "cut_off", "coerced"
"""What was forgiven, beside the levels of `json_text`: see `ReadCall`."""

_MAX_NAME = 80
_EDGE = re.compile("|".join(map(re.escape, (BOX_END, BOX, OPEN, CLOSE))))
_ATTEMPT = re.compile(r"[{\[(<]")
_NAME = re.compile(rf"""["']name["']\s*:\s*["']([^"'\\]{{1,{_MAX_NAME}}})["']""")


@record
class ReadCall:
    """A call found in text. `arguments` None: it could not be read as a JSON object; `text` is always kept.

    `recovered` names what was forgiven, None for a faultless call: `control_characters` or `python_literal`
    (the JSON), `text_arguments` (an object written as a string), `extra_object` (a further one in a box),
    `list` (of objects in a box), `stray_brackets` behind the object, `unclosed` box, `repeated` (the same
    arguments sent twice), `cut_off` (nothing sent because the reply was cut), `coerced` (by the schema).
    """

    name: str
    arguments: dict[str, Any] | None
    text: str
    recovered: str | None = None

    def flagged(self, *marks: str | None) -> "ReadCall":
        """The call with more that was forgiven; one that could not be read was forgiven nothing."""
        recovered = None if self.arguments is None else joined(self.recovered, *marks)
        return ReadCall(name=self.name, arguments=self.arguments, text=self.text, recovered=recovered)


def joined(*marks: str | None) -> str | None:
    """Several marks as one text, None for none."""
    return ", ".join(mark for mark in marks if mark) or None


class Box:
    """One box, from behind its opening tag, in a text that may still grow.

    Its objects are the calls. Behind them only brackets are forgiven: with other words the box as a whole is one
    unreadable call. An object that is cut or broken is an unreadable call up to the next tag. A box that
    begins with no object is unreadable when it is closed and holds a bracket, else words about the tag.
    """

    def __init__(self) -> None:
        self._found: list[ReadCall] = []
        self._at = 0
        self._object: Extent | None = None
        self._broken = False
        self._inside = 0
        self._closed = False

    def end(self, text: str, final: bool) -> int | None:
        """Where reading goes on behind the box; None until that is certain."""
        while True:
            if self._object is not None and not self._take(text, self._object):
                return self._edge(text, final) if self._broken or final else None
            while self._at < len(text) and text[self._at].isspace():
                self._at += 1
            if not text.startswith(("{", "["), self._at):
                return self._edge(text, final)
            self._object = Extent(self._at)

    def calls(self, text: str) -> list[ReadCall]:
        """The calls of the box, none when the tag was only mentioned; to be asked once `end` is known."""
        inside, rest = text[: self._inside], text[self._at : self._inside].strip()
        if self._object is not None:
            return [*self._found, unreadable(rest)]
        if not self._found:
            return [unreadable(rest)] if self._closed and _ATTEMPT.search(rest) else []
        if not self._forgives(rest):
            return [unreadable(inside.strip())]
        marks = (None, BRACKETS if rest else None) if self._closed else (UNCLOSED,)
        return [*self._found[:-1], self._found[-1].flagged(*marks)]

    def _take(self, text: str, extent: Extent) -> bool:
        """Read the object that is being scanned, once all of it is there."""
        end = None if self._broken else extent.end(text)
        if end is None:
            return False
        try:
            calls = _of_value(text[extent.start : end])
        except ValueError:
            self._broken = True
            return False
        self._found += [call.flagged(EXTRA) for call in calls] if self._found else calls
        self._at, self._object = end, None
        return True

    def _edge(self, text: str, final: bool) -> int | None:
        """The end of a box that holds no whole object from here on: the next tag."""
        tag = _EDGE.search(text, self._at)
        if tag is None and not final:
            return None
        self._inside = tag.start() if tag else len(text)
        self._closed = tag is not None and tag[0] == BOX_END
        return tag.end() if tag and self._closed else self._inside

    def _forgives(self, rest: str) -> bool:
        """Stray brackets, or the half of a closing tag at the end of the text."""
        return not rest.strip("{}[]() \t\r\n") or (not self._closed and BOX_END.startswith(rest))


def arguments_of(text: str) -> tuple[dict[str, Any] | None, str | None]:
    """The arguments that a server sent as text, and how they were read; None when they are no object.

    Nothing and `null` are an empty object: the schema decides whether that is enough. Some servers send
    the arguments twice, once escaped: twice the same object is one object.
    """
    text = text.strip()
    if text in ("", "null", '""'):
        return {}, None
    end = Extent(0).end(text) if text.startswith("{") else None
    if end is None or end == len(text):
        return _object(text)
    (first, _), (second, how) = _object(text[:end]), _object(text[end:])
    return (first, joined(how, REPEATED)) if first is not None and first == second else (None, None)


def unreadable(text: str) -> ReadCall:
    """A call without arguments, with its name where the text shows one."""
    named = _NAME.search(text)
    return ReadCall(name=named[1].strip() if named else "", arguments=None, text=text)


def _of_value(text: str) -> list[ReadCall]:
    """The calls that one object, or a list of objects, stands for. Raises ValueError for text that is neither."""
    value, level = decode(text)
    if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
        return [_call(part, text).flagged(level, LIST) for part in value]
    return [_call(value, text).flagged(level)]


def _call(value: Any, text: str) -> ReadCall:
    name = value.get("name") if isinstance(value, dict) else None
    if not isinstance(name, str):
        return unreadable(text)
    given, level = value.get("arguments", value.get("parameters")), None
    if given is None or given == "":
        given = {}  # a tool without parameters; the schema decides whether that is enough
    elif isinstance(given, str):
        given, level = _object(given)
        level = joined(level, TEXT_ARGUMENTS)
    readable = isinstance(given, dict)
    return ReadCall(name=name.strip(), arguments=given if readable else None, text=text, recovered=level)


def _object(text: str) -> tuple[dict[str, Any] | None, str | None]:
    """An object, or one that is written as a JSON string."""
    try:
        value, level = decode(text)
        if isinstance(value, str):
            value, inner = decode(value)
            level = joined(level, inner, TEXT_ARGUMENTS)
    except ValueError:
        return None, None
    return (value, level) if isinstance(value, dict) else (None, None)
