"""A network as a contestant: it plays exercises through the same sampler, dialect and loop as in training."""

from collections.abc import Callable
from typing import Any

from orchestra_lib.protocols import Policy, PolicySpec
from orchestra_lib.training.model_policy import ModelPolicy
from orchestra_lib.training.sampler import LocalSampler, Stream
from orchestra_lib.training.tiny.dialect import TinyDialect
from orchestra_lib.training.tiny.market import Market

MAX_NEW_TOKENS = 48
"""No well-formed turn over six experts is longer."""


def learned(network: Any, *, name: str, seed: int, temperature: float = 1.0) -> Callable[[Market, int], Policy]:
    """The policies of `network`; exercise n always samples by the same chance."""
    dialect = TinyDialect()
    sampler = LocalSampler(network, ends=[dialect.eos], temperature=temperature, max_new_tokens=MAX_NEW_TOKENS)
    spec = PolicySpec(name=name)

    def policy(market: Market, number: int) -> Policy:
        return ModelPolicy(sampler, dialect, Stream(seed, number), spec)

    return policy
