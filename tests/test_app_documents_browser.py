"""The documents' pages in a real Chromium, and the links that lead to them out of answers."""

import re

import pytest
from browsing import served, violations, visited
from playwright.sync_api import expect

from app import project_files
from orchestra_lib.workbench import Workbench

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]
LOOKED_AT = ["", "/questions", "/concepts", "/pages", "/security"]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with served(Workbench(tmp_path_factory.mktemp("home"))) as address:
        yield address


@pytest.fixture(scope="module")
def page(browser, address):
    page = browser.new_page(base_url=address, reduced_motion="reduce")
    yield page
    page.close()


@pytest.mark.parametrize("path", LOOKED_AT)
def test_axe_finds_nothing(page, path):
    page.goto(f"/documents{path}")
    for width, scheme in ((1440, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == [], (width, scheme)


def test_no_document_scrolls_sideways_on_a_phone(page):
    page.set_viewport_size({"width": 390, "height": 844})
    for name in project_files.documents():
        page.goto(f"/documents/{name}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name


def test_a_question_is_found_in_the_list_beside_the_text(page):
    page.set_viewport_size({"width": 1440, "height": 844})
    page.goto("/documents/questions")
    beside = page.locator(".dc-side")
    beside.get_by_role("link", name="Do I need a key?").click()
    expect(page).to_have_url(re.compile("#do-i-need-a-key$"))
    expect(page.get_by_role("heading", name="Do I need a key?")).to_be_in_viewport()
    expect(beside.locator("[aria-current]")).to_have_text("Do I need a key?")
    expect(beside.locator("[aria-current]")).to_be_in_viewport()


def test_on_a_phone_the_list_is_folded_above_the_text(page):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/documents/questions")
    expect(page.locator(".dc-side")).to_be_hidden()
    page.get_by_text("On this page").last.click()
    page.locator(".dc-fold").get_by_role("link", name="Do I need a key?").click()
    expect(page.get_by_role("heading", name="Do I need a key?")).to_be_in_viewport()


def test_pictures_follow_the_theme_that_was_chosen(page):
    page.emulate_media(color_scheme="light")
    page.goto("/documents/pages")
    shown = page.get_by_role("img", name="The Live page with an answered run")
    expect(shown).to_have_js_property("currentSrc", page.url.replace("/pages", "/pages/live.webp"))
    page.evaluate("localStorage.setItem('wb-theme', 'dark')")
    page.reload()
    expect(shown).to_have_js_property("currentSrc", page.url.replace("/pages", "/pages/live-dark.webp"))
    page.evaluate("localStorage.removeItem('wb-theme')")


def test_tab_begins_at_the_skip_link_and_passes_over_boxes_that_do_not_scroll(page):
    page.set_viewport_size({"width": 1440, "height": 844})
    page.goto("/documents/preferences")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to content")
    assert page.locator(".dc-box").count() > 1
    assert page.locator(".dc-box[tabindex='0']").count() == page.evaluate(
        "[...document.querySelectorAll('.dc-box')].filter((box) => box.scrollWidth > box.clientWidth).length"
    )


ANSWERS = {
    "More in security (docs/security.md).": ["/documents/security"],
    "Kept.\nFrom the local library: Where are my runs kept? (docs/questions.md).": [
        "/documents/questions#where-are-my-runs-kept"
    ],
    "docs/README.md, docs/reference/library.md": ["/documents", "/documents/reference/library"],
    "docs/nothing.md ../docs/lab.md docs/lab.md.exe docs/../lab.md x/docs/lab.md //docs/lab.md docs/LAB.md": [],
    "https://evil.example/docs/lab.md evil.example/docs/lab.md javascript:docs/lab.md docs/lab.md/../x": [],
    "<a href='//evil.example'>docs</a> [x](https://evil.example) `docs/lab.md`": [],
}


def test_an_answer_leads_to_documents_that_are_there_and_nowhere_else(browser, address):
    with visited(browser, address, expected=re.compile("^$")) as opened:
        page = opened()
        found = page.evaluate(
            """async (answers) => {
                const { prose } = await import("/wb/prose.js");
                const links = (node) => [...node.querySelectorAll("a")];
                return answers.map((answer) => prose(answer).flatMap(links).map((link) =>
                    [link.getAttribute("href"), link.target, link.rel]));
            }""",
            list(ANSWERS),
        )
    assert found == [[[to, "_blank", "noopener"] for to in expected] for expected in ANSWERS.values()]


def test_the_keys_lead_to_the_documents(browser, address):
    with visited(browser, address, expected=re.compile("^$")) as opened:
        page = opened()
        page.keyboard.press("?")
        expect(page.locator("#keys").get_by_role("link", name="Documents")).to_have_attribute("href", "/documents")
        page.keyboard.press("Escape")
        page.keyboard.press("g")
        page.keyboard.press("d")
        expect(page).to_have_title("Documentation · Orchestra Workbench")
