"""Questions that this workbench's documents answer under a heading, and which of them a task asks in other words.

Headings and wordings stand in `data/conductor/questions.toml`, the answers in `docs/questions.md`, which `local_search`
finds by the heading.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from orchestra_lib.codec import from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.policy.conductor.documents import Document, merge, plain
from orchestra_lib.policy.conductor.findings import Answer, Search
from orchestra_lib.policy.conductor.passages import content_words
from orchestra_lib.protocols import Embedder
from orchestra_lib.record import record

QUESTIONS = Path(__file__).parents[3] / "data" / "conductor" / "questions.toml"
LIBRARY = "local_search"
"""The tool that finds the documents of this workbench."""
ALIKE = 0.55
"""So near a wording must be: the cosine of embeddings, less what words that stand in no wording take away."""
FOREIGN = 0.4
"""What a task loses all of whose words stand in no wording: `the port of nginx` is none of the workbench's."""
MOST_FOREIGN = 0.6
"""With more of its words in no wording a task is of other things, and not compared."""
COMPARED = 40
"""So many wordings are compared: all would take two seconds of a core at the first task."""
_ITSELF = re.compile(r"\b(?:(?:the|this|your) )?(?:orchestra )?workbench\b", re.IGNORECASE)
"""A word that is in any such question, and would bring those together that have nothing else in common."""


@record
class Question:
    """A heading of the documents, and other wordings of what it asks."""

    heading: str
    also: tuple[str, ...] = ()


@record
class Questions:
    """What the documents answer, and `elsewhere` what is asked in like words of other things."""

    question: tuple[Question, ...]
    elsewhere: tuple[str, ...] = ()


def load_questions(path: Path = QUESTIONS) -> Questions:
    """Read the file. Raises `BadInput` that names it."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"{path}: the conductor's questions cannot be read ({error})") from None
    return from_data(data, Questions, where=path.name)


class Answered:
    """The questions, compared by `embedder`: the few wordings that share most with a task, made into vectors once."""

    def __init__(self, questions: Questions, embedder: Embedder) -> None:
        self._embedder = embedder
        ours = [(text, one.heading) for one in questions.question for text in (one.heading, *one.also)]
        self._wordings = [*ours, *((text, "") for text in questions.elsewhere)]
        self._words = [content_words(text) for text, _ in self._wordings]
        self._ours, self._known = len(ours), frozenset().union(*self._words[: len(ours)])
        self._counts = Counter(word for words in self._words for word in words)
        self._vectors: dict[int, NDArray[np.float32]] = {}

    def heading(self, task: str) -> str:
        """The heading under which a task is answered; empty where none is near enough."""
        words = content_words(task)
        foreign = len(words - self._known) / max(1, len(words))
        if foreign > MOST_FOREIGN or not (shared := self._sharing(words)):
            return ""
        likeness = self._embedded(shared) @ self._embed([task])[0]
        best = int(np.argmax(likeness))
        return self._wordings[shared[best]][1] if likeness[best] - FOREIGN * foreign >= ALIKE else ""

    def _sharing(self, words: AbstractSet[str]) -> list[int]:
        """The wordings that share most with a task, rare words weighing more; `what can you do?` says nothing."""
        if not words:
            return [place for place, theirs in enumerate(self._words) if not theirs]
        shares = [sum(1 / self._counts[word] for word in words & theirs) for theirs in self._words]
        best = sorted(range(len(shares)), key=lambda place: (-shares[place], place < self._ours))[:COMPARED]
        return [place for place in best if shares[place] > 0]

    def _embedded(self, places: Sequence[int]) -> NDArray[np.float32]:
        fresh = [place for place in places if place not in self._vectors]
        self._vectors.update(zip(fresh, self._embed([self._wordings[place][0] for place in fresh]), strict=True))
        return np.stack([self._vectors[place] for place in places])

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._embedder.embed([_ITSELF.sub("it", text) for text in texts])


def answer_under(heading: str, searches: Sequence[Search]) -> Answer | None:
    """What the documents say under a heading, once a search has found it."""
    found = [one for one in merge(search.documents for search in searches) if plain(one.title) == plain(heading)]
    if not found:
        return None
    return Answer(text=" ".join(_flat(one) for one in found), source=f"{heading} ({found[0].source})")


def _flat(document: Document) -> str:
    """The text on one line, without the marks of words that stand in italics."""
    return re.sub(r"(?<![\w*])\*([^\s*][^*]*)\*(?![\w*])", r"\1", re.sub(r"\s+", " ", document.text))
