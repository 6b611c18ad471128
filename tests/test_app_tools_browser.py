"""Tools & prices, SQL and the login in a real Chromium, over a scripted workbench."""

import re

import pytest
from browsing import served, violations, visited
from playwright.sync_api import expect
from scripted_workbench import HOSTILE
from toolbench import ToolRoster, lab

from orchestra_lib.toolkit.mcp.entry import Listing, Offered, ServerEntry, write_entry, write_listing
from orchestra_lib.workbench import Workbench

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]
EXPECTED = re.compile(r"status of (400|401|429)")
"""What Chromium logs by itself for a request that is refused."""


@pytest.fixture(scope="module")
def base_url(browser, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    with served(Workbench(home, roster=ToolRoster(home))) as address:
        yield address


@pytest.fixture
def open_page(browser, base_url):
    with visited(browser, base_url, expected=EXPECTED, viewport={"width": 1440, "height": 900}) as opened:
        yield opened


def test_the_catalogue_says_what_is_on_and_why_not(open_page):
    page = open_page("/tools")
    expect(page.locator("tr", has_text="Coder").first).to_contain_text("ready")
    expect(page.locator("tr", has_text="Database")).to_contain_text("no database is configured")
    page.locator("#show").get_by_role("button", name="tools").click()
    expect(page.locator("#catalogue")).not_to_contain_text("Scripted")
    assert "show=tools" in page.url
    page.keyboard.press("/")
    page.keyboard.type("nothing like it")
    expect(page.locator("#catalogue")).to_contain_text("Nothing matches")
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("#catalogue")).to_contain_text("Scripted")


def test_a_card_is_reached_by_keyboard_and_by_its_address(open_page):
    page = open_page("/tools")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("#card h2")).to_have_text("Local search")
    expect(page).to_have_title("Local search · Orchestra Workbench")
    assert "tool=local_search" in page.url
    page.goto(page.url.replace("local_search", "coder"))
    expect(page.locator("#reads")).to_contain_text("per million tokens")
    page.goto(page.url.replace("coder", "gone"))
    expect(page.locator("#card")).to_contain_text("There is no tool “gone”")


def test_the_text_that_is_read_follows_the_price_table(open_page):
    page = open_page("/tools?tool=coder")
    expect(page.locator("#reads")).to_contain_text("$0.04 in")
    page.get_by_label("Prices in use").select_option("vendor")
    expect(page.locator("#reads")).not_to_contain_text("$0.04 in")
    expect(page.locator("#prices-table th.use")).to_contain_text("vendor")
    page.get_by_label("Prices in use").select_option("nominal")


def test_a_link_to_a_table_that_is_gone_says_so_and_shows_the_rest(open_page):
    page = open_page("/tools?prices=gone&tool=coder")
    expect(page.locator("#problem")).to_contain_text("There is no price table gone. Prices are shown under nominal.")
    expect(page.locator("#reads")).to_contain_text("$0.04 in")
    page.get_by_label("Prices in use").select_option("vendor")
    expect(page.locator("#problem")).to_be_empty()


def test_mcp_servers_say_how_they_are_and_one_is_removed(browser, tmp_path):
    hostile = Offered(name="pay", description=f"Pays. {HOSTILE}", parameters={"type": "object"})
    write_listing(tmp_path, "gone", Listing(tools=(hostile,), refused={"far": HOSTILE}))
    write_entry(tmp_path, "gone", ServerEntry(command=("/no/such/program", HOSTILE.replace("\x1b", ""))))
    with (
        served(Workbench(tmp_path, roster=ToolRoster(tmp_path))) as address,
        visited(browser, address, expected=EXPECTED) as opened,
    ):
        page = opened("/tools?tool=gone-pay")
        expect(page.locator("#reads")).to_contain_text("Described by its provider, gone.")
        page.get_by_role("button", name="Check gone").click()
        expect(page.locator("#mcp")).to_contain_text("cannot be started")
        assert page.title() != "owned"
        assert violations(page) == []
        page.get_by_role("button", name="Remove gone").click()
        page.locator("#ask").get_by_role("button", name="Remove").click()
        expect(page.locator("#mcp")).to_contain_text("None yet. A terminal adds one")


def test_a_tool_is_tried_out_with_a_form_of_its_schema(open_page):
    page = open_page("/tools?tool=options")
    form = page.get_by_role("form", name="Try it out")
    form.get_by_label("text string").fill("hello")
    form.get_by_label("size").fill("ten")
    form.get_by_role("button", name="Call it").click()
    expect(form.get_by_role("alert")).to_have_text("size: ten is no number")
    form.get_by_label("size").fill("10")
    form.get_by_role("button", name="Call it").click()
    expect(form.get_by_role("alert")).to_contain_text("`size` must be at most 9")
    form.get_by_label("size").fill("3")
    form.get_by_label("deep").select_option("true")
    form.get_by_label("unit").select_option(label="mile")
    form.get_by_label("tags").fill("[1")
    form.get_by_role("button", name="Call it").click()
    expect(form.get_by_role("alert")).to_contain_text("tags: this is no JSON")
    form.get_by_label("tags").fill('["a"]')
    form.get_by_role("button", name="Call it").click()
    result = page.locator(".tp-out")
    expect(result).to_have_text('{"deep": true, "size": 3, "tags": ["a"], "text": "hello", "unit": "mile"}')
    expect(page.locator(".tp-tiles")).to_contain_text("1 of 1")
    page.get_by_role("link", name="open the trajectory").click()
    expect(page.locator("#detail h2.tr-task")).to_contain_text("Try Options out", timeout=15_000)


def test_hostile_words_of_a_tool_are_only_text(open_page):
    page = open_page("/tools?tool=options")
    page.get_by_label("text string").fill("hostile")
    page.get_by_role("button", name="Call it").click()
    expect(page.locator(".tp-out")).to_contain_text("<img src=x onerror=")
    expect(page.locator("#reads")).to_contain_text("⟨U+202E⟩gnp.exe")
    assert page.title() != "owned"
    assert page.locator("#card img").count() == 0


def test_an_endpoint_is_added_by_name_of_its_variable_and_never_with_a_key(open_page):
    page = open_page("/tools")
    sent = []
    page.on("request", lambda request: sent.append(request.post_data or ""))
    page.keyboard.press("e")
    page.get_by_label("Name").fill("lab/solver")
    page.get_by_label("Model").fill("solver-7b")
    page.get_by_label("Variable with the key").fill("sk-proj-abcdefghijklmnopqrstuvwx")
    expect(page.get_by_role("alert").filter(has_text="looks like a key")).to_be_visible()
    page.get_by_role("button", name="Add it").click()
    assert not any("sk-proj" in body for body in sent)
    page.get_by_label("Variable with the key").fill("")
    page.get_by_role("button", name="Add it").click()
    expect(page.locator("#endpoint-problem")).to_contain_text("base_url is missing")
    with lab() as address:
        page.get_by_label("Address").fill(address)
        page.get_by_role("button", name="Add it").click()
        expect(page.locator("#card h2")).to_have_text("solver-7b", timeout=10_000)
        page.locator("#test-endpoint").click()
        expect(page.locator("#card")).to_contain_text('say({"word": "ready"})', timeout=10_000)
    expect(page.locator("#card")).to_contain_text("usage reported")


def test_an_endpoint_of_ones_own_is_edited_and_removed_from_its_card(open_page):
    page = open_page("/tools")
    with lab() as address:
        new = {"name": "bench/edited", "base_url": address, "model": "solver-7b"}
        page.evaluate("async (new_) => (await import('/wb/server.js')).postJson('/api/endpoints', new_)", new)
        page.goto(page.url + "?orchestrator=bench/edited")
        page.get_by_role("button", name="Edit", exact=True).click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_label("Name")).to_be_disabled()
        expect(dialog.get_by_label("Address")).to_have_value(address)
        dialog.get_by_label("Context, tokens").fill("2000")
        dialog.get_by_role("button", name="Save").click()
        expect(page.locator("#endpoint-problem")).to_contain_text("a reply is part of the context")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        page.get_by_role("button", name="Edit", exact=True).click()
        assert violations(page) == [], violations(page)
        dialog.get_by_label("Context, tokens").fill("16384")
        dialog.get_by_label("Title").fill("Edited <b>")
        dialog.get_by_role("button", name="Save").click()
        expect(page.locator("#card h2")).to_have_text("Edited <b>", timeout=10_000)
        expect(page.locator("#card")).to_contain_text("16,384 tokens")
        page.get_by_role("button", name="Remove").click()
        page.get_by_role("dialog").get_by_role("button", name="Keep it").click()
        expect(page.locator("#card h2")).to_have_text("Edited <b>")
        page.get_by_role("button", name="Remove").click()
        page.wait_for_timeout(300)
        assert violations(page) == [], violations(page)
        page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        expect(page.locator("#catalogue")).not_to_contain_text("Edited <b>")
    page.goto(page.url.partition("?")[0] + "?orchestrator=bench/edited")
    expect(page.locator("#card")).to_contain_text("There is no orchestrator “bench/edited”")


def test_weights_are_fetched_from_the_card_and_told_as_they_come(open_page):
    page = open_page("/tools?tool=coder")
    page.locator("[data-fetch]").click()
    expect(page.locator("#catalogue .wb-chip.run").first).to_contain_text("fetching", timeout=10_000)
    expect(page.locator("#card")).to_contain_text("of 491 MB")
    expect(page.locator("[data-fetch]")).to_have_count(0, timeout=10_000)
    expect(page.locator("#catalogue .wb-chip.run")).to_have_count(0, timeout=10_000)


def test_a_table_of_ones_own_is_copied_and_edited(open_page):
    page = open_page("/tools")
    page.get_by_role("button", name="Edit yours").click()
    page.get_by_label("Copy of").select_option("nominal")
    page.get_by_role("button", name="Copy it").click()
    amount = page.get_by_label("Qwen2.5-Coder-0.5B-Instruct, in / M")
    amount.fill("a lot")
    amount.blur()
    expect(page.locator(".tp-editor [role=alert]")).to_contain_text("no amount of dollars")
    amount.fill("0.5")
    amount.blur()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".tp-editor [role=status]")).to_contain_text("Saved: 8 rows")
    page.get_by_role("button", name="Close").click()
    expect(page.locator("#prices-table tr", has_text="Qwen2.5-Coder-0.5B")).to_contain_text("0.50 / 0.04")


def test_on_a_phone_prices_fold_under_their_row_and_no_table_is_lost(open_page):
    page = open_page("/tools?prices=vendor")
    page.get_by_label("Search all price rows").fill("gpt-4o-mini")
    row = page.locator("#prices-table tbody tr", has=page.get_by_text("gpt-4o-mini", exact=True))
    tables = page.locator("#prices-table thead th b").all_inner_texts()
    expect(row).to_have_count(1)
    expect(row.locator("td .wb-of").first).to_be_hidden()
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.locator("#prices-table").evaluate("one => one.scrollWidth <= one.clientWidth")
    assert [text.split()[0] for text in row.locator("td").all_inner_texts()] == tables
    for cell in row.locator("td").all():
        expect(cell).to_be_visible()
    expect(row.locator("td.use")).to_have_text(re.compile(r"^vendor 0\.15 / 0\.60"))
    expect(page.locator("#prices-table thead th.use")).to_be_visible()


def test_a_question_is_answered_as_bars_table_and_file_and_stands_in_the_address(open_page):
    page = open_page("/sql")
    sql = "SELECT * FROM (VALUES ('a', 3), ('<b>', 1)) t(name, n)"
    page.get_by_label("SQL").fill(sql)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#result svg")).to_contain_text("<b>")
    page.get_by_role("button", name="table").click()
    expect(page.locator("#result td").first).to_have_text("a")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert download.value.suggested_filename == "query.csv"
    page.reload()
    expect(page.get_by_label("SQL")).to_have_value(sql)
    expect(page.locator("#result svg")).to_be_visible()
    expect(page.locator("#history")).to_contain_text("VALUES")


def test_a_mistake_is_calm_and_points_at_its_place(open_page):
    page = open_page("/sql")
    page.get_by_label("SQL").fill("SELECT 1,\n  nope FROM calls")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#problem")).to_contain_text("Line 2, column 3.")
    assert page.evaluate("document.getElementById('sql').selectionStart") == 12
    page.get_by_label("SQL").fill("DROP TABLE calls")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#problem")).to_contain_text("DROP is not allowed")


def test_a_long_query_is_stopped_at_the_server_too(open_page):
    page = open_page("/sql")
    page.get_by_label("SQL").fill("SELECT count(*) FROM range(1000000000000) a")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#told")).to_have_text("Stopped.")
    page.get_by_label("SQL").fill("SELECT 7 AS seven")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#result")).to_contain_text("7", timeout=5_000)


def test_the_pages_are_accessible_in_both_themes_and_never_wider_than_a_phone(open_page, base_url):
    sql = "/sql?q=SELECT+status,+count(*)+AS+n+FROM+trajectories+GROUP+BY+ALL"
    page = open_page("/tools?tool=options")
    for path, filled in (("/tools?tool=options", "#card h2"), (sql, "#wb[data-ready]"), ("/api/docs", "h1")):
        page.set_viewport_size({"width": 1440, "height": 900})
        page.goto(base_url + path)
        page.wait_for_selector(filled)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert (path, scheme, violations(page)) == (path, scheme, [])
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_a_login_stands_before_every_page_and_its_stream(browser, tmp_path):
    with served(Workbench(tmp_path, roster=ToolRoster(tmp_path)), password="correct horse") as address:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{address}/tools?tool=coder")
        expect(page).to_have_title("Log in · Orchestra Workbench")
        assert violations(page) == []
        assert context.request.get(f"{address}/config").status == 401
        assert context.request.get(f"{address}/api/runs/x/events").status == 401
        page.get_by_label("Password").fill("wrong horse")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_have_text("That is not the password.")
        page.get_by_label("Password").fill("correct horse")
        page.keyboard.press("Enter")
        page.wait_for_selector("#wb[data-ready]", timeout=30_000)
        expect(page.locator("#card h2")).to_have_text("Coder")
        other = context.new_page()
        other.goto(f"{address}/sql")
        other.wait_for_selector("#wb[data-ready]", timeout=30_000)
        kept = context.cookies()
        page.get_by_role("button", name="Log out").click()
        expect(page).to_have_title("Log in · Orchestra Workbench")
        expect(other).to_have_title("Log in · Orchestra Workbench")
        context.add_cookies(kept)  # whoever kept the cookie has nothing
        assert context.request.get(f"{address}/api/state").status == 401
        context.close()


def test_without_a_login_there_is_no_way_out_and_every_page_counts_alike(open_page, base_url):
    page = open_page("/tools")
    told = page.evaluate("async () => (await (await fetch('/api/trajectories/count')).json()).trajectories")
    for path in ("/tools", "/sql", "/trajectories", "/compare", "/"):
        page.goto(base_url + path)
        expect(page.locator("#count")).to_have_text(f"{told} trajector{'y' if told == 1 else 'ies'}")
        expect(page.get_by_role("button", name="Log out")).to_have_count(0)


def test_a_description_is_written_used_and_restored_by_keyboard_and_shown_as_text(open_page):
    page = open_page("/tools?tool=coder")
    card = page.locator(".td")
    expect(card).to_contain_text("Offered by the description that ships")
    card.get_by_text("Write another version").focus()
    page.keyboard.press("Enter")
    card.get_by_label("New description").fill("<img src=x onerror=\"document.title='owned'\"> bad at dates")
    page.keyboard.press("Control+Enter")
    expect(card.get_by_role("status")).to_contain_text("Kept as version 1; it is not in use")
    expect(card.locator("blockquote")).to_contain_text("<img src=x")
    card.get_by_role("button", name="Offer it by version 1").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#reads")).to_contain_text("Coder of a test.")  # a scripted tool cannot be offered otherwise
    expect(card).to_contain_text("Offered by version 1")
    card.get_by_text("1 version").click()
    card.get_by_role("button", name="Use what ships").click()
    expect(card).to_contain_text("Offered by the description that ships")
    assert page.title() == "Coder · Orchestra Workbench"
    assert violations(page) == []


def test_what_cannot_be_a_description_changes_nothing(open_page):
    page = open_page("/tools?tool=generalist")
    card = page.locator(".td")
    card.get_by_text("Write another version").click()
    card.get_by_label("New description").fill("   ")
    card.get_by_role("button", name="Keep as a new version").click()
    expect(card).to_contain_text("The description is empty")
