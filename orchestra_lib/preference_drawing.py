"""Draws what somebody wishes of a run: a situation, what its people need, the vector, and the clauses that say it.

What candidate number k of a split is follows from the seed and k alone.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random

from orchestra_lib.preference import GOALS, Preference
from orchestra_lib.preference_needs import EVAL, GOAL_OF, NEEDS, STANCES, TRAIN, Need, Stance
from orchestra_lib.preference_situations import SITUATIONS, Situation
from orchestra_lib.preference_words import LESS
from orchestra_lib.record import record
from orchestra_lib.tool import ToolKind, ToolSpec

_SHARE_OF_NAMES = 0.7
"""How often tools are wished for by name."""


@record
class Offered:
    """The tools that pairs speak of, those of them that send data elsewhere, and whether weights may lie below 0."""

    tools: tuple[ToolSpec, ...]
    remote: frozenset[str] = frozenset()
    extension: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools in their order, which is that of the vector."""
        return tuple(spec.name for spec in self.tools)


@record
class Drawn:
    """A vector that was drawn, and the clauses that say it; `opening` tells of the situation.

    The clauses speak of the tools `about`; each other tool weighs `others`.
    """

    split: str
    situation: str
    opening: str
    clauses: tuple[str, ...]
    preference: Preference
    about: tuple[str, ...] = ()
    others: float = 0.0


def draw(seed: int, split: str, at: int, offered: Offered) -> Drawn:
    """Candidate number `at` of a split: it follows from these and nothing else."""
    chance = seeded(seed, f"{split}/{at}")
    situation = chance.choice(_situations(seed)[split])
    needs = _needs(chance, situation, offered)
    goals = {GOAL_OF[need]: NEEDS[need].weight for need in needs if need in GOAL_OF}
    tools: dict[str, float] = {}
    for need in needs:
        tools |= dict.fromkeys(_kind(need, offered), NEEDS[need].weight)
    clauses = [chance.choice(NEEDS[need].of(split)) for need in needs]
    if not clauses or chance.random() < _SHARE_OF_NAMES:
        named, words = _named(chance, split, [spec for spec in offered.tools if spec.name not in tools])
        tools |= named
        clauses += words
    chance.shuffle(clauses)
    weights, others = (tools, 0.0) if offered.extension else lifted(tools, offered.names)
    preference = Preference(**{**dict.fromkeys(GOALS, 0.0), **goals}, tools=weights)  # type: ignore[arg-type]
    return Drawn(
        split=split,
        situation=situation.name,
        opening=chance.choice(situation.openings),
        clauses=tuple(clauses),
        preference=preference,
        about=tuple(name for name in offered.names if name in tools),
        others=others,
    )


def compose(drawn: Drawn, chance: Random) -> str:
    """The words of a draw: its clauses in one sentence or several, with its situation before, after or left out."""
    sentences: list[str] = []
    rest = list(drawn.clauses)
    while rest:
        taken = [rest.pop(0) for _ in range(min(len(rest), chance.choice((1, 2, 2, 3))))]
        text = taken[0]
        for clause in taken[1:]:
            text += chance.choice((", ", ", ", " and ", "; ")) + clause
        polite = text.split()[0] in _IMPERATIVES and chance.random() < 0.3
        sentences.append(f"please {text}" if polite else text)
    place = chance.choice(("before", "before", "before", "joined", "after", "none"))
    if place == "joined":
        sentences[0] = f"{drawn.opening}{chance.choice((', so ', '; ', ': '))}{sentences[0]}"
    elif place != "none":
        sentences.insert(0 if place == "before" else len(sentences), drawn.opening)
    ends = chance.choice((".", ".", ".", "!"))
    return " ".join(f"{text[:1].upper()}{text[1:]}{ends if at == len(sentences) else '.'}" for at, text in
                    enumerate(sentences, 1))  # fmt: skip


_IMPERATIVES = frozenset(
    ("answer", "avoid", "be", "call", "do", "don't", "exclude", "get", "give", "keep", "never", "prefer", "rely",
     "skip", "stay", "tell", "use")
)  # fmt: skip


def lifted(tools: Mapping[str, float], names: Sequence[str]) -> tuple[dict[str, float], float]:
    """Weights in the paper's range that say the same: where some lie below 0, all are moved and scaled into [0, 1].

    So a tool that is avoided weighs 0 and one that nobody speaks of more: what that weighs comes second. Weights of 0
    are left out.
    """
    low = min(tools.values(), default=0.0)
    others = 0.0
    if low < 0:
        scale = max(tools.get(name, 0.0) for name in names) - low
        others = round(min(1.0, -low / scale), 6) if scale else 0.0
        tools = {name: (tools.get(name, 0.0) - low) / scale if scale else 0.0 for name in names}
    return {name: round(weight, 6) for name, weight in tools.items() if weight}, others


def seeded(seed: int, what: str) -> Random:
    """The dice of one thing that is drawn under a seed."""
    return Random(f"preferences/{seed}/{what}")  # noqa: S311  # nothing here is secret


def _situations(seed: int) -> Mapping[str, Sequence[Situation]]:
    """A fifth of the situations is for evaluation, whatever share of the pairs is."""
    order = seeded(seed, "split").sample(SITUATIONS, len(SITUATIONS))
    held_out = len(order) // 5
    return {EVAL: order[:held_out], TRAIN: order[held_out:]}


def _needs(chance: Random, situation: Situation, offered: Offered) -> list[Need]:
    """One to three needs of a situation that say nothing twice and against each other."""
    wanted: list[Need] = []
    taken: set[str] = set()
    for need in chance.sample(situation.needs, chance.choice((0, 1, 2, 2, 3))):
        about = {GOAL_OF[need]} if need in GOAL_OF else set(_kind(need, offered))
        agrees = all(NEEDS[other].weight == NEEDS[need].weight for other in wanted if other not in GOAL_OF)
        if about and (not about & taken or (need not in GOAL_OF and agrees)):
            wanted.append(need)
            taken |= about
    return wanted


def _kind(need: Need, offered: Offered) -> list[str]:
    """The tools that a need is about; the reader knows them by the same traits."""
    kinds: Mapping[Need, Callable[[ToolSpec], bool]] = {
        Need.SECRET: lambda spec: spec.name in offered.remote,
        Need.NO_APIS: lambda spec: spec.name in offered.remote,
        Need.HARDWARE: lambda spec: spec.kind in _MODELS and spec.name not in offered.remote,
        Need.SPECIALISTS: lambda spec: spec.kind is ToolKind.SPECIALIST,
        Need.GENERALISTS: lambda spec: spec.kind is ToolKind.GENERALIST,
        Need.SEARCHES: lambda spec: "search" in spec.name,
        Need.NO_SEARCHES: lambda spec: "search" in spec.name,
    }
    is_meant = kinds.get(need)
    return [] if is_meant is None else [spec.name for spec in offered.tools if is_meant(spec)]


_MODELS: Collection[ToolKind] = (ToolKind.SPECIALIST, ToolKind.GENERALIST)


def _named(chance: Random, split: str, free: Sequence[ToolSpec]) -> tuple[dict[str, float], list[str]]:
    """Wishes about one to three tools by name, and their clauses."""
    weights: dict[str, float] = {}
    clauses: list[str] = []
    chosen = chance.sample(free, min(len(free), chance.choice((1, 1, 2, 3))))
    while chosen:
        stance = chance.choice([one for one in Stance if one is not Stance.OVER or len(chosen) > 1])
        words = chance.choice(STANCES[stance].of(split))
        first = chosen.pop()
        weights[first.name] = STANCES[stance].weight
        if stance is Stance.OVER:
            second = chosen.pop()
            weights[second.name] = LESS
            clauses.append(words.format(_called(chance, first), _called(chance, second)))
        elif chosen and chance.random() < 0.3:
            second = chosen.pop()
            weights[second.name] = STANCES[stance].weight
            joint = " or " if STANCES[stance].weight < 0 else " and "
            clauses.append(words.format(_called(chance, first) + joint + _called(chance, second)))
        else:
            clauses.append(words.format(_called(chance, first)))
    return weights, clauses


def _called(chance: Random, spec: ToolSpec) -> str:
    return chance.choice((spec.title, spec.title, spec.title.lower(), f"the {spec.title}", spec.name))
