"""The Reward page in a real Chromium: its arithmetic beside the library's, what a fader moves, and what is said."""

import json
import re
from dataclasses import asdict, replace

import pytest
from browsing import violations, visited
from episodes import TOOLS as PLAYED
from episodes import trajectory
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import expect
from rewarding import TOOLS, preferences, rollouts
from scripted_workbench import HOSTILE
from test_app_browser import EXPECTED
from test_app_browser import base_url as base_url
from test_app_browser import context as context
from test_app_browser import open_page as open_page
from test_app_browser import roster as roster
from test_app_browser import workbench as workbench

from orchestra_lib.preference import GOALS
from orchestra_lib.reward import Mode
from orchestra_lib.reward_report import reward_reports

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]
IN_PAGE = """async ({ rollouts, tools, weights, mode }) => {
    const { report } = await import("/wb/rewardmath.js");
    return JSON.stringify(report(rollouts, tools, weights, mode));
}"""

EIGHT = tuple(replace(PLAYED[0], name=f"tool-{n}", title=f"Code interpreter {n}") for n in range(7)) + PLAYED[:1]
"""Tools on offer, of which the stored runs call the last."""


def rollout(run_id, *, outcome=True, tokens=1000, **changes):
    """A stored run whose cost follows from its tokens."""
    run = trajectory(run_id, **changes)
    first = run.turns[0]
    spent = replace(first.generation.attempts[0].usage, input_tokens=tokens)
    attempt = replace(first.generation.attempts[0], usage=spent)
    turns = (replace(first, generation=replace(first.generation, attempts=(attempt,))), *run.turns[1:])
    return replace(run, turns=turns, outcome=outcome)


@pytest.fixture(scope="module", autouse=True)
def filled(workbench):
    """A group whose ranks turn round, one that failed, one of strangers, and one of hostile words."""
    told = {"group": "told", "turns": 3}
    workbench.store.add_many(
        [
            rollout("told-cheap", tokens=1_000, **told),
            rollout("told-middle", tokens=5_000, **told),
            rollout("told-dear", tokens=10_000, tool="coder", **told),
            rollout("told-wrong", outcome=False, **told),
            rollout("told-open", outcome=None, **told),
            *(rollout(f"failed-{n}", outcome=False, group="failed") for n in range(3)),
            *(rollout(f"eight-{n}", tokens=n + 1, group="eight", tools=EIGHT) for n in range(3)),
            rollout("odd-1", group="odd"),
            rollout("odd-2", group="odd", task="Another?"),
            *(rollout(f"hostile-{n}", group=HOSTILE, task=HOSTILE, orchestrator=HOSTILE) for n in range(2)),
        ]
    )


@pytest.fixture(scope="module")
def standing(browser, base_url):
    """One page for all that need no load of their own: it is Gradio's load that takes time."""
    with visited(browser, base_url, expected=EXPECTED) as opened:
        yield opened("/reward?example")


@pytest.fixture
def show(standing):
    """A function that shows an address in the standing page."""
    yield lambda query: go(standing, query)
    standing.keyboard.press("Escape")
    standing.emulate_media(color_scheme="light", reduced_motion="no-preference")
    standing.set_viewport_size({"width": 1280, "height": 720})


@settings(max_examples=60)
@given(group=rollouts(max_size=12), wish=preferences(), mode=st.sampled_from(Mode))
def test_the_page_computes_what_the_library_does(standing, group, wish, mode):
    report = reward_reports(group, wish, mode)[0]
    weights = {goal: getattr(wish, goal) for goal in GOALS} | {f"tool.{name}": wish.weight(name) for name in TOOLS}
    given_ = {"rollouts": [asdict(one) for one in group], "tools": sorted(TOOLS), "weights": weights, "mode": mode}
    seen = json.loads(standing.evaluate(IN_PAGE, given_))

    def close(value):
        return pytest.approx(value, rel=1e-12, abs=1e-12)

    assert (seen["mean"], seen["std"]) == (close(report.mean), report.std and close(report.std))
    assert re.sub(r"std \S+,", "", seen["why"] or "") == re.sub(r"std \S+,", "", report.why or "")
    for at, row in enumerate(report.rows):
        assert (seen["reward"][at], seen["advantage"][at]) == (close(row.reward), close(row.advantage))
        assert (seen["kept"][at] is None, seen["weighted"][at]) == (row.kept, close(row.weighted))
        for part, component in zip(seen["parts"], row.components.values(), strict=True):
            assert part["raw"][at] == component.raw
            assert (part["min"], part["max"]) == (component.min, component.max)
            assert part["normalised"][at] == close(component.normalised)
            assert part["contribution"][at] == close(component.contribution)


def order(page):
    return page.eval_on_selector_all(".rw-t tbody tr", "rows => rows.map(row => row.dataset.run)")


def go(page, query):
    """The same page at another address, as a reader who goes back would have it."""
    page.evaluate("to => { history.pushState(null, '', to); dispatchEvent(new PopStateEvent('popstate')); }", query)
    page.wait_for_selector("#reward > :not(.wb-skel)")
    return page


def cell(page, run_id, key):
    return page.locator(f'tr[data-run="{run_id}"] [data-k="{key}"]')


def move(page, name, weight):
    page.get_by_label(f"Weight of {name}").fill(str(weight))


def test_the_worked_example_shows_the_reversal_with_nothing_stored(show):
    page = show("/reward?example")
    rewards = page.locator('.rw-t tbody [data-k="reward"]')
    assert order(page) == ["cheap", "middle", "dear"]
    expect(rewards).to_have_text(["1.00", "0.56", "0.00"])
    page.keyboard.press("m")
    expect(rewards).to_have_text(["3.33", "2.78", "2.33"])
    assert order(page) == ["dear", "middle", "cheap"]
    expect(page.locator("#say")).to_have_text("3 of 3 solved pairs rank the other way round in paper")
    expect(page.locator("#bump .rw-line")).to_have_count(3)
    expect(page.locator(".wb-badge", has_text="example")).to_be_visible()


def test_letters_of_the_charts_keep_their_size_however_wide_the_page_is(show):
    page = show("/reward?example")
    scale = "svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width"
    for width in (390, 1000, 1440):
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_function(f"Math.abs(({scale})(document.getElementById('bump')) - 1) < 0.01")
        assert page.locator("#scatter").evaluate(scale) == pytest.approx(1, abs=0.02)
    go(page, "?run=told-open")
    expect(page.locator("#bump")).to_be_hidden()
    expect(page.locator("#below")).to_contain_text("Drawn once rollouts are graded")
    go(page, "?group=failed")
    expect(page.locator("#below")).to_contain_text("No rollout is solved, so every reward is 0.")


def test_a_fader_moves_rewards_and_ranks_without_asking_the_server(show):
    page = show("/reward?group=told&w.cost=1")
    assert order(page) == ["told-cheap", "told-middle", "told-dear", "told-wrong", "told-open"]
    asked = []
    page.on("request", note := lambda request: asked.append(request.url))
    before = cell(page, "told-dear", "reward").inner_text()
    move(page, "Search", -1)
    move(page, "low cost", 0)
    assert order(page)[0] == "told-dear"
    assert cell(page, "told-dear", "reward").inner_text() != before
    expect(cell(page, "told-dear", "rank")).to_contain_text("▲")
    expect(page.locator("#foot")).to_contain_text("extension")
    page.wait_for_url(lambda url: "w.tool.search=-1" in url and "w.cost=0" in url)
    assert asked == []
    page.remove_listener("request", note)
    page.reload()
    page.wait_for_selector("#wb[data-ready]")
    assert order(page)[0] == "told-dear"
    page.keyboard.press("r")
    page.wait_for_url(lambda url: "w." not in url)
    expect(page.locator("#reset")).to_be_disabled()


def test_every_number_has_its_formula_and_leads_to_its_trajectory(open_page):
    page = open_page("/reward?group=told&w.cost=1")
    number = cell(page, "told-middle", "normalised").nth(3)
    number.hover()
    expect(page.locator("#why")).to_contain_text("told-middle: low cost: (value − min) / (max − min) = ")
    cell(page, "told-dear", "advantage").hover()
    expect(page.locator("#why")).to_contain_text("(std with n − 1)")
    hrefs = page.eval_on_selector_all(
        'tr[data-run="told-dear"] a', "links => links.map(link => link.getAttribute('href'))"
    )
    assert len(hrefs) > 12
    assert set(hrefs) == {"/trajectories?run=told-dear"}
    page.locator('tr[data-run="told-cheap"] th a').focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#why")).to_contain_text("told-middle: 0 calls of Coder that ran")
    page.keyboard.press("Enter")
    page.wait_for_url("**/trajectories?run=told-middle")


def test_what_is_ungraded_is_listed_and_offered_for_grading(show):
    page = show("/reward?group=told")
    expect(cell(page, "told-open", "kept")).to_have_text("grade it")
    expect(cell(page, "told-open", "reward")).to_have_text("—")
    expect(page.locator("#foot")).to_contain_text("1 rollout left out")


def test_a_table_that_cannot_price_the_group_is_refused_with_its_reason(show):
    page = show("/reward?group=told")
    page.locator("#pop-prices summary").click()
    expect(page.locator("#prices")).to_contain_text("it has no price for search, small")
    expect(page.locator("#prices input[value=vendor]")).to_be_disabled()
    go(page, "?group=told&prices=vendor")
    expect(page.locator("#told")).to_contain_text("unknown is not 0")
    expect(cell(page, "told-cheap", "reward")).to_have_text("—")


def test_without_a_tool_the_rollouts_that_called_it_are_left_out(show):
    page = show("/reward?group=told")
    page.locator("#pop-subset summary").click()
    page.get_by_role("checkbox", name="Coder").uncheck()
    expect(page.locator("#foot")).to_contain_text("3 rollouts compared")
    page.keyboard.press("Escape")
    cell(page, "told-dear", "kept").hover()
    expect(page.locator("#why")).to_contain_text("it called Coder, which is not on offer here")
    page.wait_for_url("**without=coder*")


def test_eight_tools_and_costs_far_below_a_cent_leave_every_number_whole(show):
    weighed = "".join(f"&w.tool.tool-{n}=1" for n in range(7))
    page = show(f"/reward?group=eight&w.cost=1{weighed}")
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(page.locator(".rw-t .rw-fad")).to_have_count(11)
    expect(cell(page, "eight-0", "raw").nth(8)).to_have_text(re.compile(r"^\$0\.\d{4,9}$"))
    cut = page.eval_on_selector_all(
        ".rw-scroll, .rw-t tbody td",
        "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.textContent)",
    )
    assert cut == []


def test_a_group_that_teaches_nothing_says_why(show):
    page = show("/reward?group=failed")
    expect(page.locator("#told")).to_contain_text("all rewards are 0")
    expect(go(page, "?run=told-dear").locator("#told")).to_contain_text("a group of one")
    expect(go(page, "?run=told-open").locator("#told")).to_contain_text("No rollout is graded")
    expect(go(page, "?group=odd").locator("#reward")).to_contain_text("another task")
    expect(go(page, "?group=nope").locator("#reward")).to_contain_text("There is no group")


def test_a_command_a_preference_and_a_new_run_can_be_taken_along(open_page, context, base_url):
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=base_url)
    page = open_page("/reward?run=told-cheap&run=told-dear&w.cost=1&mode=released_code")
    page.get_by_role("button", name="Copy as CLI command").click()
    expect(page.locator("#acts")).to_contain_text("Command copied")
    line = page.evaluate("navigator.clipboard.readText()")
    assert line.startswith("orchestra reward told-cheap told-dear ")
    assert line.endswith("--mode released_code")
    assert "--prefer cost=1" in line
    with page.expect_download() as download:
        page.get_by_role("link", name="Save this preference").click()
    assert "cost = 1.0" in download.value.path().read_text()
    page.get_by_role("link", name="Run again with it").click()
    page.wait_for_selector("#goal-cost")
    expect(page.locator("#goal-cost")).to_have_value("1")
    expect(page.get_by_role("textbox", name="Task")).to_have_value("What is 2 + 2?")


def test_nothing_chosen_lists_the_groups(show):
    page = show("/reward")
    page.locator("#group-list a", has_text="failed").click()
    expect(page.locator(".rw-t tbody tr")).to_have_count(3, timeout=30_000)  # a whole page is loaded


def test_a_key_pressed_while_a_group_is_on_its_way_does_not_draw_the_one_before(show):
    page, wrong, waiting = show("/reward?example"), [], []
    page.on("pageerror", hear := lambda error: wrong.append(error))
    page.route("**/api/reward?**", lambda route: waiting.append(route))
    page.evaluate("history.pushState(null, '', '?group=told'); dispatchEvent(new PopStateEvent('popstate'))")
    page.wait_for_selector("#reward > .wb-skel", state="attached")
    page.keyboard.press("m")
    page.keyboard.press("r")
    waiting[0].continue_()
    expect(page.locator(".rw-t tbody tr")).to_have_count(5)
    page.unroute("**/api/reward?**")
    page.remove_listener("pageerror", hear)
    assert wrong == []


def test_the_head_says_that_a_group_is_on_its_way_and_stands_still(show):
    page, waiting = show("/reward?group=told"), []
    expect(page.locator("#say")).to_contain_text("the other way round")
    places = "['reward', 'groups-now', 'say'].map(id => document.getElementById(id).getBoundingClientRect().top)"
    before = page.evaluate(places)
    page.route("**/api/reward?**", lambda route: waiting.append(route))
    page.evaluate("history.pushState(null, '', '?group=eight'); dispatchEvent(new PopStateEvent('popstate'))")
    expect(page.locator("#groups-now")).to_have_text("eight")
    expect(page.locator("#say")).to_have_text("Loading this group …")
    for menu in ("#what-if", "#modes"):
        expect(page.locator(menu)).to_be_hidden()
    assert (page.evaluate(places), "eight · Reward" in page.title()) == (before, True)
    waiting[0].continue_()
    expect(page.locator("#prices-now")).to_be_visible()
    expect(page.locator("#say")).not_to_contain_text("Loading")
    assert page.evaluate(places) == before
    page.unroute("**/api/reward?**")


def test_hostile_text_is_only_ever_text(show):
    page = show("/reward?run=hostile-0&run=hostile-1")
    expect(page.locator("#groups-now")).to_contain_text("<img src=x onerror=")
    assert page.locator("#main :is(script, img)").count() == 0
    assert page.title() != "owned"


@pytest.mark.parametrize(("scheme", "query"), [("light", "&w.tool.coder=-1"), ("dark", "&mode=released_code")])
def test_the_page_is_accessible_in_both_themes_and_never_scrolls_sideways(show, scheme, query):
    page = show(f"/reward?group=told{query}")
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # a colour on its way has no contrast yet
    page.wait_for_timeout(250)
    assert (found := violations(page)) == [], found
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(250)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert (found := violations(page)) == [], found
