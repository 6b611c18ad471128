"""How quickly the pages show what happens, in a real browser.

    python -m benchmarks.page --json
    python -m benchmarks.page --quick

The app serves a workbench whose orchestrator plays a script: turns with one call each, and observations of 20 KB.
Chromium, headless, shows it. An event's way is timed from the moment when the server publishes it to the frame that
has it on the page, by one clock, for a second viewer inside the server notes the former. Needs Chromium: set CHROMIUM
where it is not on the path.
"""

import asyncio
import json
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib import request

import uvicorn
from playwright.sync_api import Browser, CDPSession, Page, Request, sync_playwright

from app.main import create_app
from app.runs import RunManager
from benchmarks.claims import Claim, claim, note, parser, show
from orchestra_lib.generation import Delta, Generation
from orchestra_lib.orchestrators import Offer
from orchestra_lib.pricing import Attempt, Usage
from orchestra_lib.protocols import PolicySpec, Situation, ToolResult
from orchestra_lib.tool import ToolCall, ToolSpec
from orchestra_lib.toolkit.mcp.servers import McpServers
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.workbench import Workbench

OBSERVATION = "\n".join(f"line {n:04d} of an observation, {'x' * 60}" for n in range(213))  # 20 KB
PAUSE_S = 0.05
MOST_TURNS = 800
MODEL = "Qwen2.5-Coder-1.5B-Instruct"
PARAMETERS = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
STAMP = """
window.seen = [];
const Plain = window.EventSource;
window.EventSource = class extends Plain {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", (message) => {
      const { seq } = JSON.parse(message.data);
      // The frame after the page's own work on this event: its callbacks first, then style, layout, paint.
      requestAnimationFrame(() => {
        const after = new MessageChannel();
        after.port1.onmessage = () => window.seen.push([seq, performance.timeOrigin + performance.now()]);
        after.port2.postMessage(0);
      });
    });
  }
};
"""


def main() -> None:
    chosen = parser(__doc__).parse_args()
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("there is no Chromium here; set CHROMIUM, or install it with scripts/system-packages.sh")
    sizes, runs = ((40,), 2) if chosen.quick else ((50, 200), 20)
    with serving() as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--enable-precise-memory-info"]
        )
        claims = [*_paint(browser, served, tries=1 if chosen.quick else 5), *_events(browser, served, sizes)]
        claims += _scroll(browser, served, sizes[-1]) + _memory(browser, served, runs)
        claims.append(claim("requests to elsewhere", len(served.elsewhere), "requests", at_most=0))
        browser.close()
    show(claims, as_json=chosen.json)


class Clerk:
    """The one tool: a long observation at once."""

    spec = ToolSpec(name="clerk", title="Clerk", description="Reads long files.", parameters=PARAMETERS)

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        return ToolResult(text=OBSERVATION)

    async def release(self, run_id: str) -> None:
        return None


class Script:
    """As many turns with one call as the task says, then an answer."""

    spec = PolicySpec(name="script", priced_as=MODEL, max_input_tokens=4000, max_output_tokens=400)

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        turn, turns = len(situation.turns), int(situation.setting.task.text)
        await asyncio.sleep(PAUSE_S)
        done = turn == turns
        yield Generation(
            raw_text="",
            reasoning=f"Read file {turn}; " + "it may hold what the question asks for. " * 4,
            calls=() if done else (ToolCall.of(f"call_{turn}", "clerk", {"text": f"file {turn}"}),),
            answer="It was long." if done else None,
            attempts=(Attempt(priced_as=MODEL, usage=Usage(input_tokens=900, output_tokens=60), wall_s=PAUSE_S),),
        )


class Cast:
    """The roster of the benchmark."""

    def __init__(self, home: Path) -> None:
        self.mcp = McpServers(home, {})
        self.models = SimpleNamespace(statuses=tuple)  # no weights

    def orchestrators(self) -> tuple[Offer, ...]:
        return (Offer(name="script", title="Script", note="plays a script"),)

    def tools(self) -> tuple[tuple[ToolSpec, str | None], ...]:
        return ((Clerk.spec, None),)

    def orchestrator(self, name: str) -> Script:
        return Script()

    def tool(self, name: str) -> Clerk:
        return Clerk()

    async def prepare(self, on_progress: object = None) -> None:
        return None

    async def close(self) -> None:
        return None


class Served:
    """The app on a port of its own: runs are started over HTTP, and each frame's moment is noted."""

    def __init__(self, url: str, runs: RunManager, loop: asyncio.AbstractEventLoop) -> None:
        self.url, self._runs, self._loop = url, runs, loop
        self.published: dict[int, float] = {}
        self.elsewhere: list[str] = []
        self._watching: Any = None

    def start(self, turns: int) -> str:
        body = {"task": str(turns), "orchestrator": "script", "limits": {"max_turns": turns + 1}}
        order = request.Request(f"{self.url}/api/runs", json.dumps(body).encode(), {"content-type": "application/json"})
        with request.urlopen(order) as answer:
            run_id = str(json.load(answer)["id"])
        self._watching = asyncio.run_coroutine_threadsafe(self._watch(run_id), self._loop)
        return run_id

    def wait(self) -> None:
        self._watching.result(300)

    async def _watch(self, run_id: str) -> None:
        run = self._runs.live(run_id)
        assert run is not None, "asked for right after its start"
        async for frame in run.follow(0):
            if frame is not None:
                self.published[frame.seq] = time.time() * 1000

    def _asked(self, asked: Request) -> None:
        if not asked.url.startswith((self.url, "data:", "blob:")):
            self.elsewhere.append(asked.url)

    def page(self, browser: Browser, path: str = "/") -> Page:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.on("request", self._asked)
        page.add_init_script(STAMP)
        page.goto(self.url + path)
        page.wait_for_selector("#wb[data-ready]")
        return page


@contextmanager
def serving(stored: Sequence[Trajectory] = ()) -> Iterator[Served]:
    """The app in a thread of this process, over a home that is thrown away and has these runs."""
    with tempfile.TemporaryDirectory() as home, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        workbench = Workbench(Path(home), roster=Cast(Path(home)))  # type: ignore[arg-type]  # the same methods
        workbench.store.add_many(stored)
        app = create_app(workbench)
        server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning"))
        loops: list[asyncio.AbstractEventLoop] = []

        async def serve() -> None:
            loops.append(asyncio.get_running_loop())
            await server.serve()

        thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.05)
        yield Served(f"http://127.0.0.1:{port}", app.state.runs, loops[0])
        server.should_exit = True
        thread.join(10)


def _paint(browser: Browser, served: Served, tries: int) -> list[Claim]:
    firsts, readies = [], []
    for _ in range(tries + 1):  # the first warms the server
        page = served.page(browser)
        readies.append(page.evaluate("performance.now()") / 1000)
        paints = page.evaluate("performance.getEntriesByName('first-contentful-paint').map(entry => entry.startTime)")
        firsts += [start / 1000 for start in paints]
        page.close()
    note(f"first paint {firsts}, filled {readies}")
    return [
        claim("Live: first paint", _middle(firsts[1:] or firsts), "s", at_most=1.5),
        claim("Live: page filled and usable", _middle(readies[1:]), "s"),
    ]


def _events(browser: Browser, served: Served, sizes: Sequence[int]) -> list[Claim]:
    claims = []
    for turns in sizes:
        lags, cpu_ms = _lags(browser, served, turns)
        note(f"{turns} turns: {len(lags)} events, p50 {_share(lags, 0.5):.1f}, max {lags[-1]:.1f} ms")
        name = f"event to frame, {turns} turns of 20 KB"
        target = {50: 50.0, 200: 150.0}.get(turns)
        claims += [
            claim(f"{name}, p95", _share(lags, 0.95), "ms", at_most=target),
            claim(f"{name}, p50", _share(lags, 0.5), "ms"),
            claim(f"{name}, CPU of the page's thread", cpu_ms, "CPU ms per event"),
        ]
    return claims


def _lags(browser: Browser, served: Served, turns: int) -> tuple[list[float], float]:
    """How long each event took, sorted, and the CPU time of the page's thread for one."""
    page = served.page(browser)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    served.published = {}
    _show(page, served.start(turns))
    page.wait_for_selector(".wb-turn")
    opened = time.time() * 1000  # what was published before the page followed is no measure of its speed
    before = thread_s(session)
    served.wait()
    page.wait_for_selector("#answer", timeout=60_000)
    spent_s = thread_s(session) - before
    seen = dict(page.evaluate("window.seen"))
    page.close()
    lags = sorted(seen[seq] - at for seq, at in served.published.items() if at > opened and seq in seen)
    if not lags:  # on a machine so busy that the run was over before the page followed it
        if turns >= MOST_TURNS:
            sys.exit(f"the page saw no event of {turns} turns while they came; keep the machine free for it")
        return _lags(browser, served, 4 * turns)
    return lags, spent_s * 1000 / len(lags)


def thread_s(session: CDPSession) -> float:
    """The CPU time of the page's thread so far; its session has `Performance.enable` by threadTicks."""
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"])


def _scroll(browser: Browser, served: Served, turns: int) -> list[Claim]:
    """Scroll through a finished run from end to end, a screen a frame, and note the longest frame."""
    run_id = served.start(turns)
    served.wait()
    page = served.page(browser, f"/?run={run_id}")
    page.wait_for_selector("#answer")
    frames = page.evaluate(
        """async () => {
            const box = document.getElementById("scroll");
            const next = () => new Promise(requestAnimationFrame);
            const times = [];
            box.scrollTop = 0;
            await next(); await next();
            let last = performance.now();
            while (box.scrollTop + box.clientHeight < box.scrollHeight - 1) {
                box.scrollTop += box.clientHeight;
                await next();
                times.push(performance.now() - last);
                last = performance.now();
            }
            return times.sort((a, b) => a - b);
        }"""
    )
    page.close()
    return [claim(f"scrolling {turns} turns, a screen a frame, p95", _share(frames, 0.95), "ms", at_most=50)]


def _memory(browser: Browser, served: Served, runs: int) -> list[Claim]:
    """One page shows one run after the other; its memory after garbage collection."""
    page = served.page(browser)
    session = page.context.new_cdp_session(page)
    used = []
    for _ in range(runs):
        _show(page, served.start(20))
        page.wait_for_selector("#answer", timeout=60_000)
        served.wait()
        session.send("HeapProfiler.collectGarbage")
        used.append(page.evaluate("performance.memory.usedJSHeapSize") / 1e6)
    note(f"memory after each run, MB: {[round(one, 1) for one in used]}")
    page.close()
    early = used[min(2, runs - 1)]
    return [claim(f"browser memory after {runs} runs against the third", used[-1] / early, "times", at_most=1.2)]


def _show(page: Page, run_id: str) -> None:
    page.evaluate(
        "id => { history.pushState(null, '', `/?run=${id}`); dispatchEvent(new PopStateEvent('popstate')); }", run_id
    )


def _share(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def _middle(values: Sequence[float]) -> float:
    return _share(values, 0.5)


if __name__ == "__main__":
    main()
