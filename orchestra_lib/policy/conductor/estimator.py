"""How likely each tool is to solve a question, judged by labelled examples near it.

The similarity of two questions is 0.6 times the cosine of their embeddings plus 0.4 times that of their
`cues`. Each of the `NEIGHBOURS` nearest examples votes with the weight exp((similarity - 0.7) / 0.1): at
similarity 0.7 it counts as one case, at 0.4 as a twentieth. Four cases more are the prior: the tool's mean
over the kinds that the neighbours are of, or where hardly anything is near, over all examples. (Leaving one
example out at a time, more prior than that changes little and less is worse.)

    chance[t] = (sum_i w_i * solves_i[t] + 4 * prior[t]) / (sum_i w_i + 4)
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from orchestra_lib.policy.conductor.cues import cues
from orchestra_lib.policy.conductor.examples import Example
from orchestra_lib.protocols import Embedder
from orchestra_lib.record import record
from orchestra_lib.tool import ToolKind, ToolSpec

NEIGHBOURS = 12
ONE_CASE_AT = 0.7
WIDTH = 0.1
SHARE_OF_CUES = 0.4
PRIOR_CASES = 4
FAR = 0.1
"""Votes that weigh as little as this together say nothing about the kind."""
UNLABELLED = {ToolKind.BASIC: 0.3, ToolKind.DOMAIN: 0.3, ToolKind.SPECIALIST: 0.5, ToolKind.GENERALIST: 0.5}
"""The chance of a tool that no example knows: a guess, and the note says so."""


@record
class Chance:
    """The chance that one tool solves the question, and what the figure rests on.

    `tokens` is how long a reply of its model is to questions like this, `length` that over its usual length;
    None where no example tells. `writer` names the model that has to write its arguments first, if one has.
    """

    tool: str
    chance: float
    note: str
    tokens: float | None = None
    length: float | None = None
    writer: str | None = None


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
            self._vectors = self._vector([example.text for example in self._examples])
        similarities = self._vectors @ self._vector([question])[0]
        order = np.argsort(-similarities, kind="stable")[:NEIGHBOURS]
        nearest = tuple((self._examples[at], float(similarities[at])) for at in order)
        kinds = _kinds(nearest)
        return Neighbourhood(
            kinds=kinds,
            chances={spec.name: self._chance(spec, nearest, kinds) for spec in tools},
            nearest=nearest,
        )

    def likeness(self, text: str, others: Sequence[str]) -> tuple[float, ...]:
        """How alike a text is to each of the others: the cosine of their embeddings."""
        if not others:
            return ()
        vectors = self._embedder.embed([text, *others])
        return tuple(float(value) for value in vectors[1:] @ vectors[0])

    def _vector(self, questions: Sequence[str]) -> NDArray[np.float32]:
        """Embedding and cues side by side, so that one product gives the weighted similarity."""
        embedded, cued = self._embedder.embed(questions), cues(questions)
        joined = np.hstack([embedded * np.sqrt(1 - SHARE_OF_CUES), cued * np.sqrt(SHARE_OF_CUES)])
        vectors: NDArray[np.float32] = joined.astype(np.float32)
        return vectors

    def _chance(self, spec: ToolSpec, nearest: Sequence[tuple[Example, float]], kinds: Mapping[str, float]) -> Chance:
        known = [example for example in self._examples if spec.name in example.solves]
        if not known:
            note = "a guess: no labelled example knows this tool"
            return Chance(tool=spec.name, chance=UNLABELLED[spec.kind], note=note)
        votes = [(example.solves[spec.name], _weight(near)) for example, near in nearest if spec.name in example.solves]
        total = sum(weight for _, weight in votes)
        trust = total / (total + FAR)
        prior = trust * _mean(spec.name, known, kinds) + (1 - trust) * _mean(spec.name, known)
        chance = (sum(solved * weight for solved, weight in votes) + PRIOR_CASES * prior) / (total + PRIOR_CASES)
        tokens, length = self._reply(spec.name, nearest)
        return Chance(
            tool=spec.name,
            chance=min(max(chance, 0.0), 1.0),
            note=_rests_on(spec.name, nearest),
            tokens=tokens,
            length=length,
        )

    def _reply(self, tool: str, nearest: Sequence[tuple[Example, float]]) -> tuple[float | None, float | None]:
        """The length of a reply near the question in tokens, and over the median of all."""
        known = [example.writes[tool] for example in self._examples if tool in example.writes]
        if not known:
            return None, None
        usual = float(np.median(known))
        votes = [(example.writes[tool], _weight(near)) for example, near in nearest if tool in example.writes]
        total = sum(weight for _, weight in votes)
        tokens = (sum(count * weight for count, weight in votes) + FAR * usual) / (total + FAR)
        return tokens, tokens / max(usual, 1.0)


def _mean(tool: str, known: Sequence[Example], kinds: Mapping[str, float] | None = None) -> float:
    """The tool's mean over examples, each kind weighing what `kinds` says and divided among its examples."""
    if kinds is None:
        return float(np.mean([example.solves[tool] for example in known]))
    counts = Counter(example.kind for example in known)
    weighted = [(example.solves[tool], kinds.get(example.kind, 0.0) / counts[example.kind]) for example in known]
    total = sum(weight for _, weight in weighted)
    return sum(solved * weight for solved, weight in weighted) / total if total else _mean(tool, known)


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
