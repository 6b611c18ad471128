"""Search services of the web: Tavily, Brave, and the library ddgs as best effort.

A service that is busy, asks for proof of being human or answers nonsense could not search; only its own
plain empty list means that there is nothing. Keys come from the environment, are read when a request is
made, and stand in no message: nothing that a service writes is quoted.
"""

import asyncio
import html
import importlib.util
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

import httpx2

from orchestra_lib.errors import ProviderFault
from orchestra_lib.record import record
from orchestra_lib.toolkit.web_text import one_line

TITLE_CHARS, SNIPPET_CHARS, URL_CHARS = 160, 500, 1_000
SEARCH_S = 12.0
MAX_ANSWER_BYTES = 2 << 20
_REMEDIES = {
    401: "its key is not valid; set another one in {key}",
    403: "its key is not valid or has no access; set another one in {key}",
    422: "it does not accept the query or the key in {key}",
    429: "too many requests at once, or the quota is used up",
    432: "the plan's quota is used up",
    433: "the pay-as-you-go limit is reached",
}


@record
class Hit:
    """One result as the service gives it, cleaned; `url` is any http(s) URL and has not been checked."""

    title: str
    url: str
    snippet: str = ""


class CouldNotSearch(ProviderFault):
    """The service did not search. `billed` says that it may charge for it, `wait_s` when to try again (None: don't)."""

    def __init__(self, message: str, *, billed: bool = False, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.billed, self.wait_s = billed, wait_s


class SearchProvider(Protocol):
    """A search service. `off` says why it cannot be used, without asking it; `search` raises `CouldNotSearch`."""

    @property
    def name(self) -> str: ...
    def off(self) -> str | None: ...
    async def search(self, query: str, k: int) -> Sequence[Hit]: ...


class HttpSearch(ABC):
    """A service behind an HTTP address that answers JSON; what it is asked and how it answers is the subclass's."""

    name = ""
    url = ""
    key_names: tuple[str, ...] = ()

    def __init__(self, environ: Mapping[str, str], *, url: str | None = None) -> None:
        self._environ = environ
        self.url = url or self.url

    def off(self) -> str | None:
        return None if self._key() else f"set {' or '.join(self.key_names)}"

    async def search(self, query: str, k: int) -> Sequence[Hit]:
        key = self._key()
        if not key.isascii() or not key.isprintable():
            raise CouldNotSearch(f"{self.name}: the key in {self.key_names[0]} holds signs that no key has")
        try:
            async with (
                asyncio.timeout(SEARCH_S),
                httpx2.AsyncClient(timeout=SEARCH_S) as client,
                client.stream(**self._request(key, query, k)) as response,
            ):
                data = await self._answer(response)
        except (TimeoutError, httpx2.TimeoutException):
            raise CouldNotSearch(f"{self.name} did not answer within {SEARCH_S:g} s", billed=True) from None
        except httpx2.HTTPError as error:
            raise CouldNotSearch(f"{self.name} cannot be reached ({type(error).__name__})", wait_s=0.5) from None
        return self._hits(data, response.headers)[:k]

    def _key(self) -> str:
        return next((key for name in self.key_names if (key := self._environ.get(name, "").strip())), "")

    @abstractmethod
    def _request(self, key: str, query: str, k: int) -> dict[str, Any]:
        """What to send."""

    @abstractmethod
    def _results(self, data: Mapping[str, Any]) -> object:
        """The list of results in an answer; anything else when the answer is none."""

    @abstractmethod
    def _hit(self, row: Mapping[str, Any]) -> Hit | None:
        """One row of the results; None when it is none."""

    async def _answer(self, response: httpx2.Response) -> object:
        if response.status_code != 200:
            raise self._refused(response)
        media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            raise CouldNotSearch(f"{self.name} sent no JSON but {one_line(media_type, 40) or 'an unnamed type'!r}")
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MAX_ANSWER_BYTES:
                raise CouldNotSearch(f"{self.name} sent more than {MAX_ANSWER_BYTES >> 20} MB", billed=True)
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise CouldNotSearch(f"{self.name} sent JSON that cannot be read", billed=True) from None

    def _refused(self, response: httpx2.Response) -> CouldNotSearch:
        code = response.status_code
        if code == 202:
            remedy = "it wants proof of being human"
        else:
            remedy = _REMEDIES.get(code, "it failed" if code >= 500 else "it did not search")
        wait_s = _retry_after(response.headers) if code == 429 or code >= 500 else None
        words = remedy.format(key=self.key_names[0])
        return CouldNotSearch(f"{self.name} answered HTTP {code}: {words}", wait_s=wait_s)

    def _hits(self, data: object, headers: httpx2.Headers) -> list[Hit]:
        rows = self._results(data) if isinstance(data, dict) else None
        if not isinstance(rows, list):
            raise CouldNotSearch(f"{self.name} sent an answer without a list of results", billed=True)
        if not rows and _is_throttled(headers):
            raise CouldNotSearch(f"{self.name} sent an empty list because it is throttled", billed=True)
        hits = [hit for row in rows if isinstance(row, dict) and (hit := self._hit(row))]
        if rows and not hits:
            raise CouldNotSearch(f"{self.name} sent results that cannot be read", billed=True)
        return hits


class Tavily(HttpSearch):
    """One basic search, one credit. Source: docs.tavily.com, endpoint search."""

    name = "tavily"
    url = "https://api.tavily.com/search"
    key_names = ("TAVILY_API_KEY", "TAVILY_KEY")

    def _request(self, key: str, query: str, k: int) -> dict[str, Any]:
        body = {"query": query, "max_results": k, "search_depth": "basic"}
        return {"method": "POST", "url": self.url, "json": body, "headers": {"authorization": f"Bearer {key}"}}

    def _results(self, data: Mapping[str, Any]) -> object:
        return data.get("results")

    def _hit(self, row: Mapping[str, Any]) -> Hit | None:
        return hit_of(row.get("title"), row.get("url"), row.get("content"))


class Brave(HttpSearch):
    """One web search. Source: api-dashboard.search.brave.com, web search; an answer without hits has no `web`."""

    name = "brave"
    url = "https://api.search.brave.com/res/v1/web/search"
    key_names = ("BRAVE_API_KEY",)

    def _request(self, key: str, query: str, k: int) -> dict[str, Any]:
        words = " ".join(query.split()[:50])[:400]  # its own bounds
        params = {"q": words, "count": k, "text_decorations": "false", "result_filter": "web"}
        headers = {"accept": "application/json", "x-subscription-token": key}
        return {"method": "GET", "url": self.url, "params": params, "headers": headers}

    def _results(self, data: Mapping[str, Any]) -> object:
        if data.get("type") != "search":
            return None
        web = data.get("web", {"results": []})
        return web.get("results") if isinstance(web, dict) else None

    def _hit(self, row: Mapping[str, Any]) -> Hit | None:
        return hit_of(row.get("title"), row.get("url"), row.get("description"))


Find = Callable[[str, int], Sequence[Mapping[str, Any]]]


class Ddgs:
    """Public search pages read by the library ddgs: free, without a key, and often throttled.

    It says `No results` also when it was turned away. So where it finds nothing it is asked for something that
    is always there; when that is missing too, it could not search.
    """

    name = "ddgs"
    package = "ddgs==9.16.1"
    control = "wikipedia"

    def __init__(self, find: Find | None = None) -> None:
        self._find = find or _find

    def off(self) -> str | None:
        known = self._find is not _find or importlib.util.find_spec("ddgs")
        return None if known else f"its library is missing: pip install {self.package}"

    async def search(self, query: str, k: int) -> Sequence[Hit]:
        rows = await self._rows(query, k)
        if not rows and not await self._rows(self.control, 1):
            raise CouldNotSearch("ddgs finds nothing at all: it is throttled", wait_s=None)
        found = (hit_of(row.get("title"), row.get("href"), row.get("body")) for row in rows)
        return [hit for hit in found if hit][:k]

    async def _rows(self, query: str, k: int) -> Sequence[Mapping[str, Any]]:
        try:
            async with asyncio.timeout(SEARCH_S):
                return await asyncio.to_thread(self._find, query, k)
        except TimeoutError:
            raise CouldNotSearch(f"ddgs did not answer within {SEARCH_S:g} s") from None
        except Exception as error:  # it reads pages that change under it, and raises what its parsers raise
            raise CouldNotSearch(f"ddgs failed ({type(error).__name__})") from None


def _find(query: str, k: int) -> Sequence[Mapping[str, Any]]:
    from ddgs import DDGS
    from ddgs.exceptions import DDGSException

    try:
        return DDGS(timeout=5).text(query, max_results=k)
    except DDGSException as error:
        if "No results found" in str(error):
            return []
        raise


def hit_of(title: object, url: object, snippet: object) -> Hit | None:
    """A result of untrusted parts; None without a URL that could be shown on one line and fetched."""
    if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")):
        return None
    if len(url) > URL_CHARS or not url.isprintable() or " " in url:
        return None
    words = [one_line(html.unescape(part), most) if isinstance(part, str) else "" for part, most in
             ((title, TITLE_CHARS), (snippet, SNIPPET_CHARS))]  # fmt: skip
    return Hit(title=words[0] or url[:TITLE_CHARS], url=url, snippet=words[1])


def _is_throttled(headers: httpx2.Headers) -> bool:
    """What a service says beside an empty list when it did not search: a wait, or that no request is left at all."""
    left = headers.get("x-ratelimit-remaining", "").replace(" ", "").split(",")
    return "retry-after" in headers or set(left) == {"0"}


def _retry_after(headers: httpx2.Headers) -> float:
    """Seconds to wait, as the service asks or a second; a date counts from now."""
    text = headers.get("retry-after", "").strip()
    try:
        return float(text) if text.isdigit() else (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError, OverflowError):
        return 1.0
