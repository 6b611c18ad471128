"""Pages while the workbench does not answer and once it does again, in a real Chromium."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from browsing import served, watched
from episodes import trajectory
from playwright.sync_api import expect
from toolbench import ToolRoster
from training_folders import run_folder

from orchestra_lib.training.run_folder import State
from orchestra_lib.workbench import Workbench

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]
EXPECTED = re.compile(r"net::ERR_FAILED|status of (404|500)")
API = "**/api/**"


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    with ThreadPoolExecutor(1) as apart:  # rollouts are played, and this thread has Playwright's loop
        apart.submit(
            run_folder, home / "training" / "good", done=6, steps=6, state=State.FINISHED, rollouts=(1,)
        ).result()
    workbench = Workbench(home, roster=ToolRoster(home))
    workbench.store.add_many([trajectory("run-a", turns=3), trajectory("run-b", turns=2)])
    context = browser.new_context(reduced_motion="reduce", viewport={"width": 1440, "height": 900})
    with served(workbench) as address, watched(context, address, expected=EXPECTED) as opened:
        yield opened
    context.close()


@pytest.mark.parametrize(
    ("path", "link", "back"),
    [
        ("/trajectories?q=question", ".tr-chips button:has-text('Clear')", ".tr-row >> nth=1"),
        ("/compare?a=run-a&b=run-b", "button:has-text('turn') >> nth=0", "#rows"),
        ("/training", "a.tn-name:has-text('good')", "h1:has-text('good')"),
        ("/training?run=good", "a:has-text('Rollouts')", ".tn-rollbar"),
        ("/tools", "a.tp-n:has-text('Local search')", "#card .wb-cap:has-text('Measured')"),
    ],
)
def test_what_could_not_be_read_says_so_and_comes_with_another_try(opened, path, link, back):
    page = opened(path)
    page.route(API, lambda route: route.abort())
    page.locator(link).click()
    told = page.locator(".wb-alert, .wb-state").filter(has_text="The workbench does not answer")
    expect(told.first).to_be_visible()
    page.unroute(API)
    page.get_by_role("button", name="Try again").first.click()
    expect(page.locator(back)).to_be_visible()
    expect(told).to_have_count(0)
    page.close()


@pytest.mark.parametrize("path", ["/", "/trajectories", "/compare", "/bias", "/toolscale", "/tools", "/sql"])
def test_what_takes_a_while_is_seen_to_be_on_its_way(opened, path):
    page = opened("/evaluation")
    page.route(API, lambda route: None)  # no answer comes
    page.goto(page.url.replace("/evaluation", path))
    expect(page.locator("#wb .wb-skel").first).to_be_visible()
    page.close()


def test_live_says_at_once_that_the_workbench_failed(opened):
    page = opened("/evaluation")
    failed = {"status": 500, "json": {"detail": "the disk is full"}}
    page.route(API, lambda route: route.fulfill(**failed))
    page.goto(page.url.replace("/evaluation", "/"))
    expect(page.locator("#notices")).to_contain_text("The workbench failed. The disk is full. Trying again.")
    page.close()


def test_a_part_of_a_run_that_is_read_takes_the_place_of_what_was_said_of_another(opened):
    page = opened("/training?run=good")
    page.route(API, lambda route: route.abort())
    page.get_by_role("link", name="Rollouts").click()
    expect(page.locator("#problem")).to_contain_text("The rollouts could not be read")
    expect(page.locator(".tn-curve")).to_have_count(0)
    page.get_by_role("link", name="Steps").click()
    expect(page.locator("#problem")).to_be_empty()
    expect(page.get_by_role("table", name="Every step in numbers")).to_be_visible()
    page.close()


def test_on_a_phone_a_refusal_is_not_hidden_behind_what_is_selected(opened):
    page = opened("/trajectories")
    page.set_viewport_size({"width": 390, "height": 320})
    page.locator(".rc-pick input").first.check()
    page.route(API, lambda route: route.abort())
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator("#notice")).to_contain_text("1 refused")
    there = "node => node.contains(document.elementFromPoint(20, node.getBoundingClientRect().top + 9))"
    assert page.locator("#notice").evaluate(there)
    page.close()
