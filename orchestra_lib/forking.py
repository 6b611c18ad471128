"""Forks: the turns that a run shares with the one it branched off from, tools brought to remember them, and the tree.

A fork's journal is whole by itself: it begins with the shared turns as they were, times and costs included, and goes
on by the same loop. So its bill, its time and its reward are those of the whole trajectory, and what was paid before
the fork is a part of them.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from operator import itemgetter
from typing import Any

from orchestra_lib.errors import BadInput
from orchestra_lib.event import Event, TurnStarted, fold
from orchestra_lib.generation import Delta, Generation
from orchestra_lib.protocols import Policy, Restorable, Situation, Tool
from orchestra_lib.record import record
from orchestra_lib.store.forks import Branch
from orchestra_lib.tool import CallStatus, ToolCall
from orchestra_lib.trajectory import Call, Fork, Turn


@record
class AskedCall:
    """A call as a person asks for it: a tool and its arguments."""

    tool: str
    arguments: Mapping[str, Any]


def shared(events: Sequence[Event], fork: Fork) -> tuple[Event, ...]:
    """The events of the turns before the one that is played anew, without the run's start.

    Raises `BadInput` for a turn that the run does not have.
    """
    turns = fold(events).turns
    indices = [turn.index for turn in turns]
    if fork.turn not in indices:
        there = f"its turns are {indices[0]} to {indices[-1]}" if indices else "it has none"
        raise BadInput(f"run {fork.run_id} has no turn {fork.turn}; {there}")
    end = next(at for at, one in enumerate(events) if isinstance(one, TurnStarted) and one.turn == fork.turn)
    return tuple(events[1:end])


def copied(events: Sequence[Event], first_turn: int) -> tuple[Event, ...]:
    """The events of turns that a run did not play itself, but begins with."""
    return tuple(event for event in events if getattr(event, "turn", first_turn) < first_turn)


class Edited:
    """A policy whose turn after `played` turns is a person's and makes the call asked for; the others are its own."""

    def __init__(self, policy: Policy, played: int, asked: AskedCall) -> None:
        self.spec = policy.spec
        self._policy, self._played, self._asked = policy, played, asked

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        if len(situation.turns) == self._played:
            call = ToolCall.of(f"call_{self._played + 1}_edited", self._asked.tool, self._asked.arguments)
            yield Generation(raw_text="", calls=(call,))
            return
        async with aclosing(self._policy.act(situation)) as parts:
            async for part in parts:
                yield part


async def restore(tools: Sequence[Tool], turns: Sequence[Turn], run_id: str) -> tuple[str, ...]:
    """Bring the tools to where the shared turns had left them; what was done, a sentence for each tool concerned.

    Raises `BadInput` when a tool cannot be brought there.
    """
    said = []
    restored: list[object] = []
    for tool in tools:
        name = tool.spec.name
        if isinstance(tool, Restorable):
            if any(memory is tool.memory for memory in restored):
                continue
            restored.append(tool.memory)
            restorable = [other for other in tools if isinstance(other, Restorable)]
            sharing = [other.spec.name for other in restorable if other.memory is tool.memory]
            if calls := _ran(turns, sharing):
                said.append(f"{', '.join(sharing)}: {await tool.restore(run_id, calls)}")
        elif tool.spec.source is not None and (calls := _ran(turns, [name])):
            said.append(f"{name}: starts anew; what it may remember of {len(calls)} earlier calls is not restored")
    return tuple(said)


def _ran(turns: Sequence[Turn], names: Sequence[str]) -> list[Call]:
    """The finished calls of these tools, in the order in which they began."""
    made = [
        (call.observation.started_s, call)
        for turn in turns
        for call in turn.calls
        if call.call.tool in names and call.observation and call.observation.status is not CallStatus.REJECTED
    ]
    return [call for _, call in sorted(made, key=itemgetter(0))]


def tree_lines(branches: Sequence[Branch]) -> tuple[tuple[int, Branch], ...]:
    """The branches as a tree reads: each with its depth, children under their parent by turn, then by id."""
    ids = {one.id for one in branches}
    children: dict[str | None, list[Branch]] = {}
    for one in branches:
        children.setdefault(one.parent if one.parent in ids else None, []).append(one)
    found: list[tuple[int, Branch]] = []
    waiting = [(0, one) for one in _ordered(children.get(None, []))]
    while waiting:
        depth, one = waiting.pop(0)
        found.append((depth, one))
        waiting = [(depth + 1, child) for child in _ordered(children.get(one.id, []))] + waiting
    return tuple(found)


def _ordered(branches: Sequence[Branch]) -> list[Branch]:
    return sorted(branches, key=lambda one: (one.turn or 0, one.id))
