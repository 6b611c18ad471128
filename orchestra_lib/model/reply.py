"""A reply put together from the chunks of a stream.

Chunks come from outside and may hold anything: fields of a wrong type count as absent, and a
stream that cannot be one reply raises `BrokenStream`.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from orchestra_lib.generation import Channel, Completion, Delta, RawCall
from orchestra_lib.pricing import Attempt, Usage, with_reasoning_inside

MAX_REPLY_CHARS = 4_000_000
"""Far above any real reply; a server that floods is cut off here."""
REASONING_FIELDS = ("reasoning_content", "reasoning")
_COST_FIELDS = ("cost", "estimated_cost")  # OpenRouter, DeepInfra; in USD


class BrokenStream(ValueError):
    """The chunks do not make one reply; the message says why."""


class Reply:
    """Collects chunks: `add` returns the text to show at once, `completion` the whole.

    `usage` and `cost_usd` are what the server reported so far, None when it said nothing. `reasoning_apart`: this
    server counts reasoning beside the output, not within it, so that only its total holds everything.
    """

    def __init__(self, reasoning_fields: Sequence[str] = REASONING_FIELDS, *, reasoning_apart: bool = False) -> None:
        self.usage: Usage | None = None
        self.cost_usd: float | None = None
        self._reasoning_fields, self._reasoning_apart = reasoning_fields, reasoning_apart
        self._texts: dict[Channel, list[str]] = {Channel.REASONING: [], Channel.CONTENT: []}
        self._calls: list[_CallParts] = []
        self._by_index: dict[int, _CallParts] = {}
        self._token_ids: list[int] = []
        self._finish_reason: str | None = None
        self._chars = 0

    def add(self, chunk: object) -> list[Delta]:
        """Take one chunk in, as it stands in the stream's JSON. Raises `BrokenStream`."""
        self._read_usage(_part(chunk, "usage"))
        deltas: list[Delta] = []
        choices = _part(chunk, "choices")
        for choice in choices if isinstance(choices, list) else []:
            if _part(choice, "index") not in (0, None):
                raise BrokenStream("it mixes several replies in one stream")
            deltas += self._read_delta(_part(choice, "delta"))
            self._read_token_ids(_part(choice, "token_ids"))
            self._finish_reason = _text(_part(choice, "finish_reason")) or self._finish_reason
        return deltas

    @property
    def text(self) -> str:
        """Everything that the model wrote so far, its calls included."""
        calls = (part for call in self._calls for part in (call.name, *call.arguments))
        return "".join([*self._texts[Channel.REASONING], *self._texts[Channel.CONTENT], *calls])

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
        calls = _part(delta, "tool_calls")
        for piece in calls if isinstance(calls, list) else []:
            self._read_call(piece)
        reasoning = next((text for name in self._reasoning_fields if (text := _text(_part(delta, name)))), "")
        pairs = ((Channel.REASONING, reasoning), (Channel.CONTENT, _text(_part(delta, "content"))))
        deltas = [Delta(channel=channel, text=text) for channel, text in pairs if text]
        for piece in deltas:
            self._count(piece.text)
            self._texts[piece.channel].append(piece.text)
        return deltas

    def _read_call(self, piece: Any) -> None:
        function = _part(piece, "function")
        name, text = _text(_part(function, "name")), _text(_part(function, "arguments"))
        call_id, index = _text(_part(piece, "id")), _part(piece, "index")
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
        given, made = _part(usage, "prompt_tokens_details"), _part(usage, "completion_tokens_details")
        read = Usage(
            input_tokens=_count(_part(usage, "prompt_tokens")),
            output_tokens=_count(_part(usage, "completion_tokens")),
            cached_tokens=_count(_part(given, "cached_tokens")),
            cache_write_tokens=_count(_part(given, "cache_write_tokens")),
            reasoning_tokens=_count(_part(made, "reasoning_tokens")),
        )
        # Usage is cumulative where a server repeats it: the last one that says something stands, and
        # zeros say nothing, since no prompt is empty.
        if read.input_tokens or read.output_tokens:
            self.usage = _joined(read, _count(_part(usage, "total_tokens"))) if self._reasoning_apart else read
        costs = (_amount(_part(usage, name)) for name in _COST_FIELDS)
        self.cost_usd = next((cost for cost in costs if cost is not None), self.cost_usd)

    def _read_token_ids(self, ids: object) -> None:
        if isinstance(ids, list) and all(isinstance(token, int) for token in ids):
            self._token_ids += ids

    def _count(self, text: str) -> None:
        self._chars += len(text)
        if self._chars > MAX_REPLY_CHARS:
            raise BrokenStream(f"the reply passed {MAX_REPLY_CHARS:,} characters")


def _joined(usage: Usage, total: int | None) -> Usage:
    """Usage with reasoning within the output, from a server that counts it apart or leaves it to the total."""
    apart = (total or 0) - (usage.input_tokens or 0) - (usage.output_tokens or 0)
    if apart <= 0 and total is not None:
        return usage
    return with_reasoning_inside(replace(usage, reasoning_tokens=apart if apart > 0 else usage.reasoning_tokens))


class _CallParts:
    """A tool call as its pieces arrive."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []

    def call(self, number: int) -> RawCall:
        return RawCall(id=self.id or f"call_{number}", name=self.name, arguments_text="".join(self.arguments))


def _part(value: object, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _amount(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value < math.inf else None
