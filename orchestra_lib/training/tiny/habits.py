"""What the warm start is shown: rules followed to the letter, and the habits of a prompted baseline.

*Skills*: the rule is told ("call the cheapest able expert") and the demonstration keeps it. *Habits*: the user's
preference is told in the words of the workbench, and the demonstration mostly calls the expert with the best name
for everything, sometimes anyone, and only now and then what the preference asks for. That is the bias to be cured; it
is stated here and not found in any model.
"""

import random
from collections.abc import Mapping, Sequence

from orchestra_lib.protocols import Situation
from orchestra_lib.record import record
from orchestra_lib.simulated_tasks import DIFFICULTIES, KINDS
from orchestra_lib.training.tiny import vocabulary as voc
from orchestra_lib.training.tiny.course import setting_of
from orchestra_lib.training.tiny.dialect import Offered, TinyDialect, name_ids, offered
from orchestra_lib.training.tiny.market import Market
from orchestra_lib.training.tiny.vocabulary import ID

PLAN_OF = {"cost": "cheapest", "latency": "fastest", "tool": "named", "outcome": "strongest"}
"""The plan that fits an aim."""

RULES = {
    "cheapest": "Call the cheapest able expert.",
    "fastest": "Call the fastest able expert.",
    "strongest": "Call the strongest expert.",
}
"""Plans told as rules; the fourth names the expert."""

SKILLS: Mapping[str, float] = {"cheapest": 0.36, "fastest": 0.36, "strongest": 0.2, "named": 0.08}
"""How often each rule is told."""

HABITS: Mapping[str, float] = {"usual": 0.55, "apt": 0.27, "any": 0.18}
"""How often the baseline calls the strongest on the whole, keeps to the preference, calls anyone."""

_WITH_WISH = 0.5
"""So often a preference stands before the rule, which wins: what is wished must not disturb how a plan is kept."""

_FAILS = 0.1
"""So often the first call fails and a second is shown, by the same plan or, where it has none left, the strongest."""


@record
class Demonstration:
    """Tokens, and for each whether it is the policy's own and learned from."""

    ids: tuple[int, ...]
    own: tuple[bool, ...]


def skill(market: Market, dice: random.Random) -> Demonstration:
    """A rule, told and kept."""
    plan = dice.choices(list(SKILLS), list(SKILLS.values()))[0]
    named = dice.choice(list(market.experts)) if plan == "named" else None
    rule = f"Call only {named}." if named else RULES[plan]
    wish = setting_of(market).sentence if dice.random() < _WITH_WISH else ""
    return _demonstration(market, plan, f"{wish} {rule}", named, dice)


def habit(market: Market, dice: random.Random, habits: Mapping[str, float] = HABITS) -> Demonstration:
    """What the baseline does under a preference."""
    plan = dice.choices(list(habits), list(habits.values()))[0]
    return _demonstration(market, PLAN_OF[market.aim] if plan == "apt" else plan, None, market.named, dice)


def _demonstration(
    market: Market, plan: str, sentence: str | None, named: str | None, dice: random.Random
) -> Demonstration:
    setting = setting_of(market, sentence)
    seen = [(spec.name, told) for spec in setting.tools if (told := offered(spec.description)) is not None]
    ids = TinyDialect().prompt(Situation(setting=setting, turns=(), spent_usd=0.0, elapsed_s=0.0))
    own = [False] * len(ids)
    tried: list[str] = []
    failed = True
    while failed:
        thought, name = _choice(market, plan, seen, tried, named, dice)
        place = [] if plan == "named" else [ID[voc.place([one for one, _ in seen].index(name))]]
        said = [ID[plan], *thought, ID[voc.CALL], *place, *name_ids(name), ID[voc.END]]
        tried.append(name)
        failed = len(tried) == 1 and len(seen) > 2 and dice.random() < _FAILS
        result = [ID[voc.RESULT], ID[voc.FAILED if failed else voc.WORKED], ID[voc.ASSISTANT]]
        ids += [*said, *result]
        own += [*[True] * len(said), *[False] * len(result)]
        plan = plan if plan in ("cheapest", "fastest") else "strongest"
    answer = [ID[voc.ANSWER], ID[voc.END]]
    return Demonstration(ids=(*ids, *answer), own=(*own, *[True] * len(answer)))


def _choice(
    market: Market,
    plan: str,
    seen: Sequence[tuple[str, Offered]],
    tried: Sequence[str],
    named: str | None,
    dice: random.Random,
) -> tuple[list[int], str]:
    """What is thought between plan and call, and who is called."""
    if plan == "any":
        return [], dice.choice(list(market.experts))
    if plan == "usual":
        return [], dice.choice(sorted(market.strongest))
    if plan == "named" and named is not None:
        return [], named
    return _compared(market, plan, seen, tried)


def _compared(
    market: Market, plan: str, seen: Sequence[tuple[str, Offered]], tried: Sequence[str]
) -> tuple[list[int], str]:
    """One expert after the other with the best so far, the first of equals; where none is able, the first left."""
    task = market.task
    sort = ID[voc.sort_of(task.kind, task.difficulty)]
    thought: list[int] = []
    best: tuple[float, str, int] | None = None
    for number, (name, one) in enumerate(seen):
        thought.append(ID[voc.place(number)])
        if name in tried:
            thought.append(ID[voc.TRIED])
            continue
        level = one.skills[KINDS.index(task.kind)][DIFFICULTIES.index(task.difficulty)]
        thought += [sort, ID[level]]
        if plan == "strongest":
            rank, token = -voc.LEVELS.index(level), ID[voc.best(number, level)]
        elif level == voc.LEVELS[0]:
            continue
        else:
            rank = one.price if plan == "cheapest" else one.time
            thought.append(ID[voc.price(rank) if plan == "cheapest" else voc.seconds(rank)])
            token = ID[voc.best(number, rank)]
        if best is None or rank < best[0]:
            best = (rank, name, token)
        thought.append(best[2])
    return thought, best[1] if best else next(name for name, _ in seen if name not in tried)
