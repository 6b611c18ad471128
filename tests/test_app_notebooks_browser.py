"""The notebooks' pages in a real Chromium: axe in both themes, a phone's width, and the first stops of Tab."""

import pytest
from browsing import served, violations
from playwright.sync_api import expect

from orchestra_lib.workbench import Workbench

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]
ONE = "/notebooks/03_what_is_a_good_reward"


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    with served(Workbench(tmp_path_factory.mktemp("home"))) as address:
        page = browser.new_page(base_url=address, reduced_motion="reduce")
        yield page
        page.close()


@pytest.mark.parametrize("path", ["/notebooks", ONE])
def test_axe_finds_nothing_and_a_phone_never_scrolls_sideways(page, path):
    page.goto(path)
    if path == ONE:
        page.locator(".nb-figure.js-plotly-plot").first.wait_for()
    for width, scheme in ((1440, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == [], (width, scheme)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width


def test_tab_begins_at_the_skip_link_and_the_next_notebook_is_at_hand_at_the_end(page):
    page.goto(ONE)
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to content")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.locator("#main :focus").count() == 1
    page.get_by_role("navigation", name="Other notebooks").get_by_role("link", name="Next").click()
    expect(page).to_have_title(
        "How do rollouts become advantages, and what does one step do with them? · Orchestra Workbench"
    )
