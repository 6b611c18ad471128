"""A run of hundreds of turns in a real Chromium: little of it is in the document, all of it can be reached."""

import os

import pytest
from browsing import violations
from episodes import events
from playwright.sync_api import expect
from test_app_browser import base_url as base_url
from test_app_browser import context as context
from test_app_browser import open_page as open_page
from test_app_browser import roster as roster
from test_app_browser import workbench as workbench

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]
TURNS = 320
DRAWN = 200
"""Cards in the document at most, whatever the run's length."""


@pytest.fixture(scope="module", autouse=True)
def long_run(workbench):
    with pytest.MonkeyPatch.context() as quick, workbench.journal.open("run-long") as writer:
        quick.setattr(os, "fsync", lambda _: None)
        for event in events("run-long", turns=TURNS, observation="line\n" * 9, task="A long one"):
            writer.append(event)


@pytest.fixture
def page(open_page):
    page = open_page("/?run=run-long")
    expect(page.locator("#answer")).to_be_visible(timeout=90_000)
    return page


def turn_in_focus(page):
    return page.evaluate("Number(document.activeElement.querySelector('.wb-mut')?.textContent)")


def test_little_of_it_is_drawn_wherever_the_reader_is_and_nothing_jumps(page):
    assert page.locator(".wb-call").count() < DRAWN
    seen = page.evaluate(
        """async () => {
            const box = document.getElementById("scroll");
            const frame = () => new Promise(requestAnimationFrame);
            const number = (item) => Number(item?.querySelector(".wb-mut")?.textContent);
            const at = () => document.elementFromPoint(box.getBoundingClientRect().left + 60, 600)?.closest("li");
            let [most, jumps, blank] = [0, 0, 0];
            box.scrollTop = 0;
            for (let n = 0; n < 4; n++) await frame();
            for (let n = 0; n < 60; n++) {
                const item = at();
                const before = item?.getBoundingClientRect().top;
                box.scrollTop += 250;
                await frame(); await frame();
                if (item?.isConnected && Math.abs(before - 250 - item.getBoundingClientRect().top) > 3) jumps += 1;
                most = Math.max(most, document.querySelectorAll(".wb-call").length);
                if (at()?.matches(".lv-gap")) blank += 1;
            }
            box.scrollTop = box.scrollHeight / 2;
            for (let n = 0; n < 12; n++) await frame();
            return { most, jumps, blank, middle: number(at()) };
        }"""
    )
    assert seen["most"] < DRAWN
    assert (seen["jumps"], seen["blank"]) == (0, 0)
    assert TURNS * 0.3 < seen["middle"] < TURNS * 0.7


def test_the_next_turn_is_reached_by_keyboard_through_every_gap(page):
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowDown")
    assert turn_in_focus(page) == 0
    for _ in range(60):
        page.keyboard.press("ArrowDown")
    assert turn_in_focus(page) == 60
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowUp")
    assert turn_in_focus(page) == TURNS - 1
    page.evaluate("document.getElementById('scroll').scrollTop = 0")
    page.wait_for_timeout(500)
    for _ in range(30):
        page.keyboard.press("ArrowUp")
    assert turn_in_focus(page) == TURNS - 31
    assert page.locator(".wb-call").count() < DRAWN + 50


def test_what_is_searched_in_a_gap_is_found_and_shown(page):
    page.keyboard.press("/")
    page.locator("#find-text").fill("ü 30")
    expect(page.locator("#find-said")).to_contain_text("turn 30")
    card = page.locator(".wb-call", has_text="ü 30").first
    expect(card).to_be_in_viewport()
    page.locator("#find-text").press("Enter")
    expect(page.locator("#find-said")).to_contain_text("turn 300")
    expect(page.locator(".wb-call", has_text="ü 300").first).to_be_in_viewport()


def test_a_link_to_a_turn_leads_to_it(open_page, context):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = open_page("/?run=run-long&turn=200")
    expect(page.locator("#answer")).to_have_count(1, timeout=90_000)
    card = page.locator(".wb-call:focus")
    expect(card).to_be_in_viewport()
    assert turn_in_focus(page) == 200
    page.keyboard.press("u")
    expect(page.locator("#shared")).to_contain_text("to turn 200")
    assert page.evaluate("navigator.clipboard.readText()").endswith("/?run=run-long&turn=200")
    page.wait_for_timeout(300)
    assert violations(page) == [], violations(page)


def test_the_detail_is_as_light(open_page):
    page = open_page("/trajectories?run=run-long")
    expect(page.locator("#answer")).to_have_count(1, timeout=90_000)
    expect(page.locator(".wb-call").nth(DRAWN)).to_have_count(0)
    page.locator("#tabs").get_by_role("link", name="Bill").click()
    expect(page.locator("#tab-other")).to_contain_text("Bill by attempt", timeout=20_000)
    page.locator("#tabs").get_by_role("link", name="Timeline").click()
    page.wait_for_timeout(500)
    assert page.locator(".wb-call").count() < DRAWN
