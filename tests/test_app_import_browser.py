"""An imported run in a real Chromium: listed, opened, and marked as what it is."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from episodes import trajectory
from playwright.sync_api import expect
from scripted_workbench import HOSTILE
from test_app_browser import base_url as base_url
from test_app_browser import context as context
from test_app_browser import open_page as open_page
from test_app_browser import roster as roster
from test_app_browser import workbench as workbench

from orchestra_lib.importing import import_file
from orchestra_lib.store.summary import Filter

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]
LOG = Path(__file__).parent / "pinned" / "inspect_sums.eval"


@pytest.fixture(scope="module", autouse=True)
def imported(workbench, tmp_path_factory):
    """A log, and a conversation without times whose every text is hostile."""
    said = {
        "messages": [{"role": "user", "content": HOSTILE}, {"role": "assistant", "content": HOSTILE}],
        "id": HOSTILE,
    }
    file = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    file.write_text(json.dumps(said))
    import_file(LOG, workbench.store.journal)
    import_file(file, workbench.store.journal, now=datetime(2026, 11, 30, tzinfo=UTC))
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    called = [
        {"role": "user", "content": "Untimed sum"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "5"},
        {"role": "assistant", "content": "5"},
    ]
    file.write_text(json.dumps({"messages": called}))
    import_file(file, workbench.store.journal, now=datetime(2026, 11, 30, tzinfo=UTC))


def test_an_imported_sample_opens_with_its_calls_and_its_origin(open_page, workbench):
    (run,) = workbench.store.list(Filter(text="2 + 3"))
    page = open_page(f"/trajectories?run={run.id}")
    expect(page.get_by_title("Imported: inspect_sums.eval sample right epoch 1 (inspect_ai)")).to_be_visible()
    expect(page.locator("body")).to_contain_text("What is 2 + 3?")
    expect(page.locator("#facts")).not_to_contain_text("of 50")
    expect(page.locator("#facts")).to_contain_text("—")  # its cost is unknown


def test_a_conversation_without_times_shows_none(open_page, workbench):
    (run,) = (one for one in workbench.store.list(Filter(orchestrator="unknown")) if one.task != "Untimed sum")
    page = open_page(f"/trajectories?run={run.id}")
    expect(page.locator("#facts").get_by_title("the imported file gives no times")).to_be_visible()
    expect(page.locator("#facts")).to_contain_text("imported")


def test_calls_without_times_show_dashes_and_the_score_says_why(open_page, workbench):
    (run,) = workbench.store.list(Filter(text="Untimed sum"))
    page = open_page(f"/trajectories?run={run.id}&tab=bill")
    expect(page.locator("#d-score")).to_contain_text("the imported file gives no times")
    expect(page.get_by_role("table", name="Every attempt")).to_be_visible()
    assert "0.00" not in page.locator("#detail").inner_text().replace("$0.00", "")
    page.get_by_role("link", name="Open in Live").click()
    expect(page.locator(".wb-call").first).to_be_visible()
    expect(page.locator("#bill")).to_contain_text("Seconds")
    seen = page.locator("#main").inner_text() + page.locator("#bill").inner_text()
    assert not re.search(r"\b0\.0+ ?s?\b", seen.replace("$0.0000", ""))


def test_an_import_says_why_it_is_not_replayed_and_a_kept_replay_is_no_import(open_page, workbench, base_url):
    (run,) = workbench.store.list(Filter(text="Untimed sum"))
    page = open_page(f"/trajectories?run={run.id}")
    page.get_by_role("button", name="Replay").click()
    expect(page.locator(".fk")).to_contain_text("another program played it", timeout=60_000)
    own = trajectory("replayed")
    workbench.store.add(replace(own, setting=replace(own.setting, origin="replay of run-1")))
    page.goto(f"{base_url}/trajectories?run=replayed")
    expect(page.get_by_title("A replay of run-1")).to_have_text("replay")
