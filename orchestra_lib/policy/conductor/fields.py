"""Which field of a document a question asks for, from a lexicon in `data/conductor/fields.toml`."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from orchestra_lib.codec import from_data
from orchestra_lib.policy.conductor.documents import Document
from orchestra_lib.record import record

LEXICON = Path(__file__).parents[3] / "data" / "conductor" / "fields.toml"


@record
class Field:
    """A field: what documents call it, and the lower-case words that ask for it."""

    names: tuple[str, ...]
    asked: tuple[str, ...]
    number: bool = False

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
    if not named:
        return None
    name = max(named, key=len)
    return Field(names=(name,), asked=(name.casefold(),))


def _in(asked: str, words: str) -> bool:
    return re.search(rf"\b{re.escape(asked)}", words) is not None
