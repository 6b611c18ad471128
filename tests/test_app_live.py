"""Live in a real Chromium: several runs, the queue, demonstrations, own words, search, keyboard, very much at once."""

import re

import pytest
from browsing import served, violations, visited
from playwright.sync_api import expect
from scripted_workbench import ScriptedRoster

from app.main import not_started
from app.runs import MAX_RUNNING
from orchestra_lib.workbench import Workbench

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]
NOTHING = re.compile("(?!)")


@pytest.fixture(scope="module")
def base_url(browser, tmp_path_factory):
    with served(Workbench(tmp_path_factory.mktemp("home"), roster=ScriptedRoster(pace_s=0.02))) as address:
        yield address


@pytest.fixture
def page(browser, base_url):
    with visited(browser, base_url, expected=NOTHING) as opened:
        yield opened()


def run(page, task):
    page.get_by_role("textbox", name="Task").fill(task)
    page.keyboard.press("Control+Enter")
    page.wait_for_function("task => document.title.startsWith(task) || document.title.startsWith('Place')", arg=task)


def answered(page):
    expect(page.locator("#answer")).to_be_visible(timeout=30_000)


def post(page, path, body):
    return page.evaluate(
        """([path, body]) => fetch(path, {method: "POST", body: JSON.stringify(body),
            headers: {"content-type": "application/json"}}).then((answer) => answer.json())""",
        [path, body],
    )


def test_a_second_run_starts_while_one_goes_on_and_each_has_its_tab(page):
    run(page, "slow one")
    run(page, "short")
    answered(page)
    tabs = page.locator(".lv-tab")
    expect(tabs).to_have_count(2)
    expect(tabs.nth(0)).to_contain_text("running")
    expect(tabs.nth(1)).to_contain_text("answered$0.0006")
    tabs.nth(0).get_by_role("link").click()
    expect(page.locator("#stop")).to_be_enabled()
    page.locator("#task").blur()
    page.keyboard.press("Escape")
    expect(tabs.nth(0)).to_contain_text("stopped", timeout=10_000)
    page.keyboard.press("]")
    answered(page)
    page.reload()
    expect(tabs).to_have_count(2)
    page.keyboard.press("x")
    expect(tabs).to_have_count(1)
    expect(page.locator(".lv-end")).to_contain_text("Stopped by you")


def test_a_run_beyond_the_limit_shows_its_place_and_can_be_cancelled(page):
    order = {"task": "slow", "orchestrator": "scripted"}
    going = [post(page, "/api/runs", order)["id"] for _ in range(MAX_RUNNING)]
    waiting = post(page, "/api/runs", order)["id"]
    run(page, "short")
    expect(page.locator("#timeline h2")).to_have_text("Place 2 of 2 in the queue")
    expect(page.locator("#running")).to_contain_text("In the queue: 2")
    expect(page.locator(".lv-tab")).to_contain_text("place 2")
    page.locator(".lv-waiting").first.get_by_role("button").click()
    expect(page.locator("#timeline h2")).to_have_text("Place 1 of 1 in the queue")
    assert "cancelled before it began" in page.request.get(page.url.split("?")[0] + f"api/runs/{waiting}").text()
    for run_id in going:
        post(page, f"/api/runs/{run_id}/stop", {})
    answered(page)


def test_a_cancelled_run_in_the_queue_says_that_nothing_was_spent(page):
    order = {"task": "slow", "orchestrator": "scripted"}
    going = [post(page, "/api/runs", order)["id"] for _ in range(MAX_RUNNING)]
    run(page, "short")
    expect(page.locator("#timeline h2")).to_contain_text("Place 1")
    page.locator("#task").blur()
    page.keyboard.press("Escape")
    expect(page.locator("#timeline")).to_contain_text("This run never began")
    expect(page.locator("#timeline")).to_contain_text("nothing was spent")
    for run_id in going:
        post(page, f"/api/runs/{run_id}/stop", {})


def test_cheap_against_best_is_one_click_and_sets_the_sliders(page):
    page.get_by_role("button", name="Cheap against best").click()
    tabs = page.locator(".lv-tab")
    expect(tabs).to_have_count(2, timeout=10_000)
    answered(page)
    expect(tabs.nth(0)).to_contain_text("quality .2 cost 1 latency .2")
    expect(tabs.nth(1)).to_contain_text("quality 1")
    assert page.get_by_label("Quality").input_value() == "1"
    assert page.get_by_label("Low cost").input_value() == "0"
    cheap, best = (link.get_attribute("href").removeprefix("/?run=") for link in tabs.get_by_role("link").all())
    expect(page.get_by_role("link", name="Compare", exact=True).last).to_have_attribute(
        "href", f"/compare?a={cheap}&b={best}"
    )


def test_avoid_the_big_model_sets_the_dearest_to_avoid(page):
    page.get_by_role("button", name="Avoid the big model").click()
    answered(page)
    expect(page.locator("#tool-generalist")).to_have_attribute("aria-valuetext", "avoid \u22121.00")
    expect(page.locator("#sentence")).to_contain_text("Avoid Generalist")


def test_own_words_replace_the_sentence_until_they_are_reset(page):
    page.locator("#sentence-edit").click()
    field = page.get_by_label("Your own words for the model")
    expect(field).to_have_value("Answer well; cost matters a little; latency matters a little.")
    field.fill("Be <b>brief</b>.")
    expect(page.locator("#own-count")).to_have_text("16 of 600 characters")
    page.reload()
    expect(field).to_have_value("Be <b>brief</b>.", timeout=10_000)
    run(page, "short")
    answered(page)
    stored = page.request.get(page.url.replace("/?run=", "/api/runs/") + "/trajectory").json()
    assert stored["setting"]["sentence"] == "Be <b>brief</b>."
    field.fill("x" * 700)
    assert len(field.input_value()) == 600
    page.locator("#sentence-reset").click()
    expect(page.locator("#sentence")).to_contain_text("Answer well")


def test_a_protocol_is_offered_where_the_orchestrator_speaks_it(page):
    expect(page.locator("#protocol-box")).to_be_hidden()
    page.locator("#orchestrator").select_option("both")
    page.get_by_label("Protocol").select_option("toolorchestra")
    run(page, "short")
    answered(page)
    stored = page.request.get(page.url.replace("/?run=", "/api/runs/") + "/trajectory").json()
    assert stored["setting"]["protocol"] == "toolorchestra"
    page.locator("#orchestrator").select_option("scripted")
    expect(page.locator("#protocol-box")).to_be_hidden()


def test_search_goes_to_places_that_were_not_on_the_page_before(page):
    run(page, "long")
    answered(page)
    page.locator("#task").blur()
    page.keyboard.press("/")
    page.keyboard.type("line 151 of")
    expect(page.locator("#find-said")).to_have_text("1 of 1, turn 1, observation")
    expect(page.locator("#timeline pre")).to_contain_text("line 151 of")
    page.locator("#find-text").fill("nowhere at all")
    expect(page.locator("#find-said")).to_have_text("not found in this run")
    page.keyboard.press("Escape")
    expect(page.locator("#find")).to_be_hidden()


def test_meters_say_when_a_limit_is_near(page):
    page.locator("#limit-cost").fill("0.0026")
    run(page, "figures")
    expect(page.locator(".lv-end")).to_be_visible(timeout=20_000)
    expect(page.locator("#bill .wb-meter")).to_have_class("wb-meter near")
    expect(page.locator("#bill")).to_contain_text("near the cost limit")


def test_why_names_the_chosen_the_runner_up_and_what_was_said(page):
    run(page, "figures")
    answered(page)
    page.locator(".lv-why").first.click()
    box = page.locator(".lv-whybox").first
    expect(box).to_contain_text("Find both populations first.")
    expect(box.locator("tr", has_text="chosen")).to_contain_text("Local search")
    expect(box.locator("tr", has_text="runner-up")).to_contain_text("Code interpreter")
    expect(box).to_contain_text("Ahead of the runner-up, Code interpreter, by .09")
    expect(box).to_contain_text("needs the live web, which is off")


def test_who_comes_late_sees_the_runs_own_clock(page):
    run(page, "slow one that is visited late")
    page.wait_for_selector(".wb-turn.live [data-since]")
    page.wait_for_timeout(1500)
    page.reload()
    expect(page.locator("#stop")).to_be_enabled(timeout=20_000)
    assert float(page.locator("#bill [data-clock]").inner_text()) >= 1.5
    page.keyboard.press("Escape")


def test_the_keyboard_folds_moves_and_copies_and_one_list_explains_it(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    run(page, "figures")
    answered(page)
    page.locator("#task").blur()
    page.keyboard.press("ArrowDown")
    card = page.locator(".wb-call:focus")
    expect(card.locator(".wb-args")).to_have_count(0)
    page.keyboard.press("ArrowRight")
    expect(card.locator(".wb-args")).to_have_count(1)
    page.keyboard.press("f")
    expect(page.locator("[data-fold][aria-expanded=true]")).to_have_count(0)
    page.keyboard.press("u")
    expect(page.locator("#shared")).to_have_text("Link copied · to turn 1")
    assert page.evaluate("navigator.clipboard.readText()") == f"{page.url}&turn=1"
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#shared")).to_have_text("Link copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    expect(page.locator(".wb-foot")).to_contain_text("search")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("close the tab of the run")


def test_small_sums_beside_each_other_keep_the_digits_that_tell_them_apart(page):
    sums = page.evaluate(
        "import('/wb/format.js').then((f) => [0, 0.00000214, 0.0000104, 0.0001, 0.0061].map(f.fineUsd))"
    )
    assert sums == ["$0.0000", "$0.0000021", "$0.000010", "$0.0001", "$0.0061"]


def test_what_ctrl_c_left_unstarted_is_named():
    assert not_started(["What is 2 + 2?"]) == "1 queued run was not started: What is 2 + 2?"
    words = not_started(["a\nb", "c" * 90, "d", "e"] * 500)
    assert words == f"2,000 queued runs were not started: a b; {'c' * 60}; d and 1,997 more"


def test_ten_thousand_calls_in_a_turn_do_not_freeze_the_page(page):
    spent = page.evaluate(
        """async () => {
            const { Run } = await import("/wb/run.js");
            const { Timeline } = await import("/wb/timeline.js");
            const { drawScore } = await import("/wb/score.js");
            const run = new Run("many");
            const timeline = new Timeline(document.getElementById("timeline"));
            timeline.reset(run);
            const calls = Array.from({ length: 10_000 }, (_, n) => (
                { id: `c${n}`, tool: "t", arguments: { n }, arguments_text: "{}", recovered: null }));
            const derived = { bytes: 2, lines: 1, cut: false, cost: { kind: "none" }, uses_tokens: false };
            const events = [
                { kind: "run_started", t_s: 0, derived: { stating: [] }, setting: { tools: [], orchestrator: "o" } },
                { kind: "turn_started", t_s: 0, turn: 1 },
                { kind: "generated", t_s: 1, turn: 1, derived: {},
                  generation: { reasoning: "", content: "", answer: null, estimates: [], calls } },
                ...calls.flatMap(({ id }, n) => [
                    { kind: "call_started", t_s: 1 + n / 100, call_id: id, held_usd: 0 },
                    { kind: "call_finished", t_s: 1.01 + n / 100, derived, fault: null, observation: {
                        call_id: id, status: n % 9 ? "ok" : "error", text: "ok", artefacts: [],
                        started_s: 1 + n / 100, finished_s: 1.01 + n / 100 } },
                ]),
            ];
            const start = performance.now();
            for (const event of events) {
                const position = run.feed(event);
                if (position !== null) timeline.update(position, event.call_id ?? event.observation?.call_id);
            }
            const host = document.createElement("div");
            drawScore(host, run);
            return { ms: performance.now() - start, bars: host.querySelectorAll("rect").length };
        }"""
    )
    assert spent["ms"] < 10_000  # about 0.5 s on a quiet machine; hours when each call redraws its turn
    assert spent["bars"] < 3000
    expect(page.locator("#timeline .wb-call")).to_have_count(40)
    expect(page.locator(".lv-rest")).to_contain_text("40 of 10,000 calls are drawn; in all 1,112 failed · 8,888 done")
    page.get_by_role("button", name="Show 200 more").click()
    expect(page.locator("#timeline .wb-call")).to_have_count(240)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_tabs_search_and_own_words_are_accessible(page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.wait_for_timeout(300)  # the colours of buttons move
    assert violations(page) == []
    page.locator("#limit-time").fill("30")
    run(page, "slow two")
    run(page, "figures")
    answered(page)
    page.locator("#sentence-edit").click()
    page.locator("#task").blur()
    page.locator(".lv-why").first.click()
    page.keyboard.press("/")
    page.wait_for_timeout(300)
    assert violations(page) == []


def test_a_narrow_screen_keeps_tabs_and_search_inside(page):
    page.set_viewport_size({"width": 390, "height": 844})
    for task in ("slow a", "slow b", "short"):
        run(page, task)
    answered(page)
    page.locator("#task").blur()
    page.keyboard.press("/")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.goto(page.url.split("?")[0])
    page.wait_for_selector(".lv-show")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
