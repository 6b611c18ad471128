"""Three to eight trajectories side by side as plain data: a matrix of facts, marked against one of them."""

from collections.abc import Callable, Sequence
from typing import Any

from app.compared_rewards import Group, rewards_view
from app.comparison import side_view
from orchestra_lib.alignment import align
from orchestra_lib.comparing import first_difference, tokens_of
from orchestra_lib.tool import CallStatus
from orchestra_lib.trajectory import Trajectory

FEWEST, MOST = 3, 8
SHOWN_CHARS = 2_000
_FAILED = (CallStatus.ERROR, CallStatus.TIMEOUT, CallStatus.REJECTED)
Data = dict[str, Any]
Value = float | int | None


def lineup(runs: Sequence[Trajectory], base: Trajectory, *, group: Group | None = None) -> Data:
    """Everything that the page shows of several trajectories; `base` is the one that the others are held against."""
    rewards = rewards_view([base, *runs], group)
    return {
        "base": base.id,
        "runs": [{**side_view(run), "answer": (run.answer or "")[:SHOWN_CHARS]} for run in runs],
        "facts": [*_facts(runs), *_reward_facts(rewards)],
        "tools": _tools(runs),
        "reward": {name: rewards[name] for name in ("group", "size", "wishes", "why")},
        "first": [None if run.id == base.id else _first(base, run) for run in runs],
        "same_answer": [run.answer == base.answer for run in runs],
    }


def _first(base: Trajectory, run: Trajectory) -> str:
    """The sentence of the page for two, where the base is A."""
    found = first_difference(base, run, align(base.calls, run.calls))
    return f"{found['where']}: {found['words']}" if found["where"] else str(found["words"])


def _facts(runs: Sequence[Trajectory]) -> list[Data]:
    made: tuple[tuple[str, str, Callable[[Trajectory], Value]], ...] = (
        ("Cost", "usd", lambda run: run.bill().cost_usd),
        ("Time", "seconds", lambda run: run.latency_s),
        ("Turns", "count", lambda run: len(run.turns)),
        ("Calls", "count", lambda run: len(run.calls)),
        ("Failed calls", "count", _failed),
        ("Tokens", "count", lambda run: tokens_of(run.bill())),
    )
    return [{"name": name, "unit": unit, "values": [of(run) for run in runs]} for name, unit, of in made]


def _reward_facts(rewards: Data) -> list[Data]:
    """Without the base, which stands first there to say under whose preference."""
    return [
        {"name": "Reward", "unit": "number", "values": rewards["rewards"][1:]},
        {"name": "Advantage", "unit": "signed", "values": rewards["advantages"][1:]},
    ]


def _failed(run: Trajectory) -> int:
    return sum(call.observation is not None and call.observation.status in _FAILED for call in run.calls)


def _tools(runs: Sequence[Trajectory]) -> list[Data]:
    """Calls of each tool that ran, of those that somebody used; None where it was not on offer."""
    specs = {spec.name: spec for run in reversed(runs) for spec in run.setting.tools}
    offered = [{spec.name for spec in run.setting.tools} for run in runs]
    used = [run.tools_used for run in runs]
    return [
        {
            "name": name,
            "title": specs[name].title,
            "kind": str(specs[name].kind),
            "values": [counts.get(name, 0) if name in on else None for counts, on in zip(used, offered, strict=True)],
        }
        for name in specs
        if any(counts.get(name) for counts in used)
    ]
