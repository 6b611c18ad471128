"""What `orchestra serve` itself costs for a request, with orchestrators that play scripts.

    python -m benchmarks.serve --json

The server runs in a process of its own; OpenAI's client asks it eight at once. CPU is user and system time of that
process between the first request and the last, divided by their number: HTTP, JSON, the checks, the loop, the journal
with its fsyncs and the store are all in it. Beside it stands a server that reads the body and sends a fixed answer.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import openai
import psutil

from benchmarks.claims import Claim, Rival, claim, note, parser, show
from benchmarks.served_scripts import KEY

AT_ONCE = 8
MOST_MS = 10.0
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
"""What the system counts CPU time in: less cannot be told from nothing."""
LOOK: Any = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}},
}
Ask = Callable[[openai.AsyncOpenAI, int], Awaitable[int]]


def main() -> None:
    chosen = parser(__doc__).parse_args()
    many, repeats = (16, 1) if chosen.quick else (400, 5)
    with serving("--bare") as (address, process):
        rival = Rival(name="a fixed answer", value=_cpu_ms(address, process, _whole, many, repeats, "bare"))
    unit = "CPU ms per request"
    asks: dict[str, Ask] = {
        "a request, one turn": _whole,
        "the same, streamed": _streamed,
        "a request, with the caller's own tool": _with_tool,
    }
    claims: list[Claim] = []
    with serving() as (address, process):
        for name, ask in asks.items():
            value = _cpu_ms(address, process, ask, many, repeats, name)
            claims.append(claim(name, value, unit, rival=rival, at_most=MOST_MS))
        value = _cpu_ms(address, process, _turns, many // 4, repeats, "four searches")
        claims.append(claim("a request of four searches and an answer", value, unit, rival=rival))
    show(claims, as_json=chosen.json)


@contextlib.contextmanager
def serving(*options: str) -> Iterator[tuple[str, psutil.Process]]:
    """The address of a server, and its process."""
    command = [sys.executable, "-m", "benchmarks.served_scripts", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), psutil.Process(process.pid)
        finally:
            process.terminate()


def _cpu_ms(address: str, process: psutil.Process, ask: Ask, many: int, repeats: int, name: str) -> float:
    asyncio.run(_crowd(address, ask, AT_ONCE))  # the first ones load what is loaded once
    found = []
    for _ in range(repeats):
        before = process.cpu_times()
        requests = asyncio.run(_crowd(address, ask, many))
        after = process.cpu_times()
        used_s = max(_TICK_S, after.user + after.system - before.user - before.system)
        found.append(used_s * 1000 / requests)
    note(f"{name}: {median(found):.2f} ms CPU per request, of {', '.join(f'{one:.2f}' for one in found)}")
    return median(found)


async def _crowd(address: str, ask: Ask, many: int) -> int:
    """Ask so many times; returns how many requests that were."""
    places = asyncio.Semaphore(AT_ONCE)
    async with openai.AsyncOpenAI(base_url=address, api_key=KEY, max_retries=2) as client:

        async def one(number: int) -> int:
            async with places:
                return await ask(client, number)

        return sum(await asyncio.gather(*map(one, range(many))))


async def _whole(client: openai.AsyncOpenAI, number: int) -> int:
    await client.chat.completions.create(model="answer", messages=[{"role": "user", "content": f"Task {number}"}])
    return 1


async def _turns(client: openai.AsyncOpenAI, number: int) -> int:
    await client.chat.completions.create(model="turns", messages=[{"role": "user", "content": f"Task {number}"}])
    return 1


async def _streamed(client: openai.AsyncOpenAI, number: int) -> int:
    asked: list[Any] = [{"role": "user", "content": f"Task {number}"}]
    async for _ in await client.chat.completions.create(model="answer", messages=asked, stream=True):
        pass
    return 1


async def _with_tool(client: openai.AsyncOpenAI, number: int) -> int:
    """Two requests: the run hands its call over in the first and goes on in the second."""
    messages: list[Any] = [{"role": "user", "content": f"Task {number}"}]
    first = await client.chat.completions.create(model="caller", messages=messages, tools=[LOOK])
    said = first.choices[0].message
    assert said.tool_calls
    told = {"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": "It is there."}
    messages += [said.model_dump(exclude_none=True), told]
    second = await client.chat.completions.create(model="caller", messages=messages, tools=[LOOK])
    assert second.choices[0].finish_reason == "stop"
    return 2


if __name__ == "__main__":
    main()
