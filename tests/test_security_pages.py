"""Hostile words in every text of a run, and in all that a server says of its tools, are text on every page."""

import pytest
from browsing import served
from hostile_words import EVERYTHING, SCHEMA, UNSAFE, hostile
from toolbench import ToolRoster

from orchestra_lib.toolkit.mcp.entry import Listing, Offered, ServerEntry, write_entry, write_listing
from orchestra_lib.workbench import Workbench

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

PAGES = {
    "/trajectories?run=run-1": True,
    "/trajectories?run=run-1&tab=timeline": True,
    "/trajectories?run=run-1&tab=bill": True,
    "/trajectories?run=run-1&tab=messages": True,
    "/trajectories?run=run-1&tab=raw": True,
    "/trajectories?run=run-1&tab=setting": True,
    "/compare?a=run-1&b=run-2&all=1": True,
    "/reward?run=run-1&run=run-2": True,
    "/?run=run-1": False,
    "/bias": True,
    "/tools?tool=gone-pay": True,
    "/sql": False,
    "/evaluation": False,
    "/toolscale": False,
    "/training": False,
}
"""Each page, and whether it shows words of the stored runs or of a server."""

FOUND = """() => {
    const live = "[data-hurt], iframe, object, embed, [onfocus], [onmouseover], [onerror], [onload]";
    const led = [...document.querySelectorAll("[href], [src], [action]")].filter((node) => {
        const to = node.getAttribute("href") ?? node.getAttribute("src") ?? node.getAttribute("action");
        const { protocol, host } = new URL(to, location.href);
        return !["data:", "blob:"].includes(protocol) && host !== location.host;
    });
    const bad = [...document.querySelectorAll(live), ...led];
    return bad.map((node) => node.outerHTML.slice(0, 200)).concat(window.hurt ? ["hurt"] : []);
}"""
"""What took effect: an element, a handler, a script, or an address that is not the workbench's."""


@pytest.fixture(scope="module")
def address(browser, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    offered = Offered(name="pay", description=EVERYTHING, parameters=SCHEMA)
    write_listing(home, "gone", Listing(tools=(offered,), refused={"far": EVERYTHING}))
    write_entry(home, "gone", ServerEntry(command=("/no/such/program", "x")))
    workbench = Workbench(home, roster=ToolRoster(home))
    workbench.store.add_many([hostile("run-1"), hostile("run-2")])
    workbench.store.tag(["run-1"], "tag")
    with served(workbench) as found:
        yield found


def test_no_page_makes_more_of_them_than_text(browser, address):
    """No element, script, dialog, request to elsewhere, nor a sign that hides or turns what is shown."""
    wrong = []
    page = browser.new_page()
    page.on("dialog", lambda dialog: wrong.append(f"dialog {dialog.message}") or dialog.dismiss())
    page.on("request", lambda one: one.url.startswith((address, "data:", "blob:")) or wrong.append(f"asked {one.url}"))
    page.on("console", lambda line: "Content Security Policy" in line.text and wrong.append(line.text))
    page.add_init_script("window.confirm = window.alert = window.prompt = () => { window.hurt = 1; }")
    for path, shows in PAGES.items():
        page.goto(address + path)
        page.wait_for_selector("#wb[data-ready]", timeout=60_000)
        if shows:
            page.wait_for_function("document.body.innerText.includes('data-hurt')", timeout=30_000)
        if path == "/sql":
            page.locator("textarea").first.fill("SELECT * FROM trajectories, calls")
            page.keyboard.press("Control+Enter")
            page.wait_for_function("document.body.innerText.includes('data-hurt')", timeout=30_000)
        wrong += [f"{path}: {bad}" for bad in page.evaluate(FOUND)]
        shown = page.evaluate("document.body.innerText")
        wrong += [
            f"{path}: {sign!a} in {shown[max(0, at - 60) : at + 20]!a}"
            for at, sign in enumerate(shown)
            if UNSAFE.match(sign)
        ][:2]
        assert page.evaluate("location.origin") == address
    page.close()
    assert wrong == [], "\n".join(wrong)
