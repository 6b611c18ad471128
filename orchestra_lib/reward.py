"""The preference reward, over many groups at once.

ToolOrchestra (arXiv 2511.21689, section 3.2): M = [calls of each tool, outcome, -cost, -latency] for every rollout,
each component min-max normalised over the rollout's group, a constant one 0; R = P . M when the task was solved and
0 when not. `Mode.RELEASED_CODE` is the arithmetic of the public training code instead, kept to reproduce it and
to show the difference; it is no claim about how the released model was trained.

Our extension: a tool weight below 0 rewards using the tool less, |w| times the normalised negated count. It is
part of `Mode.PAPER` only; the paper takes weights in [0, 1].

Shapes stand in suffixes: N rollouts, G groups, T tools, K components, which are the tools, outcome, cost and latency.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from orchestra_lib.errors import BadInput
from orchestra_lib.preference import GOALS, Preference
from orchestra_lib.segments import Floats, Marks, Segments

MOST = 1e15
"""More dollars, seconds or calls than this is no measurement; sums of what is below never overflow."""


class Mode(StrEnum):
    """Whose arithmetic."""

    PAPER = "paper"
    RELEASED_CODE = "released_code"
    """The public code's: cost and time with the wrong sign, counted twice; a tool's range over those who used it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measures:
    """What N graded rollouts did, in USD and seconds. Ungraded ones have no place here: they are left out before.

    `group_N` numbers the groups by any integers, in any order. A tool that a group was not offered counts 0.
    """

    count_T_N: Floats
    solved_N: Marks
    cost_usd_N: Floats
    latency_s_N: Floats
    group_N: NDArray[np.integer]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rewards:
    """Every number between the measures and the rewards.

    `raw` is what is placed between `low` and `high` of the group, which are infinite where the range is that of a
    tool's users and there are none (released code). `weighted_N` sums the contributions; `reward_N` is that where
    solved, else 0.
    """

    raw_K_N: Floats
    low_K_G: Floats
    high_K_G: Floats
    normalised_K_N: Floats
    contribution_K_N: Floats
    weighted_N: Floats
    reward_N: Floats
    groups: Segments


def weights_of(preference: Preference, tools: Sequence[str]) -> Floats:
    """P in the order of the components."""
    return np.array([*(preference.weight(tool) for tool in tools), *(getattr(preference, goal) for goal in GOALS)])


def rewards(measures: Measures, weights: Floats, mode: Mode = Mode.PAPER) -> Rewards:
    """The rewards under one P for all (shape K), or one for each group in the order of their numbers (K, G).

    Raises `BadInput` naming the rollout's index for a cost, latency or count that is NaN or not from 0 to `MOST`.
    """
    _check(measures)
    groups = Segments(measures.group_N)
    rows = len(measures.count_T_N) + len(GOALS)
    weight_K_G = weights[:, None] if weights.ndim == 1 else weights
    if weight_K_G.shape not in ((rows, 1), (rows, len(groups.label_G))):
        raise BadInput(f"weights of shape {weights.shape}; {rows} components need ({rows},) or one column per group")
    weight_K_G = np.broadcast_to(weight_K_G, (rows, len(groups.label_G)))
    if Mode(mode) is Mode.PAPER:
        stages, factor_K_G = _paper(measures, weight_K_G, groups), np.abs(weight_K_G)
    else:
        stages, factor_K_G = _released_code(measures, groups), weight_K_G
    contribution_K_N = groups.spread(factor_K_G) * stages.normalised_K_N
    # One component after the other, so that no sum depends on how many rollouts stand beside it.
    weighted_N = reduce(np.add, contribution_K_N)
    return Rewards(
        raw_K_N=stages.raw_K_N,
        low_K_G=stages.low_K_G,
        high_K_G=stages.high_K_G,
        normalised_K_N=stages.normalised_K_N,
        contribution_K_N=contribution_K_N,
        weighted_N=weighted_N,
        reward_N=np.where(measures.solved_N, weighted_N, 0.0),
        groups=groups,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Stages:
    raw_K_N: Floats
    low_K_G: Floats
    high_K_G: Floats
    normalised_K_N: Floats


def _paper(measures: Measures, weight_K_G: Floats, groups: Segments) -> _Stages:
    count_T_N = measures.count_T_N
    use_less_T_N = groups.spread(weight_K_G[: len(count_T_N)] < 0)
    raw_K_N = np.vstack([np.where(use_less_T_N, _negated(count_T_N), count_T_N), _goals(measures)])
    low_K_G, high_K_G = groups.lowest(raw_K_N), groups.highest(raw_K_N)
    normalised_K_N = _placed(raw_K_N, low_K_G, high_K_G, groups)
    return _Stages(raw_K_N=raw_K_N, low_K_G=low_K_G, high_K_G=high_K_G, normalised_K_N=normalised_K_N)


def _released_code(measures: Measures, groups: Segments) -> _Stages:
    """The ranges of cost and latency are those of negated values, which positive values are then placed in.

    A goal is added twice: as a feature with value 0, then by itself. A tool's range is that of the rollouts which
    used it; those which did not are placed below it.
    """
    count_T_N = measures.count_T_N
    ranged_K_N = np.vstack([count_T_N, _goals(measures)])
    placed_K_N = np.vstack([count_T_N, measures.solved_N, measures.cost_usd_N, measures.latency_s_N])
    counted_K_N = np.ones_like(ranged_K_N, dtype=bool)
    counted_K_N[: len(count_T_N)] = count_T_N > 0
    low_K_G = groups.lowest(np.where(counted_K_N, ranged_K_N, np.inf))
    high_K_G = groups.highest(np.where(counted_K_N, ranged_K_N, -np.inf))
    normalised_K_N = _placed(placed_K_N, low_K_G, high_K_G, groups)
    of_zero_K_N = _placed(np.zeros_like(placed_K_N), low_K_G, high_K_G, groups)
    normalised_K_N[len(count_T_N) :] += of_zero_K_N[len(count_T_N) :]
    return _Stages(raw_K_N=placed_K_N, low_K_G=low_K_G, high_K_G=high_K_G, normalised_K_N=normalised_K_N)


def _goals(measures: Measures) -> Floats:
    return np.vstack([measures.solved_N, _negated(measures.cost_usd_N), _negated(measures.latency_s_N)])


def _negated(values: Floats) -> Floats:
    return 0.0 - values  # and not -values, which makes a free rollout cost -0.0


def _placed(values_K_N: Floats, low_K_G: Floats, high_K_G: Floats, groups: Segments) -> Floats:
    """(value - low) / (high - low), and 0 where that range is empty."""
    varies_K_G = high_K_G > low_K_G
    low_K_G = np.where(varies_K_G, low_K_G, 0.0)
    span_K_G = np.where(varies_K_G, high_K_G, np.inf) - low_K_G
    placed_K_N = values_K_N - groups.spread(low_K_G)
    placed_K_N /= groups.spread(span_K_G)
    return placed_K_N


def _check(measures: Measures) -> None:
    named = {"cost_usd": measures.cost_usd_N, "latency_s": measures.latency_s_N, "a tool count": measures.count_T_N}
    for name, values in named.items():
        wrong = ~((values >= 0) & (values <= MOST))
        if wrong.any():
            at = int(np.argwhere(wrong)[0][-1])
            raise BadInput(
                f"rollout {at}: {name} = {values[wrong][0]:g}; use a number from 0 to {MOST:g}, or leave it out"
            )
