"""Pages are fetched from checked addresses only, bounded in size, time and redirects, and become clean text."""

import asyncio
import gzip
import ipaddress
import os
import shutil
import ssl
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from webbing import Names, guard, reply, served

from orchestra_lib.errors import ProviderFault
from orchestra_lib.toolkit.addresses import Guard
from orchestra_lib.toolkit.web_page import PageLimits, PageReader

QUICK = PageLimits(sent_bytes=20_000, unpacked_bytes=50_000, text_chars=5_000, redirects=2, total_s=3.0, extract_s=2)
PAGE = """<!doctype html><html><head><title>T</title><style>p{color:red}</style><script>alert('evil')</script></head>
<body><nav><a href=/>Home</a></nav><article><h1>Lakes of Peru</h1><p>Lake Titicaca lies at 3,812 metres above the
sea and is shared by Peru and Bolivia. It is the largest lake of South America by volume of water.</p>
<p onclick="evil()">Its islands are inhabited, and boats of reed are still built on its shores today.</p></article>"""


def read(of, *, names=None, host="page.example", path="", limits=QUICK, **urls):
    """What a reader says of a scripted page, and what the server heard."""

    async def go():
        async with served(of) as server:
            known = names or Names(page_example=["127.0.0.1"])
            page = await PageReader(guard(known, server.port), limits).read(f"http://{host}:{server.port}/{path}")
            return page, server

    return asyncio.run(go())


def test_the_main_text_of_a_page_is_read_without_scripts_styles_and_navigation():
    page, server = read([reply(PAGE)])
    assert "Lake Titicaca lies at 3,812 metres" in page.text
    assert "boats of reed" in page.text
    assert not any(word in page.text for word in ("evil", "color", "Home", "<"))
    assert page.url == f"http://page.example:{server.port}/"


def test_a_request_says_the_name_and_carries_no_cookie_key_or_referer(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9/")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9/")
    hop = reply(status=302, location="/two", set_cookie="id=1; Path=/")
    _, server = read([hop, reply(PAGE)])
    for head in server.heard:
        assert f"host: page.example:{server.port}\r\n" in head.lower()
        assert not any(name in head.lower() for name in ("cookie", "authorization", "referer"))


@pytest.mark.parametrize("packed", [gzip.compress, zlib.compress])
def test_a_packed_page_is_unpacked(packed):
    coding = "gzip" if packed is gzip.compress else "deflate"
    page, _ = read([reply(packed(PAGE.encode()), content_encoding=coding)])
    assert "Lake Titicaca" in page.text


def test_a_page_that_unpacks_without_end_is_cut():
    bomb = gzip.compress(b"<p>" + b"word " * 4_000_000)
    page, _ = read([reply(bomb, content_encoding="gzip", kind="text/plain")], limits=QUICK)
    assert page.cut
    assert len(page.text) <= QUICK.text_chars


def test_an_endless_page_is_cut_and_read():
    def endless(path):
        yield reply("", kind="text/plain", content_length=None)
        while True:
            yield b"so many words \n" * 100
            yield 0.0

    page, _ = read(endless)
    assert page.cut
    assert page.text.startswith("so many words")


@pytest.mark.parametrize(
    "of, words",
    [
        ([reply("x", status=404)], "answered HTTP 404"),
        ([reply("x", status=202)], "answered HTTP 202"),
        ([reply(b"%PDF", kind="application/pdf")], "'application/pdf', not a page of text"),
        ([reply("x", kind="image/svg+xml")], "not a page of text"),
        ([reply("x", kind=None)], "unnamed type"),
        ([reply("x", content_encoding="br")], "packed as 'br'"),
        ([reply("x" * 30, content_encoding="gzip")], "is not gzip"),
        ([reply("<p></p>")], "no text can be read"),
        ([reply("")], "no text can be read"),
        ([b"nonsense\r\n\r\n"], "connection failed"),
        ([b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 99\r\n\r\n<p>"], "connection failed"),
        ([b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 50_000 + b"\r\n"], "connection failed"),
        ([[reply("", content_length=9), 9.0]], "longer than 3 s"),
        ([reply(status=302, location="/x")] * 4, "sent on more than 2 times"),
        ([reply(status=301, location="http://a.b:x/")], "no URL"),
        ([reply(status=302)], "sent on more than"),
    ],
)
def test_what_is_no_page_is_a_fault_in_plain_words(of, words):
    of = of * 3 if len(of) == 1 else of
    with pytest.raises(ProviderFault, match=words):
        read(of)


@pytest.mark.parametrize(
    "target, words",
    [
        ("http://127.0.0.2/", "public internet"),
        ("http://169.254.169.254/latest/meta-data/", "public internet"),
        ("http://inner.example/", "public internet"),
        ("//[::1]/", "public internet"),
        ("http://page.example:22/", "port 22"),
        ("http://a:b@page.example/", "password"),
        ("file:///etc/passwd", "only http"),
        ("gopher://page.example/", "only http"),
    ],
)
def test_each_redirect_is_checked_anew(target, words):
    async def go():
        async with served([reply(status=302, location=target), reply(PAGE)]) as server:
            names = Names(page_example=["127.0.0.1"], inner_example=["10.0.0.1"])
            here = Guard(names, allowed=[ipaddress.ip_network("127.0.0.1/32")], ports=[80, server.port])
            with pytest.raises(ProviderFault, match=words):
                await PageReader(here, QUICK).read(f"http://page.example:{server.port}/")
            return server

    assert len(asyncio.run(go()).heard) == 1


def test_a_name_that_changes_its_address_is_asked_for_once_and_cannot_lead_elsewhere():
    names = Names(page_example=lambda asked: ["127.0.0.1"] if asked == 1 else ["169.254.169.254"])
    page, _ = read([reply(PAGE)], names=names)
    assert "Titicaca" in page.text
    assert names.asked == ["page.example"]
    names = Names(page_example=lambda asked: ["127.0.0.1"] if asked == 1 else ["169.254.169.254"])
    with pytest.raises(ProviderFault, match="not on the public internet"):
        read([reply(status=302, location="/again"), reply(PAGE)], names=names)


def test_the_next_address_of_a_name_is_tried_when_one_is_dead():
    page, _ = read([reply(PAGE)], names=Names(page_example=["127.0.0.2", "127.0.0.1"]))
    assert "Titicaca" in page.text
    with pytest.raises(ProviderFault, match="cannot be reached"):
        read([], names=Names(page_example=["127.0.0.2"]))


SLOW = "<body " + " ".join(f"a{number}=1" for number in range(300_000)) + "><p>hello there</p>"


def extractors():
    """Processes of ours that parse a page."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command, parent = (
                (folder / "cmdline").read_bytes(),
                (folder / "stat").read_text().rpartition(")")[2].split()[1],
            )
        except OSError:
            continue
        if b"page_extractor.py" in command and int(parent) == os.getpid():
            found.append(folder.name)
    return found


@pytest.mark.parametrize(
    "extract_s, total_s, words", [(1, 60.0, "limits of time and memory"), (60, 2.0, "longer than 2 s")]
)
def test_a_page_that_keeps_the_parser_busy_is_given_up_and_its_process_ended(extract_s, total_s, words):
    limits = PageLimits(extract_s=extract_s, total_s=total_s, sent_bytes=8 << 20)
    with pytest.raises(ProviderFault, match=words):
        read([reply(SLOW)], limits=limits)
    assert extractors() == []


@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are counted in /proc")
def test_a_cancelled_read_ends_its_process():
    async def go():
        async with served([reply(SLOW)]) as server:
            limits = PageLimits(extract_s=60, total_s=60.0, sent_bytes=8 << 20)
            reader = PageReader(guard(Names(page_example=["127.0.0.1"]), server.port), limits)
            work = asyncio.create_task(reader.read(f"http://page.example:{server.port}/"))
            while not extractors():
                await asyncio.sleep(0.02)
            work.cancel()
            await asyncio.wait({work})
            return work.cancelled()

    assert asyncio.run(go())
    assert extractors() == []


@pytest.mark.parametrize(
    "body, kind",
    [
        ("Zürich liegt am See", "text/plain; charset=utf-8"),
        ("Zürich liegt am See".encode("latin-1"), "text/plain"),
        ("Zürich liegt am See".encode("latin-1"), "text/plain; charset=zip"),
        ("Zürich liegt am See".encode("utf-16-le"), 'text/plain; charset="UTF-16LE"'),
        ("Zürich liegt am See".encode("utf-16"), "text/plain"),
    ],
)
def test_the_encoding_is_what_the_bytes_the_server_or_the_page_says(body, kind):
    page, _ = read([reply(body, kind=kind)])
    assert page.text == "Zürich liegt am See"


def test_an_encoding_that_only_the_page_names_is_used():
    body = "<meta charset=shift_jis><p>東京は日本の首都です。とても大きい。</p>".encode("shift_jis")
    assert "東京は日本の首都" in read([reply(body, kind="text/html")])[0].text


def test_hidden_signs_are_taken_out():
    page, _ = read([reply("a\x1b[31mred\u202egnp\x00\u200b \U000e0041b", kind="text/plain; charset=utf-8")])
    assert page.text == "a[31mredgnp b"


@pytest.mark.skipif(not shutil.which("openssl"), reason="a certificate is made with openssl")
def test_a_certificate_is_checked_against_the_name_and_not_the_address(tmp_path):
    key, crt = tmp_path / "key.pem", tmp_path / "crt.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
         key, "-out", crt, "-days", "2", "-subj", "/CN=page.example", "-addext", "subjectAltName=DNS:page.example"],
        check=True, capture_output=True,
    )  # fmt: skip
    ours, theirs = ssl.create_default_context(cafile=crt), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(crt, key)

    async def go(host):
        async with served([reply(PAGE)], tls=theirs) as server:
            names = Names(page_example=["127.0.0.1"], other_example=["127.0.0.1"])
            return await PageReader(guard(names, server.port), QUICK, ours).read(f"https://{host}:{server.port}/")

    assert "Titicaca" in asyncio.run(go("page.example")).text
    with pytest.raises(ProviderFault, match="cannot be reached"):
        asyncio.run(go("other.example"))


def test_the_program_that_parses_has_neither_network_nor_processes():
    program = """
import os, socket, sys
from orchestra_lib.toolkit import page_extractor
def tried(html):
    said = [html]
    for attempt in (socket.socket, os.fork, lambda: socket.getaddrinfo("example.org", 80)):
        try: attempt()
        except OSError as error: said.append(type(error).__name__)
    return " ".join(said)
page_extractor.extract, sys.argv = tried, ["", "5", "1000"]
page_extractor.main()
"""
    done = subprocess.run([sys.executable, "-c", program], input=b"in", capture_output=True, check=True)
    assert done.stdout in (
        b"in PermissionError PermissionError gaierror",
        b"in PermissionError PermissionError PermissionError",
    )
