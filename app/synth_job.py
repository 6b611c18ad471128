"""Making tasks in the background: `orchestra synth` for one domain as a process of its own, one at a time."""

import asyncio
import os
import sys
from collections import deque
from pathlib import Path
from typing import Any

from orchestra_lib.environment.domain import domain_names
from orchestra_lib.errors import BadInput
from orchestra_lib.record import record

MOST = 500
"""Tasks that the page makes at once; the command makes any number."""

_LINES, _LINE_CHARS = 12, 300


@record
class SynthOrder:
    """How many tasks of which domain, from which seed. Raises `BadInput`."""

    domain: str
    n: int = 20
    seed: int = 7

    def __post_init__(self) -> None:
        if self.domain not in domain_names():
            raise BadInput(f"there is no domain {self.domain[:60]!r}; there are {', '.join(domain_names())}")
        if not 1 <= self.n <= MOST:
            raise BadInput(f"n = {self.n}; the page makes 1 to {MOST} tasks at once, `orchestra synth` any number")
        if self.seed < 0:
            raise BadInput(f"seed = {self.seed}; it is 0 or more")


class SynthJob:
    """The process that makes tasks, and what it said last."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._domain: str | None = None
        self._ended: int | None = None

    def command(self, order: SynthOrder) -> tuple[str, ...]:
        """What is run; everything in it is checked or our own."""
        wanted = ("--domains", order.domain, "--n", str(order.n), "--seed", str(order.seed))
        # A folder of its own: the tasks and the report of all domains stay as they are.
        out = str(self._out / order.domain)
        return (sys.executable, "-m", "orchestra_lib", "synth", *wanted, "--out", out)

    async def start(self, order: SynthOrder) -> None:
        """Begin. Raises `BadInput` while another one goes on."""
        if self._domain is not None and self._ended is None:
            raise BadInput(f"tasks of {self._domain} are being made; wait until they are there")
        self._lines.clear()
        self._domain, self._ended = order.domain, None
        self._process = await asyncio.create_subprocess_exec(
            *self.command(order),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "NO_COLOR": "1", "COLUMNS": "120"},
        )
        self._reader = asyncio.create_task(self._read(self._process))

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        rest = b""
        while part := await process.stdout.read(4096):
            *lines, rest = (rest + part).replace(b"\r", b"\n").split(b"\n")
            self._keep(lines)
        self._keep([rest])
        self._ended = await process.wait()

    def _keep(self, lines: list[bytes]) -> None:
        self._lines.extend(line.decode("utf-8", "replace")[:_LINE_CHARS] for line in lines if line.strip())

    def view(self) -> dict[str, Any] | None:
        """How far it is; None when nothing was made since the workbench began."""
        if self._domain is None:
            return None
        running = self._ended is None
        return {
            "domain": self._domain,
            "running": running,
            "failed": not running and self._ended != 0,
            "lines": list(self._lines),
        }

    async def stop(self) -> None:
        """End it with the workbench."""
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
            await self._process.wait()
