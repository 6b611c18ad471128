"""A reply put together from the chunks of a stream.

Chunks come from outside and may hold anything: fields of a wrong type count as absent, and a
stream that cannot be one reply raises `BrokenStream`.
"""

from typing import Any

from orchestra_lib.generation import Channel, Completion, Delta, RawCall
from orchestra_lib.pricing import Attempt, Usage

MAX_REPLY_CHARS = 4_000_000
"""Far above any real reply; a server that floods is cut off here."""
_REASONING_FIELDS = ("reasoning_content", "reasoning")


class BrokenStream(ValueError):
    """The chunks do not make one reply; the message says why."""


class Reply:
    """Collects chunks: `add` returns the text to show at once, `completion` the whole."""

    def __init__(self) -> None:
        self.usage: Usage | None = None
        self._texts: dict[Channel, list[str]] = {Channel.REASONING: [], Channel.CONTENT: []}
        self._calls: list[_CallParts] = []
        self._by_index: dict[int, _CallParts] = {}
        self._token_ids: list[int] = []
        self._finish_reason: str | None = None
        self._chars = 0

    def add(self, chunk: object) -> list[Delta]:
        """Take one chunk in. Raises `BrokenStream`."""
        self._read_usage(getattr(chunk, "usage", None))
        deltas: list[Delta] = []
        choices = getattr(chunk, "choices", None)
        for choice in choices if isinstance(choices, list) else []:
            if getattr(choice, "index", None) not in (0, None):
                raise BrokenStream("it mixes several replies in one stream")
            deltas += self._read_delta(getattr(choice, "delta", None))
            self._read_token_ids(getattr(choice, "token_ids", None))
            self._finish_reason = _text(getattr(choice, "finish_reason", None)) or self._finish_reason
        return deltas

    def completion(self, attempts: tuple[Attempt, ...]) -> Completion:
        """The whole reply. Raises `BrokenStream` when the stream ended before the reply did."""
        if self._finish_reason is None:
            raise BrokenStream("the stream ended before the reply did")
        return Completion(
            content="".join(self._texts[Channel.CONTENT]),
            reasoning="".join(self._texts[Channel.REASONING]),
            calls=tuple(parts.call(number) for number, parts in enumerate(self._calls)),
            finish_reason=self._finish_reason,
            token_ids=tuple(self._token_ids) or None,
            attempts=attempts,
        )

    def _read_delta(self, delta: object) -> list[Delta]:
        calls = getattr(delta, "tool_calls", None)
        for piece in calls if isinstance(calls, list) else []:
            self._read_call(piece)
        reasoning = next((text for name in _REASONING_FIELDS if (text := _text(getattr(delta, name, None)))), "")
        pairs = ((Channel.REASONING, reasoning), (Channel.CONTENT, _text(getattr(delta, "content", None))))
        deltas = [Delta(channel=channel, text=text) for channel, text in pairs if text]
        for piece in deltas:
            self._count(piece.text)
            self._texts[piece.channel].append(piece.text)
        return deltas

    def _read_call(self, piece: Any) -> None:
        function = getattr(piece, "function", None)
        name, text = _text(getattr(function, "name", None)), _text(getattr(function, "arguments", None))
        call_id, index = _text(getattr(piece, "id", None)), getattr(piece, "index", None)
        parts = self._by_index.get(index) if isinstance(index, int) else next(reversed(self._calls), None)
        # Some servers send several whole calls under one index: a new id with a name is a new call.
        if parts is None or (name and call_id and parts.id not in ("", call_id)):
            if not name:
                raise BrokenStream("a tool call has arguments but no beginning")
            parts = _CallParts()
            self._calls.append(parts)
        if isinstance(index, int):
            self._by_index[index] = parts
        self._count(text)
        parts.id = parts.id or call_id
        parts.name = parts.name or name
        parts.arguments.append(text)

    def _read_usage(self, usage: object) -> None:
        read = Usage(
            input_tokens=_count(getattr(usage, "prompt_tokens", None)),
            output_tokens=_count(getattr(usage, "completion_tokens", None)),
            cached_tokens=_count(getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None)),
            reasoning_tokens=_count(
                getattr(getattr(usage, "completion_tokens_details", None), "reasoning_tokens", None)
            ),
        )
        # Usage is cumulative where a server repeats it: the last one that says something stands.
        if read.input_tokens is not None or read.output_tokens is not None:
            self.usage = read

    def _read_token_ids(self, ids: object) -> None:
        if isinstance(ids, list) and all(isinstance(token, int) for token in ids):
            self._token_ids += ids

    def _count(self, text: str) -> None:
        self._chars += len(text)
        if self._chars > MAX_REPLY_CHARS:
            raise BrokenStream(f"the reply passed {MAX_REPLY_CHARS:,} characters")


class _CallParts:
    """A tool call as its pieces arrive."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []

    def call(self, number: int) -> RawCall:
        return RawCall(id=self.id or f"call_{number}", name=self.name, arguments_text="".join(self.arguments))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
