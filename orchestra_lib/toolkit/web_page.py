"""Fetches a page that a search named and takes its text: public addresses only, and bounded in every way.

Why not `safehttpx`: it takes the first public address of a name that has private ones too, asks a third
party's resolver when there is none, lets a proxy of the environment go around the check, and bounds neither
size nor time. So this is a transport of httpx2 that is handed checked addresses (`addresses`).

A page is never fetched through a proxy, as then the proxy would look the name up. No cookie is sent or kept.
"""

import asyncio
import os
import re
import ssl
import sys
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

import httpx2

from orchestra_lib.errors import ProviderFault
from orchestra_lib.record import record
from orchestra_lib.toolkit.addresses import Checked, Guard
from orchestra_lib.toolkit.web_text import clean, one_line

_EXTRACTOR = Path(__file__).with_name("page_extractor.py")
_HTML, _PLAIN = ("text/html", "application/xhtml+xml"), ("text/plain", "text/markdown")
_AT_ONCE = 8
_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {
    "user-agent": "OrchestraWorkbench/0.1 (reads pages that a search named)",
    "accept": ", ".join((*_HTML, *_PLAIN)),
    "accept-encoding": "gzip",
    "accept-language": "en, *;q=0.5",
    "connection": "close",
}
# Text encodings of pages. Python knows more, and some are no text (`zip`) or take a page quadratic time (`punycode`).
_CHARSETS = frozenset(
    {"utf-16", "utf-16le", "utf-16be", "shift_jis", "euc-jp", "iso-2022-jp", "euc-kr", "gbk", "gb2312", "gb18030",
     "big5", "koi8-r", "koi8-u", *(f"iso-8859-{part}" for part in range(1, 17) if part != 12),
     *(f"windows-125{part}" for part in range(9))}
)  # fmt: skip
_META_CHARSET = re.compile(rb"charset=[\"']?([A-Za-z0-9_-]+)")


@record
class PageLimits:
    """Bounds of one page. `sent_bytes` counts what the server sends, `unpacked_bytes` what it unpacks to."""

    sent_bytes: int = 2 << 20
    unpacked_bytes: int = 4 << 20
    text_chars: int = 100_000
    redirects: int = 4
    connect_s: float = 4.0
    total_s: float = 12.0
    extract_s: int = 5


@record
class WebPage:
    """The text of a page and the URL that it came from in the end. `cut` says that there was more."""

    url: str
    text: str
    cut: bool = False


@record
class _Download:
    url: str
    media_type: str
    charset: str
    data: bytes
    cut: bool


class PageReader:
    """Reads pages, a few at once. `tls` replaces the system's trust in certificates, for a web of one's own."""

    def __init__(
        self, guard: Guard | None = None, limits: PageLimits | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self._guard, self._limits, self._tls = guard or Guard(), limits or PageLimits(), tls
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def read(self, url: str) -> WebPage:
        """The page's text. Raises `ProviderFault`, whose message quotes nothing of the page but its type."""
        try:
            async with self._places, asyncio.timeout(self._limits.total_s):
                page = await self._download(url)
                text = await self._text(page)
        except TimeoutError:
            raise ProviderFault(f"it took longer than {self._limits.total_s:g} s") from None
        except httpx2.HTTPError as error:
            raise ProviderFault(f"the connection failed ({type(error).__name__})") from None
        if not text:
            raise ProviderFault("no text can be read on the page")
        most = self._limits.text_chars
        return WebPage(url=page.url, text=text[:most], cut=page.cut or len(text) >= most)

    async def _download(self, url: str) -> _Download:
        for _ in range(self._limits.redirects + 1):
            checked = await self._guard.check(url)
            async with self._ask(checked) as response:
                if response.status_code not in _REDIRECTS:
                    return await self._received(str(checked.url), response)
                url = _target(checked.url, response)
        raise ProviderFault(f"it was sent on more than {self._limits.redirects} times")

    @asynccontextmanager
    async def _ask(self, checked: Checked) -> AsyncIterator[httpx2.Response]:
        """The answer of the first address that can be reached; the body is not read yet."""
        async with httpx2.AsyncHTTPTransport(
            verify=self._tls or _system_tls(), trust_env=False, limits=httpx2.Limits(max_keepalive_connections=0)
        ) as transport:
            for address in checked.addresses:
                try:
                    response = await transport.handle_async_request(self._request(checked.url, address))
                except (httpx2.ConnectError, httpx2.ConnectTimeout):
                    continue
                try:
                    yield response
                finally:
                    await response.aclose()
                return
        raise ProviderFault(f"{checked.url.host[:80]} cannot be reached")

    def _request(self, url: httpx2.URL, address: str) -> httpx2.Request:
        """A request to the address that says, also in its TLS greeting, the name that was asked for."""
        seconds = dict.fromkeys(("read", "write", "pool"), self._limits.total_s)
        return httpx2.Request(
            "GET",
            url.copy_with(host=address),
            headers={**_HEADERS, "host": url.netloc.decode("ascii")},
            extensions={
                "timeout": {**seconds, "connect": self._limits.connect_s},
                "sni_hostname": url.raw_host.decode("ascii").removesuffix("."),
            },
        )

    async def _received(self, url: str, response: httpx2.Response) -> _Download:
        if response.status_code != 200:
            raise ProviderFault(f"the server answered HTTP {response.status_code}")
        media_type, _, rest = response.headers.get("content-type", "").lower().partition(";")
        media_type = one_line(media_type, 60) or "of an unnamed type"
        if media_type not in _HTML + _PLAIN:
            raise ProviderFault(f"it is {media_type!r}, not a page of text")
        data, cut = await self._body(response)
        charset = rest.partition("charset=")[2].partition(";")[0].strip(" \"'")
        return _Download(url=url, media_type=media_type, charset=charset, data=data, cut=cut)

    async def _body(self, response: httpx2.Response) -> tuple[bytes, bool]:
        coding = response.headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("identity", "gzip", "x-gzip", "deflate"):
            raise ProviderFault(f"it came packed as {one_line(coding, 40)!r}, which was not asked for")
        most, sent = self._limits.sent_bytes, bytearray()
        async for piece in response.aiter_raw():
            sent += piece
            if len(sent) > most:
                break
        data, cut = bytes(sent[:most]), len(sent) > most
        if coding == "identity":
            return data, cut
        unpacker = zlib.decompressobj(wbits=47)  # gzip or zlib, whichever it is
        try:
            data = unpacker.decompress(data, self._limits.unpacked_bytes)
        except zlib.error:
            raise ProviderFault(f"it is not {coding}, as it says") from None
        return data, cut or bool(unpacker.unconsumed_tail)

    async def _text(self, page: _Download) -> str:
        text = _decoded(page.data, page.charset)
        return clean(await self._extract(text) if page.media_type in _HTML else text)

    async def _extract(self, html: str) -> str:
        limits = self._limits
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", str(_EXTRACTOR), str(limits.extract_s), str(limits.text_chars),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            env={"PATH": os.defpath},
        )  # fmt: skip
        try:
            text, _ = await process.communicate(html.encode("utf-8", "replace"))
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()
        if process.returncode != 0:
            raise ProviderFault("its HTML could not be read within the limits of time and memory")
        return text.decode("utf-8", "replace")


def _target(url: httpx2.URL, response: httpx2.Response) -> str:
    try:
        return str(url.join(response.headers.get("location", "")))
    except (httpx2.InvalidURL, ValueError):
        raise ProviderFault("it was sent on to an address that is no URL") from None


def _decoded(data: bytes, charset: str) -> str:
    """UTF-8 where it is that, else what the server says, else what the page says, else Western."""
    try:
        return data.decode("utf-8-sig", "strict")
    except UnicodeDecodeError as error:
        if charset == "utf-8" or error.start > len(data) - 4:  # a cut last character
            return data.decode("utf-8-sig", "replace")
    said = _META_CHARSET.search(data[:2048])
    marked = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else ""
    names = (marked, charset, said[1].decode("ascii").lower() if said else "", "windows-1252")
    return data.decode(next(name for name in names if name in _CHARSETS), "replace")


@cache
def _system_tls() -> ssl.SSLContext:
    return httpx2.create_ssl_context()
