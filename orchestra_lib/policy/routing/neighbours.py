"""The chance of each tool by similarity-weighted neighbours, after RouteLLM's ranking (arXiv 2406.18665).

There a battle weighs gamma^(1 + s), with gamma = 10 and s its similarity to the task over that of the most similar one,
in a Bradley-Terry model of two sides. Tools here are tried and do not battle, so the weighted mean of their outcomes
takes its place, over the nearest `NEIGHBOURS` tries of the tool, with one more at its mean over everything.
"""

import numpy as np

from orchestra_lib.policy.routing.outcomes import Floats, Table
from orchestra_lib.protocols import Embedder

NEIGHBOURS = 20
GAMMA = 10.0


class Neighbours:
    """Chances by `table`, whose texts are embedded once."""

    def __init__(self, table: Table, embedder: Embedder) -> None:
        self.tools = table.tools
        self._solved_NM, self._embedder = table.solved_NM, embedder
        self._vectors_ND = embedder.embed(table.texts)
        self._means_M = np.nanmean(table.solved_NM, axis=0)

    def chances(self, text: str) -> Floats:
        """The chance of each of `tools` to solve a task."""
        likeness_N = (self._vectors_ND @ self._embedder.embed([text])[0]).astype(float)
        return np.array([self._chance(likeness_N, tool) for tool in range(len(self.tools))])

    def _chance(self, likeness_N: Floats, tool: int) -> float:
        solved_N = self._solved_NM[:, tool]
        tried = np.flatnonzero(np.isfinite(solved_N))
        nearest = tried[np.argsort(-likeness_N[tried], kind="stable")[:NEIGHBOURS]]
        most = max(float(likeness_N[nearest[0]]), 1e-9)
        weights = GAMMA ** (1.0 + likeness_N[nearest] / most)
        prior = GAMMA  # one try that is like nothing
        total = float(weights @ solved_N[nearest]) + prior * float(self._means_M[tool])
        return total / (float(weights.sum()) + prior)
