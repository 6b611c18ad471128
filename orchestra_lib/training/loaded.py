"""A trained checkpoint in memory, which makes the moves of any number of runs."""

import zlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import torch
from transformers.utils.logging import disable_progress_bar

from orchestra_lib.generation import Delta, Generation
from orchestra_lib.protocols import PolicySpec, Situation
from orchestra_lib.training.model_policy import ModelPolicy
from orchestra_lib.training.sampler import LocalSampler, Stream
from orchestra_lib.training.tiny.dialect import TinyDialect
from orchestra_lib.training.tiny.learned import MAX_NEW_TOKENS
from orchestra_lib.training.tiny.network import load_network


class LoadedTiny:
    """A tiny policy. It samples as in training, by the seed of the run or, where it has none, by its id.

    Every move reads the run anew from the ids that were sampled, so that nothing is kept between two moves. Raises
    `BadInput` for a folder without its weights.
    """

    def __init__(self, folder: Path) -> None:
        torch.set_num_threads(1)  # its layers are so small that threads only wait for each other
        disable_progress_bar()
        self._dialect = TinyDialect()
        network = load_network(folder).eval()
        self._sampler = LocalSampler(network, ends=[self._dialect.eos], temperature=1.0, max_new_tokens=MAX_NEW_TOKENS)

    async def move(self, situation: Situation, spec: PolicySpec) -> AsyncGenerator[Delta | Generation, None]:
        """The move of one turn."""
        setting = situation.setting
        seed = zlib.crc32(setting.run_id.encode()) if setting.seed is None else abs(setting.seed)
        policy = ModelPolicy(self._sampler, self._dialect, Stream(seed, len(situation.turns)), spec)
        try:
            async with aclosing(policy.act(situation)) as parts:
                async for part in parts:
                    yield part
        finally:
            policy.release()
