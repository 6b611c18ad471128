"""Any OpenAI-compatible endpoint as a `ChatModel`: OpenAI, OpenRouter, vLLM, llama.cpp, Ollama and the like.

The client library's own retries are off: every try is a row of the ledger, so the tries are ours.
"""

import asyncio
import math
import os
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from orchestra_lib.errors import BadInput, ContextOverflow, ProviderFault
from orchestra_lib.generation import ChatRequest, Completion, Delta
from orchestra_lib.json_writing import spoken
from orchestra_lib.model import wire
from orchestra_lib.model.dialect import Dialect, Patience
from orchestra_lib.model.failure import Address, Failure, failure_of
from orchestra_lib.model.gate import Gate
from orchestra_lib.model.reply import BrokenStream, Reply
from orchestra_lib.pricing import Attempt, Usage
from orchestra_lib.toolorchestra.tokens import TokenCounter, count

if TYPE_CHECKING:
    import openai

__all__ = ["Dialect", "OpenAICompatible", "Patience"]

_OVERCOUNT = 2.0
"""How many times too many tokens a stand-in for a tokenizer may count; the language and the model decide."""


class OpenAICompatible:
    """A `ChatModel` behind an HTTP address. `name` prices it, `model` is what the server calls it.

    The key is `api_key`, or what the environment variable `api_key_env` holds when a request is
    made; a server that needs none gets a placeholder. `gate` limits the requests to the provider.
    With a `counter`, tokens that the server does not report are counted here and marked as estimated, and a
    conversation is not even sent that has more than `max_input` tokens by that count, or cannot fit into the
    model's `context`.

    Raises `BadInput` for an address that is no http(s) URL. `stream` raises `ProviderFault` when every
    try failed, or when a reply broke off after part of it was handed on, and `ContextOverflow` when the conversation
    is too long; closing the iterator closes the connection.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        api_key_env: str | None = None,
        patience: Patience | None = None,
        dialect: Dialect | None = None,
        gate: Gate | None = None,
        counter: TokenCounter | None = None,
        context: int | None = None,
        max_input: int | None = None,
    ) -> None:
        import openai  # noqa: F401  # a third of a second: where a model is wanted, not at each start nor in its loop

        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadInput(f"the model address {base_url!r} is no URL; write for example http://127.0.0.1:8000/v1")
        self._name = name
        self._base_url = base_url
        self._model = model
        self._api_key = api_key
        self._api_key_env = api_key_env
        self._patience = patience or Patience()
        self._dialect = dialect or Dialect.guess(base_url, model)
        self._gate = gate or Gate()
        self._counter, self._context, self._max_input = counter, context, max_input

    @property
    def name(self) -> str:
        return self._name

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | Completion, None]:
        """Deltas, then one `Completion` whose attempts include the failed tries."""
        import openai

        self._check_fits(request)
        left_s, backoff_s, attempts = self._patience.total_s, 0.0, list[Attempt]()
        while True:
            reply = Reply(self._dialect.reasoning_fields, reasoning_apart=self._dialect.reasoning_apart)
            failure, shown = None, False
            async with self._gate.place() as queue_s:
                started = time.monotonic()
                waited = {"started": started, "queue_s": queue_s, "backoff_s": backoff_s}
                try:
                    async with aclosing(self._try(request, reply, started + left_s)) as deltas:
                        async for delta in deltas:
                            shown = True
                            yield delta
                    final = self._attempt(**waited, **self._reported(request, reply))
                    completion = reply.completion((*attempts, final))
                except (openai.OpenAIError, TimeoutError, ValueError, RecursionError) as error:
                    failure = failure_of(error, self._address())
                    # Once it has begun to write a provider may charge for it; before that it does not.
                    told = {"usage": reply.usage} if not shown else self._reported(request, reply)
                    charged = shown or reply.usage is not None
                    attempts.append(self._attempt(**waited, **told, error=failure.message, billed=charged))
            if failure is None:
                yield completion
                return
            left_s -= time.monotonic() - started
            backoff_s = self._wait_after(failure, shown, tuple(attempts), left_s)
            left_s -= backoff_s
            await asyncio.sleep(backoff_s)

    async def _try(self, request: ChatRequest, reply: Reply, deadline: float) -> AsyncGenerator[Delta, None]:
        deadline = min(deadline, time.monotonic() + self._patience.attempt_s)
        async with wire.client(self._base_url) as client:
            async with asyncio.timeout(_left(deadline)):
                stream = await self._ask(client, request)
            async with aclosing(stream):
                media_type = stream.response.headers.get("content-type", "").partition(";")[0].strip().lower()
                if media_type != "text/event-stream":
                    raise BrokenStream(f"it sent {media_type or 'an unnamed type'} and not an event stream")
                chunks = aiter(stream)
                while True:
                    # The clock must not run while the consumer holds the generator, so it starts anew per chunk.
                    async with asyncio.timeout(_left(deadline)):
                        chunk = await anext(chunks, None)
                    if chunk is None:
                        return
                    for delta in reply.add(chunk):
                        yield delta

    def _wait_after(self, failure: Failure, shown: bool, attempts: tuple[Attempt, ...], left_s: float) -> float:
        """Seconds until the next try. Raises when there is none."""
        tries = len(attempts)
        wait_s = self._patience.before_retry(tries - 1, failure.wait_s) if failure.retryable and not shown else None
        if wait_s is None or wait_s >= left_s:
            times = f" (after {tries} tries)" if tries > 1 else ""
            fault = ContextOverflow if failure.too_long else ProviderFault
            raise fault(failure.message + times, attempts)
        if failure.wait_s:
            self._gate.close_for(failure.wait_s)
        return wait_s

    def _check_fits(self, request: ChatRequest) -> None:
        room = math.inf if self._context is None else self._context - request.max_tokens
        most = math.inf if self._max_input is None else self._max_input
        text = _sent_text(request) if self._counter and min(room, most) < math.inf else ""
        if self._counter is None or len(text.encode("utf-8", "replace")) <= min(
            room, most
        ):  # a token has a byte at least
            return
        told = count(self._counter, text)
        # Our own bound takes the count as it stands; of the model's context only what is beyond doubt is refused.
        if told > most or (told if self._counter.exact else told / _OVERCOUNT) > room:
            raise ContextOverflow(
                f"the conversation has about {told:,} tokens; {self._model} takes {min(room, most):,} here beside "
                f"the {request.max_tokens:,} kept for its reply; nothing was sent"
            )

    def _reported(self, request: ChatRequest, reply: Reply) -> dict[str, Any]:
        """What an attempt says of tokens and money; tokens are counted here where the server said nothing."""
        usage = reply.usage
        if usage is None and self._counter is not None:
            given, made = count(self._counter, _sent_text(request)), count(self._counter, reply.text)
            usage = Usage(input_tokens=given, output_tokens=made, estimated=True)
        return {"usage": usage, "reported_cost_usd": reply.cost_usd}

    async def _ask(self, client: "openai.AsyncOpenAI", request: ChatRequest) -> "openai.AsyncStream[object]":
        import openai

        # `chat.completions.create` would walk the conversation and every chunk along their types, which costs
        # more than all the rest of a request; what goes out is plain JSON already, and `Reply` trusts nothing.
        return await client.post(
            "/chat/completions",
            cast_to=object,
            body=self._dialect.body(self._model, request),
            stream=True,
            stream_cls=openai.AsyncStream[object],
            options={
                "headers": wire.headers(self._base_url, self._key()),
                "timeout": openai.Timeout(self._patience.idle_s, connect=self._patience.connect_s),
            },
        )

    def _attempt(self, started: float, **rest: Any) -> Attempt:
        return Attempt(priced_as=self._name, wall_s=time.monotonic() - started, **rest)

    def _address(self) -> Address:
        key_name = f"${self._api_key_env}" if self._api_key_env else "the model's settings"
        return Address(base_url=self._base_url, model=self._model, key_name=key_name, secret=self._key())

    def _key(self) -> str | None:
        return self._api_key or (os.environ.get(self._api_key_env) if self._api_key_env else None) or None


def _sent_text(request: ChatRequest) -> str:
    return spoken([request.messages, request.tools])


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())
