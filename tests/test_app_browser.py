"""The pages in a real Chromium, over a workbench that plays scripts."""

import re

import pytest
from browsing import served, violations, visited
from playwright.sync_api import expect
from scripted_workbench import ScriptedRoster

from orchestra_lib.model.weights import WeightsStatus
from orchestra_lib.workbench import Workbench

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]
EXPECTED = re.compile(r"status of 40[04]|net::ERR_FAILED")
"""What Chromium logs by itself for an unknown run, a refused filter and for a connection that a test cuts."""


@pytest.fixture
def context(browser):
    return browser.contexts[0]


@pytest.fixture(scope="module")
def roster():
    return ScriptedRoster(pace_s=0.08)


@pytest.fixture(scope="module")
def workbench(roster, tmp_path_factory):
    return Workbench(tmp_path_factory.mktemp("home"), roster=roster)


@pytest.fixture(scope="module")
def base_url(browser, workbench):
    with served(workbench) as address:
        yield address


@pytest.fixture
def open_page(browser, base_url):
    with visited(browser, base_url, expected=EXPECTED) as opened:
        yield opened


def run(page, task):
    page.get_by_role("textbox", name="Task").fill(task)
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/?run=*")


def answered(page):
    expect(page.locator("#answer")).to_be_visible(timeout=30_000)
    return page


def run_id(page):
    return page.evaluate("new URLSearchParams(location.search).get('run')")


def test_a_task_runs_turn_by_turn_to_its_answer_and_bill(open_page):
    page = open_page()
    run(page, "short")  # it may be over before a busy machine looks; longer ones are stopped below
    answered(page)
    expect(page.locator("#answer")).to_have_text("47104101")
    expect(page.locator(".wb-call").first).to_contain_text("Code interpreter")
    expect(page.locator("#bill")).to_contain_text("$0.0006")
    expect(page.locator("#run")).to_be_enabled()


def test_frames_that_come_before_the_width_is_known_draw_no_score_yet(open_page, browser):
    page = open_page()
    run(page, "short")
    answered(page)
    slow = browser.new_context()
    slow.add_init_script(
        """window.ResizeObserver = class extends ResizeObserver {
          constructor(heard) { super((...given) => setTimeout(() => heard(...given), 1500)); }
        };"""
    )
    page = answered(
        open_page(f"/?run={run_id(page)}", in_context=slow)
    )  # where a score of no width is drawn, Chromium logs errors
    expect(page.locator("#score svg")).to_have_attribute("viewBox", re.compile(r"^0 0 [\d.]+ \d+$"))
    slow.close()


def test_escape_stops_the_run_and_says_what_is_kept(open_page):
    page = open_page()
    run(page, "slow")
    expect(page.locator(".wb-turn.live .lv-foldbtn", has_text="Code interpreter")).to_be_visible(timeout=20_000)
    page.keyboard.press("Escape")
    card = page.locator(".lv-end")
    expect(card).to_contain_text("Stopped by you", timeout=5_000)
    expect(card).to_contain_text("2 turns")
    expect(page.locator(".wb-chip", has_text="cancelled").first).to_be_visible()


def test_a_reload_and_a_second_viewer_show_the_same(open_page, browser):
    """H6"""
    page = open_page()
    run(page, "figures")
    expect(page.locator(".wb-call").first).to_be_visible(timeout=20_000)
    other = browser.new_context()
    second = open_page(f"/?run={run_id(page)}", in_context=other)
    first_text = answered(page).locator("#timeline").inner_text()
    assert answered(second).locator("#timeline").inner_text() == first_text
    page.reload()
    assert answered(page).locator("#timeline").inner_text() == first_text
    expect(page.locator("#bill")).to_contain_text("answered")  # the bill is drawn a moment after the turns
    assert page.locator("#bill").inner_text() == second.locator("#bill").inner_text()
    other.close()


def test_a_lost_connection_is_said_and_made_good(open_page):
    """H6"""
    page = open_page()
    page.route("**/events*", lambda route: route.abort())
    run(page, "short")
    expect(page.locator("#notices")).to_contain_text("Connection lost", timeout=10_000)
    page.unroute("**/events*")
    answered(page)
    expect(page.locator("#notices")).not_to_contain_text("Connection lost")
    assert page.locator(".wb-call").count() == 2


def test_the_sentence_follows_a_slider(open_page):
    page = open_page()
    slider = page.get_by_label("Coder", exact=True)
    slider.fill("-1")
    expect(page.locator("#sentence")).to_contain_text("Avoid Coder")
    slider.press("0")
    expect(page.locator("#sentence")).not_to_contain_text("Coder")
    assert slider.get_attribute("aria-valuetext") == "neutral .00"


def test_what_is_off_says_why_and_cannot_be_chosen(open_page):
    page = open_page()
    expect(page.locator("#orchestrator option[value=waiting]")).to_have_attribute("disabled", "")
    page.locator("#orchestrators-off summary").click()
    expect(page.locator("#orchestrators-off")).to_contain_text("its weights are arriving, 682 of 1,100 MB")
    expect(page.locator("#tools")).to_contain_text("off: no database is configured")


def test_simulated_experts_that_are_off_take_one_line_that_opens(open_page, context):
    def with_one(route):
        state = route.fetch().json()
        away = {**state["tools"][-1], "name": "sim:one", "title": "One", "off": "it is simulated", "simulated": True}
        route.fulfill(json={**state, "tools": [*state["tools"], away]})

    context.route("**/api/state", with_one)
    page = open_page()
    expect(page.get_by_text("off: no database is configured")).to_be_visible()
    expect(page.get_by_text("off: it is simulated")).to_be_hidden()
    page.get_by_text("1 simulated expert off, why?").click()
    expect(page.get_by_text("off: it is simulated")).to_be_visible()
    page.locator("#prices").select_option(index=0)
    expect(page.get_by_text("off: it is simulated")).to_be_visible()


def test_an_empty_task_is_refused_in_words(open_page):
    page = open_page()
    page.locator("#run").click()
    expect(page.get_by_role("alert")).to_have_text("The task is empty; say what should be done.")


def test_hostile_text_is_only_ever_text(open_page):
    """H2, H3: nothing runs, styles, links or loads, and no character vanishes."""
    page = open_page()
    run(page, "hostile <script>document.title='owned'</script>")
    answered(page)
    page.locator("[data-observation]").first.click()
    for where in ("#timeline", "#detail"):
        if where == "#detail":
            page = open_page(f"/trajectories?run={run_id(page)}")
            expect(page.locator(".lv-end")).to_be_visible(timeout=10_000)
        assert page.locator(f"{where} :is(script, img, style, a[href*='script:'], [onload], unknown-tag)").count() == 0
        for text in (
            "<style>*{display:none}</style>",
            "<think>so</think> <tool_call>{}</tool_call> List<int> <unknown",
        ):
            expect(page.locator(where)).to_contain_text(text)
        expect(page.locator(where)).to_contain_text("<img src=x onerror=")
        expect(page.locator(where)).to_contain_text("⟨U+202E⟩")
        assert "\x1b" not in page.locator(where).inner_text()
        assert page.title() != "owned"


def test_a_long_observation_is_fetched_when_it_is_opened(open_page):
    """H7"""
    page = open_page()
    run(page, "long")
    answered(page)
    assert "line 2999" not in page.locator("#timeline").inner_text()
    page.locator("[data-observation]").click()
    expect(page.locator("pre").first).to_contain_text("line 2999")


def test_parallel_calls_each_have_a_card_and_a_rejected_one_says_why(open_page):
    page = open_page()
    run(page, "parallel")
    answered(page)
    expect(page.locator(".wb-call").nth(1)).to_contain_text("1.2")
    rejected = page.locator(".wb-turn.bad")
    expect(rejected).to_contain_text("rejected")
    expect(rejected).to_contain_text("there is no tool")


def test_a_figure_has_a_name_and_keeps_within_bounds(open_page):
    """C8"""
    page = open_page()
    run(page, "figures")
    figure = page.get_by_role("img", name="Figure figure-1.png returned by Code interpreter")
    expect(figure).to_be_visible(timeout=20_000)
    answered(page)
    assert figure.bounding_box()["width"] <= 320


def test_an_unknown_run_says_so_and_where_to_go(open_page):
    page = open_page("/?run=nope")
    expect(page.locator("#timeline")).to_contain_text("There is no such run here")
    expect(page.get_by_role("link", name="All trajectories")).to_be_visible()


def test_the_theme_follows_the_system_until_it_is_chosen(open_page):
    page = open_page()
    page.emulate_media(color_scheme="dark")
    expect(page.locator("body")).to_have_class("dark")
    page.keyboard.press("t")
    expect(page.locator("body")).not_to_have_class("dark")
    page.reload()
    page.wait_for_selector("#wb[data-ready]")
    expect(page.locator("body")).not_to_have_class("dark")


def test_the_keyboard_goes_everywhere(open_page):
    page = open_page()
    run(page, "long")
    answered(page)
    page.locator("#task").blur()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("[data-observation]").first).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("open the observation")
    page.keyboard.press("Escape")
    page.locator("#task").press("t")
    assert "dark" not in (page.locator("body").get_attribute("class") or "")
    page.locator("#task").blur()
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url("**/trajectories")


def test_trajectories_are_found_filtered_and_opened(open_page):
    live = open_page()
    run(live, "fault of the world")
    expect(live.locator(".lv-end")).to_contain_text("refused the connection", timeout=20_000)
    page = open_page("/trajectories?status=fault&q=of+the+world")
    row = page.locator(".tr-row")
    expect(row).to_have_count(1)
    row.press("Enter")
    expect(page.locator("#detail h2.tr-task")).to_have_text("fault of the world")
    expect(page.locator("#side")).to_contain_text("Qwen2.5-Coder-1.5B-Instruct: $0.18 / $0.18 per M")
    page.locator("#f-status").select_option("answered")
    expect(page.locator("#rows")).to_contain_text("No trajectory matches")
    assert "status=answered" in page.url
    page.get_by_role("link", name="Run again").click()
    expect(page.get_by_role("textbox", name="Task")).to_have_value("fault of the world", timeout=15_000)


def test_a_narrow_screen_never_scrolls_sideways_and_cuts_nothing_off(open_page):
    page = open_page()
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".lv-show").first).to_be_visible()
    for offered in page.locator(".lv-ex button, .lv-show").all():
        box = offered.bounding_box()
        assert (box["x"] >= 12, box["x"] + box["width"] <= 378) == (True, True), offered.inner_text()
    run(page, "figures")
    answered(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#wishes-open").click()
    expect(page.get_by_label("Quality")).to_be_visible()
    page.goto(page.url.replace("/?", "/trajectories?"))
    expect(page.locator("#detail .lv-end")).to_be_visible(timeout=15_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_both_pages_are_accessible_in_both_themes(open_page):
    page = open_page()
    run(page, "figures")
    answered(page)
    page.locator(".lv-why").first.click()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert (scheme, violations(page)) == (scheme, [])
    page.goto(page.url.replace("/?", "/trajectories?"))
    expect(page.locator("#detail .lv-end")).to_be_visible(timeout=15_000)
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        assert (scheme, violations(page)) == (scheme, [])


def test_numbers_and_foreign_signs_are_written_one_way(open_page):
    shown = open_page().evaluate(
        """async () => {
            const f = await import("/wb/format.js");
            return {
                usd: [0, 0.00001, 0.0061, 1234.5].map(f.usd),
                seconds: [0.04, 1.311, 33.94].map(f.seconds),
                bytes: [999, 18200, 682e6].map(f.bytes),
                weight: [0.8, -0.6, 1].map(f.weight),
                plain: f.plain("a\\u001b[31m\\u202eb\\r\\n\\tc"),
                unknown: f.cost({ kind: "unknown", usd: null, why: "no price" }).outerHTML,
            };
        }"""
    )
    assert shown["usd"] == ["$0.0000", "<$0.0001", "$0.0061", "$1,234.50"]
    assert shown["seconds"] == ["0.04 s", "1.31 s", "33.9 s"]
    assert shown["bytes"] == ["999 B", "18.2 KB", "682 MB"]
    assert shown["weight"] == [".80", "\u2212.60", "1.00"]
    assert shown["plain"] == "a⟨U+001B⟩[31m⟨U+202E⟩b\n\tc"
    assert 'aria-label="unknown: no price"' in shown["unknown"]


def test_weights_on_their_way_are_told_and_hold_nothing_up(open_page, roster):
    roster.models.arriving = (
        WeightsStatus(
            name="big", state="fetching", done_bytes=682_000_000, total_bytes=1_117_000_000, rate_bps=12.3e6, eta_s=35.4
        ),
        WeightsStatus(name="small", state="failed", done_bytes=0, total_bytes=10, error="the disk is full <b>"),
    )
    page = open_page()
    roster.models.arriving = ()
    expect(page.locator("#notices")).to_contain_text("682 of 1,117 MB · 12.3 MB/s · 35 s left")
    expect(page.locator("#notices")).to_contain_text("the disk is full <b>")
    run(page, "short")
    answered(page)
    expect(page.locator("#notices")).to_be_empty()


def test_the_page_follows_the_end_only_while_it_is_there(open_page):
    page = open_page()
    page.set_viewport_size({"width": 1200, "height": 500})
    run(page, "figures")
    page.locator(".wb-call").nth(2).wait_for(timeout=20_000)
    page.wait_for_function("document.getElementById('scroll').scrollTop > 50")  # it is longer than its place
    page.locator("#scroll").evaluate("box => box.scrollTo(0, 0)")
    expect(page.locator("#newer")).to_contain_text("new turn", timeout=20_000)
    assert page.locator("#scroll").evaluate("box => box.scrollTop") == 0
    page.locator("#newer").click()
    expect(page.locator("#newer")).to_be_hidden()
    answered(page)
    expect(page.locator("#answer")).to_be_in_viewport()


def test_other_running_runs_are_one_click_away(open_page):
    first = open_page()
    run(first, "slow one")
    second = open_page()
    link = second.locator("#running a", has_text="slow one")
    expect(link).to_be_visible(timeout=10_000)
    link.click()
    expect(second.locator("#stop")).to_be_enabled(timeout=15_000)
    second.locator("#stop").click()
    expect(first.locator(".lv-end")).to_contain_text("Stopped by you", timeout=10_000)


def test_code_in_an_answer_stands_in_a_well_and_is_still_only_text(open_page):
    parts = open_page().evaluate(
        """async () => {
            const { prose } = await import("/wb/prose.js");
            const answer = "Try <b>this</b>:\\n```python\\nprint('<i>')\\n```\\nDone: `x<y`. ``` is no fence.";
            return prose(answer).map((node) => node.outerHTML);
        }"""
    )
    assert parts == [
        "<p>Try &lt;b&gt;this&lt;/b&gt;:</p>",
        '<pre class="wb-args lv-code" tabindex="0">print(\'&lt;i&gt;\')</pre>',
        '<p>Done: <code class="lv-span">x&lt;y</code>. ``` is no fence.</p>',
    ]


def test_where_an_answer_comes_from_stands_below_it_and_smaller(open_page):
    parts = open_page().evaluate(
        """async () => {
            const { prose } = await import("/wb/prose.js");
            const answer = "Lima\\n\\nFrom the local library: Peru.\\nNot answered: why <b>.";
            return prose(answer).map((node) => node.outerHTML);
        }"""
    )
    assert parts == [
        "<p>Lima</p>",
        '<p class="wb-note">From the local library: Peru.</p>',
        '<p class="wb-note">Not answered: why &lt;b&gt;.</p>',
    ]


def test_a_server_that_does_not_answer_is_said_and_nothing_is_counted_as_none(open_page, context):
    context.route("**/api/**", lambda route: route.abort())
    for path in ("/tools", "/reward", "/compare", "/training"):
        page = open_page(path)
        expect(page.locator("#wb")).to_contain_text("The workbench does not answer")
        assert (
            re.search(r"\ball 0\b|no group yet|None yet|Nothing has been run", page.locator("#wb").inner_text()) is None
        )
        page.close()


def test_the_keys_name_every_page(open_page):
    page = open_page()
    page.keyboard.press("?")
    for title in page.locator(".wb-nav a").all_inner_texts():
        expect(page.locator("#keys dd", has_text=re.compile(f"^{re.escape(title)}$"))).to_have_count(1)
