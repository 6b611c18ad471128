"""Making an accepted task harder: what the model is told, and the measure by which it must have become so."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from orchestra_lib.environment.assignment import Assignment
from orchestra_lib.environment.domain import World
from orchestra_lib.errors import BadInput
from orchestra_lib.record import record

Measure = Callable[[World, Assignment], int]


@record
class Operator:
    """One way to make a task harder. `measure` counts what must have grown, and `grown` names it."""

    name: str
    how: str
    grown: str
    measure: Measure


def _named_keys(world: World, assignment: Assignment) -> int:
    """Less for each key of a record that the user says: a description has to be looked up."""
    words = assignment.words
    return -sum(key in words for records in world.records.values() for key in records)


OPERATORS = (
    Operator(
        name="another request",
        how="add one more request of the same user as a followup, which changes another record or the same one again.",
        grown="writes",
        measure=lambda _, one: one.difficulty.get("writes", 0),
    ),
    Operator(
        name="told when asked",
        how="move details out of the instruction into facts, so that the agent has to ask for them.",
        grown="facts",
        measure=lambda _, one: len(one.facts),
    ),
    Operator(
        name="described",
        how="let the user describe records (date, place, kind) in place of their ids, and add reads that find them.",
        grown="records described in place of their ids",
        measure=_named_keys,
    ),
    Operator(
        name="to be told",
        how="require the agent to tell the user an amount, a date or a state that a result says.",
        grown="things required",
        measure=lambda _, one: len(one.required),
    ),
)


def draw_operator(random: Random) -> Operator:
    """One of the operators."""
    return random.choice(OPERATORS)


def harder(
    world: World, before: Assignment, operator: Operator, check: Callable[[Mapping[str, Any]], Assignment]
) -> Callable[[Mapping[str, Any]], Assignment]:
    """The check of a harder task: all that a task has to pass, and more of what the operator asks for."""

    def checked(data: Mapping[str, Any]) -> Assignment:
        after = check(data)
        if operator.measure(world, after) <= operator.measure(world, before):
            raise BadInput(f"evolution: the task has no more {operator.grown} than before; {operator.how}")
        if len(after.golden) < len(before.golden):
            raise BadInput("evolution: the task has fewer golden calls than before; keep what it asked for")
        return after

    return checked
