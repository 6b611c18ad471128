"""`POST /v1/chat/completions` and the list of models."""

import asyncio
import json
import re
import secrets
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from orchestra_lib.errors import BadInput, OrchestraError
from orchestra_lib.json_writing import spoken
from orchestra_lib.server import shapes
from orchestra_lib.server.shapes import Head, Message, error_response, json_response
from orchestra_lib.serving.asked import Asked, read_request
from orchestra_lib.serving.asking import Again, Amiss, Asking, Told
from orchestra_lib.serving.desk import Desk
from orchestra_lib.serving.refusal import Refusal
from orchestra_lib.serving.served import Ended, Handed, Thought, Working
from orchestra_lib.trajectory import StopReason

MAX_BODY = 8 << 20
KEEP_ALIVE_S = 10.0
"""A stream says something at least so often, or what stands between would close it."""

_RETRY_S = 1
_SHOWN = 300
"""Characters of an answer that an error tells of."""
_HEADER_NAME, _MOST_NAMED = re.compile(r"[A-Za-z0-9_.-]+"), 32


class Completions:
    """The routes, for at most `at_once` requests that are being answered."""

    def __init__(self, desk: Desk, at_once: int, now: float) -> None:
        self._desk, self._at_once, self._busy, self._began = desk, at_once, 0, int(now)
        self.routes = [
            Route("/v1/chat/completions", self.complete, methods=["POST"]),
            Route("/v1/models", self.models, methods=["GET"]),
            Route("/v1/models/{name:path}", self.model, methods=["GET"]),
        ]

    async def models(self, _request: Request) -> Response:
        """Who can be asked for."""
        return json_response({"object": "list", "data": [self._model(name) for name in self._desk.orders]})

    async def model(self, request: Request) -> Response:
        """One of them."""
        name = request.path_params["name"]
        if name not in self._desk.orders:
            return error_response(f"there is no model {name[:100]!r}", status=404, code="model_not_found")
        return json_response(self._model(name))

    def _model(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": self._began, "owned_by": "orchestra"}

    async def complete(self, request: Request) -> Response:
        """Answer one request: whole, or as events."""
        if self._busy >= self._at_once:
            words = f"{self._busy} requests are being answered, as many as this server takes at once; try again"
            return error_response(words, status=429, code="too_many", headers={"retry-after": str(_RETRY_S)})
        try:
            body = await _body(request)
            asked = read_request(body)
            asking = Asking(self._desk, asked)
        except Refusal as refusal:
            return error_response(str(refusal), status=refusal.status, param=refusal.param, code=refusal.code)
        except BadInput as refusal:
            return error_response(str(refusal), status=400)
        except ClientDisconnect:
            return Response(status_code=400)
        answer = _Answer(self._desk, asking, asked, body["messages"])
        headers = {"x-orchestra-run": asking.served.run_id, **_unused(asked)}
        self._busy += 1
        if asked.stream:
            return _Events(answer.events(), headers, self._one_less)
        try:
            found = await _unless_gone(request, asking, answer.whole())
        finally:
            self._one_less()
        found.headers.update({**headers, "x-orchestra-run": asking.served.run_id})
        return found

    def _one_less(self) -> None:
        self._busy -= 1


class _Events(StreamingResponse):
    """A stream of events; `over` is called once it has ended, also where it never began."""

    def __init__(self, events: AsyncGenerator[bytes, None], headers: dict[str, str], over: Callable[[], None]) -> None:
        super().__init__(events, headers={**headers, "cache-control": "no-store"}, media_type="text/event-stream")
        self._events, self._over = events, over

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with aclosing(self._events):
                await super().__call__(scope, receive, send)
        finally:
            self._over()


class _Answer:
    """The response to one request."""

    def __init__(self, desk: Desk, asking: Asking, asked: Asked, messages: list[object]) -> None:
        self._desk, self._asking, self._asked, self._messages = desk, asking, asked, messages
        model = asked.model or next(iter(desk.orders))
        self._head = Head(
            id=f"chatcmpl-{asking.served.run_id}-{secrets.token_hex(4)}", created=int(time.time()), model=model
        )

    async def whole(self) -> Response:
        """One JSON object, once calls are handed over or the run has ended."""
        async with aclosing(self._asking.parts()) as parts:
            async for part in parts:
                if isinstance(part, Handed | Ended | Amiss):
                    return self._closed(part)
        raise RuntimeError(f"run {self._asking.served.run_id} ended without an end")

    def _closed(self, part: Handed | Ended | Amiss) -> Response:
        if not isinstance(part, Handed) and (failed := _failure(part)):
            status, message, code = failed
            return error_response(message, status=status, code=code)
        said, used, run = self._said(part)
        return json_response(shapes.completion(self._head, said, used, run))

    def _said(self, part: Handed | Ended | Amiss) -> tuple[Message, dict[str, Any] | None, dict[str, Any]]:
        assert not isinstance(part, Amiss)  # which has nothing to say
        asked, served, runs = self._asked, self._asking.served, self._asking.runs
        calls = self._desk.hold(served, asked, part, self._messages) if isinstance(part, Handed) else []
        said = shapes.message_of(part, calls, asked.max_tokens, asked.stop)
        return said, shapes.usage(runs), shapes.about(runs, asked.unused)

    async def events(self) -> AsyncGenerator[bytes, None]:
        """The same as server-sent events; the orchestrator's reasoning as it comes, its message when it is known.

        What a turn says may be words before a call: it is the answer only once the turn has ended. Whoever hangs up
        stops the run.
        """
        over = False
        try:
            yield shapes.event(shapes.chunk(self._head, {"role": "assistant", "content": ""}))
            async with aclosing(self._paced()) as parts:
                async for part in parts:
                    match part:
                        case Thought(text=text):
                            yield shapes.event(shapes.chunk(self._head, {"reasoning_content": text}))
                        case Working(turn=turn, tools=tools):
                            yield shapes.remark(f"turn {turn}: {spoken(tools)}")
                        case Again(run_id=run_id):
                            yield shapes.remark(f"the answer was not as demanded; run {run_id} is asked again")
                        case None:
                            yield shapes.remark("still working")
                        case _:
                            over = True
                            for piece in self._last(part):
                                yield piece
        except OrchestraError as error:
            kind = None if isinstance(error, BadInput) else "server_error"
            yield shapes.event(shapes.error(str(error), kind=kind))
        finally:
            if not over:
                self._asking.stop()

    async def _paced(self) -> AsyncGenerator[Told | None, None]:
        """The parts of the run, and None whenever nothing has come for a while."""
        async with aclosing(self._asking.parts()) as parts:
            while True:
                coming = asyncio.ensure_future(anext(parts, StopAsyncIteration))
                try:
                    while not (await asyncio.wait({coming}, timeout=KEEP_ALIVE_S))[0]:
                        yield None
                finally:
                    if not coming.done():
                        coming.cancel()
                        await asyncio.wait({coming})
                part = coming.result()
                if part is StopAsyncIteration:
                    return
                yield part  # type: ignore[misc]  # the sentinel is gone by now

    def _last(self, part: Handed | Ended | Amiss) -> list[bytes]:
        if not isinstance(part, Handed) and (failed := _failure(part)):
            status, message, code = failed
            kind = "server_error" if status >= 500 else None
            return [shapes.event(shapes.error(message, code=code, kind=kind))]
        said, used, run = self._said(part)
        chunks = shapes.closing_chunks(self._head, said, used, run, with_usage=self._asked.with_usage)
        return [*map(shapes.event, chunks), shapes.event("[DONE]")]


def _failure(part: Ended | Amiss) -> tuple[int, str, str] | None:
    """Status, words and code of what has nothing to say; None for an answer, and where a limit ended the run."""
    trajectory = part.trajectory
    if isinstance(part, Amiss):
        said = (trajectory.answer or "")[:_SHOWN]
        return 422, f"run {trajectory.id}, the last of {part.tries}: {part.why} It said: {said}", part.code
    if trajectory.stop is StopReason.FAULT:
        fault = trajectory.faults[-1]
        status = 400 if fault.kind == "context_overflow" else 502
        return status, f"run {trajectory.id} failed at {fault.where}: {fault.message}", fault.kind
    if trajectory.stop is StopReason.CANCELLED:
        return 503, f"run {trajectory.id} was stopped before it had an answer", "cancelled"
    return None


async def _body(request: Request) -> Any:
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > MAX_BODY:
            raise Refusal(f"the body is over {MAX_BODY >> 20} MB; send less", status=413)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Refusal(f"the body is no JSON ({error})") from None


def _unused(asked: Asked) -> dict[str, str]:
    """The header that names what changes nothing; names that no header can hold are in the answer alone."""
    named = [name for name in asked.unused if _HEADER_NAME.fullmatch(name)][:_MOST_NAMED]
    return {"x-orchestra-unused": ",".join(named)} if named else {}


async def _unless_gone(request: Request, asking: Asking, work: Any) -> Response:
    """The response; a caller that hangs up meanwhile stops the run."""
    answering = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            asking.stop()
        found: Response = await answering
        return found
    except OrchestraError as error:  # a run that may not begin, or whose record could not be kept
        return error_response(str(error), status=400 if isinstance(error, BadInput) else 503)
    except asyncio.CancelledError:
        asking.stop()
        raise
    finally:
        gone.cancel()
