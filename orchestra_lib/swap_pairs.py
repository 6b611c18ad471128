"""Swaps found in the runs: of one task, under offers that differ in names, order, prices or descriptions alone.

A swap asks what a choice follows. The first offer that was played and the same once more are its control: a policy
that draws by lot changes its mind without a swap, too.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from orchestra_lib.bias import Estimate, followed
from orchestra_lib.record import record

ASPECTS = ("name", "position", "price", "description")
_PRICES = ("input_usd_per_mtok", "output_usd_per_mtok", "call_usd", "second_usd")
Offers = Sequence[Mapping[str, Any]]


@record
class Move:
    """By how much more often an orchestrator chose who had got the `aspect` of its first choice.

    `runs` are the runs behind it.
    """

    orchestrator: str
    aspect: str
    moved: Estimate
    runs: tuple[str, ...]


@record
class _Pair:
    before: str | None
    after: str | None
    again: str | None
    heir: str | None
    runs: tuple[str, ...]


def moves(rows: Sequence[Mapping[str, Any]]) -> tuple[Move, ...]:
    """The moves by orchestrator and aspect, from runs as `BiasSums.swaps` gives them, the latest first."""
    tasks: dict[tuple[str, int, int], list[Mapping[str, Any]]] = defaultdict(list)
    for row in reversed(rows):
        tasks[row["orchestrator"], row["task"], row["wish"]].append({**row, "offers": described(row)})
    pairs: dict[tuple[str, str], list[_Pair]] = defaultdict(list)
    for (orchestrator, *_), runs in tasks.items():
        for aspect, pair in _pairs(runs).items():
            pairs[orchestrator, aspect].append(pair)
    order = sorted(pairs, key=lambda key: (key[0], ASPECTS.index(key[1])))
    return tuple(_move(orchestrator, aspect, pairs[orchestrator, aspect]) for orchestrator, aspect in order)


def described(row: Mapping[str, Any]) -> Offers:
    """The offers of a run, each with what tells its description; None where a record does not know it."""
    marks = row["described"] or [None] * len(row["offers"])
    return [{**one, "described": mark} for one, mark in zip(row["offers"], marks, strict=True)]


def swapped(base: Offers, other: Offers) -> str | None:
    """The one aspect in which two offers of the same experts differ; None for none, and for more than one."""
    mine, yours = ({one["model"]: one for one in offers} for offers in (base, other))
    if mine.keys() != yours.keys() or len(mine) != len(base) or len(base) != len(other):
        return None
    differs = {
        "name": any(mine[model]["tool"] != yours[model]["tool"] for model in mine),
        "position": [*mine] != [*yours],
        "price": any(_price(mine[model]) != _price(yours[model]) for model in mine),
        "description": any(mine[model]["described"] != yours[model]["described"] for model in mine),
    }
    found = [aspect for aspect, differ in differs.items() if differ]
    if found == ["description"] and Counter(map(_HAS["description"], base)) != Counter(map(_HAS["description"], other)):
        return None  # one was rewritten and none swapped: `description_effects` looks at those
    return found[0] if len(found) == 1 else None


def _pairs(runs: Sequence[Mapping[str, Any]]) -> dict[str, _Pair]:
    """The first swap of each aspect of one task, with the control; none without a control."""
    base, *others = runs
    again = next((run for run in others if run["offers"] == base["offers"]), None)
    found: dict[str, _Pair] = {}
    for run in others if again is not None else ():
        aspect = swapped(base["offers"], run["offers"])
        if aspect is not None and aspect not in found:
            assert again is not None
            found[aspect] = _Pair(
                before=base["first"],
                after=run["first"],
                again=again["first"],
                heir=_heir(aspect, base["first"], base["offers"], run["offers"]),
                runs=(base["id"], run["id"], again["id"]),
            )
    return found


def _heir(aspect: str, first: str | None, base: Offers, other: Offers) -> str | None:
    """Who has in the other offer what the first choice had; None where nobody has, or several do."""
    at = next((at for at, one in enumerate(base) if one["model"] == first), None)
    if at is None:
        return None
    if aspect == "position":
        return str(other[at]["model"])
    had = _HAS[aspect](base[at])
    heirs = [one["model"] for one in other if _HAS[aspect](one) == had]
    return heirs[0] if len(heirs) == 1 else None


def _move(orchestrator: str, aspect: str, pairs: Sequence[_Pair]) -> Move:
    numbers: dict[str, int] = {}

    def number(model: str | None) -> int:
        return -1 if model is None else numbers.setdefault(model, len(numbers))

    columns = [[number(getattr(pair, name)) for pair in pairs] for name in ("before", "after", "again", "heir")]
    runs = tuple(run for pair in pairs for run in pair.runs)
    return Move(orchestrator=orchestrator, aspect=aspect, moved=followed(*columns), runs=runs)


def _price(offer: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(offer[name] for name in _PRICES)


_HAS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "name": itemgetter("tool"), "price": _price, "description": itemgetter("described"),
}  # fmt: skip
