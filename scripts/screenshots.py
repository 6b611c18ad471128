"""Pictures of every page of a running workbench, light and dark, as docs/pages.md shows them.

    python -m scripts.screenshots                                # the workbench of `make app`, into docs/pages
    python -m scripts.screenshots http://127.0.0.1:7861 --out folder

Each page shows what the workbench has: the newest runs and group, a task of ToolScale, the last training. Fails where a
page does not fill itself. Needs Chromium (CHROMIUM names another one) and what `make test` installs.
"""

import argparse
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

WAIT_MS = 120_000
WIDTH, HEIGHT = 1440, 900
TASK = "palindrome"
"""What the task of the pictured run says; docs/pages.md has it run twice, under two wishes."""
QUALITY = 82
"""Of WebP: text stays sharp, and a picture takes some 50 kB."""

Visit = Callable[[Page, str], None]


def main() -> None:
    """Take all pictures and print their sizes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("address", nargs="?", default="http://127.0.0.1:7860")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent.parent / "docs" / "pages")
    parser.add_argument("--only", help="the name of one picture")
    given = parser.parse_args()
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("no Chromium here: set CHROMIUM, or install it with scripts/system-packages.sh")
    given.out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for theme in ("light", "dark"):
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=theme)
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            for name, visit in VISITS.items():
                if given.only in (None, name):
                    visit(page, given.address.rstrip("/"))
                    file = given.out / f"{name}{'-dark' if theme == 'dark' else ''}.webp"
                    _save(page.screenshot(), file)
                    print(f"{file.stat().st_size // 1024:4} kB  {file}", flush=True)
            page.close()
        browser.close()


def _save(png: bytes, file: Path) -> None:
    with Image.open(BytesIO(png)) as picture:
        picture.save(file, "WEBP", quality=QUALITY, method=6)


def _opened(page: Page, address: str) -> None:
    """A page that has filled itself."""
    page.goto(address)
    page.wait_for_selector("#wb[data-ready]", timeout=WAIT_MS)
    page.wait_for_load_state("networkidle")
    page.mouse.move(0, 0)


def _at(path: str, *links: str | re.Pattern[str]) -> Visit:
    """A page, and what opens behind links on it, one after the other."""

    def visit(page: Page, address: str) -> None:
        _opened(page, address + path)
        for link in links:
            page.get_by_role("link", name=link, exact=isinstance(link, str)).first.click()
            page.wait_for_load_state("networkidle")
        page.mouse.move(0, 0)

    return visit


def _notebook(page: Page, address: str) -> None:
    """One of the course, which is no page of Gradio's."""
    page.goto(f"{address}/notebooks/04_rollouts_to_advantages")
    page.wait_for_load_state("networkidle")


def _run(path: str) -> Visit:
    """A page that opens the newest run of the task that the picture is of."""
    return lambda page, address: _opened(page, address + path.format(*_runs(page, address)))


def _runs(page: Page, address: str) -> list[str]:
    """Ids of answered runs of that task, the newest first."""
    found = page.request.get(f"{address}/api/trajectories", params={"q": TASK}).json()
    return [row["id"] for row in found["rows"] if row["status"] == "answered"]


VISITS: Mapping[str, Visit] = {
    "live": _run("/?run={0}"),
    "trajectories": _run("/trajectories?simulated=no&run={0}"),
    "compare": _run("/compare?a={0}&b={1}"),
    "reward": _at("/reward", "Open the worked example"),
    "bias": _at("/bias"),
    "evaluation": _at("/evaluation", re.compile("^simulated-")),
    "toolscale": _at("/toolscale", "mock-1"),
    "training": _at("/training", "tiny-grpo"),
    "tools": _at("/tools", "Coder 1.5B"),
    "sql": _at("/sql", "Calls by tool"),
    "notebook": _notebook,
}


if __name__ == "__main__":
    main()
