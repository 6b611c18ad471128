"""The rewards of trajectories that are compared: in the group that they share, else among themselves."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from orchestra_lib.errors import BadInput
from orchestra_lib.grouping import group as grouped
from orchestra_lib.record import record
from orchestra_lib.reward_report import RewardReport, reward_reports
from orchestra_lib.trajectory import Trajectory

Data = dict[str, Any]


@record
class Group:
    """A group that all compared trajectories are of, with everyone in it that has ended."""

    name: str
    members: tuple[Trajectory, ...]


def rewards_view(compared: Sequence[Trajectory], group: Group | None) -> Data:
    """R and A of each under the first one's preference; None, and why, where they are no group or one is ungraded."""
    members = group.members if group else tuple({one.id: one for one in compared}.values())
    found: Data = {"group": group.name if group else None, "size": len(members), "wishes": _differ(compared)}
    try:
        report = _report(members, compared[0])
    except BadInput as error:
        why = str(error).split(";")[0]
        return {**found, "why": why, "rewards": [None] * len(compared), "advantages": [None] * len(compared)}
    rows = {row.id: row for row in report.rows}
    shown = [rows.get(one.id) for one in compared]
    left = next((f"{row.id}: {row.why}" for row in shown if row and row.reward is None), None)
    return {
        **found,
        "why": left or report.why,
        "rewards": [row and row.reward for row in shown],
        "advantages": [row and row.advantage for row in shown],
    }


def _report(members: Sequence[Trajectory], first: Trajectory) -> RewardReport:
    rollouts = grouped(members, any_preference=True)
    offered = {name for rollout in rollouts for name in rollout.tool_counts}
    wish = first.setting.preference
    tools = {name: weight for name, weight in wish.tools.items() if name in offered}
    return reward_reports(rollouts, replace(wish, tools=tools))[0]


def _differ(compared: Sequence[Trajectory]) -> bool:
    return any(one.setting.preference != compared[0].setting.preference for one in compared)
