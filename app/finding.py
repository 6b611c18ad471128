"""Where a text stands in a run: in what was said, called, returned or answered."""

from collections.abc import Iterator
from typing import Literal

from orchestra_lib.record import record
from orchestra_lib.trajectory import Call, Trajectory, Turn

MAX_HITS = 500
_AROUND = 40

Where = Literal["reasoning", "content", "arguments", "observation", "answer"]


@record
class Hit:
    """One place. `turn` counts from 1, `call` is the place of the call in its turn; None outside a call."""

    turn: int
    call: int | None
    where: Where
    excerpt: str


def find(trajectory: Trajectory, text: str) -> list[Hit]:
    """The places that hold `text`, whatever the case, in order; one per field, at most `MAX_HITS`."""
    wanted = text.casefold().strip()
    if not wanted:
        return []
    hits: list[Hit] = []
    for turn, call, where, field in _fields(trajectory):
        at = field.casefold().find(wanted)
        if at < 0:
            continue
        excerpt = " ".join(field[max(0, at - _AROUND) : at + len(wanted) + _AROUND].split())
        hits.append(Hit(turn=turn, call=call, where=where, excerpt=excerpt))
        if len(hits) == MAX_HITS:
            break
    return hits


def _fields(trajectory: Trajectory) -> Iterator[tuple[int, int | None, Where, str]]:
    for turn in trajectory.turns:
        yield from _turn_fields(turn)
    if trajectory.answer is not None and trajectory.turns:
        yield trajectory.turns[-1].index, None, "answer", trajectory.answer


def _turn_fields(turn: Turn) -> Iterator[tuple[int, int | None, Where, str]]:
    if turn.generation is not None:
        yield turn.index, None, "reasoning", turn.generation.reasoning
        if turn.generation.answer is None:
            yield turn.index, None, "content", turn.generation.content
    for place, call in enumerate(turn.calls):
        for where, field in _call_fields(call):
            yield turn.index, place, where, field


def _call_fields(call: Call) -> Iterator[tuple[Where, str]]:
    yield "arguments", f"{call.call.tool} {call.call.arguments_text}"
    if call.observation is not None:
        yield "observation", call.observation.text
