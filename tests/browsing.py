"""The app served on a free port, and pages in a real Chromium that must not err or ask anything of elsewhere."""

import os
import shutil
import socket
import tempfile
import threading
import time
from contextlib import contextmanager

import pytest
import uvicorn
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
BLANK = "about:blank"
DESK = {"width": 1280, "height": 720}


@contextmanager
def chromium():
    """A browser whose own context keeps what it has fetched and compiled, as that of a user does.

    A private context (`new_context`) begins anew: each of its pages takes two to four times the processor's time.
    """
    if CHROMIUM is None:
        pytest.skip("no Chromium here: set CHROMIUM, or install it with scripts/system-packages.sh")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        args = ["--no-sandbox", "--disable-dev-shm-usage"]
        context = playwright.chromium.launch_persistent_context(profile, executable_path=CHROMIUM, args=args)
        yield context.browser
        context.close()


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
def watched(context, base_url, *, expected, begin=None):
    """A function that opens a path and waits until its page has filled itself; at the end nothing may be wrong.

    `expected` matches what Chromium logs by itself for requests that a test wants refused. `begin` makes a page;
    without it that is a new one of the context.
    """
    wrong = []
    heard = {
        "pageerror": lambda error: wrong.append(f"error: {error}"),
        "console": lambda line: line.type == "error" and expected.search(line.text) is None and wrong.append(line.text),
        "request": lambda r: r.url.startswith((base_url, "data:", "blob:")) or wrong.append(f"asked {r.url}"),
    }
    pages = []

    def opened(path="/", in_context=None):
        page = in_context.new_page() if in_context else (begin or context.new_page)()
        pages.append(page)
        for event, hear in heard.items():
            page.on(event, hear)
        page.goto(base_url + path)
        page.wait_for_selector("#wb[data-ready]", timeout=30_000)
        return page

    yield opened
    for page in pages:
        for event, hear in heard.items():
            page.remove_listener(event, hear)
    assert wrong == [], wrong


@contextmanager
def visited(browser, base_url, *, expected, viewport=DESK, **media):
    """What `watched` yields, for one who comes to the browser's own context for the first time.

    Nothing of earlier visits is there but what Chromium compiled. Pages are those that earlier visits left, where
    there are any: their processes run already.
    """
    context = browser.contexts[0]
    before, mine = set(context.pages), []

    def begin():
        page = next((page for page in context.pages if page.url == BLANK), None) or context.new_page()
        page.bring_to_front()  # as a page that has just been opened is
        page.goto(f"{base_url}/wb/mark.svg")  # of the same origin, and it keeps nothing
        page.evaluate("first => { sessionStorage.clear(); if (first) localStorage.clear(); }", not mine)
        mine.append(page)
        page.set_viewport_size(viewport)
        page.emulate_media(**{"color_scheme": "light", "reduced_motion": "no-preference", **media})
        return page

    context.clear_cookies()
    try:
        with watched(context, base_url, expected=expected, begin=begin) as opened:
            yield opened
    finally:
        context.unroute_all(behavior="ignoreErrors")
        context.clear_permissions()
        for page in set(context.pages) - before - set(mine):
            page.close()
        for page in mine:
            leave(page)


def leave(page):
    """Make a page of the browser's own context one that a next visit may begin with."""
    if not page.is_closed():
        page.unroute_all(behavior="ignoreErrors")
        page.mouse.move(0, 0)
        page.goto(BLANK)


@contextmanager
def narrow_page(browser, base_url, *, expected):
    """A function that leads one page from path to path, each time as wide as a phone and dark."""
    size = {"width": 390, "height": 844}
    media = {"color_scheme": "dark", "reduced_motion": "reduce"}
    with visited(browser, base_url, expected=expected, viewport=size, **media) as opened:
        page = None

        def led(path):
            nonlocal page
            if page is None:
                page = opened(path)
                return page
            page.set_viewport_size(size)
            page.emulate_media(**media)
            page.goto(base_url + path)
            page.wait_for_selector("#wb[data-ready]", timeout=30_000)
            return page

        yield led


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
