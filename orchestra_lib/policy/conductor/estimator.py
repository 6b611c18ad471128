"""How likely each tool is to solve a question, judged by labelled examples near it.

Each example votes with the weight exp((similarity - 0.6) / 0.1): at cosine similarity 0.6 an example
counts as one case, at 0.3 as a twentieth. A prior counts as `PRIOR_CASES` cases, so where nothing is near the
prior speaks. The chance of tool t is

    (sum_i w_i * solves_i[t] + PRIOR_CASES * prior[t]) / (sum_i w_i + PRIOR_CASES)

over the `NEIGHBOURS` nearest examples that know t; prior[t] is t's mean over all examples.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from orchestra_lib.policy.conductor.examples import Example
from orchestra_lib.protocols import Embedder
from orchestra_lib.record import record
from orchestra_lib.tool import ToolKind, ToolSpec

NEIGHBOURS = 8
ONE_CASE_AT = 0.6
WIDTH = 0.1
PRIOR_CASES = 0.1
UNLABELLED = {ToolKind.BASIC: 0.3, ToolKind.DOMAIN: 0.3, ToolKind.SPECIALIST: 0.5, ToolKind.GENERALIST: 0.5}
"""The chance of a tool that no example knows: a guess, and the note says so."""


@record
class Chance:
    """The chance that one tool solves the question, and what the figure rests on."""

    tool: str
    chance: float
    note: str


@record
class Neighbourhood:
    """What the examples near a question say: kinds by weight (summing to 1), and chances per tool."""

    kinds: Mapping[str, float]
    chances: Mapping[str, Chance]
    nearest: tuple[tuple[Example, float], ...]

    @property
    def kind(self) -> str:
        """The likeliest kind."""
        return max(self.kinds, key=lambda kind: self.kinds[kind])


class WordEmbedder:
    """Hashed words and word pairs: an `Embedder` for machines without the embedding model, cruder than it."""

    dimensions = 1024

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            words = [_shape(word) for word in re.findall(r"\w+|[^\w\s]", text.lower())]
            for feature in [*words, *map(" ".join, pairwise(words))]:
                digest = hashlib.blake2b(feature.encode(), digest_size=8).digest()
                vectors[row, int.from_bytes(digest[:4], "big") % self.dimensions] += 1.0
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: NDArray[np.float32] = vectors / np.maximum(lengths, 1e-9)
        return unit


def _shape(word: str) -> str:
    return "0" if word.isdigit() else word.removesuffix("s")


class Estimator:
    """Chances from `examples`; vectors come from `embedder`, made once at the first question."""

    def __init__(self, examples: Sequence[Example], embedder: Embedder | None = None) -> None:
        self._examples = tuple(examples)
        self._embedder = embedder or WordEmbedder()
        self._vectors: NDArray[np.float32] | None = None

    def near(self, question: str, tools: Sequence[ToolSpec]) -> Neighbourhood:
        """What the examples near `question` say about `tools`."""
        if self._vectors is None:
            self._vectors = self._embedder.embed([example.text for example in self._examples])
        similarities = self._vectors @ self._embedder.embed([question])[0]
        order = np.argsort(-similarities, kind="stable")[:NEIGHBOURS]
        nearest = tuple((self._examples[at], float(similarities[at])) for at in order)
        return Neighbourhood(
            kinds=_kinds(nearest),
            chances={spec.name: self._chance(spec, nearest) for spec in tools},
            nearest=nearest,
        )

    def _chance(self, spec: ToolSpec, nearest: Sequence[tuple[Example, float]]) -> Chance:
        known = [example.solves[spec.name] for example in self._examples if spec.name in example.solves]
        if not known:
            return Chance(
                tool=spec.name, chance=UNLABELLED[spec.kind], note="a guess: no labelled example knows this tool"
            )
        votes = [(example.solves[spec.name], _weight(near)) for example, near in nearest if spec.name in example.solves]
        total = sum(weight for _, weight in votes) + PRIOR_CASES
        chance = (sum(solved * weight for solved, weight in votes) + PRIOR_CASES * float(np.mean(known))) / total
        return Chance(tool=spec.name, chance=min(max(chance, 0.0), 1.0), note=_rests_on(spec.name, nearest))


def _weight(similarity: float) -> float:
    return float(np.exp((similarity - ONE_CASE_AT) / WIDTH))


def _kinds(nearest: Sequence[tuple[Example, float]]) -> dict[str, float]:
    votes: dict[str, float] = {}
    for example, similarity in nearest:
        votes[example.kind] = votes.get(example.kind, 0.0) + _weight(similarity)
    total = sum(votes.values()) or 1.0
    return {kind: weight / total for kind, weight in sorted(votes.items(), key=lambda vote: -vote[1])}


def _rests_on(tool: str, nearest: Sequence[tuple[Example, float]]) -> str:
    shown = [
        f"“{example.text[:60]}” {_solved(example.solves[tool])} ({similarity:.2f})"
        for example, similarity in nearest
        if tool in example.solves
    ]
    return "near: " + "; ".join(shown[:2])


def _solved(share: float) -> str:
    return "yes" if share >= 0.75 else "no" if share < 0.25 else "at times"
