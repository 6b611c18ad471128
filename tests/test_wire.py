"""Connections to an endpoint: kept between requests, never left open."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

from openai import AsyncStream
from test_openai_compatible import FINE, collect, model

from orchestra_lib.model import wire

KEEPS = FINE.replace(b"connection: close\r\n", b"")


class Keeping:
    """A server that plays the same reply on every connection until the other side ends it."""

    def __init__(self):
        self.connections = self.open = 0
        self.idle = asyncio.Event()

    async def handle(self, reader, writer):
        self.connections += 1
        self.open += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
                writer.write(KEEPS)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            self.idle.set()
            writer.close()


@asynccontextmanager
async def keeping():
    server = Keeping()
    async with await asyncio.start_server(server.handle, "127.0.0.1", 0) as listener:
        server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
        yield server


async def ask(server):
    async with wire.client(server.url) as client:
        assert await client.post("/x", cast_to=str)


def test_one_connection_serves_request_after_request():
    async def run():
        async with keeping() as server:
            for _ in range(3):
                await ask(server)
            return server.connections

    assert asyncio.run(run()) == 1


def test_a_reply_that_was_left_takes_its_connection_with_it():
    async def run():
        async with keeping() as server:
            async with wire.client(server.url) as client:
                stream = await client.post("/x", cast_to=object, stream=True, stream_cls=AsyncStream[object])
                await stream.close()
            await asyncio.wait_for(server.idle.wait(), 5)
            await ask(server)
            return server.connections

    assert asyncio.run(run()) == 2


def test_a_model_without_tls_gets_a_new_connection_for_each_request():
    async def run():
        async with keeping() as server:
            for _ in range(2):
                await collect(model(server))
                await asyncio.wait_for(server.idle.wait(), 5)
            return server.connections, server.open

    assert asyncio.run(run()) == (2, 0)


def test_each_event_loop_has_connections_of_its_own_and_leaves_none_open():
    async def run():
        async with keeping() as server:
            await asyncio.gather(*(ask(server) for _ in range(5)))
            return server

    for _ in range(2):  # a connection left open would warn, and warnings are errors here
        assert 1 <= asyncio.run(run()).connections <= 5


def test_a_crowd_is_served_by_several_clients():
    """A client looks at all its connections for every request, so that a thousand through one would crawl."""

    async def run():
        async with keeping() as server:
            async with AsyncExitStack() as stack:
                lent = [await stack.enter_async_context(wire.client(server.url)) for _ in range(100)]
            async with wire.client(server.url) as again:
                return len(set(lent)), again is lent[0]

    clients, first_again = asyncio.run(run())
    assert 2 <= clients <= 10
    assert first_again
