"""BM25 over passages (bm25s), with the names in a question found first.

Words are folded (accents, case) and stemmed. A title counts four times: without that, "Peru currency"
finds the neighbours whose longer lists mention Peru.
"""

import json
import logging
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import bm25s
import numpy as np
import Stemmer
from numpy.typing import NDArray

from orchestra_lib.errors import StoreFault
from orchestra_lib.json_writing import dumps
from orchestra_lib.toolkit.passage import Found, Passage

logging.getLogger("bm25s").setLevel(logging.WARNING)  # it asks for DEBUG, and would tell the terminal of its work

_TITLE_WEIGHT = 4
_WEAK = 0.5
"""The share of a question's meaning that an unnamed passage must cover; names the library lacks count in full."""
_LONGEST_NAME = 8
_WORD = re.compile(r"[^\W_]+")
_INNER = re.compile(r"(?<=[^\W_])['’.](?=[^\W_])")  # within a word: d'Ivoire, U.S.
_STOPWORDS = frozenset(bm25s.tokenization.STOPWORDS_EN_PLUS)
_ACRONYM = re.compile(r"(?<![A-Z]\.)\b([A-Z])\.?([A-Z])\b(?!\.[A-Z])")
_STEMMER = Stemmer.Stemmer("english", 0)


@lru_cache(maxsize=1 << 17)
def _stem(word: str) -> str:
    stem: str = _STEMMER.stemWord(word)
    return stem


def words(text: str) -> list[str]:
    """The words of a text, folded: "Côte d'Ivoire" gives cote, divoire."""
    plain = text.casefold()
    if not plain.isascii():
        plain = "".join(char for char in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(char))
    return _WORD.findall(_INNER.sub("", plain))


def terms(text: str) -> list[str]:
    """The words that carry meaning, stemmed."""
    return [_stem(word) for word in words(text) if word not in _STOPWORDS]


class SearchIndex:
    """An index of passages, in memory or mapped from a folder. Safe to search from several threads."""

    def __init__(self, retriever: bm25s.BM25, passages: "Sequence[Passage] | _StoredPassages") -> None:
        self._retriever, self._passages = retriever, passages
        self._names = {} if isinstance(passages, _StoredPassages) else _names(passages)

    @classmethod
    def of(cls, passages: Iterable[Passage]) -> "SearchIndex":
        """Build an index in memory. Raises ValueError when no passage has a word in it."""
        kept = list(passages)
        return cls(_retriever(kept), kept)

    @classmethod
    def load(cls, folder: Path) -> "SearchIndex":
        """Map an index that `save` wrote. Raises `StoreFault` when it is broken."""
        try:
            retriever = bm25s.BM25.load(str(folder), mmap=True)
            return cls(retriever, _StoredPassages(folder))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreFault(f"the search index {folder} cannot be read ({error}); index your files again") from error

    def __len__(self) -> int:
        return len(self._passages)

    def search(self, query: str, k: int) -> list[Found]:
        """At most `k` passages worth reading: first those whose name the query says, then by BM25."""
        scores = self._scores(query)
        named = self._named(query)
        best = np.argsort(-scores, kind="stable")[: max(4 * k, 20)]
        candidates = dict.fromkeys([*sorted(named), *(int(index) for index in best if scores[index] > 0)])
        ranked = sorted(candidates, key=lambda index: (index not in named, -scores[index]))
        shares = self._weights(query)
        kept = [index for index in ranked if index in named or self._answers(index, shares)]
        return [
            Found(passage=self._passages[index], score=float(scores[index]), named=index in named) for index in kept[:k]
        ]

    def closest(self, query: str, k: int) -> list[str]:
        """Titles of the best passages, however weak."""
        scores = self._scores(query)
        best = np.argsort(-scores, kind="stable")[:k]
        return list(dict.fromkeys(self._passages[int(index)].title for index in best if scores[index] > 0))

    def save(self, folder: Path) -> None:
        """Write the index into an empty folder. Names are not written: only the built-in corpus has them."""
        self._retriever.save(str(folder), show_progress=False)
        _StoredPassages.write(folder, [self._passages[index] for index in range(len(self))])

    def _scores(self, query: str) -> NDArray[np.float64]:
        asked = [term for term in dict.fromkeys(terms(query)) if term in self._retriever.vocab_dict]
        if not asked:
            return np.zeros(len(self))
        scores: NDArray[np.float64] = self._retriever.get_scores(asked).astype(np.float64)
        return scores

    def _named(self, query: str) -> set[int]:
        """Passages whose name stands in the query; of names that overlap the longest counts."""
        said = _spoken(query)
        found: set[int] = set()
        start = 0
        while start < len(said):
            for length in range(min(_LONGEST_NAME, len(said) - start), 0, -1):
                matches = self._names.get(tuple(said[start : start + length]))
                if matches:
                    found |= matches
                    start += length - 1
                    break
            start += 1
        return found

    def _weights(self, query: str) -> dict[str, float]:
        """Each term of the query with its share of the query's meaning: rare terms weigh more, unknown ones most."""
        total = len(self)
        rarity = {}
        for term in terms(query):
            known = term in self._retriever.vocab_dict
            count = int(np.count_nonzero(self._retriever.get_scores([term]))) if known else 0
            rarity[term] = math.log(1 + total / (0.5 + count))
        whole = sum(rarity.values())
        return {term: weight / whole for term, weight in rarity.items()}

    def _answers(self, index: int, shares: dict[str, float]) -> bool:
        """Whether the query says the whole title, or the passage covers enough of what the query means."""
        passage = self._passages[index]
        title, text = set(terms(passage.title)), set(terms(passage.text))
        covered = sum(share for term, share in shares.items() if term in title | text)
        return (bool(title) and title <= shares.keys()) or covered >= _WEAK


class _StoredPassages:
    """Passages as lines of a mapped file, found by a list of offsets; readable also after the file was removed."""

    def __init__(self, folder: Path) -> None:
        self._lines = np.memmap(folder / "passages.jsonl", dtype=np.uint8, mode="r")
        self._offsets = np.load(folder / "offsets.npy", mmap_mode="r")
        if len(self._lines) != int(self._offsets[-1]):
            raise ValueError("passages.jsonl is cut off")

    @staticmethod
    def write(folder: Path, passages: Sequence[Passage]) -> None:
        offsets = [0]
        with (folder / "passages.jsonl").open("wb") as file:
            for passage in passages:
                row = {"title": passage.title, "text": passage.text, "source": passage.source}
                file.write(dumps(row).encode() + b"\n")
                offsets.append(file.tell())
        np.save(folder / "offsets.npy", np.array(offsets, dtype=np.int64))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, index: int) -> Passage:
        start, end = int(self._offsets[index]), int(self._offsets[index + 1])
        return Passage(**json.loads(self._lines[start:end].tobytes()))


def _retriever(passages: Sequence[Passage]) -> bm25s.BM25:
    tokens = [terms(passage.title) * _TITLE_WEIGHT + terms(_indexed(passage)) for passage in passages]
    if not any(tokens):
        raise ValueError("no passage has a word in it")
    retriever = bm25s.BM25()
    retriever.index(tokens, show_progress=False)
    return retriever


def _indexed(passage: Passage) -> str:
    return " ".join([passage.text, *passage.names])


def _spoken(text: str) -> list[str]:
    """The words of a name, stemmed. Two capitals are a word of their own: US is a country, "us" is none."""
    shouted = text.isupper() and len(text) > len("U.S.")
    return [_stem(word) for word in words(text if shouted else _ACRONYM.sub(r"acronym\1\2", text))]


def _names(passages: Iterable[Passage]) -> dict[tuple[str, ...], set[int]]:
    table: dict[tuple[str, ...], set[int]] = {}
    for index, passage in enumerate(passages):
        for name in passage.names:
            if key := tuple(_spoken(name)):
                table.setdefault(key, set()).add(index)
    return table
