"""The profile of a simulated expert: what it is said to know, cost and take, and what it does by lot.

Nothing here answers a question: a profile says with which chance an expert is right on a kind of task, and a lot
drawn from seed, profile, task and call number decides. The same four give the same draw on every machine.
"""

import math
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import date

from orchestra_lib.errors import BadInput
from orchestra_lib.pricing import Attempt, Price, PriceTable, Usage, cost_usd
from orchestra_lib.record import record
from orchestra_lib.tool import ToolKind

PREFIX = "sim:"
"""Begins the name by which a simulated expert is asked for, and the one that prices it."""

ANY = "any"
"""The difficulty of a skill that is not told apart by difficulty."""

ABLE = 0.5
"""From this chance on an expert counts as able."""

_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_KIND = re.compile(r"[\w.-]{1,60}")
_LEVELS = ((0.9, "expert"), (0.75, "good"), (ABLE, "fair"), (0.0, "weak"))
_FIGURES = re.compile(r"A call costs [^;]{1,60} and takes about [\d.e+-]+ s\. ?")
_SLOWEST = 10.0
"""No draw is longer than this many medians, so that a profile bounds what a call can take and cost."""


@record
class Spread:
    """A log-normal quantity: its median, and the standard deviation of its logarithm. Raises `BadInput`."""

    median: float
    sigma: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.median) and self.median > 0):
            raise BadInput(f"median = {self.median!r}; it is a number above 0")
        if not (math.isfinite(self.sigma) and 0 <= self.sigma <= 3):
            raise BadInput(f"sigma = {self.sigma!r}; it is a number from 0 to 3")

    @property
    def most(self) -> float:
        """What no draw exceeds."""
        return self.median * _SLOWEST

    def at(self, lot: random.Random) -> float:
        """One draw, cut at ten medians."""
        return min(self.median * math.exp(self.sigma * lot.gauss(0.0, 1.0)), self.most)


@record
class Profile:
    """A simulated expert as it is stated.

    `skills` are chances to be right by kind of task and difficulty (`any` where they are not told apart); a kind that
    is missing is `otherwise`, and where that is None too the expert knows nothing of such a task and says so. `price`
    bills the tokens that it states: a prompt of its question and `prompt_tokens`, an answer of `answer_tokens`.
    `latency` is in seconds; `fault_rate` is the chance that a call fails as an endpoint does. `invented` and
    `anchored` say where each figure comes from. Raises `BadInput`.
    """

    name: str
    title: str
    kind: ToolKind
    skills: Mapping[str, Mapping[str, float]]
    price: Price
    latency: Spread
    answer_tokens: Spread
    prompt_tokens: int = 100
    otherwise: float | None = None
    fault_rate: float = 0.0
    invented: tuple[str, ...] = ()
    anchored: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise BadInput(f"profile name = {self.name[:80]!r}; use 1 to 40 small letters, digits and dashes")
        for kind, by_difficulty in self.skills.items():
            for word in (kind, *by_difficulty):
                if not _KIND.fullmatch(word):
                    raise BadInput(f"profile {self.name}: skill {word[:80]!r}; name kinds and difficulties in one word")
            for difficulty, chance in by_difficulty.items():
                _check_chance(f"profile {self.name}: skill {kind} {difficulty}", chance)
        if self.otherwise is not None:
            _check_chance(f"profile {self.name}: otherwise", self.otherwise)
        _check_chance(f"profile {self.name}: fault_rate", self.fault_rate)
        if self.prompt_tokens < 0:
            raise BadInput(f"profile {self.name}: prompt_tokens = {self.prompt_tokens}; it is 0 or more")

    @property
    def priced_as(self) -> str:
        """The name that prices it."""
        return PREFIX + self.name

    def chance(self, kind: str | None, difficulty: str | None) -> float | None:
        """The chance to be right on a task; None where the profile says nothing of such tasks."""
        by_difficulty = self.skills.get(kind or "")
        if by_difficulty is None:
            return self.otherwise
        return by_difficulty.get(difficulty or ANY, by_difficulty.get(ANY, self.otherwise))

    def typical_usd(self, price: Price | None = None) -> float | None:
        """What a call of median length costs, under its own price or another."""
        usage = Usage(input_tokens=self.prompt_tokens + 50, output_tokens=round(self.answer_tokens.median))
        attempt = Attempt(priced_as=self.priced_as, usage=usage, wall_s=self.latency.median)
        return cost_usd(attempt, price or self.price)


def _check_chance(what: str, value: float) -> None:
    if not (math.isfinite(value) and 0 <= value <= 1):
        raise BadInput(f"{what} = {value!r}; a chance is a number from 0 to 1")


@record
class Drawn:
    """What one call came to: `right`, its seconds, the tokens of its answer, whether the endpoint failed.

    `lot` decides among wrong answers.
    """

    right: bool
    failed: bool
    latency_s: float
    answer_tokens: int
    lot: str


def draw(profile: Profile, chance: float, *, seed: str | int, task: str, number: int) -> Drawn:
    """The `number`-th call of an expert about a task. The same arguments always draw the same.

    Two profiles of one name draw the same lots, so that a better one is right wherever a worse one is.
    """
    lot = f"{seed}/{profile.name}/{task}/{number}"
    dice = random.Random(lot)  # noqa: S311  # a lot, not a secret
    right, failed = dice.random() < chance, dice.random() < profile.fault_rate
    latency_s = profile.latency.at(dice)
    tokens = max(1, round(profile.answer_tokens.at(dice)))
    return Drawn(right=right, failed=failed, latency_s=round(latency_s, 3), answer_tokens=tokens, lot=lot)


def level(chance: float) -> str:
    """A chance in a word: expert, good, fair, weak."""
    return next(word for least, word in _LEVELS if chance >= least)


def skills_in_words(profile: Profile) -> str:
    """The skills as a model reads them: `math: easy expert, hard good; code: weak`."""
    parts = []
    for kind, by_difficulty in profile.skills.items():
        words = {difficulty: level(chance) for difficulty, chance in by_difficulty.items()}
        told = [word if name == ANY else f"{name} {word}" for name, word in words.items()]
        same = set(words.values())
        parts.append(f"{kind}: {same.pop() if len(same) == 1 else ', '.join(told)}")
    return "; ".join(parts)


def description(profile: Profile, *, price: Price | None = None, figures: bool = True) -> str:
    """What the tool says of itself: that it is simulated, what a call costs and takes, its skills. No name.

    `price` stands in for the profile's own where prices are drawn anew; without `figures` only skills are told.
    """
    told = []
    if figures:
        told.append(_figures(profile, price))
    skilled = skills_in_words(profile)
    told.append(f"Skills: {skilled}." if skilled else "Its skills are not stated.")
    return f"Simulated expert. {' '.join(told)}"


def _figures(profile: Profile, price: Price | None) -> str:
    usd = profile.typical_usd(price)
    cost = "an unknown price" if usd is None else f"about ${usd:.2g}"
    return f"A call costs {cost} and takes about {profile.latency.median:.2g} s."


def restated(text: str, profile: Profile, price: Price) -> str:
    """A description whose sentence of price and time tells what a call costs at `price`; one without it is kept."""
    return _FIGURES.sub(lambda _: f"{_figures(profile, price)} ", text)


def without_figures(text: str) -> str:
    """A description less the sentence in which `description` tells price and time."""
    return _FIGURES.sub("", text)


def price_table(profiles: Iterable[Profile], *, name: str, dated: date) -> PriceTable:
    """The prices of profiles as a nominal table: nobody is billed for what is simulated."""
    return PriceTable(
        name=name,
        dated=dated,
        source="the stated profiles of simulated experts; nobody is billed",
        nominal=True,
        prices={profile.priced_as: profile.price for profile in sorted(profiles, key=lambda one: one.name)},
    )


def shuffled_names(profiles: Sequence[Profile], seed: int) -> Mapping[str, Profile]:
    """Names that say nothing (`expert_a` …), dealt to profiles by lot and in an order by lot."""
    dice = random.Random(f"names/{seed}")  # noqa: S311  # a lot, not a secret
    dealt = dice.sample(list(profiles), len(profiles))
    return {f"expert_{_letters(number)}": profile for number, profile in enumerate(dealt)}


def _letters(number: int) -> str:
    letters = ""
    while number >= 0:
        number, rest = divmod(number, 26)
        letters, number = chr(ord("a") + rest) + letters, number - 1
    return letters
