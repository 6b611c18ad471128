"""The tables of the paper as studies of one's own: what each varies, over which suites, and what it shows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestra_lib.errors import BadInput
from orchestra_lib.evaluation.plan import Conditions
from orchestra_lib.evaluation.suites import DOMAINS, FRAMES, HLE, SIMULATED
from orchestra_lib.preference import parse_preference
from orchestra_lib.record import record

MAIN, TAU2, UNSEEN_TOOLS, UNSEEN_PRICES = "main", "tau2", "unseen-tools", "unseen-prices"
ADHERENCE, TURNS, CALLS = "adherence", "turns", "calls"
TABLES: Mapping[str, str] = {
    MAIN: "accuracy in each suite, cost and latency over all of them",
    TAU2: "tasks in domains: score, cost and latency",
    UNSEEN_TOOLS: "the same with other tools",
    UNSEEN_PRICES: "the same under other prices",
    ADHERENCE: "how well preferences are kept, beside runs of a base orchestrator",
    TURNS: "accuracy and cost by the most turns allowed",
    CALLS: "calls of a task, for each tool",
}
"""The name of each table, and what it shows."""
PUBLISHED_SUITES = (HLE, FRAMES, DOMAINS)
"""What the paper's tables are over; in place of tau2-bench stand domains of the same kind."""
PUBLISHED_TURNS = (10, 20, 50, 100)
WISHES = ("quality=1,cost=0,latency=0", "quality=0.5,cost=1,latency=0", "quality=0.5,cost=0,latency=1")
"""The preferences that adherence is measured with where nobody names others."""
OTHER_TOOLS = ("sim:small", "sim:mid", "sim:maths", "sim:code", "sim:search")
"""Simulated tools in place of those of the suite `simulated`: no strongest one, and two new ones."""


@record
class Choice:
    """What a table varies: turns, other tools, other prices, preferences; `base` is whom adherence is beside."""

    turns: tuple[int, ...] = PUBLISHED_TURNS
    tools: tuple[str, ...] | None = None
    prices: tuple[str, ...] = ()
    wishes: tuple[str, ...] = WISHES
    base: str | None = None


def suites_of(table: str | None, named: Sequence[str]) -> tuple[str, ...]:
    """The suites of a study: those that were named, or else the table's own. Raises `BadInput`."""
    if table is not None and table not in TABLES:
        raise BadInput(f"there is no table {table[:60]!r}; there are {', '.join(TABLES)}")
    twice = sorted({name for name in named if named.count(name) > 1})
    if twice:
        raise BadInput(f"the suite {twice[0]} is given twice; name it once")
    if named:
        return tuple(named)
    if table is None:
        raise BadInput("name a suite to evaluate on, for example `orchestra eval simulated`, or a --table")
    return (DOMAINS,) if table == TAU2 else PUBLISHED_SUITES


def variants(table: str | None, given: Conditions, choice: Choice) -> list[tuple[str, Conditions]]:
    """The conditions that a suite is played under for a table, each with what is particular about it.

    Raises `BadInput` for a table that lacks what it varies.
    """
    match table:
        case "turns":
            _several("--turns", choice.turns)
            return [(f"{count} turns at most", _turns(given, count)) for count in choice.turns]
        case "unseen-tools":
            tools = choice.tools or (OTHER_TOOLS if given.suite == SIMULATED else None)
            if tools is None:
                raise BadInput(
                    f"which tools are unseen, only you know: name them with --unseen-tools (suite {given.suite})"
                )
            return [("tools as usual", given), (f"tools {', '.join(tools)}", replace(given, tools=tools))]
        case "unseen-prices":
            if not choice.prices:
                raise BadInput("which prices are unseen, only you know: name tables with --unseen-prices, for example "
                               "deepinfra; `orchestra prices show NAME` shows one")  # fmt: skip
            return [(f"prices {name}", replace(given, prices=name)) for name in (given.prices, *choice.prices)]
        case "adherence":
            _several("--wish", choice.wishes)
            return [(f"prefers {wish}", _wishing(given, wish)) for wish in choice.wishes]
        case _:
            return [("", given)]


def _turns(given: Conditions, count: int) -> Conditions:
    return replace(given, limits=replace(given.limits, max_turns=count))


def _wishing(given: Conditions, wish: str) -> Conditions:
    return replace(given, preference=parse_preference(part.strip() for part in wish.split(",")))


def _several(flag: str, values: Sequence[object]) -> None:
    if not values or len(set(values)) < len(values):
        raise BadInput(f"{flag}: name each value once, and one at least")
