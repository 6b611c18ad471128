"""Sampling from a server that speaks as vLLM does: ids in, ids and log-probabilities out, many at once."""

import asyncio
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from orchestra_lib.errors import ContextOverflow, ProviderFault
from orchestra_lib.training import server_sampler
from orchestra_lib.training.sampler import Stream
from orchestra_lib.training.server_sampler import ServerSampler


@contextmanager
def vllm(reply):
    """A server on loopback; `reply` makes status and body of a completions request, `asked` keeps them all."""
    asked, together = [], threading.Barrier(4)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self._answer(200, {"data": [{"id": "policy"}]})

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body)
            self._answer(*reply(body, together))

        def _answer(self, status, body):
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()


def sampler(url, **changes):
    options = {"ends": [7], "temperature": 1.0, "max_new_tokens": 50, "context": 40, **changes}
    return ServerSampler(url, **options)


def echo(body, together):
    ids = [body["prompt"][-1], 7]
    return 200, {"choices": [{"token_ids": ids, "logprobs": {"token_logprobs": [-0.5, -0.25]}}]}


def test_many_ask_at_once_and_each_gets_its_own_ids():
    def when_all_are_there(body, together):
        together.wait(timeout=20)
        return echo(body, together)

    async def four(one):
        return await asyncio.gather(*(one.generate([1, n], Stream(n)) for n in (2, 3, 4, 5)))

    with vllm(when_all_are_there) as (url, asked):
        found = asyncio.run(four(sampler(url)))
    assert [one.ids for one in found] == [[2, 7], [3, 7], [4, 7], [5, 7]]
    assert found[0].logprobs == [-0.5, -0.25]
    assert {body["max_tokens"] for body in asked} == {38}, "the whole rollout stays within the context"
    assert all(body["stop_token_ids"] == [7] and body["model"] == "policy" for body in asked)
    assert len({body["seed"] for body in asked}) == 4


def test_the_same_rollout_asks_with_the_same_seed():
    with vllm(echo) as (url, asked):
        for _ in range(2):
            asyncio.run(sampler(url).generate([1], Stream(5)))
    assert asked[0] == asked[1]


def test_no_room_is_an_overflow_and_asks_nobody():
    with vllm(echo) as (url, asked), pytest.raises(ContextOverflow, match=r"raise grpo\.context"):
        asyncio.run(sampler(url, context=2).generate([1, 2], Stream(1)))
    assert asked == []


@pytest.mark.parametrize(
    "reply, says, tries",
    [
        ((500, {"error": "out of memory"}), "HTTP 500.*out of memory", 3),
        ((400, {"error": "prompt too long"}), "HTTP 400", 1),
        ((200, {"choices": [{"text": "hi"}]}), "no token ids", 1),
        ((200, {"choices": [{"token_ids": [1], "logprobs": {"token_logprobs": []}}]}), "1 ids and 0", 1),
    ],
)
def test_a_server_that_fails_is_the_worlds_fault(monkeypatch, reply, says, tries):
    monkeypatch.setattr(server_sampler, "_PAUSE_S", 0.0)
    with vllm(lambda *_: reply) as (url, asked), pytest.raises(ProviderFault, match=says):
        asyncio.run(sampler(url).generate([1], Stream(1)))
    assert len(asked) == tries


def test_a_server_that_is_away_is_named(monkeypatch):
    monkeypatch.setattr(server_sampler, "_PAUSE_S", 0.0)
    with pytest.raises(ProviderFault, match=r"127\.0\.0\.1:9 did not answer"):
        asyncio.run(sampler("http://127.0.0.1:9").generate([1], Stream(1)))
