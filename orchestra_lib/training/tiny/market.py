"""Markets of simulated experts, drawn anew for every exercise: names, skills, prices and seconds carry no memory.

A market has three or four experts. Prices and seconds lie on two scales of 24 steps; skills are chances by kind of task
and difficulty. In a market of the *seen* kind, half of all price scales follow skill and half follow nothing, and a
scale in which the strongest expert is the cheapest (or fastest) is never drawn. The other kinds are what no training
saw: `uniform` prices that follow nothing and are never rejected, `inverted` ones (the stronger the cheaper),
`new_profiles` (a quarter of all skill profiles is held out), `new_names`, and `all_new`, which is new profiles and
names under uniform prices.
"""

import random
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from orchestra_lib.errors import BadInput
from orchestra_lib.pricing import Price
from orchestra_lib.profile import ABLE, Profile, Spread, level
from orchestra_lib.record import record
from orchestra_lib.simulated_tasks import DIFFICULTIES, KINDS, SimulatedTask, simulated_task
from orchestra_lib.tool import ToolKind
from orchestra_lib.training.tiny.names import HELD_OUT, KNOWN
from orchestra_lib.training.tiny.scale import PRICES_USD, SECONDS, STEPS

SEEN = "seen"
DRAWS = (SEEN, "uniform", "inverted", "new_profiles", "new_names", "all_new")
AIMS = ("cost", "latency", "tool", "outcome")

CHANCES = {"weak": 0.1, "fair": 0.74, "good": 0.88, "expert": 0.96}
"""What an expert of a level does: the levels are those in which profiles are told."""

_LEVELS = tuple(CHANCES)
_WORLD = 1_000_000
_GENERALISTS = 0.6
_SPREAD_S = 0.2

Skill = tuple[int, int]
"""Levels from 0 (weak) to 3 (expert) at easy and at hard tasks; the second is never above the first."""


@record
class Market:
    """One exercise before anybody plays it: a task, the experts by name in the order of the offer, and an aim.

    `named` is the expert that the user asks for where the aim is a tool.
    """

    id: str
    kind: str
    aim: str
    task: SimulatedTask
    experts: Mapping[str, Profile]
    named: str | None

    def chance(self, name: str) -> float:
        """The chance that an expert solves this task."""
        return self.experts[name].chance(self.task.kind, self.task.difficulty) or 0.0

    @property
    def able(self) -> list[str]:
        return [name for name in self.experts if self.chance(name) >= ABLE]

    @property
    def strongest(self) -> frozenset[str]:
        """Who is best on the whole, over every kind and difficulty; several where they are equal."""
        means = {name: mean_chance(one) for name, one in self.experts.items()}
        return frozenset(name for name, mean in means.items() if mean == max(means.values()))

    def apt(self, aim: str | None = None) -> frozenset[str]:
        """Whom to ask first under an aim: the cheapest or fastest of the able, the named one, those of the highest
        level."""
        aim = aim or self.aim
        if aim == "tool":
            return frozenset({self.named} if self.named else ())
        if aim == "outcome":
            best = max(self.chance(name) for name in self.experts)
            return frozenset(name for name in self.experts if level(self.chance(name)) == level(best))
        figures = {name: figure(self.experts[name], aim) for name in self.able}
        return frozenset(name for name, value in figures.items() if value == min(figures.values()))


def figure(expert: Profile, aim: str) -> float:
    """What a call costs in USD, or takes in seconds at the median."""
    return expert.latency.median if aim == "latency" else expert.price.call_usd or 0.0


def mean_chance(expert: Profile) -> float:
    """How strong an expert is on the whole."""
    return fmean(chance for by_difficulty in expert.skills.values() for chance in by_difficulty.values())


@record
class Markets:
    """Markets without end, of one kind. The same `seed`, kind and number draw the same. Raises `BadInput`.

    Aims take turns, so that any four in a row have each once.
    """

    kind: str = SEEN
    seed: int = 0
    sizes: tuple[int, ...] = (3, 4)

    def __post_init__(self) -> None:
        if self.kind not in DRAWS:
            raise BadInput(f"kind of market {self.kind!r}; use one of {', '.join(DRAWS)}")

    def market(self, number: int) -> Market:
        """The market of this number."""
        dice = random.Random(f"market {self.kind}/{self.seed}/{number}")  # noqa: S311  # a lot, not a secret
        new_names = self.kind in ("new_names", "all_new")
        while True:
            task = simulated_task(_WORLD + self.seed, dice.randrange(_WORLD))
            size = dice.choice(self.sizes)
            skills = self._skills(dice, size)
            at = KINDS.index(task.kind), DIFFICULTIES.index(task.difficulty)
            able = sum(one[at[0]][at[1]] > 0 for one in skills)
            if able and (able > 1 or size == 1 or dice.random() < 0.3):
                break
        names = dice.sample(HELD_OUT if new_names else KNOWN, size)
        rows = zip(names, skills, self._scale(dice, skills), self._scale(dice, skills), strict=True)
        experts = {name: _expert(name, one, price, seconds) for name, one, price, seconds in rows}
        aim = AIMS[number % len(AIMS)]
        market = Market(
            id=f"{self.kind}-{self.seed}-{number}", kind=self.kind, aim=aim, task=task, experts=experts, named=None
        )
        return replace(market, named=dice.choice(market.able)) if aim == "tool" else market

    def _skills(self, dice: random.Random, size: int) -> list[tuple[Skill, ...]]:
        held_out = self.kind in ("new_profiles", "all_new")
        drawn: list[tuple[Skill, ...]] = []
        while len(drawn) < size:
            one = tuple(_skill(dice) for _ in KINDS)
            if is_held_out(one) == held_out:
                drawn.append(one)
        if not held_out and dice.random() < _GENERALISTS:
            drawn[dice.randrange(size)] = ((3, 3),) * len(KINDS)
        return drawn

    def _scale(self, dice: random.Random, skills: Sequence[tuple[Skill, ...]]) -> list[int]:
        """A step for each expert."""
        strength = [fmean(CHANCES[_LEVELS[at]] for skill in one for at in skill) for one in skills]
        if self.kind == "inverted":
            order = sorted(range(len(skills)), key=lambda at: -strength[at])
            steps = [dice.randrange(4), *sorted(dice.randrange(9, STEPS) for _ in order[1:])]
            return [steps[order.index(at)] for at in range(len(skills))]
        strongest = [at for at, one in enumerate(strength) if one == max(strength)]
        free = self.kind in ("uniform", "all_new") or len(strongest) == len(skills)
        while True:
            if self.kind in ("uniform", "all_new") or dice.random() < 0.5:
                steps = [dice.randrange(STEPS) for _ in skills]
            else:
                steps = [_bounded(2 + 20 * one**2 + dice.uniform(-4, 4)) for one in strength]
            if free or all(steps[at] > min(steps) for at in strongest):
                return steps


def is_held_out(skills: tuple[Skill, ...]) -> bool:
    """Whether no exercise of training may use the profile; one that is expert everywhere is no secret."""
    return skills != ((3, 3),) * len(KINDS) and zlib.crc32(f"profile {skills}".encode()) % 4 == 0


def _skill(dice: random.Random) -> Skill:
    easy = dice.randrange(4)
    return easy, max(0, easy - dice.choice((0, 0, 1, 1, 2)))


def _bounded(step: float) -> int:
    return max(0, min(STEPS - 1, round(step)))


def _expert(name: str, skills: tuple[Skill, ...], price: int, seconds: int) -> Profile:
    return Profile(
        name=name,
        title=name.title(),
        kind=ToolKind.GENERALIST,
        skills={
            kind: {difficulty: CHANCES[_LEVELS[at]] for difficulty, at in zip(DIFFICULTIES, skill, strict=True)}
            for kind, skill in zip(KINDS, skills, strict=True)
        },
        price=Price(call_usd=PRICES_USD[price], source="simulated; drawn for one exercise"),
        latency=Spread(median=SECONDS[seconds], sigma=_SPREAD_S),
        answer_tokens=Spread(median=200.0),
        invented=("everything: drawn for one exercise",),
    )
