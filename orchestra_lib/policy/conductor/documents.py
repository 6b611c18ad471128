"""Documents as a search result shows them: `[1] Title (source)`, then text in which some lines are `Field: value`."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from orchestra_lib.record import record

_HEAD = re.compile(r"^\s*(?:\[(\d{1,3})\]|(\d{1,3})[.)]|#{1,4})\s+(.+?)\s*$")
_FIELD = re.compile(r"^\s*[-*•]?\s*([A-Za-z][\w /()'-]{1,48}?)\s*:\s+(\S.*?)\s*$")
_SOURCE = re.compile(r"\s*\(([^()]*)\)$")
_PLACE = re.compile(r"\bis an? [\w ]+ in ([^.]+)\.")


@record
class Document:
    """One search result: its title, its fields in order, the whole text, and where it comes from.

    `It is a … in PLACE.` counts as a field named `Where`.
    """

    title: str
    source: str = ""
    fields: Mapping[str, str]
    text: str


def parse(text: str) -> tuple[Document, ...]:
    """The documents in one observation, in the order shown."""
    blocks: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if head := _HEAD.match(line):
            blocks.append((head[3], []))
        elif blocks:
            blocks[-1][1].append(line)
    return tuple(_document(head, lines) for head, lines in blocks)


def merge(groups: Iterable[Sequence[Document]]) -> tuple[Document, ...]:
    """All documents once, first seen first."""
    found: dict[tuple[str, str], Document] = {}  # long texts come as several passages under one title
    for group in groups:
        for document in group:
            found.setdefault((document.title, document.text), document)
    return tuple(found.values())


def _document(head: str, lines: Sequence[str]) -> Document:
    fields: dict[str, str] = {}
    for line in lines:
        if found := _FIELD.match(line):
            fields.setdefault(found[1], found[2])
    text = "\n".join(lines).strip()
    if place := _PLACE.search(text):
        fields.setdefault("Where", place[1])
    source = _SOURCE.search(head)
    return Document(
        title=_SOURCE.sub("", head).strip(" *:"), source=source[1] if source else "", fields=fields, text=text
    )


def plain(text: str) -> str:
    """Case, accents and curly quotes taken away, for comparing names."""
    decomposed = unicodedata.normalize("NFKD", text.replace("’", "'"))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).casefold()


def number(text: str) -> float | int | None:
    """The first number in a value such as `580,367 km²`; None when there is none."""
    found = re.search(r"-?\d[\d,]*(?:\.\d+)?", text)
    if found is None:
        return None
    digits = found[0].replace(",", "")
    return float(digits) if "." in digits else int(digits)
