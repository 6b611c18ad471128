"""Where servers depart from the common chat API, and how patient to be with them."""

import random
from collections.abc import Mapping
from dataclasses import field
from typing import Any
from urllib.parse import urlsplit

from orchestra_lib.generation import ChatRequest
from orchestra_lib.model.reply import REASONING_FIELDS
from orchestra_lib.record import record


@record
class Dialect:
    """Where a server departs from the common API.

    `strict_schema` asks for OpenAI's strict mode, which accepts only a part of JSON schema. `takes_required` is
    False for servers that refuse or ignore `tool_choice: required`. `reports_usage`: it may be asked for usage in
    streams. `reasoning_fields` name where the reasoning stands in a chunk, the first that is filled counts;
    `reasoning_apart` says that reasoning tokens are counted beside the output tokens and not within them.
    `extra_body` is sent as it stands, for example vLLM's `{"return_token_ids": true}`.
    """

    max_tokens_field: str = "max_tokens"
    strict_schema: bool = False
    takes_temperature: bool = True
    takes_seed: bool = True
    takes_required: bool = True
    reports_usage: bool = True
    reasoning_fields: tuple[str, ...] = REASONING_FIELDS
    reasoning_apart: bool = False
    extra_body: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def guess(cls, base_url: str, model: str) -> "Dialect":
        """The dialect that a well-known address and model name imply."""
        if urlsplit(base_url).hostname != "api.openai.com":
            return cls()
        # The reasoning families refuse a temperature.
        fixed = model.startswith(("o1", "o3", "o4", "gpt-5", "gpt-6"))
        return cls(max_tokens_field="max_completion_tokens", takes_temperature=not fixed)

    def body(self, model: str, request: ChatRequest) -> dict[str, Any]:
        """The body of a streamed request in this dialect."""
        body: dict[str, Any] = {
            "model": model,
            "messages": [dict(message) for message in request.messages],
            "stream": True,
            self.max_tokens_field: request.max_tokens,
        }
        if self.takes_temperature:
            body["temperature"] = request.temperature
        if self.takes_seed and request.seed is not None:
            body["seed"] = request.seed
        if self.reports_usage:
            body["stream_options"] = {"include_usage": True}
        if request.tools:
            body["tools"] = [dict(tool) for tool in request.tools]
            if request.must_call and self.takes_required:
                body["tool_choice"] = "required"
        if request.schema is not None:
            schema = {"name": "reply", "schema": dict(request.schema), "strict": self.strict_schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return {**body, **self.extra_body}


@record
class Patience:
    """How long to wait, in seconds, and how often to try again.

    `idle_s` is the longest silence within a stream, `attempt_s` the end of one try, `total_s` the end of it all,
    waits between tries included; the wait for a free place at the provider counts toward neither. A server that
    asks for a wait beyond `longest_wait_s` is not tried again.
    """

    connect_s: float = 10.0
    idle_s: float = 120.0
    attempt_s: float = 600.0
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
