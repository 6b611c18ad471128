"""What the web said, kept for replay: searches by query and number, pages by URL.

Only what was found is kept. An empty list or a failure may be gone in a minute, and would be taken for the
truth for ever after.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from orchestra_lib.codec import fingerprint, from_data, to_data
from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.protocols import Recordings
from orchestra_lib.record import record
from orchestra_lib.toolkit.search_provider import Hit
from orchestra_lib.toolkit.web_page import WebPage


class WebMode(StrEnum):
    """Where answers come from."""

    LIVE = "live"
    """From the web, always; they are recorded."""
    REUSE = "reuse"
    """From the recordings where there is one, else from the web."""
    STRICT = "strict"
    """From the recordings alone: nothing is sent to any network."""


@record
class Findings:
    """The hits of one search and the provider that found them."""

    provider: str
    hits: tuple[Hit, ...]


class WebRecord:
    """Reads and writes recordings as `mode` says; they hold no key. Raises `StoreFault` for one that is broken."""

    def __init__(self, recordings: Recordings, mode: WebMode = WebMode.LIVE) -> None:
        self._recordings, self.mode = recordings, mode

    def findings(self, query: str, k: int) -> Findings | None:
        """What was found then; None when nothing is recorded, or when only the web is to be asked."""
        data = self._find(_search(query, k))
        return None if data is None else _read(data, Findings)

    def page(self, url: str) -> WebPage | None:
        """The page as it was then; None as with `findings`."""
        data = self._find(_page(url))
        return None if data is None else _read(data, WebPage)

    def keep_findings(self, query: str, k: int, findings: Findings) -> None:
        if findings.hits:
            self._recordings.keep(_search(query, k), [to_data(findings)])

    def keep_page(self, url: str, page: WebPage) -> None:
        self._recordings.keep(_page(url), [to_data(page)])

    def _find(self, asked: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if self.mode is WebMode.LIVE:
            return None
        answers: Sequence[Mapping[str, Any]] = self._recordings.find(asked)
        return answers[-1] if answers else None


def key_of(query: str, k: int) -> str:
    """The hash under which a search is recorded, shortened for messages."""
    return fingerprint(_search(query, k))[:16]


def _search(query: str, k: int) -> Mapping[str, Any]:
    return {"web": "search", "query": query, "k": k}


def _page(url: str) -> Mapping[str, Any]:
    return {"web": "page", "url": url}


def _read(data: Mapping[str, Any], kind: type[Any]) -> Any:
    try:
        return from_data(data, kind, where="a recording of the web")
    except BadInput as error:
        raise StoreFault(f"{error}; delete it and search again") from None
