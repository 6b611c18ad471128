"""Who was on offer in a run and who was called, by who answers: the name of a tool may be anybody's.

Who answers is the name that prices it: of an expert its model, of any other tool its own name. A tool that lets the
orchestrator choose among models counts as one for each of them.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from orchestra_lib.pricing import Price, total
from orchestra_lib.profile import without_figures
from orchestra_lib.record import record
from orchestra_lib.tool import CallStatus, ToolSpec
from orchestra_lib.trajectory import Call, Setting, Trajectory

LATE = 4
"""Turns from this one on are counted together."""

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


def described(setting: Setting) -> list[str]:
    """Beside each of `offers`, by which description it was offered."""
    return [mark(spec.description) for spec in setting.tools for _ in spec.choices]


def mark(description: str) -> str:
    """What tells a description from every other: the beginning of its SHA-256, price and time left out."""
    return hashlib.sha256(without_figures(description).encode("utf-8", "replace")).hexdigest()[:12]


@record
class Ran:
    """A call that ran, the number of its turn from 1 on, and who answered it as whose tool."""

    turn: int
    call: Call
    spec: ToolSpec
    model: str


def ran(trajectory: Trajectory) -> tuple[Ran, ...]:
    """The calls that ran here, in order; turns that came with a caller's conversation are left out."""
    specs = {spec.name: spec for spec in trajectory.setting.tools}
    return tuple(
        Ran(turn=number, call=call, spec=spec, model=answered_by(call, spec))
        for number, turn in enumerate(trajectory.turns, start=1)
        if number > trajectory.setting.given_turns
        for call in turn.calls
        if (spec := specs.get(call.call.tool)) and call.observation is not None and call.observation.status in _RAN
    )


def uses(calls: Sequence[Ran], setting: Setting, usd: Callable[[Call], float | None]) -> list[dict[str, Any]]:
    """These calls summed by tool, who answered and turn; `usd` and `seconds` are None where one is unknown."""
    groups: dict[tuple[str, str, str, int], list[Call]] = {}
    for one in calls:
        key = (one.spec.name, one.model, str(one.spec.kind), min(one.turn, LATE))
        groups.setdefault(key, []).append(one.call)
    return [
        {
            "tool": tool,
            "model": model,
            "kind": kind,
            "turn": turn,
            "calls": len(group),
            "usd": total([usd(call) for call in group]),
            "seconds": total([call.took_s(setting) for call in group]),
        }
        for (tool, model, kind, turn), group in groups.items()
    ]


def path(calls: Sequence[Ran]) -> list[str]:
    """Who answered these calls, in their order."""
    return [one.model for one in calls]


def answered_by(call: Call, spec: ToolSpec) -> str:
    """Who answered: of several models on offer the one that was paid; the tool itself where none was."""
    if not spec.models:
        return spec.priced_as
    return next((one.priced_as for one in call.attempts if one.priced_as in spec.models), spec.name)
