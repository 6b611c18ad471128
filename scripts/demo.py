"""The steps of docs/demo.md in a real browser against a running workbench, with the seconds each took.

    python -m scripts.demo                       # the workbench of `make app`, on port 7860
    python -m scripts.demo http://127.0.0.1:7861 --shots folder

Fails at the step that the page no longer takes. Needs Chromium (CHROMIUM names another one) and what `make test`
installs.
"""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

WAIT_MS = 180_000
"""A busy machine may take long for a small model's reply."""


class Script:
    """Takes the steps and tells how long each took."""

    def __init__(self, page: Page, shots: Path | None) -> None:
        self.page, self._shots, self._began, self._number = page, shots, time.monotonic(), 0

    def done(self, words: str) -> None:
        """Tell that a step is over."""
        now = time.monotonic()
        self._number += 1
        print(f"{self._number}  {now - self._began:6.1f} s  {words}", flush=True)
        if self._shots is not None:
            self.page.screenshot(path=self._shots / f"demo-{self._number}.png")
        self._began = time.monotonic()

    def ready(self) -> None:
        """Wait until the page has filled itself."""
        self.page.wait_for_selector("#wb[data-ready]", timeout=WAIT_MS)


def play(script: Script, address: str) -> None:
    """The demonstration, step by step as docs/demo.md numbers them."""
    page = script.page
    page.goto(address)
    script.ready()
    script.done("Live is open")

    page.get_by_role("button", name="What is 48213 × 977?").click()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#answer")).to_have_text("47104101", timeout=WAIT_MS)
    expect(page.locator("#bill")).to_contain_text("Code interpreter")
    script.done("48213 × 977 is answered by the code interpreter")

    page.keyboard.press("Escape")
    page.get_by_role("navigation", name="Pages", exact=True).get_by_role("link", name="Live").click()
    script.ready()
    page.get_by_role("button", name="Cheap against best").click()
    for wish in ("quality .2 cost 1 latency .2", "quality 1"):
        expect(page.locator("#rail")).to_contain_text(wish, timeout=WAIT_MS)
    script.done("two runs of one task under two preferences go on")

    page.keyboard.press("g")
    page.keyboard.press("p")
    script.ready()
    page.get_by_role("link", name="Coder 1.5B", exact=True).click()
    expect(page.locator("#reads")).to_contain_text("$0.18 in / $0.18 out per million tokens")
    page.get_by_label("Prices in use").select_option("vendor")
    expect(page.locator("#reads")).not_to_contain_text("$0.18 in", timeout=WAIT_MS)
    page.get_by_label("Prices in use").select_option("nominal")
    script.done("the text that an orchestrator reads follows the price table")

    page.get_by_role("link", name="Code interpreter", exact=True).click()
    page.get_by_label("code string").fill("import sympy\nprint(sympy.factorint(2**67 - 1))")
    page.get_by_role("button", name="Call it").click()
    expect(page.locator(".tp-out")).to_contain_text("193707721", timeout=WAIT_MS)
    script.done("the code interpreter is tried out by hand")

    page.keyboard.press("Escape")
    page.get_by_role("heading", name="Tools & prices").click()
    page.keyboard.press("g")
    page.keyboard.press("t")
    script.ready()
    rows = page.locator(".tr-row", has_text="palindrome")
    expect(rows.nth(1)).to_be_visible(timeout=WAIT_MS)
    deadline = time.monotonic() + WAIT_MS / 1000
    while any("running" in row for row in rows.all_inner_texts()[:2]) and time.monotonic() < deadline:
        page.wait_for_timeout(2_000)
        page.reload()
        script.ready()
        expect(rows.nth(1)).to_be_visible(timeout=WAIT_MS)
    script.done("both palindrome runs are answered")

    for place in (0, 1):
        rows.nth(place).locator("xpath=..").get_by_role("checkbox").check()
    page.keyboard.press("c")
    page.wait_for_url("**/compare?*")
    script.ready()
    expect(page.locator("#main")).to_contain_text("only A calls Coder 1.5B", timeout=WAIT_MS)
    script.done("both runs stand side by side, aligned by call")

    page.keyboard.press("g")
    page.keyboard.press("q")
    script.ready()
    page.get_by_role("link", name="Calls by tool").click()
    expect(page.locator("#result svg")).to_contain_text("code_interpreter", timeout=WAIT_MS)
    script.done("calls by tool, out of the store")


def main() -> None:
    """Play it once and print the seconds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("address", nargs="?", default="http://127.0.0.1:7860")
    parser.add_argument("--shots", type=Path, help="a folder for a picture of each step")
    given = parser.parse_args()
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("no Chromium here: set CHROMIUM, or install it with scripts/system-packages.sh")
    if given.shots is not None:
        given.shots.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        began = time.monotonic()
        play(Script(page, given.shots), given.address)
        print(f"   {time.monotonic() - began:6.1f} s  in all")
        browser.close()


if __name__ == "__main__":
    main()
