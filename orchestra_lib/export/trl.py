"""Rows for TRL: conversational prompt and completion with tools, and pairs for preference training.

`tools` is JSON text and arguments stay the JSON text that OpenAI's form has: a column of objects would give every
row the keys of every other row, as nulls.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestra_lib.codec import dumps, to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.export.conversation import messages
from orchestra_lib.trajectory import Trajectory


def trl_row(trajectory: Trajectory) -> dict[str, Any]:
    """Prompt and completion, and the columns that a preference reward is made of (`orchestra reward FILE.json`).

    A reward belongs to a group of runs and not to one, so that none stands here. What is unknown is null.
    """
    setting = trajectory.setting
    whole = messages(trajectory)
    head = _head(whole["messages"])
    return {
        "prompt": whole["messages"][:head],
        "completion": whole["messages"][head:],
        "tools": dumps(whole["tools"]),
        "id": trajectory.id,
        "group": setting.group,
        "outcome": trajectory.outcome,
        "cost_usd": trajectory.bill().cost_usd,
        "latency_s": trajectory.latency_s,
        "tool_counts": dumps(_tool_counts(trajectory)),
        "preference": dumps(to_data(setting.preference)),
        "nominal": setting.prices.nominal,
        "simulated": trajectory.simulated,
        "origin": setting.origin,
    }


def preference_pair(chosen: Trajectory, rejected: Trajectory) -> dict[str, Any]:
    """A row of TRL's preference type: `prompt`, `chosen` and `rejected`, made of two runs of one task.

    What both said alike from the start, as forks do, belongs to the prompt; its request is that of `chosen`.
    Raises `BadInput` naming the runs where they have different tasks, or say the same all along.
    """
    if chosen.setting.task.text != rejected.setting.task.text:
        raise BadInput(f"runs {chosen.id} and {rejected.id} have different tasks; a pair needs one task")
    better, worse = messages(chosen), messages(rejected)
    head = _head(better["messages"])
    ours, theirs = better["messages"][head:], worse["messages"][_head(worse["messages"]) :]
    same = _shared(ours, theirs)
    if same == len(ours) == len(theirs):
        raise BadInput(f"runs {chosen.id} and {rejected.id} say the same; a pair needs two that differ")
    if same == min(len(ours), len(theirs)):
        raise BadInput(f"runs {chosen.id} and {rejected.id}: one only begins like the other; take two that went on")
    return {
        "prompt": better["messages"][: head + same],
        "chosen": ours[same:],
        "rejected": theirs[same:],
        "tools": dumps(better["tools"]),
        "chosen_id": chosen.id,
        "rejected_id": rejected.id,
        "chosen_preference": dumps(to_data(chosen.setting.preference)),
        "rejected_preference": dumps(to_data(rejected.setting.preference)),
        "simulated": chosen.simulated or rejected.simulated,
    }


def _tool_counts(trajectory: Trajectory) -> dict[str, int]:
    used = trajectory.tools_used
    return {name: used.get(name, 0) for name in sorted({*used, *(spec.name for spec in trajectory.setting.tools)})}


def _head(said: Sequence[Mapping[str, Any]]) -> int:
    """How many messages stand before the first of the model."""
    return next((place for place, message in enumerate(said) if message["role"] == "assistant"), len(said))


def _shared(ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]) -> int:
    """How many messages both begin with, up to one of the model: results never stand apart from their call."""
    same = 0
    for place, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        if one["role"] == "assistant":
            same = place
        if one != other:
            return same
    return min(len(ours), len(theirs))
