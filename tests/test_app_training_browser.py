"""The Training page in a real Chromium: a run started, followed, stopped and resumed; curves, rollouts, comparing."""

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from browsing import narrow_page, served, violations, visited
from playwright.sync_api import expect
from scripted_workbench import HOSTILE, scripted_workbench
from training_folders import add_checkpoint, add_evaluation, add_final, run_folder

from orchestra_lib.training import conducting, launching
from orchestra_lib.training.launching import Launcher
from orchestra_lib.training.run_folder import State

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]
EXPECTED = re.compile(r"status of (400|404)")
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def site(browser, tmp_path_factory):
    """The app over folders in every state, with a trainer that needs no torch."""
    home, configs = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("configs")
    (configs / "tiny.toml").write_text("# Steps of a moment.\nname = 'tiny'\n[grpo]\nsteps = 6\n", "utf-8")
    environ = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    program = (sys.executable, str(HERE / "training_program.py"))
    launcher = Launcher(home, program=program, measurer=(*program, "--measure"), environ=environ)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(launching, "CONFIGS", configs)
        with ThreadPoolExecutor(1) as apart:  # rollouts are played, and this thread has Playwright's loop
            apart.submit(make_folders, launcher.folder).result()
        with served(scripted_workbench(home), launcher=launcher) as address:
            yield address, launcher
        for name in launcher.running():
            launcher.stop(launcher.folder / name)
        for child in launcher._children.values():
            child.wait(20)


def make_folders(training):
    run_folder(training / "good", done=110, state=State.FINISHED, rollouts=(1, 110))
    add_final(training / "good")
    add_evaluation(training / "good")
    run_folder(training / "half", done=30, state=State.STOPPED, message="by a signal", seed=2, rollouts=())
    add_checkpoint(training / "half", 30)
    why = f"loss is nan {HOSTILE}"
    run_folder(training / "bad", done=12, state=State.FAILED, message=why, odd=(12,), rollouts=())
    (training / "broken").mkdir()
    (training / "broken" / "status.json").write_text("[", "utf-8")


@pytest.fixture
def opened(browser, site):
    with visited(browser, site[0], expected=EXPECTED, viewport={"width": 1440, "height": 900}) as page:
        yield page


def ready(page):
    page.wait_for_selector("#wb[data-ready]", timeout=60_000)


def test_a_run_is_started_followed_stopped_and_resumed(opened, site):
    page = opened("/training")
    page.keyboard.press("n")
    expect(page.get_by_role("heading", name="Start a run")).to_be_visible()
    page.get_by_label("Name of the run").fill("fresh")
    page.get_by_label("grpo.steps").fill("900")
    page.get_by_text("More settings", exact=True).click()
    page.get_by_label("More settings, one a line").fill("pace=0.05")
    expect(page.locator(".tn-command")).to_contain_text("--set name=fresh --set grpo.steps=900 --set pace=0.05")
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".wb-chip.run")).to_contain_text(re.compile(r"step [2-9]\d* of 900"), timeout=60_000)
    assert "run=fresh" in page.url
    page.evaluate("document.querySelector('.tn-c').dataset.here = 'same'; scrollTo(0, 200)")
    seen = page.locator(".wb-chip.run").inner_text()
    expect(page.locator(".wb-chip.run")).not_to_have_text(seen, timeout=20_000)
    assert page.locator(".tn-c").first.get_attribute("data-here") == "same"
    assert page.evaluate("scrollY") == 200
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".wb-chip.warn")).to_have_text("stopped", timeout=30_000)
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".wb-chip.run")).to_contain_text("of 900", timeout=60_000)
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".wb-chip.warn")).to_have_text("stopped", timeout=30_000)


def test_a_name_that_is_taken_is_refused_beside_the_form(opened):
    page = opened("/training?new=tiny")
    page.get_by_label("Name of the run").fill("good")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("alert").filter(has_text="a run 'good' already")).to_be_visible()


def test_curves_of_seeds_together_are_a_mean_between_its_ends(opened):
    page = opened("/training?run=good")
    expect(page.locator(".tn-seeds")).to_contain_text("Seeds: 1 (this run), 2")
    expect(page.locator(".tn-between95").first).to_be_visible()
    expect(page.locator(".tn-c header").first).to_contain_text("± ")
    label = page.locator(".tn-curve").first.get_attribute("aria-label")
    assert re.match(r"Accuracy over steps: from \d+ % at step 1 to \d+ % at step 30; first 5 steps", label)
    page.keyboard.press("s")
    expect(page.locator(".tn-between95")).to_have_count(0)
    assert "seeds=alone" in page.url
    expect(page.get_by_role("region", name="The same task, twice")).to_contain_text("cannot conduct")


def test_letters_of_before_and_after_keep_their_size_on_a_phone(opened):
    page = opened("/training?run=good&seeds=alone")
    drawn = page.get_by_role("img", name=re.compile("^Share of calls before and after"))
    expect(drawn).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(250)
    assert drawn.evaluate("svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width") == pytest.approx(1)


def test_curves_are_read_step_by_step_and_by_preference(opened):
    page = opened("/training?run=good&seeds=alone")
    expect(page.get_by_role("region", name="Follows a cost wish")).to_be_visible()
    page.keyboard.press("p")
    expect(page.get_by_role("region", name="Follows a time wish")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert "step=109" in page.url
    expect(page.locator(".tn-c header").first).to_contain_text("step 109")
    page.reload()
    ready(page)
    expect(page.locator(".tn-pinned")).to_contain_text("Looking at step 109")
    label = page.locator(".tn-curve").first.get_attribute("aria-label")
    assert re.match(r"Accuracy over steps: from \d+ % at step 1 to \d+ % at step 110; first 5 steps", label)
    page.keyboard.press("w")
    expect(page.locator(".tn-ref")).to_have_count(0)
    expect(page.get_by_text("The reward is not drawn")).to_be_visible()
    assert not page.get_by_role("region", name="Reward").count()


def test_rollouts_of_a_step_open_as_trajectories(opened):
    page = opened("/training?run=good")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Group 1")).to_be_visible()
    expect(page.get_by_text("left out: rewards hardly differ").first).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_label("Step", exact=True)).to_have_value("1")
    page.get_by_role("button", name="Open sample 2 as a trajectory").first.click()
    page.wait_for_url("**/trajectories?run=train-1-0-1")
    ready(page)
    expect(page.locator(".tr-task")).to_contain_text("[simulated", timeout=60_000)
    expect(page.locator(".tr-det").get_by_text("simulated", exact=True).first).to_be_visible()


def test_claims_hold_only_where_their_whole_interval_does(opened, site):
    (site[1].folder / "good" / "evaluation.json").unlink(missing_ok=True)
    page = opened("/training?run=good&view=evaluation")
    page.get_by_role("button", name="Evaluate").click()
    claims = page.get_by_role("region", name="Before and after", exact=True)
    expect(claims).to_be_visible(timeout=60_000)
    verdicts = dict(zip(claims.locator("tbody th").all_inner_texts(), claims.locator("tbody tr").all(), strict=True))
    expect(verdicts["Cost, cost wish"].locator(".wb-chip")).to_have_text("holds")
    expect(verdicts["Malformed"].locator(".wb-chip")).to_have_text("not yet sure")
    expect(verdicts["Accuracy"].locator(".wb-chip")).to_have_text("not yet sure")
    kinds = page.get_by_role("region", name="Follows its wish, by kind of draw", exact=True)
    expect(kinds.locator("tbody tr").nth(1)).to_contain_text("\u221225 pts")
    page.get_by_role("button", name="uniform").click()
    expect(page.get_by_role("button", name="uniform")).to_have_attribute("aria-pressed", "true")


def test_two_runs_are_marked_and_compared(opened):
    page = opened("/training")
    page.get_by_label("Mark good for comparing").check()
    page.get_by_label("Mark half for comparing").check()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="Compare 2 runs")).to_be_visible()
    expect(page.get_by_role("region", name="Settings that differ")).to_contain_text("seed")
    assert page.url.endswith("?compare=half&compare=good") or page.url.endswith("?compare=good&compare=half")
    expect(page.locator(".tn-curve").first).to_have_attribute("aria-label", re.compile("A: from .*; B: from "))


def test_what_went_wrong_is_said_and_never_markup(opened):
    page = opened("/training?run=bad")
    expect(page.locator(".wb-alert.bad").first).to_contain_text("There is no checkpoint to go on from.")
    expect(page.locator(".wb-alert.bad").nth(1)).to_contain_text("loss, grad_norm at step 12")
    assert page.evaluate("document.querySelectorAll('#tn-view img, #tn-view script, #tn-view style').length") == 0
    assert page.title() != "owned"
    page.goto(page.url.replace("run=bad", "run=broken"))
    ready(page)
    expect(page.locator(".wb-alert.bad")).to_contain_text("status.json")
    page.goto(page.url.replace("run=broken", "run=nothing"))
    ready(page)
    expect(page.get_by_role("alert").filter(has_text="there is no run folder")).to_be_visible()


def test_nothing_trained_yet_tells_how_to_begin(browser, tmp_path, monkeypatch):
    with served(scripted_workbench(tmp_path)) as address:
        monkeypatch.setattr(conducting, "SHIPPED", tmp_path / "nothing ships")
        with visited(browser, address, expected=EXPECTED) as opened:
            page = opened("/training")
            expect(page.get_by_role("region", name="No runs")).to_contain_text("orchestra train configs/tiny.toml")
            assert violations(page) == []


PLACES = (
    "", "?run=good", "?run=half&view=steps", "?run=good&view=rollouts", "?run=good&view=settings",
    "?run=good&view=evaluation", "?new=tiny", "?compare=good&compare=half", "?run=broken", "?run=bad",
)  # fmt: skip


@pytest.fixture(scope="module")
def phone(browser, site):
    with narrow_page(browser, site[0], expected=EXPECTED) as page:
        yield page


@pytest.mark.parametrize("place", PLACES)
def test_no_view_is_wider_than_a_phone_and_axe_finds_nothing(phone, place):
    page = phone(f"/training{place}")
    page.wait_for_selector("#tn-view > *", timeout=30_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert violations(page) == []
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(color_scheme="light")
    page.wait_for_timeout(200)
    assert violations(page) == []
