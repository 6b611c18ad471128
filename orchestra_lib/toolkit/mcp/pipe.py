"""The pipe to an MCP server that is a command: its lines bounded, its environment clean, its end certain.

The library's own pipe holds a line of any length in memory, and a server that is not ours must not choose how much.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio
from mcp import types
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

from orchestra_lib.errors import ServerFault

MAX_LINE = 4 << 20
"""Bytes of one message at most."""

_PLAIN = ("PATH", "HOME", "LANG", "LC_ALL", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
"""Variables that hold no secrets."""
_LAST_WORDS = 2_000
_END_S = 2.0


def clean(environ: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """The environment of a server: plain variables, and those that its entry names."""
    return {name: environ[name] for name in (*_PLAIN, *names) if name in environ}


class Complaint:
    """The end of what a server wrote to stderr, for whoever asks why it died."""

    def __init__(self) -> None:
        self._said = b""
        self.ours: str | None = None
        """Why we broke off, where we did."""

    async def follow(self, stream: asyncio.StreamReader) -> None:
        while piece := await stream.read(65_536):
            self._said = (self._said + piece)[-_LAST_WORDS:]

    @property
    def text(self) -> str:
        """Its last line with something in it, or why we broke off."""
        if self.ours:
            return self.ours
        lines = [line.strip() for line in self._said.decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1][:300] if lines else ""


@asynccontextmanager
async def pipe(
    command: Sequence[str], environ: Mapping[str, str], complaint: Complaint
) -> AsyncGenerator[TransportStreams, None]:
    """Start a command and speak with it, one JSON message a line. Raises `ServerFault` when it cannot be started."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env=dict(environ), limit=MAX_LINE, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise ServerFault(f"{command[0][:80]!r} cannot be started: {error}") from None
    heard_send, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    said_send, said = anyio.create_memory_object_stream[SessionMessage](0)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    tasks = [
        asyncio.create_task(_hear(process.stdout, heard_send, complaint)),
        asyncio.create_task(_say(process.stdin, said)),
        asyncio.create_task(complaint.follow(process.stderr)),
    ]
    try:
        yield heard, said_send
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for stream in (heard_send, heard, said_send, said):
                await stream.aclose()


async def _hear(
    stream: asyncio.StreamReader, out: anyio.abc.ObjectSendStream[SessionMessage | Exception], complaint: Complaint
) -> None:
    """Hand on the server's messages until it ends or sends a line that is too long."""
    async with out:
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            while line := await _line(stream, complaint):
                try:
                    message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    continue  # a server's print is no message
                await out.send(SessionMessage(message))


async def _line(stream: asyncio.StreamReader, complaint: Complaint) -> bytes:
    try:
        return await stream.readline()
    except ValueError:  # over the limit
        complaint.ours = f"it sent a message of over {MAX_LINE >> 20} MB"
        return b""


async def _say(stream: asyncio.StreamWriter, messages: anyio.abc.ObjectReceiveStream[SessionMessage]) -> None:
    with contextlib.suppress(OSError):
        async for one in messages:
            text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
            stream.write(text.encode("utf-8", "replace") + b"\n")
            await stream.drain()


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a server and what it has started: by the end of its input, then by signals."""
    if process.stdin is not None:
        process.stdin.close()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _END_S / 2)
            break
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # what outlived its parent
