"""The host's side of one sandboxed interpreter: sends cells, drains output, reads replies it does not trust."""

import json
import os
import secrets
import selectors
import signal
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

from orchestra_lib.errors import SandboxFault
from orchestra_lib.json_writing import dumps
from orchestra_lib.record import record
from orchestra_lib.toolkit import sandbox

_MAX_HEADER = 64 * 1024
_CHUNK = 1 << 16
_MAX_DRAIN = 1 << 20
_ENDING_S = 0.5
_PNG = b"\x89PNG\r\n\x1a\n"
_LOST = "The interpreter was ended: variables and files are gone, and the next call starts anew."


@record
class Cell:
    """What a cell did: its output (bounded), its error text or "", its figures as PNG.

    `figures_open` counts all figures that were open; `lost` says that the guest is gone.
    """

    output: str
    error: str
    figures: tuple[bytes, ...] = ()
    figures_open: int = 0
    lost: bool = False


class BoundedOutput:
    """Keeps the first `head` and the last `tail` bytes of a stream, and counts what lies between."""

    def __init__(self, head: int, tail: int) -> None:
        self._head, self._tail = bytearray(), bytearray()
        self._head_size, self._tail_size = head, tail
        self.dropped = 0

    def feed(self, data: bytes) -> None:
        room = self._head_size - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        excess = len(self._tail) - self._tail_size
        if excess > 0:
            del self._tail[:excess]
            self.dropped += excess

    def text(self) -> str:
        """The stream as text; bytes that are not UTF-8 become U+FFFD."""
        if not self.dropped:
            return (self._head + self._tail).decode("utf-8", "replace")
        note = f"\n[... {self.dropped:,} bytes of output dropped ...]\n"
        return self._head.decode("utf-8", "replace") + note + self._tail.decode("utf-8", "replace")


class GuestProcess:
    """One guest and its pipes. Blocking; `run` belongs in a thread, `kill` may be called from any other."""

    def __init__(self, launcher: sandbox.Launcher, limits: sandbox.SandboxLimits) -> None:
        self._limits = limits
        self._guest = sandbox.start(launcher, limits)
        pipes = self._guest.pipes
        for fd in (pipes.command, pipes.reply, pipes.output):
            os.set_blocking(fd, False)
        self._cells = 0

    @property
    def alive(self) -> bool:
        return self._guest.process.poll() is None

    def run(self, code: str) -> Cell:
        """Run one cell to its end or to its wall limit. After a `lost` cell the guest is dead."""
        self._cells += 1
        request = secrets.token_hex(16)
        command = dumps({"id": request, "cell": self._cells, "code": code}).encode()
        exchange = Exchange(self._guest.pipes, self._limits, struct.pack(">I", len(command)) + command)
        if self._cells > 1:
            exchange.discard()
        ended = exchange.run()
        reply = exchange.reply
        if ended is None and reply is not None and reply.get("id") == request:
            return _cell(exchange, reply, self._limits)
        cause = ended or self._cause()
        self.kill()
        return Cell(output=exchange.output.text(), error=f"{cause} {_LOST}", lost=True)

    def kill(self) -> None:
        """End the guest and everything in it."""
        self._guest.kill()

    def close(self) -> None:
        """Kill, and give the pipes back. Nothing may be running in this guest."""
        self._guest.kill()
        self._guest.close()

    def _cause(self) -> str:
        try:
            code = self._guest.process.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            return "The interpreter stopped answering."
        number = -code if code < 0 else code - 128
        if number == signal.SIGXCPU:
            return f"The code used its {self._limits.cpu_s} s of CPU time (limit)."
        if number == signal.SIGKILL:
            return f"The interpreter was killed; a run has {self._limits.run_cpu_s} s of CPU time (limit)."
        if number in {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE}:
            return f"The interpreter crashed ({signal.Signals(number).name}); out of memory, or native code failed."
        return f"The interpreter ended by itself (exit status {code})."


class Exchange:
    """One command and its reply over three pipes, read together so that none can block another."""

    def __init__(self, pipes: sandbox.Pipes, limits: sandbox.SandboxLimits, command: bytes) -> None:
        self._pipes, self._limits = pipes, limits
        self._command = memoryview(command)
        self._received = bytearray()
        self.output = BoundedOutput(limits.output_head, limits.output_tail)
        self.reply: dict[str, Any] | None = None
        self.figures: list[bytes] = []

    def run(self) -> str | None:
        """Until the reply is complete. Returns why there is none: the wall limit or a broken reply; else None."""
        deadline = time.monotonic() + self._limits.wall_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipes.command, selectors.EVENT_WRITE, self._send)
            selector.register(self._pipes.output, selectors.EVENT_READ, self._listen)
            selector.register(self._pipes.reply, selectors.EVENT_READ, self._receive)
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    return f"The code ran for {self._limits.wall_s:g} s and was stopped (wall-clock limit)."
                for key, _ in selector.select(left):
                    if not key.data():
                        selector.unregister(key.fd)
                if self._complete():
                    self._drain()
                    return None
                if self._pipes.reply not in selector.get_map():
                    self._drain()
                    return None if self.reply is None else "The interpreter's reply was broken."

    def _send(self) -> bool:
        try:
            self._command = self._command[os.write(self._pipes.command, self._command) :]
        except BrokenPipeError:
            return False
        return bool(self._command)

    def _listen(self) -> bool:
        data = _read(self._pipes.output)
        self.output.feed(data or b"")
        return data != b""

    def _receive(self) -> bool:
        data = _read(self._pipes.reply)
        self._received += data or b""
        return data != b"" and len(self._received) <= _MAX_HEADER + self._limits.figures * self._limits.figure_bytes

    def _complete(self) -> bool:
        """Whether the received bytes hold a whole reply; sets `reply` and `figures`."""
        if len(self._received) < 4:
            return False
        size = struct.unpack(">I", self._received[:4])[0]
        if size > _MAX_HEADER:
            self.reply = {}
            return True
        if self.reply is None and len(self._received) >= 4 + size:
            self.reply = _object(bytes(self._received[4 : 4 + size]))
        if self.reply is None:
            return False
        sizes = _sizes(self.reply.get("figures"), self._limits)
        if len(self._received) < 4 + size + sum(sizes):
            return False
        start = 4 + size
        for length in sizes:
            self.figures.append(bytes(self._received[start : start + length]))
            start += length
        return True

    def discard(self) -> None:
        """Drop what threads of an earlier cell printed after it, and replies that nobody asked for."""
        for fd in (self._pipes.output, self._pipes.reply):
            for _ in range(_MAX_DRAIN // _CHUNK):
                if not _read(fd):
                    break

    def _drain(self) -> None:
        """Take what was printed before the reply and still lies in the pipe; no more than the pipe holds."""
        for _ in range(_MAX_DRAIN // _CHUNK):
            if not (data := _read(self._pipes.output)):
                return
            self.output.feed(data)


def _read(fd: int) -> bytes | None:
    """Bytes, b"" at the end, None when there is nothing now."""
    try:
        return os.read(fd, _CHUNK)
    except BlockingIOError:
        return None


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _sizes(value: object, limits: sandbox.SandboxLimits) -> list[int]:
    """Figure sizes as the guest claims them; an impossible claim counts as no figures."""
    sizes = value if isinstance(value, list) else []
    if len(sizes) > limits.figures or not all(type(size) is int and 0 < size <= limits.figure_bytes for size in sizes):
        return []
    return sizes


def _cell(exchange: Exchange, reply: dict[str, Any], limits: sandbox.SandboxLimits) -> Cell:
    error, opened = reply.get("error"), reply.get("figures_open")
    # JSON can spell half a character, which no UTF-8 file or request can hold.
    text = error[:_MAX_HEADER].encode("utf-8", "replace").decode() if isinstance(error, str) else ""
    figures = tuple(data for data in exchange.figures if data.startswith(_PNG))
    count = opened if type(opened) is int and 0 <= opened < 1_000_000 else len(figures)
    return Cell(
        output=exchange.output.text(),
        error=(text or "The cell failed.") if reply.get("failed") is True else "",
        figures=figures,
        figures_open=max(count, len(figures)),
    )


def probe(launcher: sandbox.Launcher, limits: sandbox.SandboxLimits) -> str | None:
    """Start a guest and have it try what must not work. None when every limit holds, else what failed."""
    try:
        guest = GuestProcess(launcher, limits)
    except SandboxFault as fault:
        return str(fault)
    try:
        cell = guest.run(Path(__file__).with_name("probe_cell.py").read_text("utf-8"))
    finally:
        guest.close()
    if cell.error or cell.output.strip() != "holds":
        return (cell.output.strip() or cell.error)[:500]
    return None
