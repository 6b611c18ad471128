"""Sampling from a vLLM server, token ids in and out; TRL puts the new weights into it before each step's rollouts."""

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx2

from orchestra_lib.errors import ContextOverflow, ProviderFault
from orchestra_lib.training.sampler import Sampled, Stream

_SEEDS = 2**31
_TRIES, _PAUSE_S = 3, 2.0


class ServerSampler:
    """A `Sampler` over vLLM's completions at `url`. The server batches whoever asks at the same time, and keeps their
    common prefixes by itself.

    `ends` are the tokens that end a turn. Raises `ContextOverflow` as the local sampler does, and `ProviderFault` when
    the server does not answer as it should after three tries.
    """

    def __init__(
        self,
        url: str,
        *,
        ends: Sequence[int],
        temperature: float,
        max_new_tokens: int,
        context: int | None = None,
        timeout_s: float = 1800.0,
    ) -> None:
        self._url, self._timeout_s = url.rstrip("/"), timeout_s
        self._ends, self._temperature = list(ends), temperature
        self._most, self._context = max_new_tokens, context
        self._client: httpx2.AsyncClient | None = None
        self._model: str | None = None

    async def generate(self, ids: Sequence[int], stream: Stream) -> Sampled:
        """What comes after `ids`; its chance is the rollout's own, as far as the server keeps to a seed."""
        room = self._most if self._context is None else min(self._most, self._context - len(ids))
        if room < 1:
            raise ContextOverflow(
                f"the rollout has {len(ids):,} tokens and no room for more; raise grpo.context ({self._context:,})"
            )
        asked = {
            "model": self._model or await self._served(),
            "prompt": list(ids),
            "max_tokens": room,
            "temperature": self._temperature,
            "top_p": 1.0,
            "top_k": 0,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "seed": int(stream.chances(1)[0] * (_SEEDS - 1)),
            "ignore_eos": True,
            "stop_token_ids": self._ends,
            "logprobs": 0,
            "return_token_ids": True,
        }
        return _sampled(await self._ask("POST", "/v1/completions", asked), self._url)

    def forget(self, stream: Stream) -> None:
        """The server forgets by itself."""

    async def _served(self) -> str:
        answer = await self._ask("GET", "/v1/models", None)
        try:
            self._model = str(answer["data"][0]["id"])
        except (KeyError, IndexError, TypeError):
            raise ProviderFault(f"the server at {self._url} serves no model; start it with `vllm serve`") from None
        return self._model

    async def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        # Made where the loop runs, which is not where the sampler is made.
        self._client = self._client or httpx2.AsyncClient(
            timeout=self._timeout_s, limits=httpx2.Limits(max_connections=None), trust_env=False
        )
        why = ""
        for attempt in range(_TRIES):
            if attempt:
                await asyncio.sleep(_PAUSE_S * attempt)
            try:
                reply = await self._client.request(method, self._url + path, json=body)
                if reply.status_code == httpx2.codes.OK:
                    return reply.json()
                why = f"HTTP {reply.status_code}: {reply.text[:200]}"
                if reply.is_client_error:
                    break
            except (httpx2.HTTPError, ValueError) as error:
                why = f"{type(error).__name__}: {error}"[:200]
        raise ProviderFault(f"the vLLM server at {self._url} did not answer {path} ({why}); look at its log")


def _sampled(answer: Any, url: str) -> Sampled:
    try:
        choice = answer["choices"][0]
        ids, logprobs = list(map(int, choice["token_ids"])), list(map(float, choice["logprobs"]["token_logprobs"]))
        if len(ids) != len(logprobs) or not ids:
            raise ValueError(f"{len(ids)} ids and {len(logprobs)} log-probabilities")
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ProviderFault(
            f"the server at {url} gives no token ids with log-probabilities ({error}); TRL takes vLLM 0.22.0 to "
            "0.31.0, with --logprobs-mode processed_logprobs"
        ) from None
    return Sampled(ids=ids, logprobs=logprobs)
