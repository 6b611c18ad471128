"""Passages: what local search finds, and how longer texts are cut into them."""

import re
from collections.abc import Iterator

from orchestra_lib.record import record

PASSAGE_CHARS = 500
_HEADING = re.compile(r"#{1,6}\s+(.+?)\s*#*\s*$")
_BOLD = re.compile(r"\*\*(?P<term>[^*]+)\*\*")
_SAID = re.compile(r"(?:(?:An?|The)\s+)?\*\*(?P<term>[^*]+)\*\*\s+(?:\([^)]*\)\s+)?[a-z]")
_LINK = re.compile(r"\[([^\[\]]{1,200})\]\([^()]{0,500}\)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")


@record
class Passage:
    """A piece of text of about 500 characters with its title and where it comes from.

    `names` are the names by which a question may ask for it (an entity and its aliases).
    """

    title: str
    text: str
    source: str
    names: tuple[str, ...] = ()


@record
class Found:
    """A passage that a search found. `score` is BM25's; `named` says that the query names the passage."""

    passage: Passage
    score: float
    named: bool = False


def split(text: str, *, title: str, source: str, markdown: bool = False) -> Iterator[Passage]:
    """Cut a text into passages at blank lines, and at sentence ends where a paragraph is too long.

    In Markdown a heading starts a new passage and joins the title; one that is a question is the title. A row of a
    table that begins with a term in bold, and a sentence that does, also become passages of their own, which say what
    the term means.
    """
    for heading, section in _sections(text) if markdown else [("", text)]:
        full_title = _title(title, heading)
        if markdown:
            yield from (Passage(title=term, text=meaning, source=source) for term, meaning in _definitions(section))
        for piece in _pieces(section):
            yield Passage(title=full_title, text=piece, source=source)


def _title(title: str, heading: str) -> str:
    if heading.endswith("?"):
        return heading
    return f"{title}: {heading}" if heading and heading != title else title


def _sections(text: str) -> Iterator[tuple[str, str]]:
    heading, fenced = "", False
    lines: list[str] = []
    for line in text.splitlines():
        fenced ^= line.lstrip().startswith("```")
        match = None if fenced else _HEADING.match(line)
        if match:
            yield heading, "\n".join(lines)
            heading, lines = match.group(1), []
        else:
            lines.append(line)
    yield heading, "\n".join(lines)


def _definitions(section: str) -> Iterator[tuple[str, str]]:
    for line in _LINK.sub(r"\1", section).splitlines():
        before, term, meaning, *_ = (*map(str.strip, line.split("|", 3)), "", "", "")
        if not before and meaning and (bold := _BOLD.match(term)):
            yield bold["term"], f"Meaning: {meaning}"
        for sentence in _SENTENCE_END.split(line):
            if said := _SAID.match(sentence):
                yield said["term"], f"Meaning: {sentence.replace('**', '')}"


def _pieces(text: str) -> Iterator[str]:
    gathered = ""
    for paragraph in re.split(r"\n\s*\n", text):
        for part in _parts(paragraph.strip()):
            if gathered and len(gathered) + len(part) + 1 > PASSAGE_CHARS:
                yield gathered
                gathered = ""
            gathered = f"{gathered}\n{part}" if gathered else part
    if gathered:
        yield gathered


def _parts(paragraph: str) -> Iterator[str]:
    """The paragraph, or its sentences where it is too long, or slices of a sentence without an end."""
    if len(paragraph) <= PASSAGE_CHARS:
        if paragraph:
            yield paragraph
        return
    for sentence in _SENTENCE_END.split(paragraph):
        for start in range(0, len(sentence), PASSAGE_CHARS):
            yield sentence[start : start + PASSAGE_CHARS]
