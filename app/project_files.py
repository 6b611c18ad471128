"""The project's files that the app shows, documents, notebooks, pictures, and where links between them lead."""

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
MAP = DOCS / "README.md"
"""The document that leads to all others."""
NOTEBOOK = re.compile(r"[0-9]{2}_[a-z0-9_]{1,60}")
"""What a notebook's name is like, without its ending."""
_BESIDE = {name: ROOT / f"{name.upper()}.md" for name in ("readme", "changelog", "contributing")}
_DOCUMENT = re.compile(r"[a-z0-9_]{1,60}(/[a-z0-9_]{1,60})?")
_OUR_PAGES = re.compile(r"http://127\.0\.0\.1:7860(?=/|$)")
_ELSEWHERE = re.compile(r"(https?://|/|#)", re.IGNORECASE)


def documents() -> list[str]:
    """The names of all documents but the map: `concepts`, `reference/library`, and those beside `docs/`."""
    within = (file.relative_to(DOCS).with_suffix("").as_posix() for file in DOCS.rglob("*.md"))
    return sorted(name for name in {*_BESIDE, *within} if document(name))


def document(name: str) -> Path | None:
    """The file of a document; None where there is none."""
    file = _BESIDE.get(name, DOCS / f"{name}.md")
    return file if _DOCUMENT.fullmatch(name) and file.is_file() else None


def pictures() -> Mapping[str, Path]:
    """The pictures of the documents by their names."""
    return {file.name: file for file in DOCS.glob("pages/*.webp")}


def address(link: str, folder: str) -> str | None:
    """Where a link leads that stands in a file of this folder of the project; None where the app has no page for it.

    Our own pages stay on this server, whatever its port; what leads elsewhere is left as it is.
    """
    link = _OUR_PAGES.sub("", link) or "/"
    if _ELSEWHERE.match(link):
        return link
    target, mark, section = link.partition("#")
    page = _page(_within(target, folder))
    return page and page + mark + section


def picture(link: str, folder: str) -> Path | None:
    """The picture that stands at this address in a file of this folder; None for any other address."""
    before, _, name = _within(link, folder).rpartition("/")
    return pictures().get(name) if before == "docs/pages" else None


def _within(link: str, folder: str) -> str:
    return posixpath.normpath(posixpath.join(folder, link))


def _page(path: str) -> str | None:
    if path in {"docs/README.md", "notebooks/README.md"}:
        return "/documents" if path.startswith("docs") else "/notebooks"
    place, ending = posixpath.splitext(path)
    if ending == ".ipynb":
        name = place.removeprefix("notebooks/")
        return f"/notebooks/{name}" if NOTEBOOK.fullmatch(name) else None
    name = place.removeprefix("docs/") if place.startswith("docs/") else place.lower()
    known = ending == ".md" and (place.startswith("docs/") or name in _BESIDE) and document(name)
    return f"/documents/{name}" if known else None
