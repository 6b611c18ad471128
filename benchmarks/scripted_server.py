"""An OpenAI-compatible server that plays a script: eight calls of a tool, then an answer.

    python -m benchmarks.scripted_server --latency 0.2        # prints its address and serves until it is ended

It counts the replies in a request to know where the script is, streams when asked to, and spends
next to nothing itself. Only the standard library, so that any interpreter can run it.
"""

import argparse
import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CALLS = 8
"""Tool calls before the answer: a rollout makes one model call more."""
ENDING = ("final_answer", "submit")
"""Tools that some frameworks end an episode with; the answer goes through them where they are on offer."""


@contextlib.contextmanager
def serving(latency_s: float = 0.0) -> Iterator[str]:
    """The base URL of a server in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scripted_server", "--latency", str(latency_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class _Connection(asyncio.Protocol):
    """One kept connection; requests come one after another."""

    def __init__(self, latency_s: float) -> None:
        self._latency_s = latency_s
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, end, rest = self._buffer.partition(b"\r\n\r\n")
        if not end or len(rest) < (size := _length(head)):
            return
        body, self._buffer = rest[:size], rest[size:]
        asyncio.get_running_loop().call_later(self._latency_s, self._transport.write, response_to(head, body))


def _length(head: bytes) -> int:
    lines = (line.partition(b":") for line in head.lower().split(b"\r\n")[1:])
    return next((int(value) for name, _, value in lines if name == b"content-length"), 0)


def response_to(head: bytes, body: bytes) -> bytes:
    """The whole reply to a request, by the script."""
    if b"/chat/completions" not in head.partition(b"\r\n")[0]:
        return _http(
            json.dumps({"object": "list", "data": [{"id": "scripted", "object": "model"}]}), "application/json"
        )
    request = json.loads(body)
    message, usage = _move(request), {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    if request.get("stream"):
        return _http(_stream(message, usage), "text/event-stream")
    finish = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"index": 0, "message": {"role": "assistant", "content": None, **message}, "finish_reason": finish}
    reply = {"id": "c1", "object": "chat.completion", "created": 1, "model": "scripted"}
    return _http(json.dumps({**reply, "choices": [choice], "usage": usage}), "application/json")


def _move(request: dict[str, Any]) -> dict[str, Any]:
    """The next message of the script; every call has its own argument, since a repeat would count as a loop."""
    done = sum(message.get("role") == "assistant" for message in request["messages"])
    names = [tool["function"]["name"] for tool in request.get("tools") or ()]
    if done < CALLS and names:
        return _call(
            done, next(name for name in names if name not in ENDING), {"x": f"{done} is the word to say again"}
        )
    ending = next((name for name in names if name in ENDING), None)
    return _call(done, ending, {"answer": "42"}) if ending else {"content": "42"}


def _call(number: int, name: str, arguments: dict[str, str]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]}


def _stream(message: dict[str, Any], usage: dict[str, int]) -> str:
    """Four chunks, as OpenAI sends them: the beginning, the text or the arguments, the end, the usage."""
    calls = message.get("tool_calls")
    if calls:
        begun = {**calls[0], "function": {**calls[0]["function"], "arguments": ""}}
        rest = {"index": 0, "function": {"arguments": calls[0]["function"]["arguments"]}}
        deltas = [{"role": "assistant", "content": None, "tool_calls": [begun]}, {"tool_calls": [rest]}]
    else:
        deltas = [{"role": "assistant", "content": ""}, {"content": message["content"]}]
    finish = "tool_calls" if calls else "stop"
    choices: list[list[dict[str, Any]]] = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": finish}])
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    chunks = [*({**chunk, "choices": choice} for choice in choices), {**chunk, "choices": [], "usage": usage}]
    return "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"


def _http(body: str, media_type: str) -> bytes:
    data = body.encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n%s" % (
        media_type.encode(),
        len(data),
        data,
    )


async def _serve(latency_s: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(latency_s), "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--latency", type=float, default=0.0, help="seconds before each reply")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(options.parse_args().latency))
