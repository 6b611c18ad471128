"""The Compare page in a real Chromium: aligned, marked, swapped, walked by keyboard."""

from dataclasses import replace

import pytest
from browsing import violations, visited
from episodes import events, trajectory
from playwright.sync_api import expect
from scripted_workbench import HOSTILE
from test_app_browser import EXPECTED
from test_app_browser import base_url as base_url
from test_app_browser import context as context
from test_app_browser import open_page as open_page
from test_app_browser import roster as roster
from test_app_browser import workbench as workbench

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]
RUNS = {
    "run-a": {"turns": 5},
    "run-b": {"turns": 4, "observation": "five", "answer": "5", "orchestrator": "another"},
    "run-same": {"turns": 5},
    "run-hostile": {"turns": 3, "task": HOSTILE, "observation": HOSTILE, "answer": HOSTILE, "orchestrator": HOSTILE},
}


@pytest.fixture(scope="module", autouse=True)
def filled(workbench):
    for run_id, changes in RUNS.items():
        with workbench.journal.open(run_id) as writer:
            for event in events(run_id, **changes):
                writer.append(event)
    good = [trajectory(f"good-{n}", turns=2 + n, group="good", minutes=-9) for n in range(3)]
    workbench.store.add_many([replace(run, outcome=True) for run in good])


@pytest.fixture(scope="module")
def standing(browser, base_url):
    """One page for all that need no load of their own: it is Gradio's load that takes time."""
    with visited(browser, base_url, expected=EXPECTED) as opened:
        yield opened("/compare?a=run-a&b=run-b")


@pytest.fixture
def show(standing):
    """A function that shows two runs in the standing page, as a reader who goes back would have it."""

    def go(query):
        standing.evaluate(
            "to => { history.pushState(null, '', to); dispatchEvent(new PopStateEvent('popstate')); }", query
        )
        standing.wait_for_selector("#rows .cp-ans")
        return standing

    yield go
    standing.emulate_media(color_scheme="light", reduced_motion="no-preference")
    standing.set_viewport_size({"width": 1280, "height": 720})


def cards(page):
    return page.locator("#rows .wb-call")


def test_two_runs_are_aligned_and_what_differs_is_marked(show):
    page = show("/compare?a=run-a&b=run-b")
    expect(page.locator(".cp-why")).to_contain_text("Call 1: the same call of Search came back otherwise.")
    expect(page.locator(".cp-deltas")).to_contain_text("1 only in A")
    expect(cards(page)).to_have_count(7)
    expect(cards(page).first.locator("del")).to_have_text("four")
    expect(cards(page).nth(1).locator("ins")).to_have_text("five")
    expect(page.locator(".cp-gap")).to_have_text("no such call")
    expect(page.locator(".cp-lines path")).to_have_count(3)
    expect(page.locator("#compare")).to_contain_text("other answer")


def test_equal_calls_fold_into_a_line_and_d_shows_them(show):
    page = show("/compare?a=run-a&b=run-same")
    expect(page.locator(".cp-same")).to_contain_text("4 calls are the same in both: Search")
    expect(cards(page)).to_have_count(0)
    page.locator(".cp-same").click()
    expect(cards(page)).to_have_count(8)
    page.locator(".cp-same").click()
    expect(cards(page)).to_have_count(0)
    page.keyboard.press("d")
    expect(cards(page)).to_have_count(8)
    assert "all=1" in page.url
    page.keyboard.press("d")
    expect(cards(page)).to_have_count(0)


def test_by_turn_each_turn_has_its_heading_and_the_address_says_so(show):
    page = show("/compare?a=run-a&b=run-b")
    page.keyboard.press("a")
    expect(page.locator(".cp-turn")).to_have_count(4)
    assert "by=turn" in page.url
    page.get_by_role("button", name="call", exact=True).click()
    expect(page.locator(".cp-turn")).to_have_count(0)


def test_rewards_lead_to_the_reward_page_and_an_unknown_one_says_why(show):
    page = show("/compare?a=good-0&b=good-1")
    tile = page.locator(".cp-d", has_text="Reward")
    expect(tile).to_contain_text("in good, 3 rollouts")
    expect(tile.get_by_role("link")).to_have_attribute("href", "/reward?group=good")
    ungraded = show("/compare?a=run-a&b=run-b").locator(".cp-d", has_text="Reward")
    expect(ungraded.get_by_role("img").first).to_have_attribute("aria-label", "unknown: run-a: ungraded")


def test_more_than_two_stand_in_a_matrix_against_a_base(open_page):
    page = open_page("/compare?run=good-0&run=good-1&run=good-2")
    expect(page.locator(".cp-many thead th")).to_have_count(3)
    expect(page.locator(".cp-stave svg")).to_have_count(3)
    turns = page.locator(".cp-many tbody tr", has_text="Turns").locator("td")
    expect(turns).to_have_text(["2", "3+1", "4+2"])
    page.get_by_role("button", name="Make it the base").last.click()
    expect(turns).to_have_text(["2\u22122", "3\u22121", "4"])
    assert "base=good-2" in page.url
    assert violations(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("link", name="Side by side").first.click()
    page.wait_for_url("**/compare?a=good-2&b=good-0")


def test_two_runs_of_a_list_become_a_and_b(open_page):
    page = open_page("/compare?run=run-a&run=run-b")
    expect(cards(page)).to_have_count(7)
    assert page.url.endswith("/compare?a=run-a&b=run-b")


def test_the_keyboard_walks_the_differences_swaps_and_opens(open_page):
    page = open_page("/compare?a=run-a&b=run-b")
    expect(cards(page)).to_have_count(7)
    for place in ("0", "1"):
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.dataset.row") == place
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.dataset.row") == "0"
    page.keyboard.press("x")
    page.wait_for_url("**/compare?a=run-b&b=run-a")
    expect(page.locator(".cp-deltas")).to_contain_text("1 only in B")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/trajectories?run=run-b")


def test_an_unknown_run_is_named_and_another_is_chosen(open_page):
    page = open_page("/compare?a=run-a&b=nope")
    expect(page.locator("#compare")).to_contain_text("B is not here")
    page.get_by_role("link", name="Choose another").click()
    expect(page.locator("#compare")).to_contain_text("Choose what to compare with", timeout=10_000)
    expect(page.locator(".cp-known")).to_contain_text("run-a")
    page.locator(".cp-choice").first.click()
    expect(page.locator(".cp-deltas")).to_be_visible(timeout=10_000)


def test_nothing_chosen_offers_the_latest(open_page):
    page = open_page("/compare")
    expect(page.locator(".cp-choice")).to_have_count(7)
    page.keyboard.press("x")
    page.keyboard.press("d")
    page.keyboard.press("ArrowDown")


def test_a_task_to_choose_has_more_room_than_what_is_said_of_it(open_page):
    page = open_page("/compare")
    for width, share in ((1440, 0.36), (390, 0.55)):
        page.set_viewport_size({"width": width, "height": 844})
        wide = page.locator(".cp-choice").first.evaluate("one => one.children[0].offsetWidth / one.offsetWidth")
        assert wide > share, width


def test_keys_pressed_while_two_are_on_their_way_do_not_draw_those_before(open_page):
    page, waiting = open_page("/compare?a=run-a&b=run-b"), []
    page.route("**/api/compare?**", lambda route: waiting.append(route))
    page.evaluate("history.pushState(null, '', '?a=run-b&b=run-same'); dispatchEvent(new PopStateEvent('popstate'))")
    page.wait_for_selector("#compare > .wb-skel", state="attached")
    for key in "dax":
        page.keyboard.press(key)
    waiting[0].continue_()
    expect(page.locator(".cp-deltas")).to_be_visible()
    assert page.url.endswith("?a=run-b&b=run-same")


def test_hostile_text_is_only_ever_text(show):
    page = show("/compare?a=run-hostile&b=run-a&all=1")
    expect(page.locator("#compare")).to_contain_text("<img src=x onerror=")
    expect(page.locator("#compare")).to_contain_text("⟨U+202E⟩")
    assert page.locator("#compare :is(script, img)").count() == 0
    assert "\x1b" not in page.locator("#compare").inner_text()
    assert page.title() != "owned"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible_in_both_themes_and_never_scrolls_sideways(show, scheme):
    page = show("/compare?a=run-a&b=run-b")
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # a colour on its way has no contrast yet
    expect(cards(page)).to_have_count(7)
    page.wait_for_timeout(250)
    assert (found := violations(page)) == [], found
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(250)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
