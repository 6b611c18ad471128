"""The oracle of simulated experts: it knows their profiles and the kind of the task, which no policy can know.

A benchmark to compare learned policies with, and marked as such: what it does is the best first call that a
preference allows, by the stated chances, and no achievement.
"""

from collections.abc import Callable, Mapping, Sequence

from orchestra_lib.policy.baseline import Baseline, Merit
from orchestra_lib.preference import Preference
from orchestra_lib.profile import ABLE, Profile
from orchestra_lib.protocols import Situation
from orchestra_lib.record import record
from orchestra_lib.task import Task
from orchestra_lib.tool import ToolSpec

ORACLE = "oracle"

_OUT_OF_REACH = 100.0
"""What sets those that are not able behind all that are."""


@record
class Known:
    """An expert as the oracle sees it. `cost_usd` is None without a price, `latency_s` where nobody states any."""

    name: str
    chance: float
    cost_usd: float | None
    latency_s: float | None


def oracle(profiles: Mapping[str, Profile], kind_of: Callable[[Task], tuple[str | None, str | None]]) -> Baseline:
    """Calls the able expert with the highest weighted sum of chance, cheapness and speed.

    `profiles` are by the name that prices them, `kind_of` gives kind and difficulty of a task. Cost and latency are
    counted from 0 to 1 between the least and the most of the able ones, as a group's reward counts them; a tool's own
    weight is added. Able is who is right at least every second time; where nobody is, the likeliest goes first. Tools
    without a profile come last.
    """

    def rule(situation: Situation, specs: Sequence[ToolSpec]) -> list[Merit]:
        setting = situation.setting
        kind, difficulty = kind_of(setting.task)
        known: dict[str, Known] = {}
        for spec in specs:
            profile = profiles.get(spec.priced_as) if spec.simulated else None
            if profile is not None:
                known[spec.name] = Known(
                    name=spec.name,
                    chance=profile.chance(kind, difficulty) or 0.0,
                    cost_usd=profile.typical_usd(price) if (price := setting.prices.find(spec.priced_as)) else None,
                    latency_s=profile.latency.median,
                )
        able = [one for one in known.values() if one.chance >= ABLE]
        return [merit(known.get(spec.name), able, setting.preference) for spec in specs]

    return Baseline(ORACLE, rule)


def merit(one: Known | None, able: Sequence[Known], preference: Preference, *, says: str = "its profile says") -> Merit:
    """How good a first call of `one` is, beside all that are `able`; None is a tool of which nothing is stated.

    What is unknown counts as the most among the able. `says` is whose word the chance is.
    """
    if one is None:
        return Merit(score=None, note="it has no profile that the oracle knows")
    if one not in able:
        return Merit(score=one.chance - _OUT_OF_REACH, note=f"{says} right with chance {one.chance:.2f}")
    dear = _place(one.cost_usd, [other.cost_usd for other in able])
    slow = _place(one.latency_s, [other.latency_s for other in able])
    score = (
        preference.outcome * one.chance
        - preference.cost * dear
        - preference.latency * slow
        + preference.weight(one.name)
    )
    cost = "unknown" if one.cost_usd is None else f"${one.cost_usd:.2g}"
    time = "unknown time" if one.latency_s is None else f"{one.latency_s:.2g} s"
    return Merit(score=score, note=f"{says} right with chance {one.chance:.2f}, typical cost {cost}, {time}")


def _place(value: float | None, among: Sequence[float | None]) -> float:
    """Where a value lies from the least (0) to the most (1); what is unknown lies at the most."""
    if value is None:
        return 1.0
    known = [one for one in among if one is not None]
    low, high = min(known), max(known)
    return 0.0 if high == low else (value - low) / (high - low)
