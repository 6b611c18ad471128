"""Embedded models as `ChatModel`s: llama.cpp in a process of its own, with shared beginnings kept warm."""

import asyncio
import threading
from asyncio import AbstractEventLoop
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any
from weakref import WeakKeyDictionary

from orchestra_lib.errors import ProviderFault
from orchestra_lib.generation import ChatRequest, Completion, Delta
from orchestra_lib.model.dialect import Dialect, Patience
from orchestra_lib.model.openai_compatible import OpenAICompatible
from orchestra_lib.model.registry import Entry
from orchestra_lib.model.server import EmbeddedServer
from orchestra_lib.pricing import Attempt

Messages = tuple[Mapping[str, Any], ...]
_PATIENCE = Patience(idle_s=300.0, total_s=900.0, max_retries=0)


class EmbeddedModel:
    """A `ChatModel` over an embedded server. `gguf` is asked for when first needed and may raise `WeightsFault`.

    llama.cpp does not enforce `tool_choice`: constrain a reply with `ChatRequest.schema` instead.
    """

    def __init__(self, name: str, gguf: Callable[[], Path], home: Path, **options: int) -> None:
        self._name = name
        self._gguf = gguf
        self._home = home
        self._options = options
        self._server: EmbeddedServer | None = None
        self._lock = threading.Lock()
        self._gates: WeakKeyDictionary[AbstractEventLoop, _Gate] = WeakKeyDictionary()
        self._expected: list[Messages] = []
        self._warm: set[tuple[int, int]] = set()

    @property
    def name(self) -> str:
        return self._name

    @property
    def server(self) -> EmbeddedServer:
        """The server behind the model; making it starts nothing. Raises `WeightsFault`."""
        with self._lock:
            if self._server is None:
                self._server = EmbeddedServer(self._gguf(), self._name, self._home, **self._options)
            return self._server

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | Completion, None]:
        """Deltas, then one `Completion`. A server that died before the first word is started once more.

        `queue_s` of the last attempt is the wait for a free place, a start and a cold beginning.
        """
        asked, server = monotonic(), await asyncio.to_thread(lambda: self.server)
        failed: list[Attempt] = []
        async with self._gate(server).places:
            while True:
                shown = False
                try:
                    entry = await server.start()
                    await self._read_beginning(server, entry, request.messages)
                    queue_s = monotonic() - asked
                    async with aclosing(self._client(entry).stream(request)) as pieces:
                        async for piece in pieces:
                            shown = True
                            yield _entered(piece, tuple(failed), queue_s)
                    return
                except ProviderFault as fault:
                    again = not (shown or failed) and bool(fault.attempts) and await asyncio.to_thread(server.lost)
                    failed += fault.attempts
                    if not again:
                        raise type(fault)(str(fault), tuple(failed)) from None

    def expect(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Announce a beginning that many requests share: it is read once and kept on disk for later starts.

        It must hold nothing of a user: no task, no preference, no date.
        """
        if (beginning := tuple(messages)) not in self._expected:
            self._expected.append(beginning)

    async def warm(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Have a shared beginning in the prompt cache now. Raises `ProviderFault`, `WeightsFault`."""
        self.expect(messages)
        server = await asyncio.to_thread(lambda: self.server)
        await self._read_beginning(server, await server.start(), tuple(messages))

    def stop(self) -> None:
        """End the server process if this program started it."""
        if self._server is not None:
            self._server.stop()

    async def _read_beginning(self, server: EmbeddedServer, entry: Entry, messages: Messages) -> None:
        number = next((n for n, known in enumerate(self._expected) if messages[: len(known)] == known), None)
        if number is None or (entry.pid, number) in self._warm:
            return
        beginning, slot = self._expected[number], number % server.parallel
        async with self._gate(server).reading:
            if (entry.pid, number) in self._warm:
                return
            # What another program serves it has warmed for itself: loading it again would push out its work.
            kept = server.borrowed or await asyncio.to_thread(server.beginnings.restore, entry, slot, beginning)
            if not kept:
                client = self._client(entry, Dialect(extra_body={"id_slot": slot}))
                async with aclosing(client.stream(ChatRequest(messages=beginning, max_tokens=1))) as pieces:
                    async for _ in pieces:
                        pass
                await asyncio.to_thread(server.beginnings.save, entry, slot, beginning)
            self._warm.add((entry.pid, number))

    def _client(self, entry: Entry, dialect: Dialect | None = None) -> OpenAICompatible:
        address = f"{entry.address}/v1"
        return OpenAICompatible(self._name, address, self._name, api_key=entry.key, patience=_PATIENCE, dialect=dialect)

    def _gate(self, server: EmbeddedServer) -> "_Gate":
        return self._gates.setdefault(asyncio.get_running_loop(), _Gate(server.parallel))


class _Gate:
    """What tasks of one event loop wait for: a place among the replies, and their turn to warm up."""

    def __init__(self, parallel: int) -> None:
        self.places = asyncio.Semaphore(parallel)
        self.reading = asyncio.Lock()


def _entered(piece: Delta | Completion, failed: tuple[Attempt, ...], queue_s: float) -> Delta | Completion:
    """A completion with the tries before it, and the wait, on its ledger."""
    if isinstance(piece, Delta):
        return piece
    *before, last = piece.attempts
    return replace(piece, attempts=(*failed, *before, replace(last, queue_s=queue_s)))
