"""How fast the reward lab is, in a real Chromium: a fader of the Reward page, and two long runs in Compare.

    python -m benchmarks.lab --json
    python -m benchmarks.lab --quick

A fader is moved by the events that a hand makes, a step a frame, over 64 rollouts with 8 tools; a step is over when
the frame that shows it has been painted. Beside that is the CPU time of the page's thread, which another load on the
machine does not lengthen as it does the clock. Every request that leaves the page meanwhile is counted. Compare opens
two runs of 50 turns whose observations have 20 KB each: from the change of address in a page that stands until both
runs are drawn. What loading the whole page costs beside that, most of it Gradio's own, is printed too.
"""

import os
import random
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from playwright.sync_api import Browser, sync_playwright

from app.comparison import comparison
from benchmarks.claims import Claim, claim, note, parser, show
from benchmarks.page import OBSERVATION, Served, serving, thread_s
from orchestra_lib.codec import dumps
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import Price
from orchestra_lib.tool import ToolKind, ToolSpec
from orchestra_lib.trajectory import Trajectory
from tests.episodes import PRICES, trajectory

NAMES = ("search", "web", "code", "math", "mini", "large", "sql", "mail")
KINDS = (ToolKind.BASIC, ToolKind.SPECIALIST, ToolKind.GENERALIST, ToolKind.DOMAIN)
TOOLS = tuple(
    ToolSpec(name=name, title=name.title(), description=name, parameters={"type": "object"}, kind=KINDS[at % 4])
    for at, name in enumerate(NAMES)
)
TABLE = replace(
    PRICES,
    prices={**PRICES.prices, **{name: Price(call_usd=0.001 * at, source="made up") for at, name in enumerate(NAMES)}},
)
WISH = Preference(outcome=0.8, cost=0.6, latency=0.3, tools={"search": 0.5, "large": -0.6})
DRAG = """async ({ name, steps }) => {
    const fader = document.getElementById(`w-${name}`);
    const low = Number(fader.min);
    const taken = [];
    const task = () => new Promise((done) => {
        const channel = new MessageChannel();
        channel.port1.onmessage = done;
        channel.port2.postMessage(0);
    });
    for (let step = 0; step < steps; step += 1) {
        await task();
        const start = performance.now();
        fader.value = low + (1 - low) * Math.abs(Math.sin(step * 0.7));
        fader.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise(requestAnimationFrame);
        await task();  // after the frame's own style, layout and paint
        taken.push(performance.now() - start);
    }
    return taken;
}"""

OPEN = """address => new Promise((drawn) => {
    const start = performance.now();
    const watch = new MutationObserver(() => {
        if (!document.querySelector("#rows .cp-ans")) return;
        watch.disconnect();
        requestAnimationFrame(() => {
            const after = new MessageChannel();
            after.port1.onmessage = () => drawn((performance.now() - start) / 1000);
            after.port2.postMessage(0);
        });
    });
    watch.observe(document.getElementById("compare"), { childList: true, subtree: true });
    history.pushState(null, "", address);
    dispatchEvent(new PopStateEvent("popstate"));
})"""


def main() -> None:
    chosen = parser(__doc__).parse_args()
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("there is no Chromium here; set CHROMIUM, or install it with scripts/system-packages.sh")
    rollouts, turns, tries, steps = (6, 6, 1, 4) if chosen.quick else (64, 50, 5, 40)
    stored = [*(_rollout(number) for number in range(rollouts)), *_long(turns)]
    with serving(stored) as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        claims = [*_drag(browser, served, rollouts, steps), *_compare(browser, served, turns, tries)]
        claims.append(_work(turns))
        browser.close()
    show(claims, as_json=chosen.json)


def _rollout(number: int) -> Trajectory:
    """A graded run of its own cost and time; one in seven fails."""
    chance = random.Random(number)
    run = trajectory(
        f"rollout-{number:03}", turns=2 + number % 4, tool=NAMES[number % 8], group="lab", tools=TOOLS, prices=TABLE,
        preference=WISH,
    )  # fmt: skip
    return replace(run, outcome=number % 7 != 0, finished_s=run.turns[-1].started_s + 30 * chance.random())


def _long(turns: int) -> tuple[Trajectory, Trajectory]:
    """Two runs whose observations differ in a word here and there."""
    other = OBSERVATION.replace("line 0007", "row 0007").replace("line 0150", "row 0150")
    return (
        trajectory("long-a", turns=turns + 1, observation=OBSERVATION),
        trajectory("long-b", turns=turns + 1, observation=other, answer="5"),
    )


def _drag(browser: Browser, served: Served, rollouts: int, steps: int) -> list[Claim]:
    page = served.page(browser, "/reward?group=lab")
    page.wait_for_selector(".rw-t tbody tr")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.evaluate(DRAG, {"name": "cost", "steps": 5})  # code that has run once is compiled
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    before = thread_s(session)
    taken = sorted(
        one for name in ("cost", "outcome", "tool.large") for one in page.evaluate(DRAG, {"name": name, "steps": steps})
    )
    cpu_ms = (thread_s(session) - before) * 1000 / len(taken)
    page.close()
    name = f"Reward, {rollouts} rollouts: a step of a fader until it is painted"
    note(f"{len(taken)} steps, p50 {_share(taken, 0.5):.1f}, p95 {_share(taken, 0.95):.1f}, max {taken[-1]:.1f} ms")
    return [
        claim(f"{name}, p95", _share(taken, 0.95), "ms", at_most=50),
        claim(f"{name}, p50", _share(taken, 0.5), "ms"),
        claim(f"{name}, CPU of the page's thread", cpu_ms, "CPU ms per step", at_most=50),
        claim("Reward: requests while a fader moves", len(asked), "requests", at_most=0),
    ]


def _compare(browser: Browser, served: Served, turns: int, tries: int) -> list[Claim]:
    page = served.page(browser, "/compare")
    opened, loaded, shells = [], [], []
    for n in range(tries):
        pair = ("long-a", "long-b") if n % 2 else ("long-b", "long-a")
        opened.append(float(page.evaluate(OPEN, f"/compare?a={pair[0]}&b={pair[1]}")))
    for _ in range(tries):  # what a browser keeps of the app it has kept by now
        page.goto(f"{served.url}/compare?a=long-a&b=long-b")
        page.wait_for_selector("#rows .cp-ans")
        loaded.append(float(page.evaluate("performance.now()")) / 1000)
        page.goto(f"{served.url}/compare")
        page.wait_for_selector("#wb[data-ready]")
        shells.append(float(page.evaluate("performance.now()")) / 1000)
    page.close()
    note(f"opened {_rounded(opened)}, with the page's load {_rounded(loaded)}, that load alone {_rounded(shells)} s")
    name = f"Compare: two runs of {turns} turns of 20 KB"
    return [
        claim(f"{name}, from the address to the rows", _share(sorted(opened), 0.5), "s", at_most=1),
        claim(f"{name}, with the load of the whole page", _share(sorted(loaded), 0.5), "s"),
        claim("Compare: the load of the page alone, nothing compared", _share(sorted(shells), 0.5), "s"),
    ]


def _work(turns: int) -> Claim:
    """The server's part, without HTTP."""
    one, other = _long(turns)
    start = time.process_time()
    dumps(comparison(one, other))
    return claim(f"Compare: the server's work on {turns} turns", time.process_time() - start, "CPU s")


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 2) for value in values]


def _share(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))]


if __name__ == "__main__":
    main()
