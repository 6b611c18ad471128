"""The Trajectories page in a real Chromium: found, filtered, paged, selected, tagged, deleted, copied."""

import json
import re

import pytest
from browsing import violations
from episodes import START, events, trajectory
from playwright.sync_api import expect
from scripted_workbench import HOSTILE
from test_app_browser import base_url as base_url
from test_app_browser import context as context
from test_app_browser import open_page as open_page
from test_app_browser import roster as roster
from test_app_browser import workbench as workbench

from orchestra_lib.preference import Preference
from orchestra_lib.store.rollouts import StepRollouts, Worth

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]


@pytest.fixture(scope="module", autouse=True)
def filled(workbench):
    """120 runs a minute apart, a dear one and a hostile one among them."""
    workbench.store.add_many(
        [trajectory(f"run-{n:03}", minutes=n, task=f"Task {n}", turns=2 + 3 * (n % 7)) for n in range(118) if n != 3]
    )
    hostile = {"task": HOSTILE, "orchestrator": HOSTILE, "observation": HOSTILE, "answer": HOSTILE}
    for run_id, changes in {
        "run-003": {"minutes": 3, "task": "Task 3"},
        "run-hostile": {"minutes": 200, **hostile},
        "run-dear": {"minutes": 201, "task": "A dear one", "turns": 30},
    }.items():
        with workbench.journal.open(run_id) as writer:
            for event in events(run_id, **changes):
                writer.append(event)


def rows(page):
    return page.locator(".tr-row")


def listed(page, count):
    expect(page.locator("#matches")).to_contain_text(f"{count} of")
    return page


def test_the_list_pages_both_ways_from_a_deep_link(open_page):
    page = listed(open_page("/trajectories"), 120)
    expect(rows(page)).to_have_count(50)
    page.keyboard.press("]")
    expect(rows(page).first).to_contain_text("Task 69")
    deep = open_page(page.url.removeprefix(page.url.split("/trajectories")[0]))
    expect(rows(deep).first).to_contain_text("Task 69")
    deep.keyboard.press("]")
    expect(rows(deep)).to_have_count(20)
    expect(deep.locator("#older")).to_be_disabled()
    deep.keyboard.press("[")
    expect(rows(deep).first).to_contain_text("Task 69")
    deep.keyboard.press("[")
    expect(rows(deep).first).to_contain_text("A dear one")
    expect(deep.locator("#newer")).to_be_disabled()


def test_a_tab_of_the_browser_says_which_page_it_shows(open_page):
    expect(open_page("/trajectories")).to_have_title("Trajectories · Orchestra Workbench")
    expect(open_page("/evaluation")).to_have_title("Evaluation · Orchestra Workbench")


def test_the_histogram_is_the_filter_and_stands_in_the_address(open_page):
    page = listed(open_page("/trajectories"), 120)
    low = page.get_by_label("Cost from")
    low.focus()
    for _ in range(int(low.get_attribute("max")) - 1):
        low.press("ArrowRight")
    page.wait_for_url("**cost_min=*")
    expect(page.locator("#cost")).to_contain_text("from $0.0")
    expect(rows(page)).to_have_count(1)  # the last step has come to its end, not only the first
    expect(rows(page).first).to_contain_text("A dear one")
    address = page.url
    expect(page.locator("#matches")).not_to_contain_text("120 of")
    again = open_page("/trajectories?" + address.partition("?")[2])
    expect(again.locator("#matches")).to_have_text(page.locator("#matches").inner_text())
    again.locator("#clear").click()
    listed(again, 120)
    assert "cost_min" not in again.url


def test_dates_and_texts_narrow_and_what_matches_nothing_says_what_to_drop(open_page):
    day = START.date().isoformat()
    page = listed(open_page(f"/trajectories?since={day}&until={day}&q=task+1"), 29)
    expect(page.locator("#f-date")).to_have_text(day)
    page.locator("#q").fill("nothing like it")
    expect(page.locator("#rows")).to_contain_text("Drop a filter: text, date.")
    page.locator("#rows").get_by_role("button", name="text alone hides").click()
    expect(page.locator("#q")).to_have_value("")
    expect(page.locator("#f-date")).to_have_text(day)
    page.locator("#clear").click()
    listed(page, 120)


def test_runs_are_filtered_by_preference_and_each_filter_says_what_it_hides(open_page, workbench):
    wish = Preference(cost=0.9, tools={"coder": -0.8})
    workbench.store.add(trajectory("run-wish", minutes=-50, task="A wish", preference=wish, tool="coder"))
    page = open_page("/trajectories")
    page.get_by_label("Avoid").select_option(label="coder")
    page.wait_for_url("**avoid=tool.coder*")
    expect(rows(page)).to_have_count(1)
    expect(page.locator("#hiding")).to_contain_text("avoid hides")
    page.get_by_label("Prefer").select_option(label="quality")
    page.wait_for_url("**prefer=outcome*")
    page.locator("#hiding").get_by_role("button", name="avoid hides").click()
    page.wait_for_url(lambda url: "avoid" not in url)
    assert "prefer=outcome" in page.url
    workbench.store.delete("run-wish")


def test_the_list_follows_what_is_run_and_nothing_jumps(open_page, workbench):
    page = open_page("/trajectories")
    expect(rows(page)).to_have_count(50)
    page.evaluate("document.getElementById('rows').scrollTop = 600")
    seen = page.locator("#rows .rc-line:nth-child(14) .tr-row")
    name = seen.get_attribute("data-id")
    page.locator("#rows .rc-line:nth-child(14) input").check()
    seen.focus()
    row = page.locator(f'.tr-row[data-id="{name}"]')
    row.evaluate("node => { window.was = node }")
    top = row.bounding_box()["y"]
    workbench.store.add(trajectory("run-newest", minutes=500, task="The newest"))
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(rows(page).first).to_contain_text("The newest")
    assert row.evaluate("node => node === window.was && node === document.activeElement")
    assert abs(row.bounding_box()["y"] - top) < 1
    expect(page.locator("#picked")).to_contain_text("1 selected")
    workbench.store.delete("run-newest")


def test_a_list_that_is_open_shows_a_run_of_another_door_by_itself(open_page, workbench):
    page = open_page("/trajectories")
    expect(rows(page).first).to_be_visible()
    run_id = play(page, "short one seen from elsewhere")
    expect(rows(page).first).to_contain_text("short one seen from elsewhere", timeout=20_000)
    expect(page.locator("#matches")).to_contain_text("121 of")
    workbench.store.delete(run_id)


def test_a_filter_that_is_none_is_refused_in_words(open_page):
    page = open_page("/trajectories?since=soon")
    expect(page.locator("#rows")).to_contain_text("write it as 2026-11-30")
    page.get_by_role("link", name="The whole list").click()
    listed(page, 120)


def test_columns_and_views_are_remembered_in_this_browser(open_page):
    page = listed(open_page("/trajectories?q=dear"), 1)
    page.locator("#pop-columns summary").click()
    page.get_by_label("Tokens").check()
    expect(page.locator("#head")).to_contain_text("Tokens")
    page.locator("#pop-views summary").click()
    page.get_by_label("Name of this view").fill("dear <b>ones</b>")
    page.get_by_label("Name of this view").press("Enter")
    page.goto(page.url.partition("?")[0])
    listed(page, 120)
    expect(page.locator("#head")).to_contain_text("Tokens")
    page.locator("#pop-views summary").click()
    page.get_by_role("link", name="dear <b>ones</b>").click()
    listed(page, 1)


def test_two_selected_rows_are_compared(open_page):
    page = listed(open_page("/trajectories"), 120)
    page.get_by_label("Select A dear one").check()
    expect(page.locator("#picked")).to_contain_text("1 selected")
    page.keyboard.press("Escape")
    page.keyboard.press("]")
    expect(rows(page).first).to_contain_text("Task 69")
    page.get_by_label("Select Task 69").check()
    expect(page.locator("#picked")).to_contain_text("2 selected")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/compare?a=run-dear&b=run-069")


def test_more_than_two_are_compared_up_to_eight(open_page):
    page = listed(open_page("/trajectories?q=Task"), 118)
    for n in range(9):
        page.locator(".rc-pick input").nth(n).check()
    expect(page.get_by_role("button", name="Compare")).to_be_disabled()
    for n in range(6):
        page.locator(".rc-pick input").nth(n).uncheck()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/compare?run=*&run=*&run=*")


def test_of_many_runs_to_grade_one_that_is_gone_is_refused_and_the_others_are_graded(open_page, workbench):
    page = open_page("/trajectories")
    kept = [play(page, f"short bulk {n}") for n in range(2)]
    workbench.store.add(trajectory("run-gone", minutes=600, task="bulk gone"))
    page = listed(open_page(f"/trajectories?q=bulk&run={kept[0]}"), 3)
    for n in range(3):
        page.locator(".rc-pick input").nth(n).check()
    workbench.store.delete("run-gone")
    page.get_by_role("button", name="Grade…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Your name").fill("Ada")
    dialog.get_by_role("button", name="Solved", exact=True).click()
    expect(page.locator("#notice")).to_contain_text("2 runs graded. 1 refused:")
    expect(page.locator("#notice li")).to_contain_text("there is no run 'run-gone'")
    assert [workbench.store.get(run_id).outcome for run_id in kept] == [True, True]
    expect(page.get_by_role("region", name="Grade")).to_contain_text("person:Ada")
    page.get_by_role("button", name="Clear").last.click()
    page.get_by_label("Select short bulk 0").check()
    page.get_by_role("button", name="Tag", exact=True).click()
    dialog.get_by_role("textbox").fill("bulk")
    page.keyboard.press("Enter")
    expect(page.locator("#facts .wb-tag")).to_contain_text("bulk")
    for run_id in kept:
        workbench.store.delete(run_id)


def test_runs_of_one_task_are_made_a_group_and_others_are_refused_in_words(open_page, workbench):
    pair = [trajectory(f"run-same-{n}", minutes=300 + n, task="The same task") for n in range(2)]
    workbench.store.add_many(pair)
    page = open_page("/trajectories")
    page.locator(".rc-pick input").nth(0).check()
    expect(page.get_by_role("button", name="Make a group…")).to_be_disabled()
    page.locator(".rc-pick input").nth(2).check()
    page.get_by_role("button", name="Make a group…").click()
    page.get_by_label("Name of the group").fill("pairs")
    page.get_by_label("Name of the group").press("Enter")
    expect(page.locator("#notice")).to_contain_text("task")
    page.locator(".rc-pick input").nth(2).uncheck()
    page.locator(".rc-pick input").nth(1).check()
    page.get_by_role("button", name="Make a group…").click()
    page.get_by_label("Name of the group").fill("pairs")
    page.get_by_label("Name of the group").press("Enter")
    expect(page.locator("#notice")).to_contain_text("The group pairs has 2 runs.")
    page.get_by_role("button", name="Open its rewards").click()
    page.wait_for_url("**/reward?group=pairs")
    for one in pair:
        workbench.store.delete(one.id)


def test_a_tag_is_given_found_and_taken_away(open_page):
    page = open_page("/trajectories?run=run-003")
    page.get_by_label("New tag").fill("demo")
    page.get_by_label("New tag").press("Enter")
    expect(page.locator("#facts .wb-tag")).to_contain_text("demo")
    page.goto(page.url.partition("?")[0] + "?tag=demo")
    listed(page, 1)
    expect(rows(page)).to_contain_text("demo")
    rows(page).click()
    page.get_by_label("Take the tag demo away").click()
    expect(page.locator("#rows")).to_contain_text("No trajectory matches")


def play(page, task):
    """Run a task through the API, from the page's own origin, to its end."""
    order = {"task": task, "orchestrator": "scripted"}
    run_id = page.evaluate(
        """async (order) => {
            const { getJson, postJson, runPath } = await import("/wb/server.js");
            const { id } = await postJson("/api/runs", order);
            while ((await getJson(runPath(id))).running) await new Promise((done) => setTimeout(done, 50));
            return id;
        }""",
        order,
    )
    return str(run_id)


def test_a_run_deleted_in_one_tab_is_said_in_the_other_and_undone(open_page):
    first = open_page("/trajectories")
    run_id = play(first, "short one to delete")
    other = open_page(f"/trajectories?run={run_id}")
    first.goto(first.url + f"?run={run_id}")
    first.locator("#detail").get_by_role("button", name="Delete").click()
    first.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(first.locator("#notice")).to_contain_text("1 run deleted")
    expect(other.locator("#detail")).to_contain_text("This trajectory was deleted", timeout=10_000)
    first.locator("#notice").get_by_role("button", name="Undo").click()
    expect(other.locator("#detail h2.tr-task")).to_have_text("short one to delete", timeout=10_000)
    expect(rows(first).first).to_contain_text("short one to delete")


def test_every_tab_has_an_address_and_shows_what_it_says(open_page):
    page = open_page("/trajectories")
    run_id = play(page, "figures")
    for tab, words in {
        "bill": "failed: 429",
        "messages": "You are an orchestrator",
        "raw": "Fit constant growth",
        "setting": "Tools on offer",
    }.items():
        page.goto(f"{page.url.partition('?')[0]}?run={run_id}&tab={tab}")
        expect(page.locator("#tab-other")).to_contain_text(words, timeout=10_000)
    page.locator("#tabs").get_by_role("link", name="Timeline").click()
    expect(page.locator("#turns .wb-call").first).to_be_visible()
    assert "tab=" not in page.url
    page.go_back()
    expect(page.locator("#tab-other")).to_contain_text("Tools on offer")


def test_a_run_is_copied_in_every_form(open_page, context):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = open_page("/trajectories?run=run-dear")
    for name, words in {
        "curl": "curl -X POST",
        "Python": "workbench.play",
        "Notebook cell": "run-dear",
        "JSON": "setting",
    }.items():
        page.locator(".tr-btns summary").click()
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.locator(".tr-btns .wb-note")).to_have_text(f"{name} copied")
        assert words in page.evaluate("navigator.clipboard.readText()")


def test_the_filtered_set_is_downloaded(open_page):
    page = listed(open_page("/trajectories?q=dear"), 1)
    page.locator("#pop-export summary").click()
    with page.expect_download() as download:
        page.locator("#export").get_by_role("link", name="JSONL").click()
    lines = download.value.path().read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["run-dear"]


def test_hostile_text_is_only_ever_text_in_every_tab(open_page):
    page = open_page("/trajectories?run=run-hostile")
    for tab in ("timeline", "bill", "messages", "raw", "setting"):
        page.goto(f"{page.url.partition('?')[0]}?run=run-hostile&tab={tab}")
        expect(page.locator("#detail h2.tr-task")).to_contain_text("<img src=x onerror=")
        page.wait_for_timeout(200)
        assert page.locator(".tr :is(script, img)").count() == 0
        assert not re.search("[\x1b\u202e]", page.locator(".tr").inner_text())
        assert page.title() != "owned"


def test_a_stale_link_says_where_to_go(open_page):
    page = open_page("/trajectories?run=run-gone&before=2020-01-01T00:00:00%2B00:00~x")
    expect(page.locator("#detail")).to_contain_text("There is no such trajectory here")
    expect(page.locator("#rows")).to_contain_text("Nothing lies beyond this place")
    page.get_by_role("link", name="The newest ones").click()
    expect(rows(page)).to_have_count(50)


def test_the_page_is_accessible_in_both_themes_and_never_scrolls_sideways(open_page):
    page = open_page("/trajectories?run=run-dear&tab=bill")
    expect(page.locator("#tab-other")).to_contain_text("Bill by attempt")
    page.get_by_label("Select A dear one").check()
    page.locator("#pop-date summary").click()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert (scheme, violations(page)) == (scheme, [])
    page.set_viewport_size({"width": 390, "height": 844})
    for address in ("/trajectories", "/trajectories?run=run-dear", "/trajectories?run=run-dear&tab=bill"):
        page.goto(page.url.partition("/trajectories")[0] + address)
        page.wait_for_selector("#wb[data-ready]")
        page.wait_for_timeout(400)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, address


def test_rollouts_of_training_are_hidden_with_a_button_that_shows_them(open_page, workbench):
    worth = Worth(reward=1.0, advantage=0.5, kept=True)
    kept = StepRollouts(workbench.home, "tiny")
    kept.put(1, [(trajectory("rollout", minutes=500_000, task="Played for training"), worth)])
    try:
        page = open_page("/trajectories")
        expect(page.get_by_text("Played for training")).to_have_count(0)
        shown = page.locator("#matches b").inner_text()
        expect(page.locator("#matches")).to_have_text(f"{shown} of {shown}")
        expect(page.locator("#count")).to_have_text(f"{shown} trajectories")
        page.get_by_role("button", name="1 training rollout hidden").click()
        expect(page.get_by_text("Played for training").first).to_be_visible()
        expect(page.locator("#matches")).not_to_have_text(f"{shown} of {shown}")
        expect(page.locator("#count")).to_have_text(f"{shown} trajectories")
        expect(page).to_have_url(re.compile(r"training=all"))
        page.locator("#f-training").select_option("yes")
        expect(rows(page)).to_have_count(1)
        expect(rows(page).get_by_title("A rollout of step 1 of the training run tiny")).to_be_visible()
        page.get_by_role("button", name="Clear").first.click()
        expect(page.get_by_text("Played for training")).to_have_count(0)
    finally:
        kept.forget_after(0)
