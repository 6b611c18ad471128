"""What stored runs are worth beside each other: the preference reward of each within its group.

The library's own reward, over groups that a comparison makes: who played the same task, or one orchestrator with and
without a tool. It is relative to the group, and no figure to compare with that of another group.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from orchestra_lib.grouping import NO_REWARD
from orchestra_lib.preference import Preference
from orchestra_lib.reward_report import Rollout, of_offered, reward_reports
from orchestra_lib.store.store import Store
from orchestra_lib.trajectory import StopReason

_RUNS = """SELECT id, status, outcome, cost_usd, latency_s, simulated, tools, uses FROM trajectories
WHERE id IN (SELECT unnest($ids::VARCHAR[]))"""

_CALLED = "SELECT id, called FROM trajectories WHERE id IN (SELECT unnest($ids::VARCHAR[]))"


def called_in(store: Store, runs: Iterable[str]) -> dict[str, frozenset[str]]:
    """The tools that each run called, by their names."""
    return {row["id"]: frozenset(row["called"] or ()) for row in store.select(_CALLED, {"ids": sorted(runs)})}


def worths(store: Store, groups: Mapping[str, Iterable[str]], preference: Preference) -> dict[str, float | None]:
    """The reward of each run by its id; the ids of a group stand under any name.

    None is a run that is ungraded, ended by a fault, or of an unknown cost or time: it is no part of its group.
    """
    group_of = {run: name for name, runs in groups.items() for run in runs}
    rows = store.select(_RUNS, {"ids": sorted(group_of)})
    rollouts = [_rollout(row, group_of[row["id"]]) for row in rows]
    counted = [one for one in rollouts if one.counts and one.cost_usd is not None and one.latency_s is not None]
    found: dict[str, float | None] = dict.fromkeys(group_of)
    if counted:
        weighed = of_offered(preference, {tool for one in counted for tool in one.tool_counts})
        found |= {row.id: row.reward for report in reward_reports(counted, weighed) for row in report.rows}
    return found


def _rollout(row: Mapping[str, Any], group: str) -> Rollout:
    used: dict[str, int] = dict.fromkeys(row["tools"] or (), 0)
    for use in row["uses"] or ():
        used[use["tool"]] = used.get(use["tool"], 0) + use["calls"]
    return Rollout(
        id=row["id"],
        outcome=row["outcome"],
        cost_usd=row["cost_usd"],
        latency_s=row["latency_s"],
        tool_counts=used,
        group=group,
        no_reward="it has not ended" if row["status"] == "running" else NO_REWARD.get(StopReason(row["status"])),
        simulated=row["simulated"],
    )
