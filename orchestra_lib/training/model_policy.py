"""A policy of the loop that samples its moves: it keeps every token id as it was sampled, and whose each one is."""

from collections.abc import AsyncGenerator
from dataclasses import replace

from orchestra_lib.generation import Delta, Generation
from orchestra_lib.protocols import PolicySpec, Situation
from orchestra_lib.training.dialect import Dialect
from orchestra_lib.training.sampler import Sampler, Stream


class ModelPolicy:
    """A sampler and a dialect as the `Policy` of one rollout.

    After a rollout `prompt` holds the ids it began with, and `completion` all that followed: of each id `mask` says
    whether the policy sampled it (1) or was told it (0), `logprobs` how likely it was. `spans` are the places of each
    turn's sampled ids in the completion, by the turn's index.
    """

    def __init__(self, sampler: Sampler, dialect: Dialect, stream: Stream, spec: PolicySpec) -> None:
        self.spec = spec
        self._sampler, self._dialect, self._stream = sampler, dialect, stream
        self.prompt: list[int] = []
        self.completion: list[int] = []
        self.mask: list[int] = []
        self.logprobs: list[float] = []
        self.spans: dict[int, tuple[int, int]] = {}

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        """One move. Raises `ContextOverflow` for a rollout that has no room left."""
        if self.prompt:
            self._told(self._dialect.continuation(situation))
        else:
            self._recall(situation)
        sampled = await self._sampler.generate([*self.prompt, *self.completion], self._stream)
        self._said(len(situation.turns) + 1, sampled.ids, sampled.logprobs)
        yield replace(self._dialect.read(sampled.ids, situation), token_ids=tuple(sampled.ids))

    def release(self) -> None:
        """Free what the sampler keeps of this rollout."""
        self._sampler.forget(self._stream)

    def _recall(self, situation: Situation) -> None:
        """Begin; a run that branched off from another begins with that one's turns, by the ids that were sampled."""
        self.prompt = self._dialect.prompt(replace(situation, turns=()))
        for place, turn in enumerate(situation.turns, start=1):
            ids = list(turn.generation.token_ids or ()) if turn.generation else []
            self._said(turn.index, ids, [0.0] * len(ids))
            self._told(self._dialect.continuation(replace(situation, turns=situation.turns[:place])))

    def _said(self, turn: int, ids: list[int], logprobs: list[float]) -> None:
        self.spans[turn] = (len(self.completion), len(self.completion) + len(ids))
        self._add(ids, 1, logprobs)

    def _told(self, ids: list[int]) -> None:
        self._add(ids, 0, [0.0] * len(ids))

    def _add(self, ids: list[int], whose: int, logprobs: list[float]) -> None:
        self.completion += ids
        self.mask += [whose] * len(ids)
        self.logprobs += logprobs
