"""Markets as a course: exercises for the trainer, and for measuring."""

from collections.abc import Sequence
from datetime import UTC, date, datetime

from orchestra_lib.judge.checks import compare_by_itself
from orchestra_lib.limits import Limits
from orchestra_lib.preference import Preference, describe
from orchestra_lib.pricing import PriceTable
from orchestra_lib.protocols import Tool
from orchestra_lib.record import record
from orchestra_lib.toolkit.simulated import SimulatedExpert, spec_of
from orchestra_lib.training.course import Exercise
from orchestra_lib.training.tiny.market import Market, Markets
from orchestra_lib.trajectory import Setting, Trajectory

MAX_TURNS = 3

_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def preference_of(market: Market) -> Preference:
    """The weights of an aim: 1 for what is named and 0.3 for the outcome; where the outcome is named, 0.1 for cost."""
    weights = {
        "cost": Preference(outcome=0.3, cost=1.0, latency=0.0),
        "latency": Preference(outcome=0.3, cost=0.0, latency=1.0),
        "outcome": Preference(outcome=1.0, cost=0.1, latency=0.0),
    }
    if market.named is not None:
        return Preference(outcome=0.3, cost=0.0, latency=0.0, tools={market.named: 1.0})
    return weights[market.aim]


def setting_of(market: Market, sentence: str | None = None) -> Setting:
    """The setting of a market's rollouts; `sentence` stands in for the preference's own words."""
    preference = preference_of(market)
    tools = tuple(spec_of(expert, name=name) for name, expert in market.experts.items())
    return Setting(
        run_id=market.id,
        started_at=_BEGAN,
        task=market.task.task,
        orchestrator="tiny",
        protocol="chat",
        preference=preference,
        sentence=sentence or describe(preference, {spec.name: spec.title for spec in tools}),
        tools=tools,
        prices=PriceTable(
            name="simulated",
            dated=date(2026, 1, 1),
            source="drawn for one exercise; nobody is billed",
            nominal=True,
            prices={expert.priced_as: expert.price for expert in market.experts.values()},
        ),
        limits=Limits(max_turns=MAX_TURNS),
    )


def exercise_of(market: Market) -> Exercise:
    """A market as an exercise. Its rollouts share the experts, which count the calls of each run apart."""
    experts = [SimulatedExpert(expert, name=name) for name, expert in market.experts.items()]

    def tools(number: int) -> Sequence[Tool]:
        return experts

    def grade(trajectory: Trajectory) -> bool | None:
        return compare_by_itself(trajectory.answer or "", market.task.reference)[1].outcome

    def complies(trajectory: Trajectory) -> bool:
        return bool(trajectory.calls) and trajectory.calls[0].call.tool in market.apt()

    return Exercise(
        id=market.id,
        kind=market.kind,
        setting=setting_of(market),
        tools=tools,
        grade=grade,
        complies=complies,
        strongest=market.strongest,
        aim=market.aim,
    )


@record
class TinyCourse:
    """The course of the tiny scale: exercise n is market n."""

    markets: Markets

    def exercise(self, number: int) -> Exercise:
        return exercise_of(self.markets.market(number))
