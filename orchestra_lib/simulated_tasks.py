"""Simulated tasks: questions of four kinds and two difficulties with their answers, made from a seed.

They exist for simulated experts: a question of the kind `lookup` asks about a place that does not exist. Each text
ends in a mark such as `[simulated 7-12]`, by which it is known as a simulated task in every record that holds it, and
from which task, kind, difficulty and answer can be made again; the mark says none of them to who reads it.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise

from orchestra_lib.record import record
from orchestra_lib.task import Task

KINDS = ("math", "code", "lookup", "reasoning")
DIFFICULTIES = ("easy", "hard")
_MARK = re.compile(r"\[simulated (\d{1,9})-(\d{1,9})\]\s*$")
_PEOPLE = ("Ada", "Bo", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana")
_SYLLABLES = ("vel", "mo", "ra", "tan", "ir", "so", "ka", "lun", "be", "dor")
_PLACES = ("town", "island", "valley", "province")


@record
class SimulatedTask:
    """One simulated task. `others` are plausible wrong answers, none of them the reference."""

    seed: int
    number: int
    kind: str
    difficulty: str
    question: str
    reference: str
    others: tuple[str, ...]

    @property
    def id(self) -> str:
        return f"simulated-{self.seed}-{self.number}"

    @property
    def text(self) -> str:
        """What the orchestrator is asked."""
        return f"{self.question} [simulated {self.seed}-{self.number}]"

    @property
    def task(self) -> Task:
        """It as a task of a run."""
        return Task(text=self.text, id=self.id, reference=self.reference)


@lru_cache(maxsize=4096)
def simulated_task(seed: int, number: int) -> SimulatedTask:
    """The task of this number in the world of this seed: kinds and difficulties in turn, the rest by lot."""
    dice = random.Random(f"simulated task {seed}/{number}")  # noqa: S311  # a lot, not a secret
    kind = KINDS[number % len(KINDS)]
    difficulty = DIFFICULTIES[number // len(KINDS) % len(DIFFICULTIES)]
    question, reference, others = _MAKERS[kind](dice, difficulty == "hard")
    return SimulatedTask(
        seed=seed, number=number, kind=kind, difficulty=difficulty, question=question, reference=reference,
        others=tuple(other for other in dict.fromkeys(others) if other != reference),
    )  # fmt: skip


def simulated_tasks(seed: int, count: int, *, first: int = 0) -> Iterator[SimulatedTask]:
    """`count` tasks from number `first` on; every eight have each kind and difficulty once."""
    return (simulated_task(seed, number) for number in range(first, first + count))


def find(text: str) -> SimulatedTask | None:
    """The simulated task that a text is, whole and unchanged; None for any other text, also one with a mark."""
    mark = _MARK.search(text)
    if mark is None:
        return None
    task = simulated_task(int(mark[1]), int(mark[2]))
    return task if task.text == text.strip() else None


Made = tuple[str, str, tuple[str, ...]]
"""Question, reference, plausible wrong answers."""


def _near(value: int, dice: random.Random) -> tuple[str, ...]:
    """Whole numbers that a slip would give instead."""
    slips = [value + step for step in (1, -1, 2, 10, -10)] + [value * 2, -value, value + dice.randint(3, 9)]
    return tuple(str(slip) for slip in slips if slip != value)


def _math(dice: random.Random, hard: bool) -> Made:
    a, b, c = dice.randint(12, 99), dice.randint(12, 99), dice.randint(3, 40)
    if not hard:
        said, value = dice.choice(
            [(f"What is {a} * {c}?", a * c), (f"What is {a} + {b}?", a + b), (f"How much is {a} less {c}?", a - c)]
        )
        return said, str(value), _near(value, dice)
    modulus = dice.randint(101, 997)
    said, value = dice.choice(
        [
            (f"What is the remainder of {a}^{c} divided by {modulus}?", pow(a, c, modulus)),
            (f"What is the sum of the squares from {c} to {c + a}?", sum(n * n for n in range(c, c + a + 1))),
            (f"What is {a} * {b} * {modulus} less {c} to the third power?", a * b * modulus - c**3),
        ]
    )
    return said, str(value), _near(value, dice)


def _code(dice: random.Random, hard: bool) -> Made:
    a, b = dice.randint(2, 9), dice.randint(11, 25)
    if not hard:
        said, value = dice.choice(
            [(f"sum(range({a}, {b}))", sum(range(a, b))), (f"len(str({a} ** {b}))", len(str(a**b)))]
        )
        return f"What does the Python line `print({said})` print?", str(value), _near(value, dice)
    step = dice.randint(2, 5)
    value = 0
    for n in range(a, a + b):
        value = value * 2 - n if n % step else value + n * n
        value %= 1009
    program = f"x = 0; for n in range({a}, {a + b}): x = (x * 2 - n if n % {step} else x + n * n) % 1009; then print(x)"
    return f"What does this Python-like program print: {program}?", str(value), _near(value, dice)


def _lookup(dice: random.Random, hard: bool) -> Made:
    place = "".join(dice.sample(_SYLLABLES, 3)).title()
    what, founded = dice.choice(_PLACES), dice.randint(1100, 1950)
    if not hard:
        return f"In which year was the invented {what} of {place} founded?", str(founded), _near(founded, dice)
    mayors = ["".join(dice.sample(_SYLLABLES, 2)).title() for _ in range(5)]
    said = f"Who governed the invented {what} of {place} when its neighbour was founded in {founded}?"
    return said, mayors[0], tuple(mayors[1:])


def _reasoning(dice: random.Random, hard: bool) -> Made:
    people = dice.sample(_PEOPLE, 6 if hard else 3)
    facts = [f"{older} is older than {younger}" for older, younger in pairwise(people)]
    dice.shuffle(facts)
    place, word = dice.choice([(0, "oldest"), (-1, "youngest")])
    if hard:
        place, word = dice.choice([(1, "second oldest"), (-2, "second youngest"), (2, "third oldest")])
    right = people[place]
    return f"{'. '.join(facts)}. Who is the {word}?", right, tuple(one for one in people if one != right)


_MAKERS: Mapping[str, Callable[[random.Random, bool], Made]] = {
    "math": _math, "code": _code, "lookup": _lookup, "reasoning": _reasoning,
}  # fmt: skip


def wrong_answer(reference: str, others: tuple[str, ...], lot: str) -> str:
    """A plausible answer that is not the reference: one of `others`, else another number, else a denial.

    The same arguments give the same answer.
    """
    dice = random.Random(f"wrong/{lot}")  # noqa: S311  # a lot, not a secret
    said = _plain(reference)
    usable = [other for other in others if _plain(other) != said]
    if usable:
        return dice.choice(usable)
    numbers = list(re.finditer(r"\d+", reference))
    if numbers:
        first = numbers[0]  # the leading digits: a slip there leaves no tolerance that the answer could meet
        changed = str(int(first[0]) * 2 + dice.randint(1, 9))
        return f"{reference[: first.start()]}{changed}{reference[first.end() :]}"
    return dice.choice(("none of them", "it cannot be told", "the opposite"))


def _plain(text: str) -> str:
    return " ".join(re.sub(r"\W", " ", text.casefold()).split())
