"""The calls of a turn: admitted or refused, run at once within limits, each answered exactly once."""

import asyncio
import contextlib
import difflib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestra_lib import event as ev
from orchestra_lib.budget import Budget
from orchestra_lib.episode_log import EpisodeLog
from orchestra_lib.errors import Fault, ModelMistake, ProviderFault, WorldFault
from orchestra_lib.inline_file import take_out
from orchestra_lib.json_writing import spoken
from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import ArtefactStore, Situation, Tool, ToolResult, is_situated
from orchestra_lib.tool import ArtefactRef, CallStatus, File, Observation, ToolCall
from orchestra_lib.toolkit.arguments import check
from orchestra_lib.trajectory import Setting, Turn

OBSERVATION_CHARS = 16_000
"""What a model reads of one observation at most: the first three quarters and the last quarter."""

SAME_CALL_LIMIT = 2
"""The same call with the same arguments is heard this often, run or rejected; further ones are refused."""

GRACE_S = 0.8
"""How long cancelled work may take to clean up before the record goes on without it."""


class Caller:
    """Runs the calls of one episode. `repeating_turns` counts turns with repeats that were not run; `answer` is what a
    tool whose purpose is to answer has answered."""

    def __init__(
        self,
        setting: Setting,
        tools: Sequence[Tool],
        artefacts: ArtefactStore,
        budget: Budget,
        log: EpisodeLog,
        situation: Callable[[], Situation],
    ) -> None:
        self.repeating_turns = 0
        self._repeats = False
        self.answer: str | None = None
        self._setting, self._artefacts, self._budget, self._log = setting, artefacts, budget, log
        self._situation = situation
        self._tools = {tool.spec.name: tool for tool in tools}
        self._situated = {tool.spec.name: tool for tool in tools if is_situated(tool)}
        self._heard: Counter[tuple[str, str]] = Counter()
        self._started_s: dict[str, float] = {}
        self._answered: set[str] = set()
        self._places = asyncio.Semaphore(setting.limits.parallel_calls)
        at_once = setting.limits.parallel_calls
        self._tool_places = {tool.spec.name: asyncio.Semaphore(tool.spec.parallel or at_once) for tool in tools}

    async def run(self, turn: int, calls: Sequence[ToolCall]) -> None:
        """Run the calls of a turn side by side; cancelling it leaves calls for `abandon`."""
        self._repeats = False
        if len(calls) == 1:  # the most frequent by far, which needs no task of its own
            await self._run(turn, calls[0])
        else:
            await asyncio.gather(*(self._run(turn, call) for call in calls))
        self.repeating_turns += self._repeats

    def recall(self, turns: Sequence[Turn]) -> None:
        """Know the calls of turns that another run has played already, so that their repeats are repeats here too."""
        for turn in turns:
            self._repeats = False
            for call in turn.calls:
                self._answered.add(call.call.id)
                if not self._may_repeat(call.call.tool):
                    with contextlib.suppress(ModelMistake):
                        self._hear(call.call)
            self.repeating_turns += self._repeats

    def abandon(self, turn: int, calls: Sequence[ToolCall], words: str) -> None:
        """Answer those that will not finish. What such a call cost is unknown once it had started."""
        for call in calls:
            started_s, now = self._started_s.get(call.id), self._log.now()
            spent = () if started_s is None else (_plain_attempt(self._tools[call.tool], started_s, now, 0.0),)
            at = now if started_s is None else started_s
            self._answer(turn, call, CallStatus.CANCELLED, words, at, attempts=spent)

    async def release(self) -> None:
        """Let every tool free what it keeps for this run."""
        releases = [asyncio.ensure_future(tool.release(self._setting.run_id)) for tool in self._tools.values()]
        if releases:
            await asyncio.wait(releases, timeout=5)

    async def _run(self, turn: int, call: ToolCall) -> None:
        asked_s = self._log.now()
        try:
            tool, checked = self._admit(call)
            situated = self._situated.get(call.tool)
            held_usd = self._budget.hold(situated.spec_for(checked) if situated else tool.spec)
        except ModelMistake as mistake:
            self._answer(turn, call, CallStatus.REJECTED, str(mistake), asked_s)
            return
        attempts: tuple[Attempt, ...] = ()
        try:
            # The tool's place first: who waits for a busy tool must not keep a place from another.
            async with self._tool_places[call.tool], self._places:
                self._log.emit(ev.CallStarted, turn=turn, call_id=call.id, held_usd=held_usd)
                started_s = self._started_s[call.id] = self._log.now()
                status, result = await self._call(tool, call, checked)
            attempts = result.attempts or (_plain_attempt(tool, started_s, self._log.now(), started_s - asked_s),)
            self._observe(turn, call, status, replace(result, attempts=attempts), started_s)
        finally:
            self._budget.release(held_usd, attempts)

    def _admit(self, call: ToolCall) -> tuple[Tool, Any]:
        """The tool and its checked arguments. Raises `ModelMistake` when the call cannot be run."""
        if not self._may_repeat(call.tool):
            self._hear(call)
        tool = self._tools.get(call.tool)
        if tool is None:
            raise ModelMistake(_unknown_tool(call.tool, list(self._tools)))
        return tool, check(tool.spec, call)

    def _may_repeat(self, name: str) -> bool:
        """Whether the same call may mean something else the next time: a situated tool sees what happened since."""
        only_situated = bool(self._tools) and len(self._situated) == len(self._tools)
        return name in self._situated or (only_situated and name not in self._tools)

    def _hear(self, call: ToolCall) -> None:
        """Count a call by its name and arguments, in any order of keys. Raises `ModelMistake` once it is a repeat."""
        said = call.arguments_text.strip() if call.arguments is None else spoken(_plain(call.arguments), sort_keys=True)
        self._heard[call.tool, said] += 1
        if self._heard[call.tool, said] > SAME_CALL_LIMIT:
            self._repeats = True
            raise ModelMistake(
                f"Not run: {call.tool[:80]} was already called {SAME_CALL_LIMIT} times with these arguments. "
                "Change the arguments, use another tool, or answer."
            )

    async def _call(self, tool: Tool, call: ToolCall, checked: Any) -> tuple[CallStatus, ToolResult]:
        timeout_s = min(tool.spec.timeout_s, self._setting.limits.call_timeout_s)
        try:
            result = await _within(self._work(tool, checked), timeout_s)
        except TimeoutError:
            return CallStatus.TIMEOUT, ToolResult(text=f"{call.tool} did not finish within {timeout_s:g} s.")
        except ModelMistake as mistake:
            unbilled = Attempt(priced_as=tool.spec.priced_as, wall_s=0.0, billed=False, error="refused by the tool")
            return CallStatus.ERROR, ToolResult(text=str(mistake), attempts=(unbilled,))
        except WorldFault as error:
            attempts = error.attempts if isinstance(error, ProviderFault) else ()
            fault = Fault.of(error, where=call.tool)
            return CallStatus.ERROR, ToolResult(text=f"{call.tool} failed: {error}", attempts=attempts, fault=fault)
        except Exception as error:  # a tool is the user's code: its bug must not end the run or its siblings
            return CallStatus.ERROR, ToolResult(text=f"{call.tool} raised {type(error).__name__}: {error}"[:2000])
        return (CallStatus.ERROR if result.failed or result.fault else CallStatus.OK), result

    def _work(self, tool: Tool, checked: Any) -> Awaitable[ToolResult]:
        if situated := self._situated.get(tool.spec.name):
            return situated.call_in(self._situation(), checked)
        return tool.call(checked, run_id=self._setting.run_id)

    def _observe(self, turn: int, call: ToolCall, status: CallStatus, result: ToolResult, started_s: float) -> None:
        """Keep what a finished call brought and answer it."""
        if status is CallStatus.OK and result.answer is not None:
            self.answer = result.answer
        spec = self._tools[call.tool].spec
        said, inline = take_out(result.text)
        text, whole = _capped(said, spec.observation_chars or OBSERVATION_CHARS)
        kept, fault = self._keep(call, (*result.files, *inline))
        full, fault_of_text = self._keep(call, whole)
        self._answer(
            turn, call, status, text, started_s,
            artefacts=kept, full=full[0] if full else None, attempts=result.attempts,
            fault=result.fault or fault or fault_of_text,
        )  # fmt: skip

    def _keep(self, call: ToolCall, files: Sequence[File]) -> tuple[tuple[ArtefactRef, ...], Fault | None]:
        try:
            return tuple(self._artefacts.put(file) for file in files), None
        except WorldFault as error:
            return (), Fault.of(error, where=call.tool)

    def _answer(
        self, turn: int, call: ToolCall, status: CallStatus, text: str, started_s: float,
        *, attempts: tuple[Attempt, ...] = (), fault: Fault | None = None, **kept: Any,
    ) -> None:  # fmt: skip
        """Answer a call, once: work that outlives a cancel finds its call answered already."""
        if call.id in self._answered:
            return
        self._answered.add(call.id)
        observation = Observation(
            call_id=call.id, status=status, text=text, started_s=started_s, finished_s=self._log.now(), **kept
        )
        self._log.emit(ev.CallFinished, turn=turn, observation=observation, attempts=attempts, fault=fault)


async def _within(work: Awaitable[ToolResult], timeout_s: float) -> ToolResult:
    """The result of `work` in time, else `TimeoutError`; work that ignores its cancel is left behind."""
    task = asyncio.ensure_future(work)
    try:
        await ended(task, timeout_s)
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        await put_down(task)


async def ended(
    task: "asyncio.Future[Any]", timeout_s: float | None, stop: "asyncio.Future[Any] | None" = None
) -> None:
    """Wait until the task has ended, or `stop` has, or the time is up: `asyncio.wait`, at less cost for every turn."""
    loop = asyncio.get_running_loop()
    news: asyncio.Future[None] = loop.create_future()

    def wake(_: object = None) -> None:
        if not news.done():
            news.set_result(None)

    awaited = [task] if stop is None else [task, stop]
    for one in awaited:
        one.add_done_callback(wake)
    timer = None if timeout_s is None else loop.call_later(timeout_s, wake)
    try:
        await news
    finally:
        if timer is not None:
            timer.cancel()
        for one in awaited:
            one.remove_done_callback(wake)


async def put_down(task: "asyncio.Future[Any]") -> None:
    """Cancel a task that still runs, and give it a moment to clean up."""
    if not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=GRACE_S)
    if task.done() and not task.cancelled():
        task.exception()  # seen here, so that nobody is told it was never retrieved


def _plain(value: Any) -> Any:
    """A value without what changes nothing: the form of a whole number, space around a text."""
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value.strip() if isinstance(value, str) else value


def _unknown_tool(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=2)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"Not run: there is no tool {name[:80]!r}.{hint} The tools are: {', '.join(known)}."


def _plain_attempt(tool: Tool, started_s: float, finished_s: float, queue_s: float) -> Attempt:
    return Attempt(priced_as=tool.spec.priced_as, wall_s=finished_s - started_s, queue_s=queue_s)


def _capped(text: str, most: int) -> tuple[str, tuple[File, ...]]:
    """What the model reads, and the whole text as a file when it had to be cut."""
    if len(text) <= most:
        return text, ()
    head, tail = most * 3 // 4, most // 4
    cut = len(text) - head - tail
    data = text.encode("utf-8", "replace")
    short = f"{text[:head]}\n… {cut:,} characters left out …\n{text[-tail:]}"
    return short, (File(name="observation.txt", media_type="text/plain; charset=utf-8", data=data),)
