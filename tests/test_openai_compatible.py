"""Drives `OpenAICompatible` against a real HTTP server on loopback that plays a script."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestra_lib.errors import BadInput, ProviderFault
from orchestra_lib.generation import Channel, ChatRequest, Completion, Delta
from orchestra_lib.model.failure import retry_after
from orchestra_lib.model.openai_compatible import Dialect, OpenAICompatible, Patience

QUICK = Patience(connect_s=1, idle_s=0.5, total_s=5, max_retries=2, first_wait_s=0.01, longest_wait_s=0.2)
ASK = ChatRequest(messages=({"role": "user", "content": "hello"},), max_tokens=8)
KEY = "sk-very-secret-key"
Reply = bytes | Callable[["Server", asyncio.StreamWriter], Awaitable[None]]


def http(status: int, body: bytes, *headers: str, kind: str = "application/json") -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"content-type: {kind}", f"content-length: {len(body)}", "connection: close"]
    return "\r\n".join([*lines, *headers, "", ""]).encode() + body


def sse(*chunks: Any, done: bool = True) -> bytes:
    lines = [
        f"data: {c if isinstance(c, str) else json.dumps(c)}\n\n" for c in [*chunks, *(["[DONE]"] if done else [])]
    ]
    return http(200, "".join(lines).encode(), kind="text/event-stream; charset=utf-8")


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def usage(given: int, made: int, **more: Any) -> dict[str, Any]:
    return {"id": "c1", "choices": [], "usage": {"prompt_tokens": given, "completion_tokens": made, **more}}


FINE = sse(chunk(content="Hel"), chunk(content="lo"), chunk("stop"), usage(5, 2))


class Server:
    """Plays one reply per request, the last one for all that follow, and keeps what was asked."""

    def __init__(self, replies: list[Reply]) -> None:
        self.replies = replies
        self.asked: list[dict[str, Any]] = []
        self.heads: list[str] = []
        self.closed = asyncio.Event()
        self.flood_fine = True
        self.url = ""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            (int(line.split(":")[1]) for line in head.splitlines() if line.lower().startswith("content-length")), 0
        )
        self.asked.append(json.loads(await reader.readexactly(length) or b"{}"))
        self.heads.append(head)
        reply = self.replies[min(len(self.asked), len(self.replies)) - 1]
        try:
            if isinstance(reply, bytes):
                writer.write(reply)
                await writer.drain()
            else:
                await reply(self, writer)
        except ConnectionError:
            self.closed.set()
        finally:
            writer.close()


@asynccontextmanager
async def serving(*replies: Reply):
    server = Server(list(replies))
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
    try:
        yield server
    finally:
        listener.close()


def model(server: Server, **options: Any) -> OpenAICompatible:
    return OpenAICompatible("priced", server.url, "m1", **{"api_key": KEY, "patience": QUICK, **options})


async def collect(model: OpenAICompatible, request: ChatRequest = ASK) -> tuple[list[Delta], Completion]:
    pieces = [piece async for piece in model.stream(request)]
    assert isinstance(pieces[-1], Completion)
    return [piece for piece in pieces if isinstance(piece, Delta)], pieces[-1]


def play(*replies: Reply, request: ChatRequest = ASK, **options: Any) -> tuple[list[Delta], Completion, Server]:
    async def run():
        async with serving(*replies) as server:
            return (*await collect(model(server, **options), request), server)

    return asyncio.run(run())


def fault(*replies: Reply, **options: Any) -> tuple[str, Server]:
    async def run():
        async with serving(*replies) as server:
            with pytest.raises(ProviderFault) as caught:
                await collect(model(server, **options))
            return str(caught.value), server

    return asyncio.run(run())


def test_text_streams_and_usage_is_reported() -> None:
    deltas, completion, _ = play(FINE)
    assert [delta.text for delta in deltas] == ["Hel", "lo"]
    assert (completion.content, completion.finish_reason) == ("Hello", "stop")
    (attempt,) = completion.attempts
    assert (attempt.priced_as, attempt.billed, attempt.error) == ("priced", True, None)
    assert attempt.usage is not None
    assert (attempt.usage.input_tokens, attempt.usage.output_tokens) == (5, 2)


def test_the_last_usage_that_says_something_stands() -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 1}}
    _, completion, _ = play(
        sse(usage(5, 1), chunk("stop", content="x"), usage(5, 4, **details), {"usage": {}, "choices": []})
    )
    read = completion.attempts[0].usage
    assert read is not None
    assert (read.input_tokens, read.output_tokens, read.cached_tokens, read.reasoning_tokens) == (5, 4, 3, 1)


def test_missing_usage_is_unknown_and_not_zero() -> None:
    assert play(sse(chunk("stop", content="x")))[1].attempts[0].usage is None


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_is_a_channel_of_its_own(name: str) -> None:
    deltas, completion, _ = play(sse(chunk(**{name: "hm"}), chunk("stop", content="yes")))
    assert [delta.channel for delta in deltas] == [Channel.REASONING, Channel.CONTENT]
    assert (completion.reasoning, completion.content) == ("hm", "yes")


def test_interleaved_tool_calls_are_put_together() -> None:
    def part(index: int, text: str, **more: Any) -> dict[str, Any]:
        return chunk(
            tool_calls=[
                {"index": index, "function": {"arguments": text, **more}, **({"id": f"id{index}"} if more else {})}
            ]
        )

    stream = sse(
        part(0, "", name="add"),
        part(1, '{"q"', name="find"),
        part(0, '{"a":'),
        part(1, ":2}"),
        part(0, "1}"),
        chunk("tool_calls"),
    )
    calls = play(stream)[1].calls
    assert [(call.id, call.name, call.arguments_text) for call in calls] == [
        ("id0", "add", '{"a":1}'),
        ("id1", "find", '{"q":2}'),
    ]


def test_whole_calls_under_one_index_stay_apart_and_missing_ids_are_filled_in() -> None:
    def whole(name: str, **more: Any) -> dict[str, Any]:
        return chunk(tool_calls=[{"function": {"name": name, "arguments": "{}"}, **more}])

    calls = play(sse(whole("a", index=0, id="x"), whole("b", index=0, id="y"), chunk("tool_calls")))[1].calls
    assert [(call.id, call.name) for call in calls] == [("x", "a"), ("y", "b")]
    assert play(sse(whole("a", index=0), chunk("tool_calls")))[1].calls[0].id == "call_0"


def test_the_request_carries_what_was_asked_for() -> None:
    tool = {"type": "function", "function": {"name": "add", "parameters": {}}}
    request = ChatRequest(
        messages=ASK.messages, tools=(tool,), schema={"type": "object"}, max_tokens=7, temperature=0.5, seed=3
    )
    sent = play(FINE, request=request)[2].asked[0]
    assert (sent["model"], sent["max_tokens"], sent["temperature"], sent["seed"]) == ("m1", 7, 0.5, 3)
    assert (sent["stream"], sent["stream_options"]) == (True, {"include_usage": True})
    assert sent["tools"] == [tool]
    assert sent["response_format"]["json_schema"]["schema"] == {"type": "object"}


def test_a_dialect_changes_the_request() -> None:
    dialect = Dialect(
        max_tokens_field="max_completion_tokens", takes_temperature=False, reports_usage=False, extra_body={"k": 1}
    )
    sent = play(FINE, dialect=dialect)[2].asked[0]
    assert sent["max_completion_tokens"] == 8
    assert sent["k"] == 1
    assert not {"max_tokens", "temperature", "stream_options"} & set(sent)


def test_the_key_is_read_from_the_environment_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY_FOR_THIS_TEST", "from-environment")
    server = play(FINE, api_key=None, api_key_env="A_KEY_FOR_THIS_TEST")[2]
    assert "authorization: bearer from-environment" in server.heads[0].lower()


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_what_may_pass_is_tried_again_and_each_try_is_on_the_ledger(status: int) -> None:
    _, completion, server = play(http(status, b'{"error": {"message": "busy"}}'), FINE)
    assert len(server.asked) == 2
    failed, good = completion.attempts
    assert (failed.billed, good.billed, good.error) == (False, True, None)
    assert failed.error is not None
    assert f"HTTP {status}" in failed.error


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
def test_what_cannot_pass_is_not_tried_again(status: int) -> None:
    message, server = fault(http(status, b'{"error": {"message": "no"}}'))
    assert len(server.asked) == 1
    assert f"HTTP {status}" in message
    assert server.url in message


def test_retries_are_bounded() -> None:
    message, server = fault(http(503, b"{}"))
    assert len(server.asked) == 3
    assert "after 3 tries" in message


def test_a_fault_carries_its_tries_for_the_bill() -> None:
    def tries(*replies: Reply) -> list[tuple[bool, bool]]:
        async def run() -> ProviderFault:
            async with serving(*replies) as server:
                with pytest.raises(ProviderFault) as caught:
                    await collect(model(server))
                return caught.value

        return [(attempt.billed, attempt.usage is None) for attempt in asyncio.run(run()).attempts]

    assert tries(http(503, b"{}")) == [(False, True)] * 3
    assert tries(sse(chunk(content="x"), "{broken")) == [(True, True)]  # it had begun to write: cost unknown


def test_retry_after_is_honoured_and_a_long_one_ends_the_tries() -> None:
    started = asyncio.run(_timed(http(429, b"{}", "retry-after: 0.15"), FINE))
    assert started >= 0.15
    assert len(fault(http(429, b"{}", "retry-after: 3600"))[1].asked) == 1


async def _timed(*replies: Reply) -> float:
    loop = asyncio.get_running_loop()
    async with serving(*replies) as server:
        start = loop.time()
        await collect(model(server))
        return loop.time() - start


def test_a_server_that_is_down_is_named_with_a_remedy() -> None:
    async def run() -> str:
        async with serving(FINE) as server:
            url = server.url
        with pytest.raises(ProviderFault) as caught:
            await collect(OpenAICompatible("p", url, "m1", api_key=KEY, patience=QUICK))
        return str(caught.value)

    message = asyncio.run(run())
    assert "127.0.0.1" in message
    assert "check the address" in message


@pytest.mark.parametrize(
    "body, kind",
    [
        (b"<!doctype html><html><body>Gateway</body></html>", "text/html"),
        (b'{"choices": []}', "application/json"),
        (b"hello", "text/plain"),
    ],
)
def test_what_is_no_event_stream_is_refused(body: bytes, kind: str) -> None:
    message, server = fault(http(200, body, kind=kind))
    assert len(server.asked) == 1
    assert kind in message
    assert "Gateway" not in message


def test_neither_the_key_nor_a_page_nor_a_long_text_is_quoted() -> None:
    page, _ = fault(http(401, f"<html>{KEY}</html>".encode(), kind="text/html"))
    echoed, _ = fault(http(401, json.dumps({"error": {"message": f"bad\nkey {KEY} \x1b[31m" + "x" * 9999}}).encode()))
    for message in (page, echoed):
        assert KEY not in message
        assert "<html" not in message
        assert "\n" not in message
        assert "\x1b" not in message
        assert len(message) < 600


def test_a_user_and_password_in_the_address_are_not_quoted() -> None:
    async def run() -> str:
        async with serving(http(404, b"{}")) as server:
            url = server.url.replace("//", "//user:pass@")
            with pytest.raises(ProviderFault) as caught:
                await collect(OpenAICompatible("p", url, "m1", patience=QUICK))
            return str(caught.value)

    assert "pass" not in asyncio.run(run())


@pytest.mark.parametrize(
    "stream",
    [
        sse("{broken"),
        sse(chunk(content="x"), "{broken"),
        sse(chunk(content="x")),
        sse(),
        sse({"choices": [{"index": 1, "delta": {"content": "x"}}]}),
        sse(chunk(tool_calls=[{"index": 0, "function": {"arguments": "{}"}}]), chunk("stop")),
        sse("[" * 200_000),
        sse([1, 2], 5, "null", chunk(content=7)),
    ],
)
def test_a_stream_that_is_no_reply_is_a_provider_fault(stream: bytes) -> None:
    message, server = fault(stream)
    assert "no chat reply" in message
    assert len(server.asked) == 1


def test_an_error_within_the_stream_is_told() -> None:
    message, server = fault(sse(chunk(content="x"), {"error": {"message": "out of memory"}}))
    assert "out of memory" in message
    assert len(server.asked) == 1


async def _cut(server: Server, writer: asyncio.StreamWriter) -> None:
    writer.write(sse(chunk(content="x"), done=False).replace(b"content-length", b"x-length", 1)[:-5])
    await writer.drain()
    writer.transport.abort()


async def _silent(server: Server, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3)


async def _endless(server: Server, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
    while True:
        writer.write(f"data: {json.dumps(chunk(content='x'))}\n\n".encode())
        await writer.drain()
        await asyncio.sleep(0.01)


async def _flood(server: Server, writer: asyncio.StreamWriter) -> None:
    status, kind = (200, "text/event-stream") if server.flood_fine else (500, "text/html")
    writer.write(f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\ndata: ".encode())
    while True:
        writer.write(b"x" * 65536 if server.flood_fine else b"<p>\n" * 16384)
        await writer.drain()


@pytest.mark.parametrize("fine", [True, False])
def test_a_server_that_floods_is_cut_off(fine: bool) -> None:
    async def run() -> None:
        async with serving(_flood) as server:
            server.flood_fine = fine
            with pytest.raises(ProviderFault):
                await collect(model(server, patience=Patience(total_s=20, max_retries=0)))
            await asyncio.wait_for(server.closed.wait(), 5)

    asyncio.run(run())


def test_a_reply_that_broke_off_is_not_asked_for_twice() -> None:
    assert len(fault(_cut)[1].asked) == 1


def test_a_silent_server_times_out_and_is_tried_again() -> None:
    _, completion, _ = play(_silent, FINE)
    assert completion.attempts[0].error is not None
    assert "in time" in completion.attempts[0].error


def test_a_reply_without_end_stops_at_the_total_time() -> None:
    message, _ = fault(_endless, patience=Patience(idle_s=5, total_s=0.3))
    assert "in time" in message


def test_closing_the_iterator_closes_the_connection() -> None:
    async def run() -> None:
        async with serving(_endless) as server:
            async with aclosing(model(server).stream(ASK)) as pieces:
                await anext(pieces)
            await asyncio.wait_for(server.closed.wait(), 5)

    asyncio.run(run())


def test_cancelling_the_task_closes_the_connection() -> None:
    async def run() -> None:
        async with serving(_endless) as server:
            task = asyncio.create_task(collect(model(server)))
            while not server.asked:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(server.closed.wait(), 5)

    asyncio.run(run())


def test_sampled_token_ids_are_kept_where_a_server_sends_them() -> None:
    first, last = chunk(content="a"), chunk("stop", content="b")
    first["choices"][0]["token_ids"], last["choices"][0]["token_ids"] = [1, 2], [3]
    assert play(sse(first, last))[1].token_ids == (1, 2, 3)


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://x/v1", "http://"])
def test_an_address_that_is_no_url_is_bad_input(url: str) -> None:
    with pytest.raises(BadInput, match="write for example"):
        OpenAICompatible("p", url, "m1")


def test_the_reasoning_families_of_openai_get_their_own_field() -> None:
    assert Dialect.guess("https://api.openai.com/v1", "gpt-5-mini").takes_temperature is False
    assert Dialect.guess("https://api.openai.com/v1", "gpt-4o").max_tokens_field == "max_completion_tokens"
    assert Dialect.guess("http://127.0.0.1:8000/v1", "gpt-5").max_tokens_field == "max_tokens"


@given(st.text(max_size=40))
def test_any_retry_after_is_a_wait_or_unknown(header: str) -> None:
    wait = retry_after(header)
    assert wait is None or wait >= 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "id",
                    "choices",
                    "delta",
                    "content",
                    "tool_calls",
                    "usage",
                    "index",
                    "function",
                    "finish_reason",
                    "prompt_tokens",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(JSON, max_size=4))
def test_whatever_a_server_streams_is_a_reply_or_a_provider_fault(chunks: list[Any]) -> None:
    async def run() -> None:
        async with serving(sse(*[json.dumps(chunk) for chunk in chunks])) as server:
            with suppress(ProviderFault):
                await collect(model(server))

    asyncio.run(run())
