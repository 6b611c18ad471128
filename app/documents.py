"""The project's documents in the app: each Markdown file as a page, with a list of its sections beside the text."""

import html
import re
from collections import Counter
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from fastapi import APIRouter, HTTPException
from fastapi.responses import FileResponse, HTMLResponse
from lxml.html import HtmlElement

from app import markup, project_files

_FEWEST = 3
"""With fewer sections a document shows no list of them."""


class Section(NamedTuple):
    """A heading of a document: its level (2 or 3), its id and its words."""

    level: int
    id: str
    words: str


def router() -> APIRouter:
    """`/documents`, a page a document, and their pictures."""
    made = APIRouter(include_in_schema=False)

    @made.get("/documents")
    def mapped() -> HTMLResponse:
        return HTMLResponse(_page(project_files.MAP))

    @made.get("/documents/pages/{name}")
    def picture(name: str) -> FileResponse:
        file = project_files.pictures().get(name)
        if file is None:
            raise HTTPException(404, f"there is no picture {name[:80]!r}")
        return FileResponse(file, media_type="image/webp")

    @made.get("/documents/{folder}/{name}")
    def within(folder: str, name: str) -> HTMLResponse:
        return _answer(f"{folder}/{name}")

    @made.get("/documents/{name}")
    def beside(name: str) -> HTMLResponse:
        return _answer(name)

    return made


def _answer(name: str) -> HTMLResponse:
    file = project_files.document(name.removesuffix(".md"))
    if file is None:
        raise HTTPException(404, f"there is no document {name[:80]!r}; /documents lists them")
    return HTMLResponse(_page(file))


def _page(file: Path) -> str:
    folder = file.parent.relative_to(project_files.ROOT).as_posix()
    text = markup.from_markdown(file.read_text("utf-8"), folder)
    sections = _named(text)
    for code in text.iter("code"):
        _kept_whole(code)
    for block in [*text.iter("table", "pre")]:
        _boxed(block)
    mapped = file == project_files.MAP
    if mapped:
        _parted(text)
    text.set("class", "dc-text")
    title = next((head.text_content() for head in text.iter("h1")), file.stem)
    listed = not mapped and sum(section.level == 2 for section in sections) >= _FEWEST
    body = (_beside(sections) if listed else "") + markup.written(text)
    kind = " dc-map" if mapped else " dc-listed" if listed else ""
    return markup.page(title, body, name="document", classes=f"nb dc{kind}")


def _named(text: HtmlElement) -> list[Section]:
    """Give each heading the id that GitHub gives it, and list those of the second and third level."""
    seen: Counter[str] = Counter({"main": 1})  # the page has one already
    sections = []
    for head in text.iter("h1", "h2", "h3", "h4"):
        words = head.text_content().strip()
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        head.set("id", f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
        if head.tag in {"h2", "h3"}:
            sections.append(Section(int(head.tag[1]), head.get("id"), words))
    return sections


def _kept_whole(code: HtmlElement) -> None:
    """Put each option, such as `--limit`, into an element of its own: a line would be broken between its hyphens."""
    first, *others = re.split(r"(?<!\S)(-\S+)", code.text or "")
    if others and code.getparent().tag != "pre":
        code.text = first
        for option, after in zip(others[::2], others[1::2], strict=True):
            span = code.makeelement("span", {"class": "dc-option"})
            span.text, span.tail = option, after
            code.append(span)


def _boxed(block: HtmlElement) -> None:
    """Put a table or code into a box of its own, which scrolls where it is too wide for the page."""
    box = block.makeelement("div", {"class": "dc-box", "tabindex": "0"})
    block.addprevious(box)
    box.append(block)
    box.tail, block.tail = block.tail, None


def _parted(text: HtmlElement) -> None:
    """Put what stands under a heading of the second level into a section with it."""
    for head in [*text.iter("h2")]:
        under = takewhile(lambda one: one.tag != "h2", head.itersiblings())
        part = head.makeelement("section")
        head.addprevious(part)
        part.extend([head, *under])


def _beside(sections: list[Section]) -> str:
    """The list of sections twice, of which the style shows one: beside the text, or folded above it."""
    parts: list[tuple[Section, list[Section]]] = []
    for section in sections:
        if section.level == 2:
            parts.append((section, []))
        elif parts:
            parts[-1][1].append(section)
    rows = "".join(
        f"<li>{_led(top)}{f'<ul>{inner}</ul>' if (inner := _rows(under)) else ''}</li>" for top, under in parts
    )
    listed = f'<nav aria-label="On this page"><ul>{rows}</ul></nav>'
    return (
        f'<div class="dc-side"><p class="wb-cap">On this page</p>{listed}</div>'
        f'<details class="dc-fold"><summary>On this page</summary>{listed}</details>'
    )


def _rows(sections: list[Section]) -> str:
    return "".join(f"<li>{_led(section)}</li>" for section in sections)


def _led(section: Section) -> str:
    return f'<a href="#{html.escape(section.id)}">{html.escape(section.words)}</a>'
