"""Every page by keyboard alone, in a real Chromium: walked by Tab from the skip link round to it again."""

from dataclasses import replace

import pytest
from browsing import visited
from episodes import trajectory
from playwright.sync_api import expect
from test_app_browser import EXPECTED
from test_app_browser import base_url as base_url
from toolbench import ToolRoster

from orchestra_lib.workbench import Workbench

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]
VIEWS = {
    "/": ("/", "/?run=run-a"),
    "/trajectories": ("/trajectories", "/trajectories?run=run-a", "/trajectories?run=run-a&tab=bill"),
    "/compare": ("/compare", "/compare?a=run-a&b=run-b", "/compare?run=run-a&run=run-b&run=good-0"),
    "/reward": ("/reward", "/reward?group=good"),
    "/sql": ("/sql",),
    "/toolscale": ("/toolscale?domain=mock",),
    "/training": ("/training",),
    "/evaluation": ("/evaluation",),
    "/bias": ("/bias",),
    "/tools": ("/tools", "/tools?tool=options"),
}
"""The addresses to walk, by the page that is loaded once for them: it is Gradio's load that takes time."""

MOST_STOPS = 400
ARRANGED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Past what a page does on another width, such as moving a part before another one."""
SIZES = ((1440, 900), (390, 844))
WALK = """() => {
  const ring = (style) => style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const framed = (style) => /(^|, )rgb[^)]*\\) 0px 0px 0px [1-9]/.test(style.boxShadow);
  const frames = (node) => [node, node.parentElement, node.closest("form, .wb-panel")].filter(Boolean);
  const nameOf = (node) => (node.getAttribute("aria-label") || node.labels?.[0]?.textContent || node.title
    || document.getElementById(node.getAttribute("aria-labelledby"))?.textContent || node.textContent || "").trim();
  const short = (node) => node.cloneNode().outerHTML.slice(0, 160);
  const shown = (node) => node.checkVisibility({ visibilityProperty: true }) && node.getClientRects().length > 0;
  const stops = () => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
    .filter((node) => !node.disabled && node.tabIndex >= 0 && node.type !== "radio" && shown(node));
  const bends = (node) => node.closest("svg"); // a band is not where the middle of its box is
  const covered = (node, box) => {
    const [left, right] = [Math.max(box.left, 0), Math.min(box.right, innerWidth)];
    const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
    const over = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    return !over || !(node.contains(over) || over.contains(node) || over.matches("label"));
  };
  let there, seen, last;
  window.beginWalk = () => {
    [there, seen, last] = [stops(), new Set(), null];
    document.querySelector(".wb-skip").focus();
    return stop().wrong;
  };
  window.stop = () => {
    const node = document.activeElement;
    if (node === document.body) return { wrong: [] };
    if (seen.has(node)) return { round: true, wrong: node.matches(".wb-skip") ? [] : [`a trap: ${short(node)}`] };
    const box = node.getBoundingClientRect();
    const before = last?.isConnected ? last.getBoundingClientRect() : null;
    const wrong = [];
    if (Math.min(box.width, box.height) < 8 || box.bottom <= 0 || box.top >= innerHeight) wrong.push("out of sight");
    else if (node.type !== "range" && !bends(node) && covered(node, box)) wrong.push("covered");
    if (!nameOf(node)) wrong.push("without a name");
    if (node.type !== "range" && !ring(getComputedStyle(node))
      && !frames(node).some((one) => framed(getComputedStyle(one)))) wrong.push("no ring");
    if (before && box.bottom <= before.top && box.left < before.right) wrong.push(`above ${short(last)}`);
    seen.add(node);
    last = node;
    return { wrong: wrong.map((words) => `${words}: ${short(node)}`) };
  };
  window.missed = () => there.filter((node) => node.isConnected && shown(node) && !seen.has(node)).map(short);
}"""


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    """One with everything that any page asks for, the endpoints of Tools & prices too."""
    home = tmp_path_factory.mktemp("home")
    return Workbench(home, roster=ToolRoster(home))


@pytest.fixture(scope="module", autouse=True)
def filled(workbench):
    """Two runs to look at and a graded group."""
    runs = [trajectory("run-a", turns=5), trajectory("run-b", turns=4, answer="5", tool="coder")]
    good = [trajectory(f"good-{n}", turns=2 + n, group="good", minutes=-9) for n in range(3)]
    workbench.store.add_many([*runs, *(replace(run, outcome=True) for run in good)])


@pytest.fixture
def opened(browser, base_url):
    wide = {"width": 1440, "height": 900}
    with visited(browser, base_url, expected=EXPECTED, viewport=wide, reduced_motion="reduce") as opened:
        yield opened


def show(page, address):
    """Another address of the same page, as a reader who goes back would have it."""
    page.evaluate("to => { history.pushState(null, '', to); dispatchEvent(new PopStateEvent('popstate')); }", address)
    page.wait_for_load_state("networkidle")


def walked(page):
    """What is wrong on the way round by Tab; once more where the page drew something anew on the way."""
    return way_round(page) and way_round(page)


def way_round(page):
    """Stops that nobody sees or can name, controls that are not reached."""
    wrong = page.evaluate("beginWalk()")
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        stop = page.evaluate("stop()")
        wrong += stop["wrong"]
        if "round" in stop:
            return wrong + [f"not reached: {control}" for control in page.evaluate("missed()")]
    return [*wrong, f"no way round within {MOST_STOPS} stops"]


@pytest.mark.parametrize("path", VIEWS)
def test_the_way_round_a_page_by_tab_meets_every_control_in_sight(opened, path):
    page = opened(path)
    page.evaluate(WALK)
    found = {}
    for address in VIEWS[path]:
        show(page, address)
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate(ARRANGED)
            found[address, width] = walked(page)
    assert {where: wrong for where, wrong in found.items() if wrong} == {}


def test_the_skip_link_is_the_first_stop_and_leads_to_the_content(opened):
    page = opened("/reward")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to content")
    expect(page.locator(":focus")).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.locator("#main :focus").count() == 1


def test_escape_closes_menus_and_dialogs_and_the_focus_goes_back(opened):
    page = opened("/trajectories?run=run-a")
    for menu in (page.locator("#pop-date"), page.locator(".tr-btns .rc-pop")):
        menu.locator("summary").press("Enter")
        page.keyboard.press("Tab")
        assert menu.locator(".rc-menu :focus").count() == 1
        page.keyboard.press("Escape")
        expect(menu.locator("summary")).to_be_focused()
        assert menu.get_attribute("open") is None
    page.locator("#help").press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_focused()
    page.get_by_role("button", name="Delete").press("Enter")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Delete")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_fader_moves_by_arrows_and_shows_the_focus(opened, scheme):
    page = opened("/reward?group=good")
    page.emulate_media(color_scheme=scheme)
    fader = page.get_by_label("Weight of low cost")
    resting = fader.screenshot()
    page.locator("#modes button").last.focus()
    while not fader.evaluate("node => node === document.activeElement"):
        page.keyboard.press("Tab")
    assert fader.screenshot() != resting
    before = fader.input_value()
    page.keyboard.press("ArrowDown")
    assert float(fader.input_value()) < float(before)
