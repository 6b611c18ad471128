"""The rollout that all contestants of `engine.py` play, a question and one tool, and many of them at once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

QUESTION = "Say the words again, one after another, and then answer."
ECHO: Any = {
    "type": "function",
    "function": {
        "name": "echo",
        "description": "Says a word again.",
        "parameters": {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]},
    },
}
Batch = Callable[[int, int], None]
"""Plays so many rollouts, so many at once."""


def at_once_of(roll: Callable[[int], Awaitable[object]]) -> Batch:
    """A batch out of one async rollout; all batches share one event loop, as a program's do."""
    runner = asyncio.Runner()
    count = 0

    async def all_of(rollouts: int, at_once: int) -> None:
        nonlocal count
        places = asyncio.Semaphore(at_once)

        async def one(number: int) -> None:
            async with places:
                await roll(number)

        first, count = count, count + rollouts
        async with asyncio.TaskGroup() as group:
            for number in range(first, first + rollouts):
                group.create_task(one(number))

    return lambda rollouts, at_once: runner.run(all_of(rollouts, at_once))
