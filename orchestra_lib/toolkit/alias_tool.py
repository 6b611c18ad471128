"""What the expert tools of protocol `toolorchestra` share: aliases, their models and bounds, and asking one."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from orchestra_lib.codec import dumps
from orchestra_lib.errors import ModelMistake, ProviderFault, WorldFault
from orchestra_lib.generation import ChatRequest, Completion
from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import ChatModel, Situation, ToolResult
from orchestra_lib.tool import File, ToolKind, ToolSpec
from orchestra_lib.toolorchestra.aliases import Alias, AliasTool, alias_schema
from orchestra_lib.toolorchestra.context import expert_context
from orchestra_lib.toolorchestra.evidence import EVIDENCE_CHARS, gather
from orchestra_lib.toolorchestra.tokens import TokenCounter, count

EXPERT_TIMEOUT_S = 300.0
_INSTRUCTION_TOKENS = 500
_OTHER_TOKENIZERS = 1.3
"""Experts count in tokens of their own, up to so many for one of ours; it widens the worst case of a call."""


class AliasedTool:
    """One alias tool with a model behind each alias that it offers; a base for the tools that use them.

    `models` maps aliases of `words` to models. Each call works on the episode so far.
    """

    def __init__(
        self,
        words: AliasTool,
        models: Mapping[str, ChatModel],
        counter: TokenCounter,
        *,
        kind: ToolKind,
        parts: Sequence[str] = (),
        timeout_s: float = EXPERT_TIMEOUT_S,
    ) -> None:
        offered = [alias for alias in words.aliases if alias.name in models]
        self._aliases = {alias.name: alias for alias in offered}
        self._models, self._counter, self._parameter = models, counter, words.parameter
        self._spec = ToolSpec(
            name=words.name,
            title=words.title,
            description=words.description,
            parameters=alias_schema(words, list(self._aliases)),
            kind=kind,
            models=tuple(models[alias.name].name for alias in offered),
            parts=tuple(parts),
            max_input_tokens=max(map(_input_tokens, offered)),
            max_output_tokens=max(alias.reading.output_tokens for alias in offered),
            timeout_s=timeout_s,
            observation_chars=2 * EVIDENCE_CHARS,
        )

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    def spec_for(self, arguments: Mapping[str, Any]) -> ToolSpec:
        alias = self._alias(arguments)
        return replace(
            self._spec,
            models=(self._models[alias.name].name,),
            max_input_tokens=_input_tokens(alias),
            max_output_tokens=alias.reading.output_tokens,
            typical_latency_s=alias.latency_s,
        )

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        """Never called by the loop. Raises `ModelMistake`."""
        raise ModelMistake(f"{self._spec.name} works on an episode; outside of one there is nothing to work on")

    async def release(self, run_id: str) -> None:
        """Nothing is kept for a run."""

    def _alias(self, arguments: Mapping[str, Any]) -> Alias:
        return self._aliases[arguments[self._parameter]]

    def _context(self, situation: Situation, alias: Alias) -> str:
        question = situation.setting.task.text
        return expert_context(gather(situation.turns), question, alias.reading, self._counter)

    async def _ask(
        self,
        situation: Situation,
        alias: Alias,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Completion:
        """Raises `ModelMistake` when the question alone is more than the expert reads, and the model's faults."""
        size = count(self._counter, dumps([*messages, *tools]))
        if size > alias.reading.whole_tokens + _INSTRUCTION_TOKENS:
            raise ModelMistake(f"{alias.name} reads {alias.reading.whole_tokens:,} tokens and this has {size:,}")
        request = ChatRequest(
            messages=tuple(messages),
            tools=tuple(tools),
            max_tokens=alias.reading.output_tokens,
            temperature=alias.temperature,
            seed=situation.setting.seed,
        )
        model = self._models[alias.name]
        async with aclosing(model.stream(request)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Completion):
                    return piece
        raise RuntimeError(f"the model {model.name} ended its stream without a completion")


def attempts_of(error: WorldFault) -> tuple[Attempt, ...]:
    """The tries behind a fault, for the bill."""
    return error.attempts if isinstance(error, ProviderFault) else ()


def whole_reply(completion: Completion) -> tuple[File, ...]:
    """All that an expert wrote, kept beside what was read out of it."""
    data = completion.content.encode("utf-8", "replace")
    return (File(name="reply.txt", media_type="text/plain; charset=utf-8", data=data),) if data else ()


def _input_tokens(alias: Alias) -> int:
    return int((alias.reading.whole_tokens + _INSTRUCTION_TOKENS) * _OTHER_TOKENIZERS)
