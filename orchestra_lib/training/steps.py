"""One optimiser step in numbers, and what a rollout of it came to. Unknown is None and never 0."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from orchestra_lib.record import record

REASONS = ("flat_group", "malformed", "no_answer", "fault", "ungraded")
"""Why a rollout is not in the loss: its group's rewards hardly differ, every turn of it was malformed, it gave no
valid answer, the world failed it, or nobody can say what it is worth (no grade, or an unknown cost)."""
AIMS = ("cost", "latency", "tool", "outcome")
"""What a preference may ask for above all."""


@record
class Step:
    """One line of `steps.jsonl`.

    Seconds of CPU are this process's; `rollout_cpu_s` is the share of playing and sampling. `accuracy`, `cost_usd` and
    `latency_s` are means over the rollouts of which they are known; `reward` is compared within groups only and so is
    no curve of learning. `compliance` is the share of rollouts whose first call kept to the preference, by what it
    asks for. `malformed_rate` is the share of turns that were no well-formed move, `strongest_share` the share of calls
    that went to a strongest tool. `completion_tokens` is the mean of what a rollout sampled, `calls` that of its calls.
    """

    step: int
    at: datetime
    cpu_s: float | None = None
    rollout_cpu_s: float | None = None
    wall_s: float | None = None
    samples: int
    kept: int
    excluded: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))
    groups: int
    flat_groups: int
    accuracy: float | None = None
    cost_usd: float | None = None
    latency_s: float | None = None
    reward: float | None = None
    compliance: Mapping[str, float | None] = field(default_factory=lambda: dict.fromkeys(AIMS))
    malformed_rate: float | None = None
    strongest_share: float | None = None
    tool_shares: Mapping[str, float] = field(default_factory=dict)
    calls: float | None = None
    completion_tokens: float | None = None
    entropy: float | None = None
    kl: float | None = None
    loss: float | None = None
    grad_norm: float | None = None
    lr: float | None = None
    alarms: tuple[str, ...] = ()


def numbers(told: Mapping[str, Any]) -> dict[str, float]:
    """The known numbers among fields of a step, flat: those of a mapping under `name/key`."""
    flat: dict[str, float] = {}
    for name, value in told.items():
        parts = {f"{name}/{key}": part for key, part in value.items()} if isinstance(value, Mapping) else {name: value}
        flat |= {key: float(part) for key, part in parts.items() if part is not None}
    return flat
