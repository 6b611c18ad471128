"""The Evaluation page in a real Chromium: the list, a report, what its figures lead to, foreign names, and axe."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from browsing import served, violations, visited
from playwright.sync_api import expect
from scripted_workbench import HOSTILE
from test_app_evaluation import kept
from test_evaluation import Others, questions

from orchestra_lib.evaluation.suite_list import load_suites
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.workbench import Workbench

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]
EXPECTED = re.compile(r"status of (400|404)")


def filled(home):
    """A table with published figures, and a suite that somebody with a hostile name was measured on."""
    table = kept(home, "main", load_suites(["simulated"], home, limits=["3"]))
    others = Others(**{HOSTILE: Scripted(["42"], name="hostile")})
    kept(home, None, load_suites([str(questions(home, 2))], home), others=others, names=(HOSTILE,))
    return Workbench(home), table


@pytest.fixture(scope="module")
def house(browser, tmp_path_factory):
    with ThreadPoolExecutor(1) as apart:  # episodes are played, and this thread has Playwright's loop
        workbench, table = apart.submit(filled, tmp_path_factory.mktemp("home")).result()
    with served(workbench) as address:
        yield address, table


@pytest.fixture
def pages(browser, house):
    with visited(browser, house[0], expected=EXPECTED, viewport={"width": 1440, "height": 900}) as opened:
        yield opened


def test_the_list_leads_to_a_report_and_its_figures_to_their_runs(pages, house):
    page = pages("/evaluation")
    page.get_by_role("link", name=house[1]).click()
    page.wait_for_url(f"**/evaluation?report={house[1]}")
    expect(page.locator("#title")).to_have_text("Table main")
    figure = page.locator(".ev-table").first.locator("tbody tr").first.get_by_role("link").first
    figure.click()
    page.wait_for_url("**/trajectories?tag=ev-*&orchestrator=oracle")
    expect(page.get_by_text("[simulated").first).to_be_visible()


def test_shares_of_few_tasks_are_whole_percents_and_their_differences_points(pages, house):
    page = pages(f"/evaluation?report={house[1]}")
    own = page.locator(".wb-panel:not(.ev-published) td > div")
    expect(own.filter(has_text=re.compile(r"^\d+ % \[\d+, \d+\]$")).first).to_be_visible()
    expect(own.filter(has_text=re.compile(r"^([+\u2212]\d+|0) pts \[.*\] p .* of 3$")).first).to_be_visible()
    expect(own.filter(has_text=re.compile(r"\d%|\.\d %"))).to_have_count(0)
    write = "import('/wb/format.js').then(of => [of.percent(0.125), of.percent(0.1254, 1000), of.points(-0.125)])"
    assert page.evaluate(write) == ["13", "12.5", "\u221212"]


def test_published_figures_are_in_a_block_of_their_own(pages, house):
    page = pages(f"/evaluation?report={house[1]}")
    block = page.get_by_label("Published figures")
    expect(block.get_by_text("arXiv 2511.21689, Table 1")).to_be_visible()
    expect(block.get_by_text("Orchestrator-8B")).to_have_count(1)
    expect(page.locator(".wb-panel:not(.ev-published)", has_text="Orchestrator-8B")).to_have_count(0)
    with page.expect_download() as file:
        page.get_by_role("link", name="Report as a file").click()
    assert file.value.suggested_filename == f"{house[1]}.html"


def test_on_a_phone_figures_fold_under_their_orchestrator_and_brackets_are_explained(pages, house):
    page = pages(f"/evaluation?report={house[1]}")
    expect(page.locator(".ev-notes li", has_text="intervals of 95 %")).to_have_count(1)
    page.set_viewport_size({"width": 390, "height": 844})
    for table in page.locator(".ev-scroll").all():
        assert table.evaluate("one => one.scrollWidth <= one.clientWidth")
    row = page.locator(".ev-table").nth(1).locator("tbody tr").first
    expect(row.locator("td").first).to_have_text(re.compile(r"^accuracy\d+ % \["))
    page.goto(page.url.partition("?")[0])
    page.locator(".ev-list a", has_not_text=house[1]).first.click()
    expect(page.locator(".ev-notes li", has_text="intervals of 95 %")).to_have_count(1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(pages, house, scheme, width):
    page = pages(f"/evaluation?report={house[1]}")
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.wait_for_timeout(200)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_foreign_names_are_text_and_an_unknown_report_says_what_to_do(pages):
    page = pages("/evaluation")
    expect(page.locator(".ev-list tbody tr", has_text="<").first).to_be_visible()
    assert page.evaluate("window.hacked === undefined")
    page.goto(page.url + "?report=nothing")
    expect(page.get_by_role("alert")).to_contain_text("There is no report 'nothing'")
