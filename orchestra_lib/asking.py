"""Asking a language model for one JSON object about texts that others wrote.

The texts are data: each stands in a fence whose mark is new for each request. A reply that is not what was asked for
is told so and asked for once more; after that there is none, and why is said.
"""

import re
import secrets
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Generic, TypeVar

from orchestra_lib.chat import inert
from orchestra_lib.errors import ProviderFault
from orchestra_lib.generation import ChatRequest, Completion
from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import ChatModel
from orchestra_lib.record import record

T = TypeVar("T")
_FENCE = re.compile(r"^([ \t]*)(BEGIN|END)\b", re.MULTILINE)
_KEPT_CHARS = 1_000
"""How much of a reply that was no good the model is shown again."""


@record
class Asked(Generic[T]):
    """What came of asking. `value` is None when the model gave none, and `why` says what it did instead."""

    value: T | None
    attempts: tuple[Attempt, ...]
    why: str = ""


async def ask(
    model: ChatModel,
    request: ChatRequest,
    read: Callable[[str], tuple[T | None, str]],
    *,
    again: str | Callable[[str], str],
) -> Asked[T]:
    """Ask once, and once more with the words `again` when `read` finds nothing and says why.

    Raises what the model raises; a `ProviderFault` carries the attempts of both requests.
    """
    attempts: tuple[Attempt, ...] = ()
    why = ""
    for _ in range(2):
        try:
            reply = await completion(model, request)
        except ProviderFault as fault:
            fault.attempts = (*attempts, *fault.attempts)
            raise
        attempts += reply.attempts
        value, why = read(reply.content)
        if value is not None:
            return Asked(value=value, attempts=attempts)
        said = inert(reply.content[:_KEPT_CHARS]) or "(nothing)"
        words = again if isinstance(again, str) else again(why)
        more = ({"role": "assistant", "content": said}, {"role": "user", "content": words})
        request = replace(request, messages=(*request.messages, *more))
    return Asked(value=None, attempts=attempts, why=why)


async def completion(model: ChatModel, request: ChatRequest) -> Completion:
    """The finished reply to one request. Raises what the model raises."""
    async with aclosing(model.stream(request)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Completion):
                return piece
    raise RuntimeError(f"the model {model.name} ended its stream without a completion")


def new_fence() -> str:
    """A mark that nobody who wrote a text can have known."""
    return secrets.token_hex(8)


def fenced(title: str, text: str, fence: str) -> str:
    """A text under its title between the lines BEGIN and END with this mark; what looks like them is none any more."""
    held = inert(_FENCE.sub(r"\1> \2", text.replace(fence, "…")))
    return f"{title}\nBEGIN {fence}\n{held}\nEND {fence}"
