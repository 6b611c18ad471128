"""Sampling for many rollouts in one process: whoever waits for tokens gets them in the same pass of the network.

Rollouts of a group begin with the same prompt, which goes through the network once and whose keys and values all of
them read. What a rollout wrote and was told stays in the cache between its turns, so that a turn costs only what is
new. Chance is the rollout's own: what it samples does not depend on who is sampled beside it, but for rounding.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch

from orchestra_lib.errors import ContextOverflow
from orchestra_lib.training.row_cache import PrefixedRows

_QUIET = 12
"""After so many rounds of the event loop in which nobody new asked, whoever plays is waiting for something else."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """Token ids with the log-probability of each under the policy, at the sampling temperature."""

    ids: list[int]
    logprobs: list[float]


class Stream:
    """One rollout as the sampler knows it: its own chance, and what of it is in the cache."""

    def __init__(self, *seed: int) -> None:
        self._dice = np.random.default_rng(seed)
        self.prefix: tuple[int, ...] = ()
        self.suffix: list[int] = []
        self.cached = 0

    def chances(self, count: int) -> list[float]:
        """Numbers in (0, 1], the next ones of this rollout."""
        chances: list[float] = (1.0 - self._dice.random(count)).tolist()
        return chances

    @property
    def ids(self) -> list[int]:
        """All tokens so far."""
        return [*self.prefix, *self.suffix]


class Sampler(Protocol):
    """Continues token ids until the policy ends its turn or `max_new_tokens` are there; `forget` ends a rollout."""

    async def generate(self, ids: Sequence[int], stream: Stream) -> Sampled: ...
    def forget(self, stream: Stream) -> None: ...


@dataclass(slots=True, eq=False)
class _Turn:
    stream: Stream
    done: "asyncio.Future[Sampled]"
    room: int
    chances: list[float] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)


class LocalSampler:
    """A `Sampler` over a network in this process. `ends` are the tokens that end a turn, the last one sampled.

    `context` bounds a whole rollout: one that has no room left raises `ContextOverflow`.
    """

    def __init__(
        self, network: Any, *, ends: Sequence[int], temperature: float, max_new_tokens: int, context: int | None = None
    ) -> None:
        self._rows = PrefixedRows(network)
        self._head = network.get_output_embeddings()
        self._ends = frozenset(ends)
        self._temperature, self._most, self._context = temperature, max_new_tokens, context
        self._waiting: list[_Turn] = []
        self._active: list[_Turn] = []
        self._work: asyncio.Task[None] | None = None

    async def generate(self, ids: Sequence[int], stream: Stream) -> Sampled:
        """What comes after `ids`, which begin with all that this rollout has said and been told before."""
        self._take(ids, stream)
        room = self._most if self._context is None else min(self._most, self._context - len(ids))
        if room < 1:
            raise ContextOverflow(
                f"the rollout has {len(ids):,} tokens and no room for more; raise grpo.context ({self._context:,})"
            )
        turn = _Turn(stream, asyncio.get_running_loop().create_future(), room)
        turn.chances = stream.chances(room)
        self._waiting.append(turn)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._run())
        return await turn.done

    def forget(self, stream: Stream) -> None:
        """Free what the cache keeps of a rollout."""
        self._rows.drop(stream)

    def _take(self, ids: Sequence[int], stream: Stream) -> None:
        """Note what is new. Raises `RuntimeError` where what was said before is said differently now."""
        known = len(stream.prefix) + len(stream.suffix)
        if not known:
            stream.prefix, stream.suffix = tuple(ids[:-1]), [ids[-1]]
            return
        if list(ids[:known]) != stream.ids:
            raise RuntimeError(
                f"{len(ids)} tokens do not begin with the {known} that this rollout has already; a dialect adds to "
                "them and never writes them anew"
            )
        stream.suffix += ids[known:]

    async def _run(self) -> None:
        """Sample while anybody waits. A failure is everybody's who waits."""
        try:
            while self._waiting or self._active:
                if self._is_time():
                    await self._settled()
                    self._admit()
                self._sample()
                await asyncio.sleep(0)
        except BaseException as error:
            for turn in (*self._waiting, *self._active):
                if not turn.done.done():
                    turn.done.set_exception(error if isinstance(error, Exception) else asyncio.CancelledError())
            self._waiting, self._active = [], []
            if not isinstance(error, Exception):
                raise

    def _is_time(self) -> bool:
        """Newcomers go through the network together; one by one each would cost a pass of its own."""
        return bool(self._waiting) and 3 * len(self._waiting) >= len(self._active)

    async def _settled(self) -> None:
        """Wait until nobody else can come without time passing."""
        quiet = 0
        while quiet < _QUIET:
            before = len(self._waiting)
            await asyncio.sleep(0)
            quiet = quiet + 1 if len(self._waiting) == before else 0

    def _admit(self) -> None:
        fresh, self._waiting = [turn for turn in self._waiting if not turn.done.done()], []
        with torch.no_grad():
            self._rows.arrange([turn.stream for turn in (*self._active, *fresh)])
            self._rows.extend([turn.stream for turn in fresh])
        self._active += fresh

    def _sample(self) -> None:
        """One more token for everybody."""
        if not self._active:
            return
        with torch.no_grad():
            hidden = self._rows.advance([turn.stream for turn in self._active])
            scores = torch.log_softmax(self._head(hidden).float() / self._temperature, dim=-1)
            chance = torch.tensor([turn.chances[len(turn.ids)] for turn in self._active], device=scores.device)
            below = scores.exp().cumsum(dim=-1)
            chosen = (below < chance[:, None] * below[:, -1:]).sum(dim=-1).clamp(max=below.shape[1] - 1)
            logprobs = scores.gather(1, chosen[:, None])[:, 0].tolist()
        left = []
        for turn, token, logprob in zip(self._active, chosen.tolist(), logprobs, strict=True):
            turn.ids.append(token)
            turn.logprobs.append(logprob)
            turn.stream.suffix.append(token)
            if token not in self._ends and len(turn.ids) < turn.room and not turn.done.done():
                left.append(turn)
            elif not turn.done.done():
                turn.done.set_result(Sampled(turn.ids, turn.logprobs))
        if 4 * len(left) < 3 * len(self._active):
            self._rows.arrange([turn.stream for turn in left])
            self._active = left
        else:
            self._active = left
