"""Why this reward: every number between what a rollout did and its advantage, by name.

An ungraded rollout is left out of its group and stands in the report without numbers. A graded one whose cost or time
is unknown is refused by name: unknown is not 0, and leaving it out would move the smallest and largest of its
group, and with them the reward of every other rollout, because of a gap in a price table.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Literal

import numpy as np

from orchestra_lib.advantage import MIN_STD, Advantages, advantages
from orchestra_lib.errors import BadInput
from orchestra_lib.preference import GOALS, Preference
from orchestra_lib.record import record
from orchestra_lib.reward import MOST, Measures, Mode, Rewards, rewards, weights_of

TOOL = "tool."
"""Before a tool's name where tools and goals stand side by side, as in `--prefer`."""

_REMEDIES = {
    "cost_usd": "use a price table that knows all it used (--prices), or leave it out of the group",
    "latency_s": "leave it out of the group",
}


@record
class Rollout:
    """What one rollout did: calls of each tool, USD and seconds; `outcome` None when nobody graded it.

    `answered` says that it ended with a valid answer; `malformed_turns` are the turns whose tool call was not well
    formed, of `turns` in all (None when nobody counted). `no_reward` says why it gets none although it may be graded.
    `simulated` marks one whose tools answered from a stated profile.

    Raises `BadInput` naming the id for a cost, time or count that is NaN or not from 0 to `MOST`.
    """

    id: str
    outcome: bool | None
    cost_usd: float | None
    latency_s: float | None
    tool_counts: Mapping[str, int] = field(default_factory=dict)
    group: str = ""
    answered: bool = True
    malformed_turns: tuple[int, ...] = ()
    turns: int | None = None
    no_reward: str | None = None
    simulated: bool = False

    def __post_init__(self) -> None:
        amounts = {"cost_usd": self.cost_usd, "latency_s": self.latency_s}
        for name, value in {**amounts, **{TOOL + tool: count for tool, count in self.tool_counts.items()}}.items():
            if value is not None and not 0 <= value <= MOST:
                raise BadInput(f"rollout {self.id!r}: {name} = {value!r:.40}; use a number from 0 to {MOST:g}")

    @property
    def counts(self) -> bool:
        """Whether it is part of its group."""
        return self.outcome is not None and self.no_reward is None

    def known(self, name: Literal["cost_usd", "latency_s"]) -> float:
        """The cost or the time. Raises `BadInput` naming the id and the remedy where it is unknown."""
        value = self.cost_usd if name == "cost_usd" else self.latency_s
        if value is None:
            raise BadInput(f"rollout {self.id!r}: {name} is unknown, and unknown is not 0; {_REMEDIES[name]}")
        return value


@record
class Component:
    """One component of one rollout: `raw` placed between `min` and `max` of the group, times the weight.

    `min` and `max` are None where no rollout of the group used the tool and the range is that of its users.
    `extension` marks a weight below 0, which is ours and not the paper's; in paper mode `raw` is then the negated
    count.
    """

    raw: float
    min: float | None
    max: float | None
    normalised: float
    weight: float
    contribution: float
    extension: bool = False


@record
class RolloutReward:
    """One rollout of a report. `gate` is 1 when solved and 0 when not: reward = gate x weighted.

    `kept` says whether it enters the loss, `why` why not. `dropped_turns` do not enter it even if it does. A rollout
    that is no part of its group has no numbers.
    """

    id: str
    reward: float | None = None
    advantage: float | None = None
    kept: bool = False
    why: str | None = None
    gate: int | None = None
    weighted: float | None = None
    components: Mapping[str, Component] = field(default_factory=dict)
    dropped_turns: tuple[int, ...] = ()


@record
class RewardReport:
    """A group with its rewards, `size` rollouts compared and `left_out` ungraded or without a reward.

    `mean` and `std` (n - 1) are those of the rewards, None where there are too few. `why` says why the
    group is not in the loss.
    """

    group: str
    mode: Mode
    preference: Preference
    size: int
    left_out: int
    mean: float | None
    std: float | None
    why: str | None
    rows: tuple[RolloutReward, ...]


def reward_reports(
    rollouts: Sequence[Rollout], preference: Preference, mode: Mode = Mode.PAPER
) -> tuple[RewardReport, ...]:
    """A report for each group, groups and rollouts in the order in which they come.

    Raises `BadInput` naming the id for an id given twice and for a graded rollout of unknown cost or time, and naming
    the tool for a weight on one that no rollout lists.
    """
    mode = Mode(mode)
    _check_ids(rollouts)
    tools = sorted({tool for rollout in rollouts for tool in rollout.tool_counts})
    check_tools(preference, tools)
    members: dict[str, list[Rollout]] = {}
    for rollout in rollouts:
        members.setdefault(rollout.group, []).append(rollout)
    graded = [rollout for rollout in rollouts if rollout.counts]
    measures = _measures(graded, tools, {name: at for at, name in enumerate(members)})
    numbers = rewards(measures, weights_of(preference, tools), mode)
    compared = advantages(numbers.reward_N, np.array([one.answered for one in graded], bool), numbers.groups, mode)
    names = list(members)
    places = {names[label]: at for at, label in enumerate(numbers.groups.label_G.tolist())}
    whys = _whys(places, numbers, compared, mode)
    rows = {row.id: row for row in _rows(graded, tools, preference, numbers, compared, whys)}
    report = partial(_report, preference=preference, mode=mode, rows=rows, compared=compared, whys=whys)
    return tuple(report(name, group, places.get(name)) for name, group in members.items())


def check_tools(preference: Preference, tools: Sequence[str]) -> None:
    """Raises `BadInput` for a weight on a tool that is none of these."""
    for tool, weight in preference.tools.items():
        if weight and tool not in tools:
            there = ", ".join(tools) or "none"
            raise BadInput(
                f"the preference weighs {tool!r}, which no rollout lists; the tools of the group are {there}"
            )


def of_offered(preference: Preference, tools: Iterable[str]) -> Preference:
    """A preference as it was played may weigh tools that were not on offer; nobody could follow that."""
    offered = set(tools)
    return replace(preference, tools={tool: weight for tool, weight in preference.tools.items() if tool in offered})


def _check_ids(rollouts: Sequence[Rollout]) -> None:
    seen: set[str] = set()
    for rollout in rollouts:
        if rollout.id in seen:
            raise BadInput(f"rollout {rollout.id!r} is given twice; give each once")
        seen.add(rollout.id)


def _measures(graded: Sequence[Rollout], tools: Sequence[str], numbers: Mapping[str, int]) -> Measures:
    return Measures(
        count_T_N=np.array([[one.tool_counts.get(tool, 0) for one in graded] for tool in tools], float).reshape(
            len(tools), len(graded)
        ),
        solved_N=np.array([one.outcome for one in graded], bool),
        cost_usd_N=np.array([one.known("cost_usd") for one in graded], float),
        latency_s_N=np.array([one.known("latency_s") for one in graded], float),
        group_N=np.array([numbers[one.group] for one in graded], int),
    )


def _whys(places: Mapping[str, int], numbers: Rewards, compared: Advantages, mode: Mode) -> dict[str, str | None]:
    """Why each group is not in the loss, None where it is."""
    sizes, stds = numbers.groups.size_G.tolist(), compared.std_G.tolist()
    largest = numbers.groups.highest(np.abs(numbers.reward_N)).tolist()
    return {
        name: None if compared.differs_G[at] else _why(sizes[at], stds[at], largest[at], mode)
        for name, at in places.items()
    }


def _why(size: int, std: float, largest: float, mode: Mode) -> str:
    """Why a group is not in the loss, from its size and the spread and the largest of its rewards."""
    if size == 1:
        return "a group of one has nothing to compare; play the task more often"
    if largest == 0:
        return "all rewards are 0; a group teaches when some rollouts succeed and some do not, or cost less"
    if std == 0:
        return "all rewards are equal, so none is better; play more, or weigh what differs"
    if mode is Mode.RELEASED_CODE and size == 2:
        return "the released code stops at groups of two; play the task more often"
    return f"the rewards differ too little (std {std:.3g}, needed {MIN_STD:g})"


def _rows(
    graded: Sequence[Rollout],
    tools: Sequence[str],
    preference: Preference,
    numbers: Rewards,
    compared: Advantages,
    whys: Mapping[str, str | None],
) -> list[RolloutReward]:
    names = [*(TOOL + tool for tool in tools), *GOALS]
    weights = weights_of(preference, tools).tolist()
    lows, highs = (numbers.groups.spread(each).T.tolist() for each in (numbers.low_K_G, numbers.high_K_G))
    stages = [each.T.tolist() for each in (numbers.raw_K_N, numbers.normalised_K_N, numbers.contribution_K_N)]
    found = []
    for at, rollout in enumerate(graded):
        parts = zip(*(stage[at] for stage in stages), lows[at], highs[at], weights, strict=True)
        why = whys[rollout.group] or _why_not(rollout)
        found.append(
            RolloutReward(
                id=rollout.id,
                reward=float(numbers.reward_N[at]),
                advantage=float(compared.advantage_N[at]),
                kept=why is None,
                why=why,
                gate=int(bool(rollout.outcome)),
                weighted=float(numbers.weighted_N[at]),
                components={name: _component(*part) for name, part in zip(names, parts, strict=True)},
                dropped_turns=rollout.malformed_turns,
            )
        )
    return found


def _why_not(rollout: Rollout) -> str | None:
    if not rollout.answered:
        return "it ended without a valid answer"
    if rollout.turns is not None and 0 < rollout.turns <= len(set(rollout.malformed_turns)):
        return "every turn has a malformed tool call"
    return None


def _component(raw: float, normalised: float, contribution: float, low: float, high: float, weight: float) -> Component:
    known = math.isfinite(low)
    return Component(
        raw=raw,
        min=low if known else None,
        max=high if known else None,
        normalised=normalised,
        weight=weight,
        contribution=contribution,
        extension=weight < 0,
    )


def _report(
    name: str,
    members: Sequence[Rollout],
    place: int | None,
    *,
    preference: Preference,
    mode: Mode,
    rows: Mapping[str, RolloutReward],
    compared: Advantages,
    whys: Mapping[str, str | None],
) -> RewardReport:
    size = sum(one.counts for one in members)
    return RewardReport(
        group=name,
        mode=mode,
        preference=preference,
        size=size,
        left_out=len(members) - size,
        mean=None if place is None else float(compared.mean_G[place]),
        std=float(compared.std_G[place]) if place is not None and size > 1 else None,
        why="no rollout is graded; grade some" if place is None else whys[name],
        rows=tuple(rows.get(one.id) or RolloutReward(id=one.id, why=one.no_reward or "ungraded") for one in members),
    )
