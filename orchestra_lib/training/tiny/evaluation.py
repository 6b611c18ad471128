"""How a policy does on markets nobody trained on: accuracy, cost, time, compliance, beside plain rules and the oracle.

All contestants play the same exercises with the same lots, so that they differ by what they choose alone. Everything
measured here is simulated.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from orchestra_lib.calibration import Share, share
from orchestra_lib.event import fold
from orchestra_lib.interval import Mean, mean
from orchestra_lib.play import play
from orchestra_lib.policy.baseline import Baseline, Merit, at_random, cheapest
from orchestra_lib.policy.conductor import Conductor, Estimator, load_examples
from orchestra_lib.protocols import Policy, Situation
from orchestra_lib.record import record
from orchestra_lib.reward import Measures, rewards, weights_of
from orchestra_lib.segments import Floats
from orchestra_lib.store.artefacts import Artefacts
from orchestra_lib.tool import ToolSpec
from orchestra_lib.training.tiny.course import exercise_of
from orchestra_lib.training.tiny.market import AIMS, Market, Markets, mean_chance
from orchestra_lib.trajectory import Trajectory

HELD_OUT_SEED = 900_001
"""The first seed of the markets that policies are measured on; no training uses seeds from 900,000 on."""

_AT_ONCE = 512

PolicyOf = Callable[[Market, int], Policy]
"""The policy that plays one exercise, given its number."""


@record
class Played:
    """What one contestant did in one exercise. `strongest` is the share of its calls that a strongest expert got."""

    kind: str
    aim: str
    solved: bool
    complies: bool
    malformed: bool
    strongest: float | None
    cost_usd: float
    latency_s: float
    counts: tuple[int, ...]


def scripted() -> dict[str, PolicyOf]:
    """Whom to compare with: always the strongest on the whole, always the cheapest, anyone, the workbench's conductor
    (without a language model), and the oracle, which knows kind, difficulty and profiles and calls whom the aim asks
    for."""
    estimator = Estimator(load_examples())
    return {
        "always strongest": lambda market, number: _by("always strongest", _strength(market)),
        "always cheapest": lambda market, number: cheapest(),
        "random": lambda market, number: at_random(),
        "conductor": lambda market, number: Conductor(estimator),
        "oracle": lambda market, number: _by("oracle", {name: float(name in market.apt()) for name in market.experts}),
    }


def _strength(market: Market) -> dict[str, float]:
    return {name: mean_chance(expert) for name, expert in market.experts.items()}


def _by(name: str, score: Mapping[str, float]) -> Baseline:
    def rule(situation: Situation, specs: Sequence[ToolSpec]) -> list[Merit]:
        return [Merit(score=score[spec.name], note=f"by the rule {name}") for spec in specs]

    return Baseline(name, rule)


async def play_all(markets: Sequence[Market], policy_of: PolicyOf, folder: Path) -> list[Played]:
    """Every market once, many at a time. The lots are those of the exercise, whoever plays."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int, market: Market) -> Played:
        async with gate:
            exercise = exercise_of(market)
            setting = replace(exercise.setting, seed=number)
            policy = policy_of(market, number)
            events = play(setting, policy, exercise.tools(0), artefacts=Artefacts(folder), clock=lambda: 0.0)
            trajectory = fold([event async for event in events])
        return _played(market, trajectory, exercise.grade(trajectory), exercise.complies(trajectory))

    return list(await asyncio.gather(*(one(number, market) for number, market in enumerate(markets))))


def _played(market: Market, trajectory: Trajectory, solved: bool | None, complies: bool | None) -> Played:
    used = trajectory.tools_used
    counts = tuple(used.get(name, 0) for name in market.experts)
    cost, latency = trajectory.bill().cost_usd, trajectory.latency_s
    if cost is None or latency is None:
        raise ValueError(f"{trajectory.id} has an unknown cost or latency; every drawn expert states both")
    moves = [turn.generation for turn in trajectory.turns if turn.generation]
    return Played(
        kind=market.kind,
        aim=market.aim,
        solved=solved is True,
        complies=complies is True,
        malformed=any(not move.calls and move.answer is None for move in moves),
        strongest=sum(used.get(name, 0) for name in market.strongest) / sum(counts) if sum(counts) else None,
        cost_usd=cost,
        latency_s=latency,
        counts=counts,
    )


def compared(markets: Sequence[Market], played: Mapping[str, Sequence[Played]]) -> dict[str, Mean]:
    """The mean preference reward of each contestant, where the contestants of an exercise are the group."""
    return {name: mean(values.tolist()) for name, values in rewards_of(markets, played).items()}


def rewards_of(markets: Sequence[Market], played: Mapping[str, Sequence[Played]]) -> dict[str, Floats]:
    """The preference reward of each contestant in every exercise."""
    most = max(len(market.experts) for market in markets)
    names = list(played)
    rows = [(at, played[name][at]) for at in range(len(markets)) for name in names]
    counts = np.zeros((most, len(rows)))
    for column, (_, row) in enumerate(rows):
        counts[: len(row.counts), column] = row.counts
    measures = Measures(
        count_T_N=counts,
        solved_N=np.array([row.solved for _, row in rows]),
        cost_usd_N=np.array([row.cost_usd for _, row in rows]),
        latency_s_N=np.array([row.latency_s for _, row in rows]),
        group_N=np.array([at for at, _ in rows]),
    )
    weights = np.stack([_weights(market, most) for market in markets], axis=1)
    reward = rewards(measures, weights).reward_N.reshape(len(markets), len(names))
    return {name: reward[:, at] for at, name in enumerate(names)}


def _weights(market: Market, most: int) -> Any:
    names = [*market.experts, *[""] * (most - len(market.experts))]
    return weights_of(exercise_of(market).setting.preference, names)


def summary(played: Sequence[Played]) -> dict[str, Any]:
    """All aims together and each alone."""
    aims = {aim: [one for one in played if one.aim == aim] for aim in AIMS}
    return {"all": _figures(played), **{aim: _figures(rows) for aim, rows in aims.items() if rows}}


def _figures(rows: Sequence[Played]) -> dict[str, Share | Mean | int]:
    called = [one.strongest for one in rows if one.strongest is not None]
    return {
        "n": len(rows),
        "accuracy": _share([one.solved for one in rows]),
        "compliance": _share([one.complies for one in rows]),
        "malformed": _share([one.malformed for one in rows]),
        "strongest_share": mean(called or [0.0]),
        "cost_usd": mean([one.cost_usd for one in rows]),
        "latency_s": mean([one.latency_s for one in rows]),
    }


def _share(marks: Sequence[bool]) -> Share:
    return share(sum(marks), len(marks))


def held_out(kind: str, count: int, seed: int = 0) -> list[Market]:
    """The first markets of a kind that the policies of a seed are measured on."""
    drawn = Markets(kind=kind, seed=HELD_OUT_SEED + seed)
    return [drawn.market(number) for number in range(count)]
