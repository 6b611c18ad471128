"""Which field of a document a question asks for, from a lexicon in `data/conductor/fields.toml`."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from orchestra_lib.codec import from_data
from orchestra_lib.policy.conductor.documents import Document
from orchestra_lib.record import record

_JOINED = re.compile(r",|\band\b")
LEXICON = Path(__file__).parents[3] / "data" / "conductor" / "fields.toml"


@record
class Field:
    """A field: what documents call it, and the lower-case words that ask for it.

    `implied` are words that ask for it only where no other field is asked for: `larger` alone means the area.
    """

    names: tuple[str, ...]
    asked: tuple[str, ...]
    number: bool = False
    implied: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.names[0]

    def value(self, document: Document) -> str | None:
        """What the document says in this field; a few words after the name are allowed, as in `Area (km²)`."""
        for name in self.names:
            for field, value in document.fields.items():
                if field.casefold() == name.casefold() or field.casefold().startswith(f"{name.casefold()} "):
                    return value
        return None


@record
class _Lexicon:
    field: tuple[Field, ...]


@cache
def lexicon(path: Path = LEXICON) -> tuple[Field, ...]:
    """The fields that the lexicon knows. Raises `BadInput` for a file of another shape."""
    data: Mapping[str, object] = tomllib.loads(path.read_text(encoding="utf-8"))
    return from_data(data, _Lexicon, where=path.name).field


def named(name: str) -> Field:
    """A field of the lexicon by its first name. Raises `KeyError` when it has none of that name."""
    for field in lexicon():
        if field.name == name:
            return field
    raise KeyError(name)


def asked_field(question: str, documents: Sequence[Document]) -> Field | None:
    """The field that the question asks for; fields named by the documents themselves count too."""
    words = question.casefold()
    for field in lexicon():
        if any(_in(asked, words) for asked in field.asked):
            return field
    named = {name for document in documents for name in document.fields if _in(name.casefold(), words)}
    if named:
        name = max(named, key=len)
        return Field(names=(name,), asked=(name.casefold(),))
    return next((field for field in lexicon() if _is_implied(field, words)), None)


def is_implied(question: str) -> bool:
    """Whether a word such as `larger` stands in the question, which says by itself what is compared."""
    return any(_is_implied(field, question.casefold()) for field in lexicon())


def _is_implied(field: Field, words: str) -> bool:
    return any(_in(word, words) for word in field.implied)


def asked_together(question: str) -> tuple[Field, ...]:
    """The fields that are asked for side by side, in order: `the capital and the population`. Else none."""
    found = _asked_in(question.casefold())
    return tuple(field for _, field in found) if len(found) > 1 and _are_joined(question.casefold(), found) else ()


def asked_within(question: str) -> bool:
    """Whether one field is asked for of another: `the population of the capital`."""
    found = _asked_in(question.casefold())
    return len(found) > 1 and not _are_joined(question.casefold(), found)


def _asked_in(words: str) -> Sequence[tuple[tuple[int, int], Field]]:
    """The fields whose words stand apart from those of others, each with where it is asked for first."""
    found: list[tuple[tuple[int, int], Field]] = []
    for field in lexicon():
        spans = [match.span() for asked in field.asked for match in _asking(asked).finditer(words)]
        if spans and not any(start < min(spans)[1] and min(spans)[0] < end for (start, end), _ in found):
            found.append((min(spans), field))
    return sorted(found, key=lambda one: one[0])


def _are_joined(words: str, found: Sequence[tuple[tuple[int, int], Field]]) -> bool:
    return all(_JOINED.search(words[end:start]) for ((_, end), _), ((start, _), _) in pairwise(found))


def _in(asked: str, words: str) -> bool:
    return _asking(asked).search(words) is not None


def _asking(asked: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(asked)}")
