"""Choosing the next tool and giving it its arguments, or saying honestly that none can help."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orchestra_lib.generation import Estimate
from orchestra_lib.policy.conductor.answered import LIBRARY
from orchestra_lib.policy.conductor.choice import Choice
from orchestra_lib.policy.conductor.moves import Move
from orchestra_lib.policy.conductor.progress import argument_of
from orchestra_lib.policy.conductor.turn import LIVE, Turn
from orchestra_lib.tool import ToolSpec

QUERY_CHARS = 300
ABLE_FOR_LIVE = 0.2
"""A tool with this chance beside live questions (a web search, say) is tried before refusing."""

Arguments = tuple[Mapping[str, Any], ...]


async def select(turn: Turn) -> Move:
    """The best tool that has not had its chance, with arguments; an honest answer when none is left."""
    if (refusal := _refusal(turn)) is not None:
        return refusal
    choice = turn.choice()
    while (name := choice.tool) is not None:
        spec = turn.progress.spec(name)
        assert spec is not None
        reason = _reason(turn, choice)
        turn.spoken.put_nowait(f"{reason} ")
        arguments, how = await _arguments(turn, spec)
        if arguments:
            why = f"{reason} {how}"
            return Move(why=why, tool=name, arguments=arguments, estimates=choice.estimates)
        choice = _without(choice, name, how)
    return _give_up(turn, choice)


def search(spec: ToolSpec, query: str, k: int) -> dict[str, Any]:
    """Arguments of one search; how many results only where the tool asks for it."""
    return {"query": query[:QUERY_CHARS], **({"k": k} if "k" in spec.parameters["properties"] else {})}


async def _arguments(turn: Turn, spec: ToolSpec) -> tuple[Arguments, str]:
    """Arguments for each call, and how they came about; none when nobody can write them."""
    match argument_of(spec):
        case "code":
            return await _programs(turn)
        case "query":
            if turn.heading and spec.name == LIBRARY:
                return (search(spec, turn.heading, 3),), "The query is what the documents call it."
            return (search(spec, turn.task, 3),), "The question itself is the first query."
        case "question":
            return ({"question": turn.task},), "It gets the question as it stands."
    if turn.writer is None:
        return (), "no model is here that could write its arguments"
    written = await turn.write(turn.writer.arguments(spec, turn.task))
    return ((written.value,) if written.value else ()), written.why_not or "The small model filled in its schema."


async def _programs(turn: Turn) -> tuple[Arguments, str]:
    if (code := turn.translation) is not None:
        return ({"code": code},), "The question was translated into Python word by word."
    if turn.writer is None:
        return (), "no model is here that could write the program"
    written = await turn.write(turn.writer.program(turn.task))
    if written.value is None:  # cut off or out of shape: one more draw
        written = await turn.write(turn.writer.program(turn.task, seed=1))
    if written.value is None:
        return (), written.why_not
    return ({"code": str(written.value["code"])},), f"{turn.writer.model_name} wrote the program."


def _reason(turn: Turn, choice: Choice) -> str:
    best = choice.estimates[0]
    words = f"{turn.title(best.tool)} promises most: chance {best.chance:.0%}, score {best.score:.2f}."
    if turn.progress.used():
        words = f"{turn.titles(turn.progress.used())} did not help. {words}"
    if (second := choice.runner_up) is not None:
        words += f" Next would be {turn.title(second.tool)} ({second.chance:.0%}, {second.score:.2f})."
    if turn.heading:
        return f"This asks what the documents answer under “{turn.heading}”. {words}"
    return f"This looks like: {turn.near.kind.replace('_', ' ')}. {words}"


def _without(choice: Choice, tool: str, why: str) -> Choice:
    """The choice with one tool ruled out because nobody could write its arguments."""
    kept = [estimate for estimate in choice.estimates if estimate.tool != tool]
    out = [
        replace(estimate, score=None, note=f"not used: {why}; {estimate.note}")
        for estimate in choice.estimates
        if estimate.tool == tool
    ]
    return Choice(estimates=tuple(kept + out))


def _refusal(turn: Turn) -> Move | None:
    """Say at once what no tool here can do, rather than let a model invent it."""
    chances = turn.chances()
    able = any(chance.chance >= ABLE_FOR_LIVE for chance in chances.values())
    if turn.near.kind != LIVE or able or turn.translation is not None:
        return None
    example = turn.near.nearest[0][0].text
    estimates = tuple(
        Estimate(tool=tool, chance=round(chance.chance, 3), note=f"not used: hardly any chance here; {chance.note}")
        for tool, chance in chances.items()
    )
    return Move(
        why=f"This is like “{example}”: no tool on offer can know or do it.",
        answer="I cannot answer this from here: it needs live information or an action outside this workbench, "
        "and no tool on offer reaches the web or your accounts. I would rather not guess.",
        estimates=estimates,
    )


def _give_up(turn: Turn, choice: Choice) -> Move:
    progress, forbidden = turn.progress, turn.forbidden()
    words = ["I cannot answer this with the tools on offer."]
    if progress.calls:
        words = [f"I could not answer this. Tried without success: {turn.titles(progress.used())}."]
        words.append(f"The last result was no answer: {turn.failure(progress.calls[-1])}.")
    if turn.about_now:
        words.append("It asks about the present; that needs the live web, which no tool on offer reaches.")
    if forbidden:
        words.append(f"You asked to avoid {turn.titles(forbidden)}, which I kept to.")
    return Move(why="No tool is left that could help.", answer=" ".join(words), estimates=choice.estimates)
