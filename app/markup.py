"""What the pages of notebooks and of documents share: Markdown, an allowlist for what it becomes, the shell around it.

Of our own markup and of what a run printed alike, allowed tags and attributes are left: no script, no handler, no
address of another kind than a link, no picture but those of the documents.
"""

import html
from collections.abc import Iterable
from functools import cache

import mistune
from lxml.html import HtmlElement, fromstring, tostring
from lxml_html_clean import Cleaner
from PIL import Image

from app import project_files

_TAGS = frozenset({
    "a", "b", "blockquote", "br", "code", "details", "div", "em", "h1", "h2", "h3", "h4", "hr", "i", "img", "li", "ol",
    "p", "picture", "pre", "source", "span", "strong", "summary", "table", "tbody", "td", "th", "thead", "tr", "ul",
})  # fmt: skip
_ATTRIBUTES = frozenset({"alt", "class", "colspan", "href", "media", "rel", "rowspan", "src", "srcset", "target"})
_PAGES = (("/documents", "Documents"), ("/notebooks", "Notebooks"))


def from_markdown(text: str, folder: str) -> HtmlElement:
    """Clean elements of a Markdown text. `folder` is where its file lies within the project: links start there."""
    return _clean(str(_markdown()(text)), folder)


def cleaned(markup: str, folder: str) -> str:
    """HTML as it may stand in a page."""
    return written(_clean(markup, folder))


def written(element: HtmlElement) -> str:
    """An element as HTML."""
    return str(tostring(element, encoding="unicode"))


def page(title: str, body: str, *, name: str, classes: str = "nb", scripts: Iterable[str] = ()) -> str:
    """A whole page. `/wb/NAME.css` is its style, `/wb/NAME.js` its module; `scripts` are there before that begins."""
    before = "".join(f'<script defer src="{address}"></script>' for address in scripts)
    links = "".join(f'<a class="wb-link" href="{address}">{word}</a>' for address, word in _PAGES)
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">
<title>{html.escape(title)} · Orchestra Workbench</title>
<link rel="icon" href="/wb/mark.svg"><link rel="stylesheet" href="/wb/tokens.css">
<link rel="stylesheet" href="/wb/components.css"><link rel="stylesheet" href="/wb/docs.css">
<link rel="stylesheet" href="/wb/markup.css"><link rel="stylesheet" href="/wb/{name}.css">{before}
<script type="module" src="/wb/{name}.js"></script></head>
<body><div class="wb"><a class="wb-skip" href="#main">Skip to content</a>
<header class="wb-top"><a class="wb-brand" href="/">Orchestra Workbench</a>
<span class="wb-sp"></span>{links}</header>
<main class="{classes}" id="main" tabindex="-1">{body}</main></div></body></html>"""


@cache
def _markdown() -> mistune.Markdown:
    return mistune.create_markdown(escape=False, plugins=["table"])


def _clean(markup: str, folder: str) -> HtmlElement:
    root = fromstring(f"<div>{markup}</div>")
    for cell in root.iter("td", "th"):
        if cell.get("style") == "text-align:right":
            cell.set("class", "n")
    Cleaner(
        allow_tags=_TAGS, kill_tags=("style", "script"), safe_attrs=_ATTRIBUTES, safe_attrs_only=True,
        remove_unknown_tags=False, add_nofollow=False,
    )(root)  # fmt: skip
    for link in root.iter("a"):
        _lead(link, folder)
    for source in root.iter("source"):
        for child in reversed(source):  # the parser does not know that a source ends where it begins
            source.addnext(child)
    for shown in [*root.iter("img", "source")]:
        _show(shown, folder)
    for head in root.iter("th"):
        if not len(head) and not head.text:  # an empty corner heads nothing
            head.tag = "td"
    return root


def _lead(link: HtmlElement, folder: str) -> None:
    """Lead a link to a page; a file of the project that has none is named and not led to."""
    written_address = link.attrib.pop("href", None)
    led = None if written_address is None else project_files.address(written_address, folder)
    if led is None:
        link.set("class", "nb-file")
    else:
        link.set("href", led)


def _show(shown: HtmlElement, folder: str) -> None:
    """Show a picture of the documents in its own size, so that the text does not move when it comes."""
    attribute = "src" if shown.tag == "img" else "srcset"
    file = project_files.picture(shown.get(attribute, ""), folder)
    if file is None:
        shown.drop_tree()
        return
    with Image.open(file) as opened:
        width, height = opened.size
    said = {name: shown.get(name) for name in ("alt", "media") if shown.get(name)}
    shown.attrib.clear()
    shown.attrib.update(said | {attribute: f"/documents/pages/{file.name}", "width": str(width), "height": str(height)})
    if shown.tag == "img":
        shown.set("loading", "lazy")
