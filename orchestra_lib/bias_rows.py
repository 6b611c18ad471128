"""The parts of a report of bias that are read from rows of the store: columns, results, steps and values."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from orchestra_lib import bias
from orchestra_lib.best_choice import Judged
from orchestra_lib.bias import Estimate
from orchestra_lib.bias_records import PLAIN, Column, Flow, Result, Slice, Step, Transition
from orchestra_lib.families import Families
from orchestra_lib.store.bias_sums import Row

_KINDS = ("basic", "domain", "specialist", "generalist")


def columns(setups: Sequence[Row], facts: Mapping[int, Judged], known: Families) -> tuple[Column, ...]:
    """Everybody who was on offer, by kind and name."""
    offers: dict[str, Row] = {}
    tools: dict[str, set[str]] = defaultdict(set)
    told, totals, stated = 0, defaultdict(float), set()  # type: int, dict[str, float], set[str]
    for row in setups:
        for one in row["offers"]:
            offers.setdefault(one["model"], one)
            tools[one["model"]].add(one["tool"])
        best = facts[row["setup"]].best
        if best is not None:
            told += row["calls"]
            stated.update(facts[row["setup"]].models)
            for model, share in best.items():
                totals[model] += share * row["calls"]
    found = [
        Column(
            model=model,
            kind=one["kind"],
            tool=next(iter(tools[model])) if len(tools[model]) == 1 else None,
            simulated=one["simulated"],
            family=None if one["kind"] in PLAIN else known.of(model),
            source=None if one["kind"] in PLAIN else known.source(model),
            best=totals[model] / told if told and model in stated else None,
        )
        for model, one in offers.items()
    ]
    return tuple(sorted(found, key=lambda one: (_KINDS.index(one.kind), one.model)))


def results(rows: Sequence[Row]) -> tuple[Result, ...]:
    """What each orchestrator reached and what it cost."""
    accuracies = [bias.shares(*(row[name] for name in ("y", "yy", "yn", "n", "nn", "graded_tasks")))[0] for row in rows]
    costs = [
        Estimate(value=None)
        if row["mean_usd"] is None
        else bias.mean_interval(row["mean_usd"], row["deviation"], row["priced_tasks"])
        for row in rows
    ]
    front = bias.front([one.value for one in costs], [one.value for one in accuracies])
    return tuple(
        Result(
            orchestrator=row["orchestrator"],
            accuracy=accuracy,
            usd=cost,
            runs=int(row["runs"]),
            ungraded=int(row["runs"] - row["n"]),
            unpriced=int(row["runs"] - row["priced"]),
            simulated=row["simulated"],
            nominal=row["nominal"],
            front=at in front,
        )
        for at, (row, accuracy, cost) in enumerate(zip(rows, accuracies, costs, strict=True))
    )


def slices(rows: Sequence[Row]) -> tuple[Slice, ...]:
    """How much went to the strongest, by part and orchestrator."""
    if not rows:
        return ()
    columns = ([row[name] for row in rows] for name in ("y", "yy", "yn", "n", "nn", "tasks"))
    found = [
        Slice(
            by=row["slice"], value=row["value"], orchestrator=row["orchestrator"], strongest=one, best=row["best"]
        )
        for row, one in zip(rows, bias.shares(*columns), strict=True)
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda one: (one.by, one.value, one.orchestrator)))


def flow(orchestrator: str, whole: Row, rows: Sequence[Row]) -> Flow:
    """Whom an orchestrator calls after whom."""
    found = tuple(Transition(**{name: row[name] for name in ("came", "next", "ended", "times")}) for row in rows)
    return Flow(orchestrator=orchestrator, runs=whole["runs"], cut=whole["cut"], transitions=found)


def step(row: Row) -> Step:
    """How many runs took a path in their first calls."""
    path = tuple(row[name] for name in ("first", "second", "third") if row[name] is not None)
    return Step(orchestrator=row["orchestrator"], path=path, ended=row["ended"], runs=row["runs"])


def values(rows: Sequence[Row]) -> Mapping[str, Mapping[str, int]]:
    """Of how many runs each kind, difficulty and domain is."""
    found: dict[str, dict[str, int]] = {"kind": {}, "difficulty": {}, "domain": {}}
    for row in rows:
        for name, counts in found.items():
            value: Any = row[name]
            if value is not None:
                counts[value] = counts.get(value, 0) + row["runs"]
    return {name: dict(sorted(counts.items())) for name, counts in found.items()}
