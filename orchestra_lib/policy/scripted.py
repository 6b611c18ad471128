"""A policy that plays a script: for tests, demos and recorded lessons. It uses no model."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from orchestra_lib.generation import Channel, Delta, Generation
from orchestra_lib.protocols import PolicySpec, Situation
from orchestra_lib.tool import ToolCall

Move = str | Sequence[tuple[str, dict[str, Any]]] | Generation | BaseException
"""An answer, calls as (tool, arguments), a whole generation, or an exception to raise."""


class Scripted:
    """Plays one move a turn; an answer ends the episode. Thinks aloud for `think_s` seconds first.

    Raises `IndexError` from `act` when the script is shorter than the episode.
    """

    def __init__(self, script: Sequence[Move], *, name: str = "scripted", think_s: float = 0.0) -> None:
        self.spec = PolicySpec(name=name)
        self._script, self._think_s = list(script), think_s

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        """The move of this turn."""
        turn = len(situation.turns)
        move = self._script[turn]
        if self._think_s:
            yield Delta(channel=Channel.REASONING, text=f"Turn {turn + 1} of the script.")
            await asyncio.sleep(self._think_s)
        if isinstance(move, BaseException):
            raise move
        if isinstance(move, Generation):
            yield move
        elif isinstance(move, str):
            yield Generation(raw_text=move, content=move, answer=move)
        else:
            calls = tuple(
                ToolCall.of(f"call_{turn + 1}_{place}", tool, arguments)
                for place, (tool, arguments) in enumerate(move, start=1)
            )
            yield Generation(raw_text="", calls=calls)
