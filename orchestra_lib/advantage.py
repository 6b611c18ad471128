"""The advantage of each rollout in its group, and what is left out of the loss.

A = (R - mean R) / std R over the group. The paper says only "std"; the public code takes the sample standard
deviation (n - 1, `statistics.stdev`) and so does TRL, and so do we, for A and for the threshold. Rewards that are
all equal have the std 0 exactly and the advantage 0; so has the only rollout of a group.

Left out (paper, section 3.2): groups whose std is below 0.1, rollouts without a valid answer, and turns whose tool
call is malformed, which `training.rewarding` masks. The released code adds 1e-6 to the std, clips A to [-3, 3], keeps
a group only if its std is above 0.1 and stops at groups of two or fewer; in that mode we keep nothing of such a group.
"""

from dataclasses import dataclass

import numpy as np

from orchestra_lib.reward import Mode
from orchestra_lib.segments import Floats, Marks, Segments

MIN_STD = 0.1
_EPSILON, _CLIP, _FEW = 1e-6, 3.0, 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Advantages:
    """`std_G` is NaN for a group of one. `differs_G`: enough for the loss; `kept_N`: that, and a valid answer."""

    mean_G: Floats
    std_G: Floats
    differs_G: Marks
    advantage_N: Floats
    kept_N: Marks


def advantages(
    reward_N: Floats, answered_N: Marks, groups: Segments, mode: Mode = Mode.PAPER, *, min_std: float = MIN_STD
) -> Advantages:
    """Compare the graded rollouts of each group; `answered_N` says which ended with a valid answer.

    `min_std` other than the paper's is for who wants to see what that filter does.
    """
    low_G, high_G = groups.lowest(reward_N), groups.highest(reward_N)
    equal_G = low_G == high_G
    range_G = np.where(equal_G, 1.0, high_G - low_G)
    # Placed in [0, 1] first: of rewards that are tiny or nearly equal, squared distances would vanish.
    placed_N = (reward_N - groups.spread(low_G)) / groups.spread(range_G)
    distance_N = placed_N - groups.spread(groups.total(placed_N) / groups.size_G)
    several_G = groups.size_G > 1
    placed_std_G = np.sqrt(groups.total(distance_N**2) / np.where(several_G, groups.size_G - 1, 1))
    std_G = placed_std_G * range_G
    mean_G = groups.total(reward_N) / groups.size_G
    if Mode(mode) is Mode.PAPER:
        advantage_N = distance_N / groups.spread(np.where(equal_G, 1.0, placed_std_G))
        differs_G = several_G & (std_G >= min_std)
    else:
        advantage_N = (distance_N * groups.spread(range_G)) / groups.spread(std_G + _EPSILON)
        advantage_N = np.clip(advantage_N, -_CLIP, _CLIP)
        differs_G = (std_G > min_std) & (groups.size_G > _FEW)
    return Advantages(
        mean_G=mean_G,
        std_G=np.where(several_G, std_G, np.nan),
        differs_G=differs_G,
        advantage_N=advantage_N,
        kept_N=groups.spread(differs_G) & answered_N,
    )
