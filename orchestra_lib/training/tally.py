"""A step in numbers, summed over the rollouts of all processes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from orchestra_lib.grouping import is_malformed
from orchestra_lib.record import record
from orchestra_lib.training.rewarding import Scored
from orchestra_lib.training.rollouts import Rollout
from orchestra_lib.training.steps import AIMS, REASONS


@record
class Came:
    """What one rollout came to, in a form that processes can send each other."""

    group: str
    aim: str
    outcome: bool | None
    cost_usd: float | None
    latency_s: float | None
    reward: float | None
    why: str | None
    differs: bool
    complies: bool | None
    turns: int
    malformed: int
    tools: Mapping[str, int]
    strongest: int
    tokens: int


def came(rollout: Rollout, scored: Scored) -> Came:
    """The numbers of a rollout. What a fault of the world broke says nothing of outcome, cost or time."""
    trajectory, exercise = rollout.trajectory, rollout.exercise
    broken = scored.why == "fault"
    tools = Counter(call.call.tool for call in trajectory.calls if call.call.tool in _offered(rollout))
    return Came(
        group=exercise.id,
        aim=exercise.aim,
        outcome=None if broken else trajectory.outcome,
        cost_usd=None if broken else scored.cost_usd,
        latency_s=None if broken else trajectory.latency_s,
        reward=scored.reward,
        why=scored.why,
        differs=scored.group_differs,
        complies=None if broken else exercise.complies(trajectory),
        turns=len(trajectory.turns),
        malformed=sum(is_malformed(turn, trajectory.setting) for turn in trajectory.turns),
        tools=tools,
        strongest=sum(count for name, count in tools.items() if name in exercise.strongest),
        tokens=sum(rollout.mask),
    )


def tally(rows: Sequence[Came]) -> dict[str, Any]:
    """The fields of a `Step` that rollouts tell."""
    used: Counter[str] = Counter()
    for row in rows:
        used.update(row.tools)
    calls, turns = used.total(), sum(row.turns for row in rows)
    groups = {row.group for row in rows}
    differing = {row.group for row in rows if row.differs}
    why = Counter(row.why for row in rows)
    return {
        "samples": len(rows),
        "kept": why[None],
        "excluded": {reason: why[reason] for reason in REASONS},
        "groups": len(groups),
        "flat_groups": len(groups - differing),
        "accuracy": _mean(row.outcome for row in rows),
        "cost_usd": _mean(row.cost_usd for row in rows),
        "latency_s": _mean(row.latency_s for row in rows),
        "reward": _mean(row.reward for row in rows),
        "compliance": {aim: _mean(row.complies for row in rows if row.aim == aim) for aim in AIMS},
        "malformed_rate": sum(row.malformed for row in rows) / turns if turns else None,
        "strongest_share": sum(row.strongest for row in rows) / calls if calls else None,
        "tool_shares": {name: count / calls for name, count in used.most_common()},
        "calls": calls / len(rows) if rows else None,
        "completion_tokens": _mean(row.tokens for row in rows),
    }


def _offered(rollout: Rollout) -> frozenset[str]:
    return frozenset(spec.name for spec in rollout.exercise.setting.tools)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [float(value) for value in values if value is not None]
    return fmean(known) if known else None
