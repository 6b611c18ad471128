"""Preferences that are drawn over the tools of one instance, and the words that tell the orchestrator."""

from collections.abc import Sequence
from random import Random
from typing import Protocol

from orchestra_lib.errors import BadInput
from orchestra_lib.preference import Preference, describe
from orchestra_lib.preference_pairs import Pair

OUTCOME, GOAL = (1.0, 1.0, 0.8, 0.5), (0.0, 0.2, 0.5, 1.0)
LIKED, AVOIDED = (0.5, 1.0), (-0.5, -1.0)
"""The levels of drawn weights. Those below 0 are this project's extension of the paper's preferences."""

_WEIGHED = (0, 0, 1, 1, 2)
"""How many tools a wish speaks of; many speak of none."""


class Wish(Protocol):
    """Draws a preference; `tools` are the names that it may weigh, and it weighs no other."""

    def __call__(self, draw: Random, tools: Sequence[str]) -> Preference: ...


class DrawnWish:
    """Weights from a few levels, each goal for itself; `avoid_share` of the weighed tools are wished for less."""

    def __init__(self, avoid_share: float = 0.25) -> None:
        self._avoid_share = avoid_share

    def __call__(self, draw: Random, tools: Sequence[str]) -> Preference:
        weighed = draw.sample(list(tools), min(len(tools), draw.choice(_WEIGHED)))
        weights = {tool: self._weight(draw) for tool in weighed}
        return Preference(
            outcome=draw.choice(OUTCOME), cost=draw.choice(GOAL), latency=draw.choice(GOAL), tools=weights
        )

    def _weight(self, draw: Random) -> float:
        return draw.choice(AVOIDED if draw.random() < self._avoid_share else LIKED)


class PairWish:
    """Draws from pairs of instruction and vector, one of those that speak of no tool that is not on offer.

    The model reads the pair's instruction. Raises `BadInput` where there are no pairs, and when none fits.
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        if not pairs:
            raise BadInput("there are no pairs to draw wishes from")
        self._pairs = tuple(pairs)
        self._fitting: dict[tuple[str, ...], list[Preference]] = {}

    def __call__(self, draw: Random, tools: Sequence[str]) -> Preference:
        offered = tuple(tools)
        if offered not in self._fitting:
            found = (pair.over(offered) for pair in self._pairs)
            self._fitting[offered] = [preference for preference in found if preference is not None]
        if not self._fitting[offered]:
            names = ", ".join(offered)
            raise BadInput(
                f"no pair fits an instance with the tools {names}: each speaks of another tool; "
                f"`orchestra preferences generate --tools {names.replace(' ', '')}` makes some that do"
            )
        return draw.choice(self._fitting[offered])


def words_of(preference: Preference, tools: Sequence[str]) -> str:
    """The sentence of a preference; it names tools as the prompt does, by the name that a call has."""
    return describe(preference, {tool: tool for tool in tools})
