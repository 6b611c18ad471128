"""The app served on a free port, and pages in a real Chromium that must not err or ask anything of elsewhere."""

import os
import shutil
import socket
import threading
import time
from contextlib import contextmanager

import pytest
import uvicorn
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def chromium():
    if CHROMIUM is None:
        pytest.skip("no Chromium here: set CHROMIUM, or install it with scripts/system-packages.sh")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@contextmanager
def served(workbench, **options):
    """The address of the app around this workbench."""
    from app.main import create_app  # gradio takes seconds, and every test run imports this module

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(create_app(workbench, **options), port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the app did not start"
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(20)


@contextmanager
def watched(context, base_url, *, expected):
    """A function that opens a path and waits until its page has filled itself; at the end nothing may be wrong.

    `expected` matches what Chromium logs by itself for requests that a test wants refused.
    """
    wrong = []

    def opened(path="/", in_context=None):
        page = (in_context or context).new_page()
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on(
            "console",
            lambda line: line.type == "error" and expected.search(line.text) is None and wrong.append(line.text),
        )
        page.on("request", lambda r: r.url.startswith((base_url, "data:", "blob:")) or wrong.append(f"asked {r.url}"))
        page.goto(base_url + path)
        page.wait_for_selector("#wb[data-ready]", timeout=30_000)
        return page

    yield opened
    assert wrong == [], wrong


@contextmanager
def narrow_page(browser, base_url, *, expected):
    """A function that leads one page from path to path, each time as wide as a phone and dark.

    A view more is a navigation, at half the cost of a page more; what `watched` says holds for all of them.
    """
    size = {"width": 390, "height": 844}
    context = browser.new_context(viewport=size, color_scheme="dark", reduced_motion="reduce")
    with watched(context, base_url, expected=expected) as opened:
        page = None

        def led(path):
            nonlocal page
            if page is None:
                page = opened(path)
                return page
            page.set_viewport_size(size)
            page.emulate_media(color_scheme="dark", reduced_motion="reduce")
            page.goto(base_url + path)
            page.wait_for_selector("#wb[data-ready]", timeout=30_000)
            return page

        yield led
    context.close()


LOOK = """async () => {
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
  for (const one of document.getAnimations()) {
    if (one.effect.getComputedTiming().endTime !== Infinity) one.finish();
  }
  const { violations } = await axe.run({ resultTypes: ["violations"] });
  return violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map((node) => node.html.slice(0, 160))]);
}"""


def violations(page):
    """What axe finds against the page once its colours stand: rule, and the first three places.

    A page hears of another theme with its next frame, and a colour that fades over has no contrast yet: two frames
    pass, and all that moves to an end is put there.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    return page.evaluate(LOOK)
