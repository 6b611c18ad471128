"""In the browser: a run is replayed and forked from its page, and rollouts become a group."""

import re

import pytest
from browsing import chromium, served, visited
from playwright.sync_api import expect
from scripted_workbench import scripted_workbench

NOTHING = re.compile(r"^$")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    workbench = scripted_workbench(tmp_path_factory.mktemp("lab"), pace_s=0.01)
    with chromium() as browser, served(workbench) as url:
        yield browser, url, workbench


@pytest.fixture
def opened(site):
    browser, url, _ = site
    with visited(browser, url, expected=NOTHING) as opened:
        yield opened


def test_rollouts_are_one_group_and_one_of_them_is_replayed_and_forked(site, opened):
    store = site[2].store
    page = opened("/")
    page.fill("#task", "short")
    page.fill("#rollouts", "2")
    page.click("#run")
    expect(page.locator("#grouped")).to_contain_text("2 rollouts in one group")
    link = page.locator("#grouped a")
    expect(link).to_have_attribute("href", re.compile("/reward\\?group=group-"))
    members = store.members(link.get_attribute("href").removeprefix("/reward?group="))
    assert {store.get(run_id).setting.seed for run_id in members} == {0, 1}
    assert len(members) == 2

    run_id = members[0]
    page = opened(f"/trajectories?run={run_id}")
    page.get_by_role("button", name="Replay").click()
    expect(page.locator(".fk")).to_contain_text(
        "The same, byte for byte: 2 turns, 1 call",
        timeout=60_000,  # a process of its own starts for it
    )
    page.get_by_role("button", name="Fork…").click()
    page.get_by_label("In that turn").select_option("coder")
    page.get_by_label("Arguments as JSON").fill('{"text": "otherwise"}')
    page.get_by_role("button", name="Start the fork").click()
    page.wait_for_url(re.compile(r"/\?run="))
    tree = store.forks(run_id)
    assert [(one.turn, one.edited) for one in tree] == [(None, False), (2, True)]
    page = opened(f"/trajectories?run={tree[1].id}")
    expect(page.get_by_label("Tree of forks").get_by_role("link")).to_have_count(2)
    expect(page.locator(".fk")).to_contain_text("was paid before the fork")
