"""What tests of the web need: a scripted HTTP server on loopback, and a guard that lets them reach it alone."""

import asyncio
import ipaddress
import json
from contextlib import asynccontextmanager

from orchestra_lib.toolkit.addresses import Guard

LOOPBACK = ipaddress.ip_network("127.0.0.0/8")


def reply(body=b"", *, status=200, kind="text/html; charset=utf-8", **headers):
    """A whole HTTP answer; header names are written with underscores."""
    body = body.encode() if isinstance(body, str) else body
    named = {"content-type": kind, "content-length": len(body), "connection": "close"}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items() if value is not None)
    return f"HTTP/1.1 {status} Word\r\n{lines}\r\n".encode("latin-1") + body


def answer(data, *, status=200, **headers):
    return reply(json.dumps(data), status=status, kind="application/json", **headers)


class Script:
    """Answers each request with what `of` says for its path, or with the next of a list; remembers what it heard."""

    def __init__(self, of):
        self.of = of
        self.heard = []

    async def handle(self, reader, writer):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.heard.append(head)
            given = self.of.pop(0) if isinstance(self.of, list) else self.of(head.split(" ")[1])
            for piece in [given] if isinstance(given, bytes) else given:
                if isinstance(piece, float):
                    await asyncio.sleep(piece)
                else:
                    writer.write(piece)
                    await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def served(of, tls=None):
    """A server for `of`; has `port`, `url` and `heard`."""
    script = Script(of)
    async with await asyncio.start_server(script.handle, "127.0.0.1", 0, ssl=tls) as listener:
        script.port = listener.sockets[0].getsockname()[1]
        script.url = f"http://127.0.0.1:{script.port}/"
        yield script


class Names:
    """A resolver that knows just these names, and counts how often each was asked for."""

    def __init__(self, **of):
        self.of = {name.replace("_", "."): addresses for name, addresses in of.items()}
        self.asked = []

    async def __call__(self, host, port):
        self.asked.append(host)
        if host not in self.of:
            raise OSError("unknown")
        found = self.of[host]
        return found(len(self.asked)) if callable(found) else found


def guard(names, *ports):
    """A guard for tests: loopback counts as public on these ports."""
    return Guard(names, allowed=[LOOPBACK], ports=ports)
