"""`local_search`: facts and documents on this machine, found by words."""

import asyncio
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from orchestra_lib.errors import StoreFault
from orchestra_lib.protocols import ToolResult
from orchestra_lib.tool import ToolKind, ToolSpec
from orchestra_lib.toolkit.countries import country_passages
from orchestra_lib.toolkit.passage import Found, Passage, split
from orchestra_lib.toolkit.search_index import SearchIndex
from orchestra_lib.toolkit.user_index import IndexReport, current, index_paths

__all__ = ["IndexReport", "LocalSearch", "index_paths"]

DEFAULT_K, MAX_K = 3, 8
_ROOT = Path(__file__).resolve().parents[2]
_DESCRIPTION = (
    "Searches facts about countries (capital, population, area, currency, languages, borders, time zones, "
    "demonym), this workbench's documents and the files that the user indexed. Ask with the name of the thing, "
    "best with the question itself. It knows nothing of today: no news, prices or weather."
)
_SPEC = ToolSpec(
    name="local_search",
    title="Local search",
    description=_DESCRIPTION,
    parameters={
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "maxLength": 300, "description": "A question or its names"},
            "k": {"type": "integer", "minimum": 1, "maximum": MAX_K, "description": "How many passages (3)"},
        },
        "required": ["query"],
        "additionalProperties": False,
    },
    kind=ToolKind.BASIC,
    timeout_s=20.0,
    typical_latency_s=0.01,
)


class LocalSearch:
    """Tool over the built-in corpus and the user's index under `home`; a new index is picked up by itself.

    Raises `StoreFault` when the user's index is broken.
    """

    def __init__(self, home: Path | None = None) -> None:
        self._home = home
        self._built_in: SearchIndex | None = None
        self._users: tuple[Path, SearchIndex] | None = None
        self._loading = Lock()

    @property
    def spec(self) -> ToolSpec:
        return _SPEC

    def search(self, query: str, k: int = DEFAULT_K) -> list[Found]:
        """At most `k` passages worth reading, best first; empty when none matches well. Blocking."""
        found = [hit for index in self._indexes() for hit in index.search(query, k)]
        return sorted(found, key=lambda hit: (not hit.named, -hit.score))[:k]

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        text = await asyncio.to_thread(self._answer, arguments["query"], int(arguments.get("k") or DEFAULT_K))
        return ToolResult(text=text)

    async def release(self, run_id: str) -> None:
        """Nothing is kept for a run."""

    def _answer(self, query: str, k: int) -> str:
        found = self.search(query, k)
        if found:
            return "\n\n".join(_passage(number, hit.passage) for number, hit in enumerate(found, start=1))
        closest = [title for index in self._indexes() for title in index.closest(query, 3)][:3]
        if closest:
            return f"No good match. The closest titles are: {', '.join(closest)}. Ask with the name of the thing."
        return "No results: none of these words is in the library."

    def _indexes(self) -> list[SearchIndex]:
        with self._loading:
            if self._built_in is None:
                self._built_in = SearchIndex.of([*country_passages(), *_own_documents()])
            users = self._load_users()
            return [self._built_in, *([users] if users else [])]

    def _load_users(self) -> SearchIndex | None:
        folder = current(self._home) if self._home else None
        if folder is None:
            return None
        if self._users is None or self._users[0] != folder:
            try:
                self._users = (folder, SearchIndex.load(folder))
            except StoreFault:
                if self._home and current(self._home) != folder:  # replaced while it was read
                    return self._load_users()
                raise
        return self._users[1]


_LEFT_OUT = {"benchmarks.md", "field_bugs.md", "log.md", "tutorial.md"}
"""Tables of figures and of names of tests, and what was tried, which hold every word and answer nobody's question;
questions with answers that were seen once, which would stand before their sources."""


_LINK = re.compile(r"(?<!!)\[(?P<words>[^\[\]\n]{1,200})\]\((?P<to>[^()#:\s][^():\s]{0,300})\)")
"""A link to another document, as Markdown has it."""
_PROPER = re.compile(r"\w+[A-Z]\w*")
"""A term that is a name, such as GRPO."""


def _own_documents() -> Iterator[Passage]:
    """The README and docs of this workbench for its users; none where only the package is installed."""
    for path in [_ROOT / "README.md", *sorted((_ROOT / "docs").glob("*.md"))]:
        if path.is_file() and path.name not in _LEFT_OUT:
            source = str(path.relative_to(_ROOT))
            text = _with_places(path.read_text("utf-8"), source)
            for passage in split(text, title=path.stem, source=source, markdown=True):
                own = (passage.title,) if _PROPER.fullmatch(passage.title) else ()
                yield replace(passage, names=("workbench", "Orchestra Workbench", *own))


def _with_places(text: str, source: str) -> str:
    """A document whose links to others say where these lie: a reader of a passage cannot follow a link."""

    def said(link: re.Match[str]) -> str:
        place = posixpath.normpath(posixpath.join(posixpath.dirname(source), link["to"].partition("#")[0]))
        return f"{link['words']} ({place})"

    return _LINK.sub(said, text)


def _passage(number: int, passage: Passage) -> str:
    return f"[{number}] {passage.title} ({passage.source})\n{passage.text}"
