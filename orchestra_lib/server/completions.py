"""`POST /v1/chat/completions` and the list of models."""

import asyncio
import json
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
from orchestra_lib.serving.desk import Desk
from orchestra_lib.serving.refusal import Refusal
from orchestra_lib.serving.served import Ended, Handed, Served, Thought, Working
from orchestra_lib.trajectory import StopReason, Trajectory

MAX_BODY = 8 << 20
KEEP_ALIVE_S = 10.0
"""A stream says something at least so often, or what stands between would close it."""

_RETRY_S = 1


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
            served = self._desk.serve(asked)
        except Refusal as refusal:
            return error_response(str(refusal), status=refusal.status, param=refusal.param, code=refusal.code)
        except BadInput as refusal:
            return error_response(str(refusal), status=400)
        except ClientDisconnect:
            return Response(status_code=400)
        answer = _Answer(self._desk, served, asked, body["messages"])
        headers = {"x-orchestra-run": served.run_id}
        if asked.unused:
            headers["x-orchestra-unused"] = ",".join(asked.unused)
        self._busy += 1
        if asked.stream:
            return _Events(answer.events(), headers, self._one_less)
        try:
            found = await _unless_gone(request, served, answer.whole())
        finally:
            self._one_less()
        found.headers.update(headers)
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

    def __init__(self, desk: Desk, served: Served, asked: Asked, messages: list[object]) -> None:
        self._desk, self._served, self._asked, self._messages = desk, served, asked, messages
        model = asked.model or next(iter(desk.orders))
        self._head = Head(id=f"chatcmpl-{served.run_id}-{secrets.token_hex(4)}", created=int(time.time()), model=model)

    async def whole(self) -> Response:
        """One JSON object, once calls are handed over or the run has ended."""
        async with aclosing(self._served.parts()) as parts:
            async for part in parts:
                if isinstance(part, Handed | Ended):
                    return self._closed(part)
        raise RuntimeError(f"run {self._served.run_id} ended without an end")

    def _closed(self, part: Handed | Ended) -> Response:
        if isinstance(part, Ended) and (failed := _failure(part.trajectory)):
            status, message, code = failed
            return error_response(message, status=status, code=code)
        said, used, run = self._said(part)
        return json_response(shapes.completion(self._head, said, used, run))

    def _said(self, part: Handed | Ended) -> tuple[Message, dict[str, Any] | None, dict[str, Any]]:
        calls = self._desk.hold(self._served, self._asked, part, self._messages) if isinstance(part, Handed) else []
        trajectory = self._served.trajectory
        assert trajectory is not None
        used, self._served.reported = shapes.usage(trajectory, self._served.reported)
        return shapes.message_of(part, calls, self._asked.max_tokens), used, shapes.about(trajectory)

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
                self._served.cancel.set()

    async def _paced(self) -> AsyncGenerator[Thought | Working | Handed | Ended | None, None]:
        """The parts of the run, and None whenever nothing has come for a while."""
        async with aclosing(self._served.parts()) as parts:
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

    def _last(self, part: Handed | Ended) -> list[bytes]:
        if isinstance(part, Ended) and (failed := _failure(part.trajectory)):
            _, message, code = failed
            return [shapes.event(shapes.error(message, code=code, kind="server_error"))]
        said, used, run = self._said(part)
        chunks = shapes.closing_chunks(self._head, said, used, run, with_usage=self._asked.with_usage)
        return [*map(shapes.event, chunks), shapes.event("[DONE]")]


def _failure(trajectory: Trajectory) -> tuple[int, str, str] | None:
    """Status, words and code of a run that has nothing to say; None when it ended by an answer or a limit."""
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


async def _unless_gone(request: Request, served: Served, work: Any) -> Response:
    """The response; a caller that hangs up meanwhile stops the run."""
    answering = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            served.cancel.set()
        found: Response = await answering
        return found
    except OrchestraError as error:  # a run that may not begin, or whose record could not be kept
        return error_response(str(error), status=400 if isinstance(error, BadInput) else 503)
    except asyncio.CancelledError:
        served.cancel.set()
        raise
    finally:
        gone.cancel()
