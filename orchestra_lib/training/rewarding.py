"""What each rollout of a step is worth, whether it enters the loss, and with which of its tokens.

Rewards and advantages are those of `reward` and `advantage`, over whole groups. Left out, as in the paper: groups
whose rewards hardly differ, turns that are no well-formed move, rollouts without a valid answer; and rollouts that a
fault of the world broke or that nobody can grade, which are no part of their group either.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from orchestra_lib.advantage import advantages
from orchestra_lib.errors import BadInput
from orchestra_lib.grouping import is_malformed
from orchestra_lib.preference import GOALS
from orchestra_lib.reward import Measures, rewards, weights_of
from orchestra_lib.reward_report import of_offered
from orchestra_lib.segments import Floats, Marks
from orchestra_lib.training.rollouts import Rollout
from orchestra_lib.training.settings import Grpo, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One rollout with its reward and advantage, None where it is no part of its group.

    `why` it does not enter the loss is one of `steps.REASONS`, None when it does. `mask` is 1 for tokens in the loss.
    """

    reward: float | None = None
    advantage: float | None = None
    why: str | None = None
    group_differs: bool = False
    malformed: tuple[int, ...] = ()
    cost_usd: float | None = None
    mask: list[int]

    @property
    def kept(self) -> bool:
        return self.why is None


def score(rollouts: Sequence[Rollout], settings: Grpo) -> list[Scored]:
    """Score rollouts whose groups stand side by side and whole. Raises `BadInput` for a group that is none."""
    _check_whole(rollouts, settings.rollouts)
    facts = [_fact(rollout) for rollout in rollouts]
    counted = [at for at, fact in enumerate(facts) if fact.why is None]
    scored: dict[int, Scored] = {}
    if counted:
        differs, kept, reward, advantage = _compared(rollouts, facts, counted, settings)
        for place, at in enumerate(counted):
            fact = facts[at]
            why = "flat_group" if not differs[place] else None
            if why is None and not kept[place]:
                why = "no_answer"
            mask = _mask(rollouts[at], fact.malformed if settings.malformed == "mask" else ())
            if why is None and not any(mask):
                why = "malformed"
            scored[at] = Scored(
                reward=float(reward[place]),
                advantage=float(advantage[place]),
                why=why,
                group_differs=bool(differs[place]),
                malformed=fact.malformed,
                cost_usd=fact.cost_usd,
                mask=mask if why is None else [0] * len(mask),
            )
    return [
        scored.get(at)
        or Scored(why=fact.why, malformed=fact.malformed, cost_usd=fact.cost_usd, mask=[0] * len(rollouts[at].mask))
        for at, fact in enumerate(facts)
    ]


@dataclass(frozen=True, slots=True)
class _Fact:
    why: str | None
    cost_usd: float | None
    malformed: tuple[int, ...]
    answered: bool


def _check_whole(rollouts: Sequence[Rollout], size: int) -> None:
    for place, (name, members) in enumerate(groupby(rollouts, key=lambda one: one.exercise.id)):
        found = len(list(members))
        if found != size:
            raise BadInput(
                f"group {place + 1} ({name}) has {found} of its {size} rollouts in this process: rewards compare whole "
                "groups; make grpo.prompts a multiple of the number of processes"
            )
    if not rollouts:
        raise BadInput("no rollouts: this process has no share of grpo.prompts; use fewer processes")


def _fact(rollout: Rollout) -> _Fact:
    trajectory = rollout.trajectory
    cost_usd = trajectory.bill().cost_usd
    malformed = tuple(turn.index for turn in trajectory.turns if is_malformed(turn, trajectory.setting))
    why = None
    if trajectory.faults:
        why = "fault"
    elif trajectory.outcome is None or cost_usd is None or trajectory.latency_s is None:
        why = "ungraded"
    return _Fact(why, cost_usd, malformed, bool(trajectory.answer and trajectory.answer.strip()))


def _compared(
    rollouts: Sequence[Rollout], facts: Sequence[_Fact], counted: Sequence[int], settings: Grpo
) -> tuple[Marks, Marks, Floats, Floats]:
    """Of those that count: whether their group differs, whether they are kept, their rewards and advantages."""
    tools = sorted({spec.name for at in counted for spec in rollouts[at].exercise.setting.tools})
    used = [rollouts[at].trajectory.tools_used for at in counted]
    order = list(dict.fromkeys(rollouts[at].exercise.id for at in counted))
    place = {name: number for number, name in enumerate(order)}
    group_N = np.array([place[rollouts[at].exercise.id] for at in counted])
    first = {rollouts[at].exercise.id: rollouts[at].exercise.setting for at in reversed(counted)}
    weights_K_G = np.stack(
        [
            weights_of(of_offered(first[name].preference, (spec.name for spec in first[name].tools)), tools)
            for name in order
        ],
        axis=1,
    )
    _drop(weights_K_G, settings.drop)
    found = rewards(
        Measures(
            count_T_N=np.array([[one.get(tool, 0) for one in used] for tool in tools], float).reshape(
                len(tools), len(counted)
            ),
            solved_N=np.array([rollouts[at].trajectory.outcome for at in counted], bool),
            cost_usd_N=np.array([facts[at].cost_usd for at in counted], float),
            latency_s_N=np.array([rollouts[at].trajectory.latency_s for at in counted], float),
            group_N=group_N,
        ),
        weights_K_G,
        settings.reward,
    )
    malformed_N = np.array([bool(facts[at].malformed) for at in counted], bool)
    answered_N = np.array([facts[at].answered for at in counted], bool)
    reward_N = found.reward_N if settings.gate else found.weighted_N
    if settings.malformed == "penalise":
        reward_N = np.where(malformed_N, -settings.penalty, reward_N)
    if settings.no_answer == "penalise":
        reward_N = np.where(answered_N, reward_N, -settings.penalty)
    if settings.no_answer != "mask":
        answered_N = np.ones_like(answered_N)
    elif settings.malformed == "penalise":
        answered_N = answered_N | malformed_N  # a rollout that only babbled is what the penalty is for
    compared = advantages(reward_N, answered_N, found.groups, settings.reward, min_std=settings.min_std)
    return found.groups.spread(compared.differs_G), compared.kept_N, reward_N, compared.advantage_N


def _drop(weights_K_G: Floats, parts: Sequence[Part]) -> None:
    """Take parts out of every preference; the rows are the tools and then the goals."""
    for part in parts:
        rows = slice(None, -len(GOALS)) if part == "tools" else GOALS.index(part) - len(GOALS)
        weights_K_G[rows] = 0.0


def _mask(rollout: Rollout, malformed: Sequence[int]) -> list[int]:
    """The tokens that the policy sampled, without those of badly formed moves."""
    mask = list(rollout.mask)
    for turn in malformed:
        first, end = rollout.spans[turn]
        mask[first:end] = [0] * (end - first)
    return mask
