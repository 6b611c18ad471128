"""A caller's own tools, seen from the run: a call of one waits until the caller has made it."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import ToolResult
from orchestra_lib.tool import ToolCall, ToolSpec


class Errands:
    """The calls of one run that wait for its caller."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, Mapping[str, Any], asyncio.Future[str]]] = []

    async def ask(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """What the caller says the call came to, once it says so."""
        errand = (tool, arguments, asyncio.get_running_loop().create_future())
        self._waiting.append(errand)
        try:
            text: str = await errand[2]
            return text
        finally:
            self._waiting.remove(errand)

    def answer(self, call: ToolCall, text: str) -> None:
        """Give the result of a call. Of several that ask the same of the same tool, each takes one answer."""
        for tool, arguments, waiting in self._waiting:
            if not waiting.done() and tool == call.tool and dict(arguments) == dict(call.arguments or {}):
                waiting.set_result(text)
                return
        raise RuntimeError(f"no call of {call.tool} waits for its caller; the run says that {call.id} does")


class CallerTool:
    """A tool that the caller of a served run makes its calls with. What it costs is the caller's."""

    def __init__(self, spec: ToolSpec, errands: Errands) -> None:
        self.spec, self._errands = spec, errands

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        """The caller's tool message."""
        began = time.monotonic()
        text = await self._errands.ask(self.spec.name, arguments)
        took = Attempt(priced_as=self.spec.name, wall_s=time.monotonic() - began, billed=False)
        return ToolResult(text=text, attempts=(took,))

    async def release(self, run_id: str) -> None:
        """Nothing is kept for a run."""
