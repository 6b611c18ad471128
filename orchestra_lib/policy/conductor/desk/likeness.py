"""How much a request is like each operation: by embeddings of its sentences, and by the words that only one has.

For each sentence of the request the cosines with the operation's title and with its title and description are
averaged, and a fifth of the words that it shares with the operation's name and title is added, each word divided by
the number of operations that have it. The most alike sentence counts. Over 184 requests with a write of ten domains the
operation wanted first was first in 49 % and among the first four in 86 %.
"""

import re
from collections import Counter
from collections.abc import Sequence

from orchestra_lib.policy.conductor.estimator import Estimator
from orchestra_lib.tool import ToolSpec

SHARE_OF_WORDS = 0.2
MOST_WORDS = 1.5
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_SHORT = 12
"""Shorter sentences are greetings."""


def ranked(estimator: Estimator, request: str, specs: Sequence[ToolSpec]) -> list[tuple[ToolSpec, float]]:
    """Operations with their likeness to a request, the most alike first."""
    named = [_words(f"{spec.title} {spec.name.replace('_', ' ')}") for spec in specs]
    common = Counter(word for words in named for word in words)
    best = [0.0] * len(specs)
    for sentence in [part for part in _SENTENCE.split(request) if len(part) > _SHORT] or [request]:
        titles = estimator.likeness(sentence, [spec.title for spec in specs])
        whole = estimator.likeness(sentence, [f"{spec.title}. {spec.description}" for spec in specs])
        said = _words(sentence)
        for place, words in enumerate(named):
            shared = min(sum(1 / common[word] for word in words & said), MOST_WORDS)
            best[place] = max(best[place], (titles[place] + whole[place]) / 2 + SHARE_OF_WORDS * shared)
    return sorted(zip(specs, best, strict=True), key=lambda pair: -pair[1])


def _words(text: str) -> frozenset[str]:
    return frozenset(word.removesuffix("s") for word in re.findall(r"[a-z]{4,}", text.lower()))
