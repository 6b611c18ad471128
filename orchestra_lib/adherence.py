"""How well a policy follows preferences, beside a base run of the same task: the paper's metric, and a bounded one.

**Published** (arXiv 2511.21689, appendix L). With M_s the run's vector [calls of each tool, outcome, -cost, -latency]
and M_0 the base's: tools and outcome count M_s / max(1, M_0), cost and latency M_0 / max(1, M_s). The score is P . that
when solved, 0 when not; the benchmark is the sum over examples. It has two weak spots, and is computed with them: cost
and latency stand in M with a minus, so that max(1, .) is always 1 and the component is M_0 whatever the run cost; and
ten calls of a preferred tool that the base never called score ten.

**Bounded** (ours). Every component is a share in [0, 1], 1/2 where the run does as the base does:

- a tool: (1 + s - s_0) / 2, where s is the tool's share of all calls of the run, 0 when it made none; for a weight
  below 0 (our extension) s and s_0 change places. Calling more often does not help unless others are called less.
- outcome: (1 + o - o_0) / 2, with o 1 when solved and 0 when not.
- cost and latency: c_0 / (c + c_0), and 1/2 when both are 0. No unit and no threshold matters.

The score is the mean of the components weighted by |w| when solved and 0 when not; the benchmark is the mean over
examples. An example whose run or base is ungraded, or whose preference has no weight, is left out and counted.
"""

import math
from collections.abc import Iterable, Iterator
from statistics import fmean

from orchestra_lib.preference import Preference
from orchestra_lib.record import record
from orchestra_lib.reward_report import Rollout


@record
class Example:
    """A run under a preference, and the base's run of the same task."""

    run: Rollout
    base: Rollout
    preference: Preference

    @property
    def compared(self) -> bool:
        """Whether it counts: run and base are graded and something is weighed."""
        return self.run.counts and self.base.counts and self.weighs

    @property
    def weighs(self) -> bool:
        """Whether the preference has a weight."""
        return any(_weights(self.preference))


@record
class Adherence:
    """Both metrics over `compared` examples: `bounded` a mean in [0, 1], None of no example; `published` a sum."""

    bounded: float | None
    published: float
    compared: int
    left_out: int


def adherence(examples: Iterable[Example]) -> Adherence:
    """Both metrics. Raises `BadInput` naming the id of a graded run whose cost or time is unknown."""
    given = list(examples)
    compared = [one for one in given if one.compared]
    return Adherence(
        bounded=fmean(map(bounded, compared)) if compared else None,
        published=math.fsum(map(published, compared)),
        compared=len(compared),
        left_out=len(given) - len(compared),
    )


def bounded(example: Example) -> float:
    """Our score of one graded example, in [0, 1]; at least one weight is not 0."""
    if not example.run.outcome:
        return 0.0
    largest = max(map(abs, _weights(example.preference)))  # by which tiny weights are lifted, so that none vanishes
    parts = [(abs(weight) / largest, share) for weight, share in _components(example)]
    return math.fsum(weight * share for weight, share in parts) / math.fsum(weight for weight, _ in parts)


def published(example: Example) -> float:
    """The paper's score of one graded example, as its appendix states it."""
    run, base, preference = example.run, example.base, example.preference
    if not run.outcome:
        return 0.0
    tools = [
        weight * run.tool_counts.get(tool, 0) / max(1, base.tool_counts.get(tool, 0))
        for tool, weight in preference.tools.items()
    ]
    outcome = preference.outcome * 1 / max(1, int(bool(base.outcome)))
    cost = preference.cost * -base.known("cost_usd") / max(1.0, -run.known("cost_usd"))
    latency = preference.latency * -base.known("latency_s") / max(1.0, -run.known("latency_s"))
    return math.fsum([*tools, outcome, cost, latency])


def _weights(preference: Preference) -> tuple[float, ...]:
    return (*preference.tools.values(), preference.outcome, preference.cost, preference.latency)


def _components(example: Example) -> Iterator[tuple[float, float]]:
    run, base, preference = example.run, example.base, example.preference
    for tool, weight in preference.tools.items():
        more = _share(run, tool) - _share(base, tool)
        yield weight, (1 + math.copysign(1, weight) * more) / 2
    yield preference.outcome, (1 + int(bool(run.outcome)) - int(bool(base.outcome))) / 2
    yield preference.cost, _saved(run.known("cost_usd"), base.known("cost_usd"))
    yield preference.latency, _saved(run.known("latency_s"), base.known("latency_s"))


def _share(rollout: Rollout, tool: str) -> float:
    calls = sum(rollout.tool_counts.values())
    return rollout.tool_counts.get(tool, 0) / calls if calls else 0.0


def _saved(amount: float, base: float) -> float:
    """base / (amount + base), written so that no sum overflows."""
    largest = max(amount, base)
    return (base / largest) / (amount / largest + base / largest) if largest else 0.5
