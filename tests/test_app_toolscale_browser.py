"""The ToolScale page in a real Chromium: steps of a task, a live try that is judged, records, narrow and dark."""

import json
import re
from dataclasses import replace

import pytest
from browsing import narrow_page, served, violations, visited
from domain_workbench import domain_workbench
from playwright.sync_api import expect
from scripted_workbench import HOSTILE
from worlds import cancellation

from orchestra_lib.environment.assignment import write_assignments

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]
EXPECTED = re.compile(r"status of (400|404)")


@pytest.fixture(scope="module")
def base_url(browser, tmp_path_factory):
    workbench = domain_workbench(tmp_path_factory.mktemp("home"))
    folder = workbench.assignments.folder
    fact = replace(cancellation().facts[0], says=HOSTILE)
    hostile = cancellation(id="mock-2", instruction=HOSTILE, facts=(fact,), persona=HOSTILE)
    write_assignments([cancellation(), hostile], folder / "mock.jsonl")
    domain = {"candidates": 9, "rejected": {"drawn": {HOSTILE: 5}, "golden": {"a golden call fails": 2}}}
    (folder / "report.json").write_text(json.dumps({"domains": {"mock": domain}, "metrics": {}}), "utf-8")
    with served(workbench) as address:
        yield address


@pytest.fixture
def opened(browser, base_url):
    with visited(browser, base_url, expected=EXPECTED, viewport={"width": 1440, "height": 900}) as page:
        yield page


def test_golden_calls_are_stepped_through_by_keys_and_the_state_follows(opened):
    page = opened("/toolscale?domain=mock")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Task mock-1")).to_be_visible()
    expect(page.locator("#ts-diff")).to_contain_text("ends as cancelled")
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#ts-diff h2")).to_have_text("State after call 5")
    expect(page.locator("#ts-diff del").first).to_have_text("booked")
    expect(page.locator("#ts-diff ins").first).to_have_text("cancelled")
    assert "call=5" in page.url
    page.reload()
    expect(page.locator("#ts-diff h2")).to_have_text("State after call 5")
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Tasks", exact=True)).to_be_visible()


@pytest.mark.parametrize(
    "who, met, conduct",
    [("worker", 3, "No breach found"), ("idle", 0, "No breach found"), ("hasty", 3, "before the user was identified")],
)
def test_a_task_is_tried_live_and_judged(opened, who, met, conduct):
    page = opened("/toolscale?domain=mock&task=mock-1")
    panel = page.get_by_role("region", name="Try it live", exact=True)
    panel.get_by_label("Orchestrator").select_option(who)
    panel.get_by_role("button", name="Try it live").click()
    expect(panel.get_by_role("heading", name="Judged")).to_be_visible(timeout=30_000)
    expect(panel.locator(".ts-c .wb-chip.ok")).to_have_count(met)
    expect(panel.locator("tbody .wb-chip.bad")).to_have_count(0 if met else 5)
    expect(panel.get_by_role("region", name="Conduct")).to_contain_text(conduct)
    panel.get_by_role("link", name="Trajectory").click()
    card = page.get_by_role("region", name="Judged in its domain")
    expect(card.locator(".ts-c .wb-chip.ok")).to_have_count(met)
    expect(card.get_by_role("region", name="Conduct")).to_contain_text(conduct)
    assert violations(page) == []
    expect(page.locator(".tr-task")).to_have_text(cancellation().instruction)


@pytest.mark.parametrize(
    "address, named, back",
    [
        ("domain=moon&task=x", 'There is no domain "moon".', r"^All \d+ domains$"),
        ("domain=mock&task=<b>none</b>", 'There is no task "<b>none</b>".', "^Tasks of "),
    ],
)
def test_an_address_of_what_is_not_there_names_it_and_leads_to_the_list(opened, address, named, back):
    page = opened(f"/toolscale?{address}")
    expect(page.locator("#problem")).to_contain_text(named)
    for key in ("j", "k", "ArrowRight", "d", "l"):
        page.keyboard.press(key)
    assert page.locator("#ts-view > *").count() == 0
    assert violations(page) == []
    page.locator("#problem").get_by_role("link", name=re.compile(back)).click()
    expect(page.get_by_role("region", name="List of tasks")).to_be_visible()
    expect(page.locator("#problem")).to_be_empty()
    assert re.search("task=|moon", page.url) is None


def test_records_are_searched_and_only_look_alikes_shown(opened):
    page = opened("/toolscale?domain=mock&view=records")
    page.keyboard.press("/")
    page.keyboard.type("costa")
    expect(page.locator(".ts-records tbody tr")).to_have_count(1)
    page.get_by_label("Search the records").fill("")
    page.get_by_label("only look-alikes").check()
    expect(page.locator(".ts-records tbody tr")).to_have_count(2)


def test_the_funnel_has_a_bar_for_every_filter_and_marks_what_is_accepted(opened):
    page = opened("/toolscale?domain=mock")
    rows = page.locator(".ts-funnel li")
    expect(rows).to_have_count(7)
    expect(rows.nth(2)).to_contain_text("− 2: 2 a golden call fails")
    expect(page.locator(".ts-funnel .ts-pass.last")).to_have_count(1)
    expect(rows.last.locator(".ts-pass.last")).to_have_count(1)
    widths = rows.evaluate_all("rows => rows.map((row) => row.scrollWidth - row.clientWidth)")
    assert widths == [0] * 7


def test_a_published_mean_is_named_above_the_lines_of_others_and_inside_the_chart(opened):
    page = opened("/toolscale?domain=mock")
    page.wait_for_selector(".ts-hist .ts-ref", state="attached")
    told = page.evaluate("""() => [...document.querySelectorAll(".ts-hist .ts-refname")].map((name) => {
      const [at, chart] = [name, name.closest("svg")].map((one) => one.getBoundingClientRect());
      const lines = [...name.closest("svg").querySelectorAll(".ts-ref")];
      const above = lines.every((line) => line.compareDocumentPosition(name) & Node.DOCUMENT_POSITION_FOLLOWING);
      const style = getComputedStyle(name);
      const edged = style.paintOrder.startsWith("stroke") && parseFloat(style.strokeWidth) >= 3;
      return above && edged && at.left >= chart.left && at.right <= chart.right;
    })""")
    assert told == [True] * 3


def test_nothing_that_a_file_says_is_markup(opened):
    page = opened("/toolscale?domain=mock&task=mock-2")
    expect(page.get_by_role("heading", name="Task mock-2")).to_be_visible()
    page.goto(page.url.replace("&task=mock-2", ""))
    expect(page.locator(".ts-funnel")).to_be_visible()
    assert page.evaluate("document.querySelectorAll('#ts-view img, #ts-view script, #ts-view style').length") == 0
    assert page.title() != "owned"


@pytest.fixture(scope="module")
def phone(browser, base_url):
    with narrow_page(browser, base_url, expected=EXPECTED) as page:
        yield page


@pytest.mark.parametrize("view", ["tasks", "tasks&task=mock-1&call=5", "schema", "records", "operations", "policy"])
def test_no_view_is_wider_than_a_phone_and_axe_finds_nothing(phone, view):
    page = phone(f"/toolscale?domain=mock&view={view}")
    page.wait_for_selector("#ts-view > *")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("document.querySelector('.wb-tabbar').scrollHeight") <= 64
    assert violations(page) == []
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(color_scheme="light")
    page.wait_for_timeout(200)
    assert violations(page) == []


def test_a_domain_without_tasks_tells_how_they_are_made(opened):
    page = opened("/toolscale?domain=finance")
    expect(page.locator("#ts-view")).to_contain_text("orchestra synth --domains finance --n 20")
    expect(page.get_by_role("button", name="Make tasks")).to_be_visible()
