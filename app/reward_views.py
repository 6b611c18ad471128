"""A group of stored runs as the Reward page reads it: what each did, what it would cost, and what was wished."""

from collections.abc import Iterable, Sequence
from typing import Any

from orchestra_lib.codec import fingerprint, to_data
from orchestra_lib.errors import BadInput
from orchestra_lib.grouping import uncosted, why_uncosted
from orchestra_lib.ledger import repriced
from orchestra_lib.pricing import PriceTable
from orchestra_lib.reward_report import Rollout
from orchestra_lib.trajectory import Trajectory

MAX_ROLLOUTS = 256
RECORDED = "recorded"
"""The table under which the runs were played, where it is one."""
Data = dict[str, Any]


def group_view(trajectories: Sequence[Trajectory], tables: Iterable[PriceTable], *, name: str | None = None) -> Data:
    """Everything that the page computes from. Runs that still go on are left out and named.

    Raises `BadInput` naming the run and the remedy where they are no group.
    """
    ended = [one for one in trajectories if one.stop is not None]
    if not ended:
        raise BadInput("none of these runs has ended; wait for them")
    rollouts = uncosted(ended)
    setting = ended[0].setting
    return {
        "name": name,
        "task": setting.title,
        "tools": [_tool(spec.name, ended) for spec in sorted(setting.tools, key=lambda spec: spec.name)],
        "preference": _offered(ended[0]),
        "preferences": len({fingerprint(to_data(one.setting.preference)) for one in ended}),
        "prices": _prices(ended, rollouts, tables),
        "rollouts": [_rollout(*both) for both in zip(rollouts, ended, strict=True)],
        "running": [one.id for one in trajectories if one.stop is None],
    }


def _tool(name: str, runs: Sequence[Trajectory]) -> Data:
    spec = next(spec for spec in runs[0].setting.tools if spec.name == name)
    return {"name": name, "title": spec.title, "kind": str(spec.kind), "simulated": spec.simulated}


def _offered(run: Trajectory) -> Data:
    """The preference as it was played, without weights on what was not on offer: nobody could follow those."""
    preference, offered = run.setting.preference, {spec.name for spec in run.setting.tools}
    tools = {name: weight for name, weight in preference.tools.items() if name in offered}
    goals = {"outcome": preference.outcome, "cost": preference.cost, "latency": preference.latency}
    return {**goals, "tools": tools}


def _rollout(rollout: Rollout, run: Trajectory) -> Data:
    return {
        "id": rollout.id,
        "outcome": rollout.outcome,
        "latency_s": rollout.latency_s,
        "tool_counts": dict(rollout.tool_counts),
        "answered": rollout.answered,
        "malformed_turns": list(rollout.malformed_turns),
        "turns": rollout.turns,
        "no_reward": rollout.no_reward,
        "simulated": rollout.simulated,
        "orchestrator": run.setting.orchestrator,
        "status": run.status,
    }


def _prices(runs: Sequence[Trajectory], rollouts: Sequence[Rollout], tables: Iterable[PriceTable]) -> list[Data]:
    """The costs under the runs' own table, then under every table at hand."""
    own = {(one.setting.prices.name, one.setting.prices.dated) for one in runs}
    counts = {one.id for one in rollouts if one.counts}
    recorded = _table(RECORDED, runs[0].setting.prices, runs, counts)
    recorded["mixed"] = len(own) > 1
    if len(own) > 1:
        recorded["refused"] = f"they were priced by {len(own)} tables, so their costs do not compare; choose one"
    return [recorded, *(_table(one.name, one, [repriced(run, one) for run in runs], counts) for one in tables)]


def _table(key: str, table: PriceTable, runs: Sequence[Trajectory], counts: set[str]) -> Data:
    costs = {run.id: run.bill().cost_usd for run in runs}
    unknown = next((run for run in runs if run.id in counts and costs[run.id] is None), None)
    return {
        "key": key,
        "name": table.name,
        "dated": table.dated.isoformat(),
        "nominal": table.nominal,
        "usd": costs,
        "refused": unknown and f"{why_uncosted(unknown)} (run {unknown.id}), and unknown is not 0",
    }
