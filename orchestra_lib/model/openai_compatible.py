"""Any OpenAI-compatible endpoint as a `ChatModel`: OpenAI, OpenRouter, vLLM, llama.cpp, Ollama and the like.

The client library's own retries are off: every try is a row of the ledger, so the tries are ours.
"""

import asyncio
import os
import random
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import field
from typing import Any
from urllib.parse import urlsplit

import openai

from orchestra_lib.errors import BadInput, ProviderFault
from orchestra_lib.generation import ChatRequest, Completion, Delta
from orchestra_lib.model import wire
from orchestra_lib.model.failure import Endpoint, Failure, failure_of
from orchestra_lib.model.reply import BrokenStream, Reply
from orchestra_lib.pricing import Attempt
from orchestra_lib.record import record


@record
class Dialect:
    """Where a server departs from the common API.

    `strict_schema` asks for OpenAI's strict mode, which accepts only a part of JSON schema.
    `extra_body` is sent as it stands, for example vLLM's `{"return_token_ids": true}`.
    """

    max_tokens_field: str = "max_tokens"
    strict_schema: bool = False
    takes_temperature: bool = True
    takes_seed: bool = True
    reports_usage: bool = True
    extra_body: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def guess(cls, base_url: str, model: str) -> "Dialect":
        """The dialect that a well-known address and model name imply."""
        if urlsplit(base_url).hostname != "api.openai.com":
            return cls()
        fixed = model.startswith(("o1", "o3", "o4", "gpt-5"))  # reasoning families refuse a temperature
        return cls(max_tokens_field="max_completion_tokens", takes_temperature=not fixed)


@record
class Patience:
    """How long to wait, in seconds, and how often to try again.

    `idle_s` is the longest silence within a stream, `total_s` the end of it all, waits included.
    A server that asks for a wait beyond `longest_wait_s` is not tried again.
    """

    connect_s: float = 10.0
    idle_s: float = 120.0
    total_s: float = 600.0
    max_retries: int = 2
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0

    def before_retry(self, retry: int, asked_s: float | None) -> float | None:
        """Seconds to wait before the retry of this number (0 first), with jitter; None means give up."""
        if retry >= self.max_retries:
            return None
        backoff = self.first_wait_s * 2.0**retry * random.uniform(0.75, 1.25)  # noqa: S311  # jitter, not a secret
        wait = max(asked_s or 0.0, min(backoff, self.longest_wait_s))
        return wait if wait <= self.longest_wait_s else None


class OpenAICompatible:
    """A `ChatModel` behind an HTTP address. `name` prices it, `model` is what the server calls it.

    The key is `api_key`, or what the environment variable `api_key_env` holds when a request is
    made; a server that needs none gets a placeholder. Raises `BadInput` for an address that is no
    http(s) URL. `stream` raises `ProviderFault` when every try failed, or when a reply broke off
    after part of it was handed on; closing the iterator closes the connection.
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
    ) -> None:
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

    @property
    def name(self) -> str:
        return self._name

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | Completion, None]:
        """Deltas, then one `Completion` whose attempts include the failed tries."""
        deadline = time.monotonic() + self._patience.total_s
        attempts: list[Attempt] = []
        while True:
            started, shown, reply = time.monotonic(), False, Reply()
            try:
                async with aclosing(self._try(request, reply, deadline)) as deltas:
                    async for delta in deltas:
                        shown = True
                        yield delta
                final = self._attempt(started, usage=reply.usage)
                completion = reply.completion((*attempts, final))
            except (openai.OpenAIError, TimeoutError, ValueError, RecursionError) as error:
                failure = failure_of(error, self._endpoint())
                # Once it has begun to write a provider may charge for it; before that it does not.
                attempts.append(self._attempt(started, error=failure.message, billed=shown, usage=reply.usage))
                await self._wait_or_raise(failure, shown, tuple(attempts), deadline)
                continue
            yield completion
            return

    async def _try(self, request: ChatRequest, reply: Reply, deadline: float) -> AsyncGenerator[Delta, None]:
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

    async def _wait_or_raise(
        self, failure: Failure, shown: bool, attempts: tuple[Attempt, ...], deadline: float
    ) -> None:
        tries = len(attempts)
        wait_s = self._patience.before_retry(tries - 1, failure.wait_s) if failure.retryable and not shown else None
        if wait_s is None or wait_s >= _left(deadline):
            times = f" (after {tries} tries)" if tries > 1 else ""
            raise ProviderFault(failure.message + times, attempts) from None
        await asyncio.sleep(wait_s)

    async def _ask(self, client: openai.AsyncOpenAI, request: ChatRequest) -> openai.AsyncStream[object]:
        # `chat.completions.create` would walk the conversation and every chunk along their types, which costs
        # more than all the rest of a request; what goes out is plain JSON already, and `Reply` trusts nothing.
        return await client.post(
            "/chat/completions",
            cast_to=object,
            body=self._body(request),
            stream=True,
            stream_cls=openai.AsyncStream[object],
            options={
                "headers": wire.headers(self._base_url, self._key()),
                "timeout": openai.Timeout(self._patience.idle_s, connect=self._patience.connect_s),
            },
        )

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        dialect = self._dialect
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [dict(message) for message in request.messages],
            "stream": True,
            dialect.max_tokens_field: request.max_tokens,
        }
        if dialect.takes_temperature:
            body["temperature"] = request.temperature
        if dialect.takes_seed and request.seed is not None:
            body["seed"] = request.seed
        if dialect.reports_usage:
            body["stream_options"] = {"include_usage": True}
        if request.tools:
            body["tools"] = [dict(tool) for tool in request.tools]
        if request.schema is not None:
            schema = {"name": "reply", "schema": dict(request.schema), "strict": dialect.strict_schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return {**body, **dialect.extra_body}

    def _attempt(self, started: float, **rest: Any) -> Attempt:
        return Attempt(priced_as=self._name, wall_s=time.monotonic() - started, **rest)

    def _endpoint(self) -> Endpoint:
        key_name = f"${self._api_key_env}" if self._api_key_env else "the model's settings"
        return Endpoint(base_url=self._base_url, model=self._model, key_name=key_name, secret=self._key())

    def _key(self) -> str | None:
        return self._api_key or (os.environ.get(self._api_key_env) if self._api_key_env else None) or None


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())
