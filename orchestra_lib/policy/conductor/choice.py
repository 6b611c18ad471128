"""Choosing a tool: the expected preference reward of each, with every number kept.

For a tool with chance p of solving the step, expected cost c and expected latency l, tool weight w in [-1, 1]
and goal weights (outcome, cost, latency) of the user:

    score = outcome * p - (cost * c / c_max + latency * l / l_max) / 4 + pull(w, p)
    pull  = 1.5 * w * able(p)     w > 0    able rises from 0 at p = 0.1 to 1 at p = 0.4
    pull  = 1.5 * w               w < 0    and a tool with w <= -0.95 is not used at all

c_max and l_max are the largest known values among the tools in question, so a free or instant tool costs
nothing; the dearest costs a quarter of its weight: a full cost weight is worth a quarter of a solved task. An
unknown price or latency counts as the largest: a user who saves does not want surprises. This is the
published reward (arXiv 2511.21689, section 3.2) taken in expectation before the call; what it has no term for
is the negative tool weight, which is our extension. A preference never makes a tool able: below the chance
`ABLE` no tool is used, however preferred.
"""

from collections.abc import Collection, Mapping, Sequence

from orchestra_lib.generation import Estimate
from orchestra_lib.policy.conductor.estimator import Chance
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import Attempt, PriceTable, Usage, cost_usd, total
from orchestra_lib.record import record
from orchestra_lib.tool import ToolSpec

PULL = 1.5
SPREAD = 0.25
FORBIDDEN = -0.95
ABLE = 0.1
"""Under this chance a tool counts as unable."""
SURELY_ABLE = 0.4
WRITING_USAGE = Usage(input_tokens=430, output_tokens=60)
WRITING_S = 3.5
"""What it takes the 1.5B to write a program: medians of `benchmarks/embedded.py` on two cores."""
TYPICAL_TOKENS = 150
"""Tokens in, and where no example tells out, of a call to a model behind a tool."""


@record
class Choice:
    """The tools by score, best first, those ruled out at the end; `tool` is None when none is left."""

    estimates: tuple[Estimate, ...]

    @property
    def tool(self) -> str | None:
        first = self.estimates[0] if self.estimates else None
        return None if first is None or first.score is None else first.tool

    @property
    def runner_up(self) -> Estimate | None:
        return next((estimate for estimate in self.estimates[1:] if estimate.score is not None), None)


def choose(
    specs: Sequence[ToolSpec],
    chances: Mapping[str, Chance],
    preference: Preference,
    prices: PriceTable,
    *,
    tried: Collection[str] = (),
) -> Choice:
    """Score every tool; `tried` are those that had their chance in this run."""
    costs = {spec.name: expected_cost_usd(spec, prices, chances[spec.name]) for spec in specs}
    latencies = {spec.name: _expected_latency_s(spec, chances[spec.name]) for spec in specs}
    cost_share, latency_share = _shares(costs), _shares(latencies)
    estimates = []
    for spec in specs:
        chance = chances[spec.name]
        weight = preference.weight(spec.name)
        score = (
            preference.outcome * chance.chance
            - SPREAD * (preference.cost * cost_share[spec.name] + preference.latency * latency_share[spec.name])
            + pull(weight, chance.chance)
        )
        why_not = _ruled_out(chance.chance, weight, tried=spec.name in tried)
        estimates.append(
            Estimate(
                tool=spec.name,
                chance=round(chance.chance, 3),
                cost_usd=costs[spec.name],
                latency_s=latencies[spec.name],
                score=None if why_not else round(score, 4),
                note=f"{why_not}; {chance.note}" if why_not else chance.note,
            )
        )
    return Choice(estimates=tuple(sorted(estimates, key=lambda e: (e.score is None, -(e.score or 0.0)))))


def pull(weight: float, chance: float) -> float:
    """What a tool preference adds to the score."""
    if weight <= 0:
        return PULL * weight
    return PULL * weight * min(1.0, max(0.0, (chance - ABLE) / (SURELY_ABLE - ABLE)))


def expected_cost_usd(spec: ToolSpec, prices: PriceTable, chance: Chance) -> float | None:
    """What a call on a question like this costs under `prices`, arguments written; None when a price is unknown."""
    output = TYPICAL_TOKENS if chance.tokens is None else round(chance.tokens)
    usage = Usage(input_tokens=TYPICAL_TOKENS, output_tokens=output)
    attempt = Attempt(priced_as=spec.priced_as, usage=usage, wall_s=spec.typical_latency_s or 1.0)
    called = cost_usd(attempt, prices.find(spec.priced_as))
    if chance.writer is None:
        return called
    writing = Attempt(priced_as=chance.writer, usage=WRITING_USAGE, wall_s=WRITING_S)
    return total([called, cost_usd(writing, prices.find(chance.writer))])


def _expected_latency_s(spec: ToolSpec, chance: Chance) -> float | None:
    """The typical latency, longer where replies are longer than usual or arguments have to be written."""
    if spec.typical_latency_s is None:
        return None
    writing_s = 0.0 if chance.writer is None else WRITING_S
    return round(spec.typical_latency_s * (chance.length or 1.0) + writing_s, 2)


def _ruled_out(chance: float, weight: float, *, tried: bool) -> str | None:
    if weight <= FORBIDDEN:
        return "not used: you asked to avoid it"
    if tried:
        return "not used again: it had its chance in this run"
    if chance < ABLE:
        return "not used: hardly any chance here"
    return None


def _shares(values: Mapping[str, float | None]) -> dict[str, float]:
    """Each value over the largest known one; unknown counts as the largest."""
    largest = max((value for value in values.values() if value is not None), default=0.0)
    unknown = 1.0 if any(value is None for value in values.values()) else 0.0
    return {
        name: unknown if value is None else (value / largest if largest > 0 else 0.0) for name, value in values.items()
    }
