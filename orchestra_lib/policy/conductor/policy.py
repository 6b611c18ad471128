"""The conductor: a transparent, preference-aware orchestrator that needs no large model, and works without any.

Each turn it reads the episode so far and takes the first that applies: answer from what was found, compute on
it, search on, test found code, write a failed program anew, or try the tool with the highest expected
preference reward (`choice`) among those that have not had their chance. When no tool is able it says so.
In a domain it works as at a service desk (`desk`).
It remembers nothing between turns, so a run can be resumed and forked anywhere.
"""

import asyncio
from collections.abc import AsyncGenerator

from orchestra_lib.generation import Channel, Delta, Generation
from orchestra_lib.policy.conductor import continuation, selection
from orchestra_lib.policy.conductor.answered import Answered
from orchestra_lib.policy.conductor.arguments_writer import ArgumentsWriter
from orchestra_lib.policy.conductor.desk.conversation import Desk
from orchestra_lib.policy.conductor.desk.walk import DeskTurn
from orchestra_lib.policy.conductor.estimator import Estimator
from orchestra_lib.policy.conductor.moves import Move
from orchestra_lib.policy.conductor.turn import Turn
from orchestra_lib.protocols import ChatModel, PolicySpec, Situation
from orchestra_lib.tool import ToolCall


class Conductor:
    """Chooses by `estimator`; `model` writes arguments, and with None only patterns do. `answered` are questions that
    the documents of this workbench answer.

    `act` never raises for a model that cannot be reached: it goes on without it and says so.
    """

    def __init__(
        self,
        estimator: Estimator,
        model: ChatModel | None = None,
        *,
        answered: Answered | None = None,
        name: str = "conductor",
    ) -> None:
        self.spec = PolicySpec(
            name=name,
            priced_as=model.name if model else None,
            max_input_tokens=8_000 if model else None,
            max_output_tokens=1_000 if model else None,
            timeout_s=180.0,
        )
        self._estimator, self._answered = estimator, answered
        self._writer = ArgumentsWriter(model) if model else None

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        """One turn: why, then the calls or the answer."""
        turn = await asyncio.to_thread(self._turn, situation)
        moving = asyncio.create_task(_move(turn))
        said = ""
        try:
            while (text := await turn.spoken.get()) is not None:
                said += text
                yield Delta(channel=Channel.REASONING, text=text)
            move = await moving
        finally:
            moving.cancel()
        if rest := move.why.removeprefix(said):
            yield Delta(channel=Channel.REASONING, text=rest)
        yield _generation(move, turn)

    def _turn(self, situation: Situation) -> Turn | DeskTurn:
        desk = Desk.of(situation)
        if desk is None:
            return Turn(situation, self._estimator, self._writer, self._answered)
        return DeskTurn(situation, desk, self._estimator, self._writer)


async def _move(turn: Turn | DeskTurn) -> Move:
    try:
        if isinstance(turn, DeskTurn):
            return await turn.move()
        return await continuation.follow(turn) or await selection.select(turn)
    finally:
        turn.spoken.put_nowait(None)


def _generation(move: Move, turn: Turn | DeskTurn) -> Generation:
    calls = tuple(
        ToolCall.of(f"call_{turn.number}_{place}", move.tool or "", arguments)
        for place, arguments in enumerate(move.arguments, start=1)
    )
    return Generation(
        raw_text="\n".join(turn.written),
        reasoning=move.why,
        content=move.answer or "",
        calls=calls,
        answer=move.answer,
        attempts=tuple(turn.attempts),
        estimates=move.estimates,
    )
