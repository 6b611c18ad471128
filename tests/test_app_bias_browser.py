"""The Bias page in a real Chromium: what its marks say and lead to, its states, slices, keys, and axe."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from browsing import served, violations, visited
from episodes import trajectory
from playwright.sync_api import expect
from scripted_workbench import HOSTILE

from orchestra_lib.description_swaps import DescriptionSwap, play_description_swaps
from orchestra_lib.preference import Preference
from orchestra_lib.swapping import Swap, play_swaps
from orchestra_lib.workbench import Workbench

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]
HEAT = ".bi-heat:not(.bi-where)"
EXPECTED = re.compile(r"status of (400|404)")


def filled(home):
    """Two baselines with swaps, and runs of a stranger with a hostile name whose best choice nobody knows."""
    workbench = Workbench(home)

    async def play():
        for name in ("strongest", "cheapest"):
            async for _ in play_swaps(workbench, Swap(orchestrator=name, tasks=6, preference=Preference(cost=1.0))):
                pass

        workbench.roster.descriptions.edit("sim_small", "Simulated expert in everything.", by="person:test")
        swap = DescriptionSwap(
            orchestrator="nearest", tool="sim_small", between=("shipped", "1"), tasks=4, source="simulated",
            tools=("sim:small", "sim:mid"),
        )  # fmt: skip
        async for _ in play_description_swaps(workbench, swap):
            pass

    asyncio.run(play())
    workbench.store.add_many(trajectory(f"qwen-{n}", orchestrator="qwen3-8b", task=f"Task {n}?") for n in range(3))
    workbench.store.add(trajectory("hostile", orchestrator=HOSTILE, task=HOSTILE))
    return workbench


@pytest.fixture(scope="module")
def address(browser, tmp_path_factory):
    with ThreadPoolExecutor(1) as apart:  # episodes are played, and this thread has Playwright's loop
        workbench = apart.submit(filled, tmp_path_factory.mktemp("home")).result()
    with served(workbench) as address:
        yield address


@pytest.fixture(scope="module")
def pages(browser, address):
    with visited(browser, address, expected=EXPECTED, viewport={"width": 1440, "height": 900}) as opened:
        yield opened


@pytest.fixture(scope="module")
def page(pages):
    return pages("/bias")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(page, scheme, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.wait_for_timeout(200)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 1440, "height": 900})


def test_the_alarm_and_every_cell_lead_to_the_runs_behind_them(page):
    alarm = page.get_by_role("alert").locator(".wb-alert").filter(has_text="strongest sends")
    expect(alarm).to_contain_text("The best choice per task would send")
    alarm.get_by_role("button").click()
    dialog = page.locator("#behind")
    expect(dialog.get_by_role("listitem").first).to_contain_text("[simulated")
    expect(dialog.get_by_role("link").first).to_have_attribute("href", re.compile(r"/trajectories\?run="))
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_mark_in_a_chart_opens_by_keyboard(page):
    mark = page.get_by_role("button", name=re.compile("cheapest follows the price"))
    expect(mark).to_have_attribute("aria-label", re.compile(r"\+100 points"))
    mark.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#behind .wb-note")).to_contain_text("runs behind it")
    page.keyboard.press("Escape")


def test_a_part_and_a_transition_lead_to_their_runs(page):
    page.get_by_role("button", name=re.compile(r"^strongest, reasoning: \d+ % to the strongest")).click()
    expect(page.locator("#behind .wb-note")).to_contain_text("runs behind it")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="all calls").click()
    page.wait_for_url("**steps=all*")
    mark = page.get_by_role("button", name=re.compile("then answer: .* of 72")).first
    times = re.search(r"answer: (\d+) times", mark.get_attribute("aria-label"))[1]  # each run ends once
    mark.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#behind .wb-note")).to_contain_text(f"{times} runs behind it")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="first three").click()


def test_what_nobody_knows_is_said_and_hostile_names_are_text(page):
    expect(
        page.locator(".bi-plot", has_text="the best choice per task is unknown")
        .or_(page.locator(".bi-plot", has_text="neither a profile nor a price"))
        .first
    ).to_be_visible()
    assert page.evaluate("window.hacked === undefined")
    expect(page.locator(f"{HEAT} tbody th", has_text="<").first).to_be_visible()


def test_slices_and_measures_are_in_the_address(page):
    page.locator("#orchestrator").select_option("cheapest")
    page.wait_for_url("**/bias?orchestrator=cheapest")
    expect(page.locator(f"{HEAT} tbody tr")).to_have_count(2)
    page.locator("h1").click()
    page.keyboard.press("s")
    page.wait_for_url("**of=usd*")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**turn=1*")
    page.go_back()
    page.go_back()
    page.go_back()
    expect(page.locator(f"{HEAT} tbody tr")).to_have_count(6)


def test_columns_can_be_families_with_what_nobody_knows_counted(pages):
    page = pages("/bias?by=family")
    expect(page.locator(f"{HEAT} thead")).to_contain_text("simulated")
    expect(page.get_by_text("to models of an unknown family")).to_contain_text("families.toml")
    page.get_by_role("button", name="experts").click()
    expect(page.locator(f"{HEAT} thead")).to_contain_text("strongest")
    page.close()


def test_a_rewritten_description_shows_its_shift_and_leads_to_its_runs(pages):
    page = pages("/bias?orchestrator=nearest")
    mark = page.get_by_role("button", name=re.compile("nearest, sim:small from shipped to version 1"))
    mark.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#behind .wb-note")).to_contain_text("12 runs behind it")
    page.close()


def test_plain_shares_stand_beside_the_papers_figures(pages):
    page = pages("/bias?scale=share")
    expect(page.get_by_text("paper: Qwen3-8B delegates to GPT-5, 73 %").first).to_be_visible()
    expect(page.get_by_text("as published, not measured here")).to_be_visible()
    expect(page.get_by_text("arXiv 2511.21689").first).to_be_visible()
    page.close()


def test_an_empty_slice_a_bad_one_and_an_ungraded_one_say_what_to_do(pages):
    page = pages("/bias?q=nothing-has-this")
    expect(page.get_by_text("No run is in this slice")).to_be_visible()
    page.close()
    page = pages("/bias?turn=x")
    expect(page.get_by_role("alert")).to_contain_text("no number of a turn")
    page.close()
    page = pages("/bias?orchestrator=qwen3-8b")
    expect(page.get_by_text("Nothing is graded")).to_be_visible()
    expect(page.get_by_text("No swaps were played")).to_be_visible()
    page.close()


def test_the_drift_of_a_training_run_is_drawn(page):
    expect(page.get_by_role("heading", name="Drift in training")).to_be_visible()
    expect(page.get_by_role("link", name="Open the run")).to_have_attribute("href", re.compile("/training"))
