"""Reading what a model says: reasoning apart, calls found, one reader for streamed, stored and training text.

Calls come as hermes boxes, `<tool_call>{"name": …, "arguments": {…}}</tool_call>`. Reasoning in `<think>`, closed
or not, is never searched for calls; a `</think>` without an opening makes everything before it reasoning, as
templates that open it in the prompt produce. A box is scanned as JSON, so a tag inside a string does not
cut a call. What a box holds is read or refused, never repaired by guess; what cannot be read becomes a call
without arguments, which the loop rejects in words that the model can read. No text is lost but the tags
themselves and end-of-turn tokens at the very end.
"""

from collections.abc import Callable, Iterable, Sequence

from orchestra_lib.call_text import BOX, CLOSE, OPEN, Box, ReadCall
from orchestra_lib.generation import Channel, Delta
from orchestra_lib.record import record

END_TOKENS = ("<|im_end|>", "<|endoftext|>")
"""Tokens that end a turn; a raw reply may carry them."""

MAX_CALLS = 64
"""So many calls are read from one reply; boxes beyond stay text."""

_MAX_END_TOKENS = 8


@record
class Reading:
    """A reply, read: reasoning, what is said outside the calls, the calls in order.

    `spoken` is everything but the reasoning, boxes included, as a conversation carries it on.
    """

    reasoning: str
    content: str
    calls: tuple[ReadCall, ...]
    spoken: str


def read(text: str, *, boxes: bool = True, thinking: bool = False) -> Reading:
    """Read a whole reply; see `Reader` for the switches."""
    reader = Reader(boxes=boxes, thinking=thinking)
    reader.feed(text)
    reader.close()
    return reader.reading()


def without_reasoning(text: str) -> str:
    """A reply less its reasoning, for text in which nothing is a call."""
    return read(text, boxes=False).spoken


class Reader:
    """Reads a reply in pieces of any size; what it makes of it does not depend on where the pieces end.

    With `boxes` off (no tool is on offer) boxes are plain text. `thinking` says that the prompt has opened
    the reasoning already. `feed` and `close` give what is certain to be shown: never half a tag, never a
    box. What was shown as content before a `</think>` without opening counts as reasoning in the end.
    """

    def __init__(self, *, boxes: bool = True, thinking: bool = False) -> None:
        self._held = self._tail = ""
        self._final = False
        self._thought = thinking
        self._boxes = boxes
        self._box = Box()
        self._step: Callable[[list[Delta]], bool] = self._think if thinking else self._talk
        self._reasoning: list[str] = []
        self._content: list[str] = []
        self._spoken: list[str] = []
        self._calls: list[ReadCall] = []

    def feed(self, text: str) -> list[Delta]:
        """Take a piece; the deltas that are certain after it."""
        text = self._tail + text
        end = _before_end_tokens(text)
        self._held, self._tail = self._held + text[:end], text[end:]
        return self._go()

    def close(self) -> list[Delta]:
        """The rest, once no more text comes."""
        if not self._tail.rstrip().endswith(END_TOKENS):
            self._held += self._tail
        self._final = True
        return self._go()

    def reading(self) -> Reading:
        """The whole, after `close`."""
        return Reading(
            reasoning="".join(self._reasoning).strip(),
            content="".join(self._content).strip(),
            calls=tuple(self._calls),
            spoken="".join(self._spoken),
        )

    def _go(self) -> list[Delta]:
        deltas: list[Delta] = []
        while self._step(deltas):
            pass
        return deltas

    def _talk(self, deltas: list[Delta]) -> bool:
        tags = [OPEN, CLOSE] + [BOX] * (self._boxes and len(self._calls) < MAX_CALLS)
        found = _first(self._held, tags)
        if found is None:
            self._say(deltas, self._certain(tags))
            return False
        at, tag = found
        self._say(deltas, at)
        self._held = self._held[len(tag) :]
        if tag == BOX:
            self._box, self._step = Box(), self._read_box
        elif tag == OPEN:
            self._thought, self._step = True, self._think
        elif self._thought:  # reasoning is over already: these are words about the tag
            self._held = tag + self._held
            self._say(deltas, len(tag))
        else:
            self._all_was_reasoning()
        return True

    def _think(self, deltas: list[Delta]) -> bool:
        found = _first(self._held, [CLOSE])
        self._give(deltas, Channel.REASONING, found[0] if found else self._certain([CLOSE]))
        if found is None:
            return False
        self._held = self._held[len(CLOSE) :]
        self._step = self._talk
        return True

    def _read_box(self, deltas: list[Delta]) -> bool:
        end = self._box.end(self._held, self._final)
        if end is None:
            return False
        calls = self._box.calls(self._held)
        self._step = self._talk
        if not calls:  # prose that only mentions the tag
            self._held = BOX + self._held
            self._say(deltas, len(BOX) + end)
            return True
        self._calls += calls
        self._spoken.append(BOX + self._held[:end])
        self._held = self._held[end:]
        return True

    def _all_was_reasoning(self) -> None:
        self._reasoning[:] = self._spoken
        self._content.clear()
        self._spoken.clear()
        self._calls.clear()
        self._thought = True

    def _say(self, deltas: list[Delta], count: int) -> None:
        self._spoken.append(self._held[:count])
        self._give(deltas, Channel.CONTENT, count)

    def _give(self, deltas: list[Delta], channel: Channel, count: int) -> None:
        text, self._held = self._held[:count], self._held[count:]
        if text:
            (self._reasoning if channel is Channel.REASONING else self._content).append(text)
            deltas.append(Delta(channel=channel, text=text))

    def _certain(self, tags: Sequence[str]) -> int:
        """How much of the held text cannot begin one of the tags."""
        return len(self._held) - (0 if self._final else max(_half(self._held, tag) for tag in tags))


def _first(text: str, tags: Iterable[str]) -> tuple[int, str] | None:
    found = [(at, tag) for tag in tags if (at := text.find(tag)) >= 0]
    return min(found) if found else None


def _half(text: str, tag: str) -> int:
    """How many characters at the end of `text` may begin `tag`."""
    if tag[0] not in text[1 - len(tag) :]:  # most often
        return 0
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:size])), 0)


def _before_end_tokens(text: str) -> int:
    """Where the end-of-turn tokens begin that the text ends with, the last of them perhaps half."""
    end = len(text) - max(_half(text, token) for token in END_TOKENS)
    for _ in range(_MAX_END_TOKENS):
        cut = text[:end].rstrip()
        size = next((len(token) for token in END_TOKENS if cut.endswith(token)), 0)
        if not size:
            break
        end = len(cut) - size
    return end
