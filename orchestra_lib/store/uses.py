"""Who was on offer in a run and who was called, by who answers: the name of a tool may be anybody's.

Who answers is the name that prices it: of an expert its model, of any other tool its own name. A tool that lets the
orchestrator choose among models counts as one for each of them.
"""

import math
from collections.abc import Iterator
from typing import Any

from orchestra_lib.billing import spent_on
from orchestra_lib.pricing import Price
from orchestra_lib.tool import CallStatus, ToolSpec
from orchestra_lib.trajectory import Call, Setting, Trajectory

LATE = 4
"""Turns from this one on are counted together."""

FIRST = 3
"""So many calls of a run are kept in their order."""

_RAN = (CallStatus.OK, CallStatus.ERROR, CallStatus.TIMEOUT)
_NO_PRICE = Price(source="")


def offers(setting: Setting) -> list[dict[str, Any]]:
    """Who could be called, in the order of the offer, with the price that the run was played under."""
    return [
        {
            "tool": spec.name,
            "model": model,
            "kind": str(spec.kind),
            "simulated": spec.simulated,
            "input_usd_per_mtok": price.input_usd_per_mtok,
            "output_usd_per_mtok": price.output_usd_per_mtok,
            "call_usd": price.call_usd,
            "second_usd": price.second_usd,
        }
        for spec in setting.tools
        for model in spec.choices
        for price in (setting.prices.find(model) or _NO_PRICE,)
    ]


def uses(trajectory: Trajectory) -> list[dict[str, Any]]:
    """The calls that ran, summed by tool, who answered and turn; `usd` and `seconds` are None where one is unknown."""
    groups: dict[tuple[str, str, str, int], list[Call]] = {}
    for turn, call, spec in _ran(trajectory):
        key = (spec.name, answered_by(call, spec), str(spec.kind), min(turn, LATE))
        groups.setdefault(key, []).append(call)
    return [
        {
            "tool": tool,
            "model": model,
            "kind": kind,
            "turn": turn,
            "calls": len(calls),
            "usd": spent_on((each for one in calls for each in one.attempts), trajectory.setting.prices).cost_usd,
            "seconds": _sum(one.took_s(trajectory.setting) for one in calls),
        }
        for (tool, model, kind, turn), calls in groups.items()
    ]


def path(trajectory: Trajectory) -> list[str]:
    """Who answered the first calls that ran, in order."""
    return [answered_by(call, spec) for _, call, spec in _ran(trajectory)][:FIRST]


def answered_by(call: Call, spec: ToolSpec) -> str:
    """Who answered: of several models on offer the one that was paid; the tool itself where none was."""
    if not spec.models:
        return spec.priced_as
    return next((one.priced_as for one in call.attempts if one.priced_as in spec.models), spec.name)


def _ran(trajectory: Trajectory) -> Iterator[tuple[int, Call, ToolSpec]]:
    """The calls that ran, each with the number of its turn, from 1 on."""
    specs = {spec.name: spec for spec in trajectory.setting.tools}
    for number, turn in enumerate(trajectory.turns, start=1):
        for call in turn.calls:
            spec = specs.get(call.call.tool)
            if spec is not None and call.observation is not None and call.observation.status in _RAN:
                yield number, call, spec


def _sum(values: Iterator[float | None]) -> float | None:
    known = list(values)
    return None if None in known else math.fsum(value for value in known if value is not None)
