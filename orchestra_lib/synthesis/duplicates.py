"""How alike the users' texts are: near-duplicates by MinHash over word triples, and distinct n-grams.

Sixty-four minima in bands of four find the pairs that may be alike; each is then compared in full. Numbers and ids
count as what they are, so that the same request about another record is not the same text.
"""

import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

_WORDS = re.compile(r"[\w$@.'-]+")
_HASHES, _BAND, _PRIME, _MOST_IN_BAND = 64, 4, np.uint64(4_294_967_291), 60


def words(text: str) -> list[str]:
    """The words of a text in small letters."""
    return [one.strip(".").casefold() for one in _WORDS.findall(text)]


def distinct(texts: Sequence[str], n: int) -> float | None:
    """The share of different n-grams among all; None without any."""
    grams = [gram for text in texts for gram in _grams(words(text), n)]
    return len(set(grams)) / len(grams) if grams else None


def near_duplicates(texts: Sequence[str], *, alike: float = 0.8) -> int:
    """How many texts share at least so much (Jaccard, of word triples) with another one."""
    sets = [frozenset(zlib.crc32(" ".join(gram).encode()) for gram in _grams(words(text), 3)) for text in texts]
    found: set[int] = set()
    for left, right in _candidates(sets):
        if left in found and right in found:
            continue
        both = len(sets[left] & sets[right])
        if both >= alike * (len(sets[left]) + len(sets[right]) - both):
            found |= {left, right}
    return len(found)


def _grams(parts: Sequence[str], n: int) -> Iterator[tuple[str, ...]]:
    return zip(*(parts[start:] for start in range(n)), strict=False)


def _candidates(sets: Sequence[frozenset[int]]) -> Iterator[tuple[int, int]]:
    """Pairs that agree in all minima of a band; each pair may come more than once."""
    random = np.random.default_rng(1)
    by = random.integers(1, int(_PRIME), size=(_HASHES, 2), dtype=np.uint64)
    bands: dict[bytes, list[int]] = {}
    for place, one in enumerate(sets):
        if not one:
            continue
        values = np.fromiter(one, dtype=np.uint64, count=len(one))
        minima = ((values[:, None] * by[:, 0] + by[:, 1]) % _PRIME).min(axis=0)
        for start in range(0, _HASHES, _BAND):
            bands.setdefault(bytes((start,)) + minima[start : start + _BAND].tobytes(), []).append(place)
    for members in bands.values():
        yield from combinations(members[:_MOST_IN_BAND], 2)
