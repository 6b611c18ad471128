"""The documents in the app: every one a page, links between them that lead somewhere, and nothing else that leads."""

import re

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from lxml.html import document_fromstring

from app import documents, notebooks, project_files
from app.security import Guard

PATHS = ["/documents", *(f"/documents/{name}" for name in project_files.documents())]


@pytest.fixture(scope="module")
def client():
    app = FastAPI()
    app.include_router(documents.router())
    app.include_router(notebooks.router())
    app.add_middleware(Guard, host="127.0.0.1")
    return TestClient(app, base_url="http://127.0.0.1:7860")


@pytest.fixture(scope="module")
def pages(client):
    """Every document as it is served, read."""
    answers = {path: client.get(path) for path in PATHS}
    assert {answer.status_code for answer in answers.values()} == {200}
    return {path: document_fromstring(answer.text) for path, answer in answers.items()}


@pytest.fixture
def shown(client, tmp_path, monkeypatch):
    """A function: the page of a document with this text, that lies beside two others and a picture."""
    monkeypatch.setattr(project_files, "ROOT", tmp_path)
    monkeypatch.setattr(project_files, "DOCS", tmp_path / "docs")
    (tmp_path / "docs" / "reference").mkdir(parents=True)
    for name in ("b", "reference/c"):
        (tmp_path / "docs" / f"{name}.md").write_text("# B")

    def page(text):
        (tmp_path / "docs" / "a.md").write_text(text)
        return client.get("/documents/a").text

    return page


def test_every_document_has_a_page_and_the_map_leads_to_each(pages):
    led = {link.partition("#")[0] for link in pages["/documents"].xpath("//main//a/@href")}
    assert {f"/documents/{name}" for name in project_files.documents()} - led == {"/documents/readme"}
    assert pages["/documents/questions"].findtext(".//h1") == "Questions"
    assert pages["/documents/reference/library"].findtext(".//title") == "The library · Orchestra Workbench"


def test_every_link_within_the_app_is_answered_and_its_section_is_there(client, pages):
    for path, page in pages.items():
        for link in page.xpath("//main//a/@href"):
            where, _, section = link.partition("#")
            if where.startswith("http"):
                continue
            led = pages.get(where or path)
            if led is None:  # a page of the app itself is no matter of this router
                assert not where.startswith("/documents"), (path, link)
                assert not where.startswith("/notebooks") or client.get(where).status_code == 200, (path, link)
            else:
                assert not section or led.xpath("//*[@id=$id]", id=section), (path, link)


def test_every_picture_is_there_for_light_and_dark(client, pages):
    page = pages["/documents/pages"]
    addresses = [*page.xpath("//picture/img/@src"), *page.xpath("//picture/source/@srcset")]
    assert len(addresses) == len(project_files.pictures()) > 20
    for address in addresses:
        answer = client.get(address)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/webp")
    assert all(img.get("alt") and int(img.get("width")) > int(img.get("height")) for img in page.iter("img"))


@pytest.mark.parametrize(
    "name",
    ["nothing", "README", "..%2FREADME", "reference", "reference/nothing", "pages/live", "pages/..%2F..%2FREADME.md",
     "a/b/c", "x" * 5_000, "concepts.md.bak", "Concepts"],
)  # fmt: skip
def test_another_name_is_no_document(client, name):
    answer = client.get(f"/documents/{name}")
    assert answer.status_code == 404
    assert len(answer.text) < 200


def test_links_lead_to_pages_elsewhere_or_nowhere(shown):
    page = shown(
        "[1](b.md#x) [2](reference/c.md) [3](../README.md) [4](../notebooks/01_a.ipynb) [5](README.md) "
        "[6](https://a.example/b.md) [7](http://127.0.0.1:7860/bias?turn=1) [8](#here) [9](nothing.md) [10](../x/y.md) "
        "[11](../../etc/passwd) [12](../notebooks/README.md)"
    )
    assert re.findall(r'<a (?:href|class)="([^"]*)">\d', page) == [
        "/documents/b#x", "/documents/reference/c", "/documents/readme", "/notebooks/01_a", "/documents",
        "https://a.example/b.md", "/bias?turn=1", "#here", "nb-file", "nb-file", "nb-file", "/notebooks",
    ]  # fmt: skip


def test_headings_have_the_ids_that_github_gives_them(shown):
    page = shown("# A `b`, *c*\n## Tools & prices\n## Twice\n### Twice\n## x_y-z?\n## Main\n")
    assert re.findall(r'<h[1-4] id="([^"]*)"', page) == [
        "a-b-c",
        "tools--prices",
        "twice",
        "twice-1",
        "x_y-z",
        "main-1",
    ]
    assert page.count('href="#twice-1"') == 2  # beside the text and folded above it


def test_a_short_document_has_no_list_of_its_sections(shown):
    assert "On this page" not in shown("# A\n## B\n## C\n### D")


def test_markup_of_no_allowed_kind_is_left_out(shown, client):
    bad = (
        "<script>steal()</script><img src=x onerror=steal()><img src='https://steal.example/a.webp'><b onclick=s()>b"
        "</b><img src='pages/../steal.webp'><picture><source srcset='steal.webp'></picture><iframe src=steal></iframe>"
        "<a href='javascript:steal()'>x</a><p id=main style='background:url(steal)'>y</p><form action=/steal></form>"
    )
    page = shown(f"# A\n\n{bad}\n\n[a](javascript:steal()) ![b](data:steal) ## <img src=steal>\n\n|a|\n|--|\n|{bad}|")
    main = page[page.index("<main") :]
    assert not re.findall(r"<[^>]*(?:steal|onclick|onerror|javascript:|<img|style=)[^>]*>", main)
    assert main.count('id="main"') == 1
    assert "sha256" not in client.get("/documents/a").headers["content-security-policy"]
