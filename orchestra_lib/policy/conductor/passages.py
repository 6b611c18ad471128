"""Running text from the library: is it about the question, and which sentence answers it best."""

import re
from collections.abc import Sequence

from orchestra_lib.policy.conductor import question as wording
from orchestra_lib.policy.conductor.documents import Document, plain

_SMALL_WORDS = frozenset(
    re.findall(
        r"\w+",
        "the a an of in on at to for from by with and or is are was were be do does did how what which who when where "
        "why it its this that these those my our your their i we you he she they can could would should will have has "
        "had not no there many much some any me us about according tell give name please",
    )
)


def content_words(text: str) -> set[str]:
    """The words that carry meaning, cut to their first six letters so that forms of a word meet."""
    return {word[:6] for word in re.findall(r"[^\W_]+", plain(text)) if word not in _SMALL_WORDS and len(word) > 1}


def relevant(question: str, document: Document) -> bool:
    """True when every name in the question, or else half of its content words, stand in the document."""
    there = plain(f"{document.title}\n{document.text}")
    if names := wording.names(question):
        return all(plain(name.text) in there for name in names)
    wanted = content_words(question)
    return bool(wanted) and len(wanted & content_words(there)) >= 0.5 * len(wanted)


def best_sentence(question: str, found: Sequence[Document]) -> tuple[str, Document] | None:
    """The sentence or line that shares most content words with the question, and its document."""
    wanted = content_words(question)
    lines = [
        (len(wanted & content_words(sentence)), sentence.strip(), document)
        for document in found
        for sentence in re.split(r"(?<=[.!?])\s+|\n+", document.text)
        if len(sentence.split()) > 2
    ]
    shared, sentence, document = max(lines, key=lambda line: line[0], default=(0, "", None))
    return (sentence, document) if document is not None and shared > 0.5 * len(wanted) else None
