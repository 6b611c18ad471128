"""The scripted server of the benchmarks, which breaks a share of its replies.

A request meets, by a seed: 429, 500, a stream that is cut, a stream whose JSON is broken, silence, or the script's
reply. `GET /count` tells how many of each there were.
"""

import argparse
import asyncio
import contextlib
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.scripted_server import response_to

FAULTS = ("429", "500", "cut", "broken", "silent")
_HEADS = {"429": b"429 Too Many Requests\r\nretry-after: 0", "500": b"500 Internal Server Error"}
_SAID = b'{"error": {"message": "injected"}}'


@contextlib.contextmanager
def faulty(share: float, seed: int) -> Iterator[str]:
    """The base URL of a server in a process of its own that breaks this share of its replies."""
    command = [sys.executable, "-m", "benchmarks.soaking.faulty_server", str(share), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class _Server:
    def __init__(self, share: float, seed: int) -> None:
        self._share, self._rng = share, random.Random(seed)
        self._count: Counter[str] = Counter()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request a connection, as clients of plain HTTP here send them."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            sizes = (line.partition(b":") for line in head.lower().split(b"\r\n")[1:])
            size = next((int(value) for name, _, value in sizes if name == b"content-length"), 0)
            await self._reply(head, await reader.readexactly(size), writer)
        writer.close()

    async def _reply(self, head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
        if head.startswith(b"GET /count"):
            said = json.dumps(self._count).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(said), said))
            return
        fault = self._rng.choice(FAULTS) if self._rng.random() < self._share else "good"
        self._count[fault] += 1
        whole = response_to(head, body)
        match fault:
            case "429" | "500":
                writer.write(
                    b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
                    % (_HEADS[fault], len(_SAID), _SAID)
                )
            case "cut":
                writer.write(whole[: len(whole) * 2 // 3])
            case "broken":
                writer.write(whole.replace(b'"choices"', b'"choices', 1).replace(b"content-length", b"x-length", 1))
            case "silent":
                await asyncio.sleep(90)
            case _:
                writer.write(whole)
        await writer.drain()


async def _serve(share: float, seed: int) -> None:
    server = await asyncio.start_server(_Server(share, seed).answer, "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("share", type=float)
    options.add_argument("seed", type=int)
    chosen = options.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(chosen.share, chosen.seed))
