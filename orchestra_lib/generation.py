"""One request to a language model, what streams back, and what a policy makes of it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from orchestra_lib.pricing import Attempt
from orchestra_lib.record import record
from orchestra_lib.tool import ToolCall


class Channel(StrEnum):
    """Reasoning is shown and kept, and never executed; content is what the model says."""

    REASONING = "reasoning"
    CONTENT = "content"


@record
class Delta:
    """A piece of text as it streams."""

    channel: Channel
    text: str


@record
class ChatRequest:
    """One request in OpenAI's terms. `schema` constrains the reply to a JSON schema.

    `tools` are OpenAI function tools for servers that call natively; with `must_call` the reply has to call one,
    where the server can enforce that.
    """

    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 1024
    temperature: float = 0.0
    seed: int | None = None
    must_call: bool = False


@record
class RawCall:
    """A native tool call as the server sent it; the text may be no JSON."""

    id: str
    name: str
    arguments_text: str


@record
class Completion:
    """A finished reply. `finish_reason` is the server's word (`stop`, `length`, `tool_calls`, …) or None."""

    content: str
    reasoning: str = ""
    calls: tuple[RawCall, ...] = ()
    finish_reason: str | None = None
    token_ids: tuple[int, ...] | None = None
    attempts: tuple[Attempt, ...] = ()


@record
class Estimate:
    """What a transparent policy thought of one tool before it chose.

    `chance` is its guess that the tool solves this step, in [0, 1]; `score` the expected
    preference reward; `note` says what the guess rests on, or why the tool was ruled out (`score` None).
    """

    tool: str
    chance: float | None = None
    cost_usd: float | None = None
    latency_s: float | None = None
    score: float | None = None
    note: str = ""


@record
class Generation:
    """The orchestrator's move: calls to make, or an answer that ends the episode.

    `raw_text` is everything the model wrote, before it was read. `answer` is None while calls
    are outstanding; with neither calls nor answer the turn is spent and the loop goes on.
    `estimates` are given by policies that can account for their choice.
    """

    raw_text: str
    reasoning: str = ""
    content: str = ""
    calls: tuple[ToolCall, ...] = ()
    answer: str | None = None
    token_ids: tuple[int, ...] | None = None
    attempts: tuple[Attempt, ...] = ()
    estimates: tuple[Estimate, ...] = ()
