"""What the scenarios play: a conductor that follows a script with one small tool, in a real home folder."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from orchestra_lib.event import Event
from orchestra_lib.generation import Delta, Generation
from orchestra_lib.limits import Limits
from orchestra_lib.model.weights import WeightsStatus
from orchestra_lib.orchestrators import Offer
from orchestra_lib.pricing import Attempt, Usage
from orchestra_lib.protocols import Policy, PolicySpec, Situation, ToolResult
from orchestra_lib.record import record
from orchestra_lib.roster import Roster
from orchestra_lib.tool import ToolCall, ToolSpec
from orchestra_lib.workbench import Order, Workbench

MODEL, STEPS, TOOL, ANSWER, PRICES = "scripted", "steps", "echo", "42", "soak"
_TABLE = f"""name = "{PRICES}"
dated = 2026-11-30
source = "made up for this benchmark"
nominal = true
[prices.{MODEL}]
input_usd_per_mtok = 0.1
output_usd_per_mtok = 0.4
source = "made up"
[prices.{TOOL}]
call_usd = 0.0001
source = "made up"
"""
WORDS = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}


@record
class Scale:
    """How much of each fault and load; `quick` is for seeing that it works, `full` is what is asked of the whole."""

    runs: int
    turns: int
    kills: int
    tasks: int
    """Of the evaluation that is killed."""
    rollouts: int
    """Against the endpoint that fails."""
    queued: int
    clocks: int
    """Runs while the clock jumps."""
    hours: float
    """Of use by each of two people."""
    calls: int
    """Of the trajectory that is opened."""
    paced: bool = False
    """The use takes its hours by the clock; otherwise it goes as fast as it can."""


class Steps:
    """As many turns as the first word of the task says: each calls `echo` but the last, which answers."""

    spec = PolicySpec(name=STEPS, priced_as=MODEL, max_input_tokens=4000, max_output_tokens=400)

    def __init__(self, pause_s: float = 0.0) -> None:
        self._pause_s = pause_s

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        turn, turns = len(situation.turns), int(situation.setting.task.text.split()[0])
        await asyncio.sleep(self._pause_s)
        last = turn == turns - 1
        yield Generation(
            raw_text=ANSWER if last else "",
            reasoning=f"Step {turn + 1} of {turns}.",
            content=ANSWER if last else "",
            calls=() if last else (ToolCall.of(f"call_{turn + 1}", TOOL, {"x": f"word {turn + 1}"}),),
            answer=ANSWER if last else None,
            attempts=(Attempt(priced_as=MODEL, usage=Usage(input_tokens=900, output_tokens=60), wall_s=self._pause_s),),
        )


class Echo:
    """Says a word again, `times` over; `heard` is told of each call."""

    spec = ToolSpec(name=TOOL, title="Echo", description="Says a word again.", parameters=WORDS)

    def __init__(self, times: int = 1, heard: Callable[[], None] = lambda: None) -> None:
        self._times, self._heard = times, heard

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        self._heard()
        return ToolResult(text=f"{arguments['x']} " * self._times)

    async def release(self, run_id: str) -> None:
        return None


class Conductors:
    """The conductor beside those of a roster."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def offers(self) -> Sequence[Offer]:
        return (Offer(name=STEPS, title="Steps", note="follows a script"),)

    def policy(self, name: str) -> Policy:
        return self._policy


class QuietRoster(Roster):
    """The roster of a home that fetches no weights."""

    async def prepare(self, on_progress: Callable[[WeightsStatus], None] | None = None) -> None:
        return None


def furnished(
    home: Path, *, policy: Policy | None = None, tool: Echo | None = None, now: Callable[[], datetime] | None = None
) -> Workbench:
    """A workbench of this home with the conductor and the tool."""
    table = home / "prices" / f"{PRICES}.toml"
    table.parent.mkdir(parents=True, exist_ok=True)
    table.write_text(_TABLE, "utf-8")
    roster = QuietRoster(home, {})
    roster.others.append(Conductors(policy or Steps()))
    roster.add(tool or Echo())
    return Workbench(home, roster=roster) if now is None else Workbench(home, roster=roster, now=now)


def order(turns: int, *, group: str | None = None, task: str = "turns") -> Order:
    """A run of so many turns, graded when it ends."""
    return Order(
        task=f"{turns} {task}", orchestrator=STEPS, tools=(TOOL,), limits=Limits(max_turns=turns + 1),
        reference=ANSWER, group=group, prices=PRICES,
    )  # fmt: skip


async def played(
    workbench: Workbench, orders: Sequence[Order], told: Callable[[Event], None]
) -> list[Exception | None]:
    """Play all at once; every event is told as it is handed out. What ended each before its time, None for nothing."""

    async def one(order: Order) -> Exception | None:
        try:
            async for event in workbench.play(order):
                told(event)
        except Exception as error:
            return error
        return None

    return await asyncio.gather(*map(one, orders))


@contextmanager
def home() -> Iterator[Path]:
    """A home folder that is thrown away."""
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        yield Path(folder)
