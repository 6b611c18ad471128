"""What the description of one model does to choices, from runs that differ in it alone.

Of one task and one orchestrator, under offers that are the same but for the description of one model: how much more
often the first call goes to that model with the other description than with the first. The first description played
once more with another seed is the control.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from orchestra_lib.bias import Estimate, paired, shares
from orchestra_lib.record import record
from orchestra_lib.swap_pairs import Offers, described

Key = tuple[str, str, str, str]
"""Orchestrator, model, and the marks of the first and of the other description."""


@record
class Effect:
    """The share of first calls that a `model` gets under two descriptions, named by their marks, over the same tasks.

    `shift` is the second share less the first one, `control` the same of the first description played again; None in
    it where that was not played. `runs` are the runs behind it.
    """

    orchestrator: str
    model: str
    first: str
    other: str
    before: Estimate
    after: Estimate
    shift: Estimate
    control: Estimate
    runs: tuple[str, ...]


@record
class _Pair:
    before: bool
    after: bool
    again: bool | None
    runs: tuple[str, ...]


def effects(rows: Sequence[Mapping[str, Any]]) -> tuple[Effect, ...]:
    """The effects by orchestrator, model and descriptions, from runs as `BiasSums.swaps` gives them, latest first."""
    tasks: dict[tuple[str, int, int], list[Mapping[str, Any]]] = defaultdict(list)
    for row in reversed(rows):
        tasks[row["orchestrator"], row["task"], row["wish"]].append({**row, "offers": described(row)})
    pairs: dict[Key, list[_Pair]] = defaultdict(list)
    for (orchestrator, *_), runs in tasks.items():
        for (model, first, other), pair in _pairs(runs).items():
            pairs[orchestrator, model, first, other].append(pair)
    return tuple(_effect(key, pairs[key]) for key in sorted(pairs))


def changed(base: Offers, other: Offers) -> tuple[str, str, str] | None:
    """The one model whose description differs, and both marks; None where more differs, or nothing."""
    if len(base) != len(other):
        return None
    differ = [(one, two) for one, two in zip(base, other, strict=True) if one != two]
    if len(differ) != 1:
        return None
    ((one, two),) = differ
    if {**one, "described": None} != {**two, "described": None} or None in (one["described"], two["described"]):
        return None
    return one["model"], one["described"], two["described"]


def _pairs(runs: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, str], _Pair]:
    """The first pair of each change of one task."""
    base, *others = runs
    again = next((run for run in others if run["offers"] == base["offers"]), None)
    found: dict[tuple[str, str, str], _Pair] = {}
    for run in others:
        change = changed(base["offers"], run["offers"])
        if change is not None and change not in found:
            model = change[0]
            found[change] = _Pair(
                before=base["first"] == model,
                after=run["first"] == model,
                again=None if again is None else again["first"] == model,
                runs=tuple(one["id"] for one in (base, run, again) if one is not None),
            )
    return found


def _effect(key: Key, pairs: Sequence[_Pair]) -> Effect:
    orchestrator, model, first, other = key
    before, after = [one.before for one in pairs], [one.after for one in pairs]
    controlled = [one for one in pairs if one.again is not None]
    return Effect(
        orchestrator=orchestrator,
        model=model,
        first=first,
        other=other,
        before=_share(before),
        after=_share(after),
        shift=paired(after, before),
        control=paired([bool(one.again) for one in controlled], [one.before for one in controlled]),
        runs=tuple(run for pair in pairs for run in pair.runs),
    )


def _share(hits: Sequence[bool]) -> Estimate:
    n, x = len(hits), sum(hits)
    (found,) = shares(x, x, x, n, n, n)
    return found
