"""Groups made of stored trajectories: rollouts of one task under one preference, tool set and price table."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import combinations
from operator import attrgetter

from orchestra_lib.errors import BadInput, ModelMistake
from orchestra_lib.ledger import Flag, ledger, repriced
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import PriceTable
from orchestra_lib.record import record
from orchestra_lib.reward_report import Rollout, of_offered, reward_reports
from orchestra_lib.store.groups import checked_group
from orchestra_lib.store.store import Store
from orchestra_lib.tool import CallStatus
from orchestra_lib.toolkit.arguments import check
from orchestra_lib.trajectory import Call, Setting, StopReason, Trajectory, Turn

NO_REWARD = {
    StopReason.FAULT: "the world failed, not the orchestrator",
    StopReason.CANCELLED: "somebody stopped it",
}
"""Ends that say nothing about the orchestrator: such a rollout is left out, graded or not. Limits and loops count."""


def group(
    trajectories: Sequence[Trajectory], *, prices: PriceTable | None = None, any_preference: bool = False
) -> tuple[Rollout, ...]:
    """The rollouts of one group, priced with another table where one is given.

    With `any_preference` they may have been played under different ones, for a reader who weighs them all anew.
    Raises `BadInput` naming the run and the remedy where they are no group, one has not ended, or one that counts
    has a part without a price.
    """
    _check_group(trajectories, any_table=prices is not None, any_preference=any_preference)
    priced = [one if prices is None else repriced(one, prices) for one in trajectories]
    found = tuple(_rollout(one) for one in priced)
    for rollout, trajectory in zip(found, priced, strict=True):
        if rollout.counts and rollout.cost_usd is None:
            raise BadInput(_unpriced(trajectory))
    return found


def uncosted(trajectories: Sequence[Trajectory]) -> tuple[Rollout, ...]:
    """What runs of one task with the same tools did, whatever they were played and priced under.

    A cost may be unknown: for a reader who has yet to choose a table. Raises `BadInput` where they are no group.
    """
    _check_group(trajectories, any_table=True, any_preference=True)
    return tuple(map(_rollout, trajectories))


def make(store: Store, name: str, run_ids: Sequence[str]) -> None:
    """Put stored runs of one task, with the same tools and price table, into a group that may have runs already.

    They may have been played under different preferences: a pair of those is what preferences are learnt from.
    Raises `BadInput` naming the run and the remedy where they are no group; nothing is changed then.
    """
    wanted = list(dict.fromkeys(run_ids))
    members = [store.get(run_id) for run_id in (*store.members(checked_group(name)), *wanted)]
    if not wanted:
        raise BadInput("a group needs runs; name some")
    _check_group(members, any_table=False, any_preference=True)
    store.group(name, wanted)


def pairs(
    trajectories: Sequence[Trajectory], preference: Preference | None = None, prices: PriceTable | None = None
) -> Iterator[tuple[Trajectory, Trajectory]]:
    """Every two rollouts of a group whose rewards differ, the better one first: what preferences are learnt from.

    Without a preference all are weighed as the first was played. Raises `BadInput` as `group` does.
    """
    rollouts = group(trajectories, prices=prices, any_preference=True)
    weighed = of_offered(preference or trajectories[0].setting.preference, rollouts[0].tool_counts)
    reward = {row.id: row.reward for report in reward_reports(rollouts, weighed) for row in report.rows}
    counted = [(value, one) for one in trajectories if (value := reward[one.id]) is not None]
    for (first, a), (second, b) in combinations(counted, 2):
        if first != second:
            yield (a, b) if first > second else (b, a)


def _check_group(trajectories: Sequence[Trajectory], *, any_table: bool, any_preference: bool) -> None:
    if not trajectories:
        raise BadInput("a group needs runs; name some")
    for one in trajectories:
        if one.stop is None:
            raise BadInput(f"run {one.id} has not ended; wait for it, or leave it out")
    check_alike(map(_likeness, trajectories), any_table=any_table, any_preference=any_preference)


@record
class Likeness:
    """What the runs of one group have in common: the task with its id, the tools, the preference, the price table."""

    run_id: str
    task: tuple[str, str | None]
    tools: frozenset[str]
    preference: Preference
    table: tuple[str, date]


def check_alike(runs: Iterable[Likeness], *, any_table: bool, any_preference: bool) -> None:
    """Raises `BadInput` naming the first run that is not like the first one, and the remedy."""
    checks = [
        ("another task", attrgetter("task"), "leave it out"),
        ("other tools", attrgetter("tools"), "leave it out"),
    ]
    if not any_preference:
        remedy = "weigh all alike with --prefer, or leave it out"
        checks.append(("another preference", attrgetter("preference"), remedy))
    if not any_table:
        checks.append(("another price table", attrgetter("table"), "price all alike with --prices, or leave it out"))
    first: Likeness | None = None
    for other in runs:
        first = first or other
        for what, of, remedy in checks:
            if of(other) != of(first):
                raise BadInput(f"run {other.run_id} has {what} than {first.run_id}, so they are no group; {remedy}")


def _likeness(trajectory: Trajectory) -> Likeness:
    setting = trajectory.setting
    return Likeness(
        run_id=trajectory.id,
        task=(setting.task.text, setting.task.id),
        tools=frozenset(spec.name for spec in setting.tools),
        preference=setting.preference,
        table=(setting.prices.name, setting.prices.dated),
    )


def _rollout(trajectory: Trajectory) -> Rollout:
    assert trajectory.stop is not None
    used = trajectory.tools_used
    offered = (spec.name for spec in trajectory.setting.tools)
    return Rollout(
        id=trajectory.id,
        outcome=trajectory.outcome,
        cost_usd=trajectory.bill().cost_usd,
        latency_s=trajectory.latency_s,
        tool_counts={name: used.get(name, 0) for name in offered},
        answered=bool(trajectory.answer and trajectory.answer.strip()),
        malformed_turns=tuple(turn.index for turn in trajectory.turns if is_malformed(turn, trajectory.setting)),
        turns=len(trajectory.turns),
        no_reward=NO_REWARD.get(trajectory.stop),
        simulated=trajectory.simulated,
    )


def _unpriced(trajectory: Trajectory) -> str:
    table = trajectory.setting.prices
    return (
        f"run {trajectory.id}: its cost is unknown under {table.name} of {table.dated} ({why_uncosted(trajectory)}), "
        "and unknown is not 0; choose another table with --prices (NAME+NAME joins two), or leave it out"
    )


def why_uncosted(trajectory: Trajectory) -> str:
    """What is missing to know the cost of a run under its prices."""
    unknown = {Flag.UNPRICED: "it has no price for", Flag.USAGE_MISSING: "no usage was reported by"}
    missing = {
        flag: sorted(
            {row.attempt.priced_as for row in ledger(trajectory) if flag in row.flags and row.turn is not None}
        )
        for flag in unknown
    }
    return "; ".join(f"{unknown[flag]} {', '.join(names)}" for flag, names in missing.items() if names)


def is_malformed(turn: Turn, setting: Setting) -> bool:
    """Whether what the model wrote in a turn is no well-formed move: neither call nor answer, or a bad call.

    A call is bad when it could only be read with leniency, names no tool on offer, or breaks its tool's schema. One
    that was refused for a limit or as a repeat is well formed.
    """
    generation = turn.generation
    if generation is None:
        return False
    if not generation.calls and generation.answer is None:
        return True
    return any(_is_bad(call, setting) for call in turn.calls)


def _is_bad(call: Call, setting: Setting) -> bool:
    if call.call.recovered is not None:
        return True
    if call.observation is None or call.observation.status is not CallStatus.REJECTED:
        return False
    spec = next((spec for spec in setting.tools if spec.name == call.call.tool), None)
    try:
        return spec is None or check(spec, call.call) is None
    except ModelMistake:
        return True
