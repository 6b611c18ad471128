"""Groups of rollouts for tests of the reward, and the arithmetic again in plain loops, read from the sources."""

from statistics import stdev

from hypothesis import strategies as st

from orchestra_lib.preference import GOALS, Preference
from orchestra_lib.reward_report import Rollout, reward_reports

TOOLS = ("calc", "gpt", "search")
amounts = st.one_of(st.sampled_from([0.0, 0.01, 0.05, 0.1]), st.floats(0, 4e14))
shares = st.floats(0, 1)


@st.composite
def rollouts(draw, *, min_size=1, max_size=64, outcomes=(True, False)):
    """A group of graded rollouts r0, r1, … of up to eight kinds, so that ties are frequent and drawing is fast."""
    kind = st.fixed_dictionaries(
        {
            "outcome": st.sampled_from(outcomes),
            "cost_usd": amounts,
            "latency_s": amounts,
            "tool_counts": st.fixed_dictionaries({tool: st.integers(0, 5) for tool in TOOLS}),
            "answered": st.booleans(),
        }
    )
    kinds = draw(st.lists(kind, min_size=1, max_size=8))
    group = draw(st.lists(st.sampled_from(kinds), min_size=min_size, max_size=max_size))
    return [Rollout(id=f"r{at}", **values) for at, values in enumerate(group)]


def preferences(low=-1.0):
    return st.builds(
        Preference, outcome=shares, cost=shares, latency=shares,
        tools=st.fixed_dictionaries({tool: st.floats(low, 1) for tool in TOOLS}),
    )  # fmt: skip


def scored(group, preference, mode="paper"):
    """The rows of a group's report, by id."""
    return {row.id: row for report in reward_reports(group, preference, mode) for row in report.rows}


def rewards_by_hand(group, preference):
    """The paper's R with our extension, one rollout after the other."""
    tools = sorted({tool for one in group for tool in one.tool_counts})
    names = [*tools, *GOALS]
    weights = [preference.weight(tool) for tool in tools] + [getattr(preference, goal) for goal in GOALS]

    def vector(one):
        counts = [one.tool_counts[tool] * (-1 if preference.weight(tool) < 0 else 1) for tool in tools]
        return [*counts, float(one.outcome), -one.cost_usd, -one.latency_s]

    vectors = [vector(one) for one in group]
    low, high = [[pick(column) for column in zip(*vectors, strict=True)] for pick in (min, max)]
    found = []
    for one, values in zip(group, vectors, strict=True):
        parts = [
            abs(weights[k]) * (values[k] - low[k]) / (high[k] - low[k]) for k in range(len(names)) if high[k] > low[k]
        ]
        found.append(sum(parts) if one.outcome else 0.0)
    return found


def published_by_hand(group, weights):
    """The released code's rewards and advantages as described in the reference, section 4.2 and 4.3 a to c.

    `weights` maps tools and accuracy, cost, latency to any number.
    """
    low, high = {}, {}
    for one in group:
        used = {tool: count for tool, count in one.tool_counts.items() if count}
        ranged = used | {"accuracy": int(one.outcome), "cost": -one.cost_usd, "latency": -one.latency_s}
        for name, value in ranged.items():
            low[name], high[name] = min(low.get(name, value), value), max(high.get(name, value), value)
    found = []
    for one in group:
        terms = [(name, one.tool_counts.get(name, 0)) for name in low]
        terms += [("accuracy", int(one.outcome)), ("latency", one.latency_s), ("cost", one.cost_usd)]
        known = [(name, value) for name, value in terms if high[name] > low[name]]
        parts = [weights[name] * (value - low[name]) / (high[name] - low[name]) for name, value in known]
        found.append(sum(parts) if one.outcome else 0.0)
    if len(found) < 3:
        return found, None
    mean, std = sum(found) / len(found), stdev(found)
    return found, [max(-3.0, min(3.0, (value - mean) / (std + 1e-6))) for value in found]
