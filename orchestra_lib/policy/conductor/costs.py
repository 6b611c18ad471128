"""What one turn of the conductor costs and writes, whatever it thinks about."""

import asyncio
from collections.abc import Awaitable

from orchestra_lib.policy.conductor.arguments_writer import Written
from orchestra_lib.pricing import Attempt
from orchestra_lib.protocols import Situation


class Costs:
    """`attempts` and `written` gather what the model's part costs and writes.

    `spoken` is what can be shown before the move is made, None at its end.
    """

    def __init__(self, situation: Situation) -> None:
        self.number = len(situation.turns) + 1
        self.attempts: list[Attempt] = []
        self.written: list[str] = []
        self.spoken: asyncio.Queue[str | None] = asyncio.Queue()

    async def write(self, writing: Awaitable[Written]) -> Written:
        """Let the model write, and put it on this turn's bill."""
        written = await writing
        self.attempts += written.attempts
        self.written += [written.raw_text] if written.raw_text else []
        return written
