"""Two people at their browsers for hours, and a trajectory of tens of thousands of calls: a real Chromium."""

import asyncio
import os
import random
import shutil
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx2
from playwright.sync_api import Browser, CDPSession, Page, sync_playwright
from playwright.sync_api import TimeoutError as NotThere

from benchmarks.claims import Claim, Rival, claim, note
from benchmarks.page import thread_s
from benchmarks.soaking.served import Server, served
from benchmarks.soaking.world import PRICES, STEPS, TOOL, Scale, furnished, home, order, played
from orchestra_lib.event import Event, fold
from orchestra_lib.store.journal import Journal
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.unfolding import unfold

PACE_S = 10
"""Seconds from one action to the next: opening a page or a run, or starting one."""
PAGES = ("trajectories", "compare", "reward", "bias", "evaluation", "toolscale", "training", "tools", "sql")
OPEN_S = 1.0
_PER_TURN = 20
_FIRST = """
new MutationObserver((_, self) => {
  if (!document.querySelector(".wb-call")) return;
  self.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.firstTurn = performance.now(); }));
}).observe(document, { childList: true, subtree: true });
"""
_READY = "#wb[data-ready]"


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser whose memory can be read exactly."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", "--disable-dev-shm-usage", "--enable-precise-memory-info"],
        )
        yield browser
        browser.close()


@dataclass
class Person:
    """One at a browser. `stays`: shows run after run in one document; otherwise opens page after page."""

    page: Page
    session: CDPSession
    stays: bool
    heap_mb: list[float]
    nodes: list[int]

    def measure(self) -> None:
        """What the document holds after its garbage was collected."""
        self.session.send("HeapProfiler.collectGarbage")
        metrics = {one["name"]: one["value"] for one in self.session.send("Performance.getMetrics")["metrics"]}
        self.heap_mb.append(metrics["JSHeapUsedSize"] / 1e6)
        self.nodes.append(int(metrics["Nodes"]))


def browsers(scale: Scale) -> Iterator[Claim]:
    """Two people for hours, by the clock or as fast as it goes: one stays on Live, one walks through all pages."""
    actions, rng = max(8, round(scale.hours * 3600 / PACE_S)), random.Random(5)
    wrong: list[str] = []
    with home() as folder, served(folder) as server, chromium() as browser:
        people = [_person(browser, server, stays, wrong) for stays in (True, False)]
        memory: list[float] = []
        with httpx2.Client(base_url=server.url, trust_env=False, timeout=60) as client:
            runs: list[str] = []
            began = time.monotonic()
            for number in range(actions):
                if scale.paced:
                    people[0].page.wait_for_timeout(max(0.0, began + number * PACE_S - time.monotonic()) * 1000)
                for person in people:
                    try:
                        _act(person, server, client, runs, number, rng)
                    except NotThere as error:
                        wrong.append(f"action {number}: {error.message.splitlines()[0]} {person.page.url}")
                if number % max(1, actions // 40) == 0:
                    for person in people:
                        if person.stays:
                            person.measure()
                    memory.append(server.memory_mb())
                    stayed = people[0]
                    held = f"page {stayed.heap_mb[-1]:.1f} MB, {stayed.nodes[-1]:,} nodes; server {memory[-1]:.0f} MB"
                    note(f"{2 * number + 2} of {2 * actions} actions: {held}")
    pace = f"one each {PACE_S} s" if scale.paced else "as fast as it goes"
    what = f"{scale.hours:g} h of use by two ({2 * actions} actions, {pace})"
    yield claim(f"{what}: errors in the pages", len(wrong), "errors", at_most=0)
    for name, values, unit in (
        ("heap of the page that stays", stayed.heap_mb, "MB"),
        ("nodes of the page that stays", [float(one) for one in stayed.nodes], "nodes"),
        ("memory of the server", memory, "MB"),
    ):
        early, late = _early_and_late(values)
        rival = Rival(name="earlier", value=early)
        yield claim(f"{what}: {name}, last third", late, unit, rival=rival, ratio_at_most=1.2)
        slope = _slope(values) * len(values) / max(scale.hours, 1e-9)
        yield claim(f"{what}: {name}, growth", slope, f"{unit} an hour")
    for line in wrong[:5]:
        note(line)


def _person(browser: Browser, server: Server, stays: bool, wrong: list[str]) -> Person:
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.on("pageerror", lambda error: wrong.append(str(error)[:300]))
    page.goto(server.url)
    page.wait_for_selector(_READY, timeout=60_000)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    return Person(page=page, session=session, stays=stays, heap_mb=[], nodes=[])


def _act(
    person: Person, server: Server, client: httpx2.Client, runs: list[str], number: int, rng: random.Random
) -> None:
    """One action: a new run is watched to its end, or one that was played is opened, or a page."""
    if person.stays:
        if number % 3 == 0 or not runs:
            body = {
                "task": f"6 turns, number {number}", "orchestrator": STEPS, "tools": [TOOL], "prices": PRICES,
                "reference": "42",
            }  # fmt: skip
            runs.append(client.post("/api/runs", json=body).raise_for_status().json()["id"])
            run = runs[-1]
        else:
            run = rng.choice(runs)
        person.page.evaluate(
            "id => { history.pushState(null, '', `/?run=${id}`); dispatchEvent(new PopStateEvent('popstate')); }", run
        )
        person.page.locator("#answer").wait_for(timeout=60_000)  # a handle of it would keep its nodes for good
        return
    path = f"trajectories?run={rng.choice(runs)}" if number % 2 else PAGES[number // 2 % len(PAGES)]
    person.page.goto(f"{server.url}/{path}")
    person.page.wait_for_selector(_READY, timeout=60_000)


def _early_and_late(values: Sequence[float]) -> tuple[float, float]:
    """The medians of the second and the last third: in the first, what is needed is loaded."""
    third = max(1, len(values) // 3)
    return statistics.median(values[third : 2 * third] or values), statistics.median(values[-third:])


def _slope(values: Sequence[float]) -> float:
    """What each measurement adds, by least squares over the last two thirds."""
    last = values[len(values) // 3 :]
    return statistics.linear_regression(range(len(last)), last).slope if len(last) > 1 else 0.0


def long(scale: Scale) -> Iterator[Claim]:
    """A trajectory of many calls is opened, live and in detail: until its first turn is there and answers a key."""
    with home() as folder:
        run = _many_calls(folder, scale.calls)
        with served(folder) as server, chromium() as browser:
            for path in (f"/trajectories?run={run.id}", f"/?run={run.id}"):
                walls, cpus = [], []
                for _ in range(4):  # the first loads the server's own code
                    wall_s, cpu_s = _opened(browser, server, path)
                    walls.append(wall_s)
                    cpus.append(cpu_s)
                note(
                    f"{path.partition('?')[0]}: {[round(one, 2) for one in walls]} s, CPU {[round(c, 2) for c in cpus]}"
                )
                what = f"{scale.calls:,} calls opened at {path.partition('?')[0]}"
                yield claim(f"{what}: first turn there", statistics.median(walls[1:]), "s", at_most=OPEN_S)
                yield claim(f"{what}: CPU of server and page till then", statistics.median(cpus[1:]), "s")


def _many_calls(folder: Path, calls: int) -> Trajectory:
    """A run that was played, its first turn repeated, with twenty calls in each, until it has so many: kept as ever."""
    told: list[Event] = []
    workbench = furnished(folder)

    async def play() -> None:
        await played(workbench, [order(2)], told.append)
        await workbench.close()

    asyncio.run(play())
    short = fold(told)
    first, last = short.turns
    assert first.generation is not None
    assert first.calls[0].observation is not None
    turns = []
    for index in range(calls // _PER_TURN):
        made = tuple(replace(first.calls[0].call, id=f"call_{index + 1}_{n}") for n in range(_PER_TURN))
        seen = [replace(first.calls[0].observation, call_id=call.id) for call in made]
        turns.append(
            replace(
                first,
                index=index + 1,
                generation=replace(first.generation, calls=made),
                calls=tuple(
                    replace(first.calls[0], call=call, observation=answer)
                    for call, answer in zip(made, seen, strict=True)
                ),
            )
        )
    long = replace(
        short, setting=replace(short.setting, run_id="run-long"), turns=(*turns, replace(last, index=len(turns) + 1))
    )
    assert Journal(folder).put(unfold(long))
    return long


def _opened(browser: Browser, server: Server, path: str) -> tuple[float, float]:
    """Seconds from asking for the page until its first turn is drawn: of the clock, and of CPU on both sides."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.add_init_script(_FIRST)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    server.settle()
    before = server.cpu_s()
    page.goto(server.url + path, wait_until="commit")
    found = float(page.wait_for_function("window.firstTurn", timeout=120_000).json_value()) / 1000
    cpu_s = server.cpu_s() - before + thread_s(session)
    page.close()
    return found, cpu_s
