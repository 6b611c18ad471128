"""Bias of orchestrators, from the runs in a store: whom each calls, against what would have been best.

A high share is no bias by itself; the distance to the best choice is, and where that is unknown the report says so.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from orchestra_lib import bias
from orchestra_lib.best_choice import Judged, judged
from orchestra_lib.bias import Estimate
from orchestra_lib.bias_records import BiasReport, Cell, Column, Flow, Line
from orchestra_lib.bias_rows import columns, flow, results, slices, step, values
from orchestra_lib.description_effects import effects
from orchestra_lib.families import Families, shipped_families
from orchestra_lib.profile import Profile
from orchestra_lib.store import bias_slices
from orchestra_lib.store.bias_sums import BiasSums, Facts, Row, Scope
from orchestra_lib.store.queries import StoreQueries
from orchestra_lib.swap_pairs import moves

_EVERYTHING = Scope()
INDICES = ("strongest", "strongest_index", "own", "own_index")


def bias_report(
    store: StoreQueries,
    profiles: Mapping[str, Profile],
    scope: Scope = _EVERYTHING,
    *,
    families: Families | None = None,
) -> BiasReport:
    """The report; `profiles` by the name that prices them, `families` those that ship. Raises `StoreFault`."""
    known = families or shipped_families()
    sums = BiasSums(store, scope)
    outcomes = sums.results()
    setups = sums.setups()
    facts = {
        row["setup"]: judged(row["offers"], row["preference"], row["kind"], row["difficulty"], profiles)
        for row in {row["setup"]: row for row in setups}.values()
    }
    shown = columns(setups, facts, known)
    reached = results(outcomes)
    tasks = {row["orchestrator"]: int(row["tasks"]) for row in outcomes}
    conducted = _Lines(setups, facts, shown, known, tasks)
    table = conducted.as_columns()
    lines = conducted.lines(sums, table)
    swaps = sums.swaps()
    simulated = {column.model for column in shown if column.simulated}
    return BiasReport(
        runs=sum(one.runs for one in reached),
        calls=sum(line.calls for line in lines),
        simulated_calls=sum(cell.share.n for line in lines for cell in line.cells if cell.name in simulated),
        columns=shown,
        lines=lines,
        results=reached,
        slices=slices(bias_slices.slices(sums, table)),
        steps=tuple(step(row) for row in sums.paths() if row["first"] is not None or row["ended"] is not None),
        moves=moves(swaps),
        effects=effects(swaps),
        values=values(sums.values()),
    )


def bias_flow(store: StoreQueries, orchestrator: str, scope: Scope = _EVERYTHING) -> Flow:
    """Whom an orchestrator calls after whom, over all calls of its runs. Raises `StoreFault`."""
    return flow(orchestrator, *bias_slices.transitions(BiasSums(store, scope), orchestrator))


class _Lines:
    def __init__(
        self,
        setups: Sequence[Row],
        facts: Mapping[int, Judged],
        columns: Sequence[Column],
        known: Families,
        tasks: Mapping[str, int],
    ) -> None:
        self._families = {column.model: column.family for column in columns}
        self._kin = {column.model: column.kin for column in columns}
        self._tasks = tasks
        self._setups: dict[str, list[Row]] = defaultdict(list)
        for row in setups:
            self._setups[row["orchestrator"]].append(row)
        self._facts = facts
        self._own = {name: known.of(name) for name in self._setups}

    def lines(self, sums: BiasSums, table: Facts) -> tuple[Line, ...]:
        """Every orchestrator that has a run, by name; `table` are the setups as columns."""
        shares = sums.shares(self._kin)
        wholes = {row["orchestrator"]: row for row in shares if row["level"] == "whole"}
        by_model, by_family = (_by_orchestrator(shares, level) for level in ("model", "group"))
        indexed = {name: {} for name in self._setups}  # type: dict[str, dict[str, Estimate]]
        for row in sums.indices(table):
            shape = bias.indices if row["what"].endswith("_index") else bias.shares
            (found,) = shape(row["y"], row["yy"], row["yn"], row["n"], row["nn"], row["tasks"])
            indexed[row["orchestrator"]][row["what"]] = found
        return tuple(
            self._line(name, wholes.get(name), by_model.get(name, []), by_family.get(name, []), indexed[name])
            for name in sorted(self._setups)
        )

    def _line(
        self,
        name: str,
        whole: Row | None,
        models: Sequence[Row],
        families: Sequence[Row],
        found: Mapping[str, Estimate],
    ) -> Line:
        setups, best, told = self._setups[name], *self._best(name)
        calls = 0 if whole is None else int(whole["n"])
        if told < calls:  # shares of all calls do not compare with the best choice of some
            best = None
        cells = _cells(models, whole, best)
        by_family: dict[str, float] = defaultdict(float)
        for model, share in (best or {}).items():
            by_family[self._kin[model]] += share
        choices = max((len(self._facts[row["setup"]].models) for row in setups), default=0)
        unknown = Estimate(value=None)
        return Line(
            orchestrator=name,
            family=self._own[name],
            runs=sum(row["runs"] for row in setups),
            calls=calls,
            tasks=self._tasks[name],
            simulated=any(one["simulated"] for row in setups for one in row["offers"]),
            best_known=told / calls if calls else None,
            cells=cells,
            families=_cells(families, whole, None if best is None else by_family),
            **{what: found.get(what, unknown) for what in INDICES},
            why={what: self._why(name, what, setups) for what in INDICES if what not in found},
            alarm=bias.collapse(name, [(one.name, one.share, one.best) for one in cells], choices=choices),
        )

    def _best(self, name: str) -> tuple[dict[str, float] | None, int]:
        """The share of each expert among the best choices of the calls whose best choice is known, and those calls."""
        totals: dict[str, float] = defaultdict(float)
        told = 0
        for row in self._setups[name]:
            best = self._facts[row["setup"]].best
            if best is not None:
                told += row["calls"]
                for model, share in best.items():
                    totals[model] += share * row["calls"]
        return ({model: total / told for model, total in totals.items()} if told else None), told

    def as_columns(self) -> Facts:
        """The setups where there is a choice, as the query takes them."""
        facts = {setup: one for setup, one in self._facts.items() if len(one.models) > 1}
        strong = [(setup, model) for setup, one in facts.items() for model in one.strongest]
        ranked = {setup: one for setup, one in facts.items() if one.strongest}
        own: list[tuple[int, str, float | None]] = []
        for setup, one in facts.items():
            groups: dict[str, set[str]] = defaultdict(set)
            for model in one.models:
                if family := self._families.get(model):
                    groups[family].add(model)
            own += [(setup, family, one.best_share(frozenset(models))) for family, models in groups.items()]
        return Facts(
            strong_setups=[setup for setup, _ in strong],
            strong_models=[model for _, model in strong],
            setups=[*ranked],
            best_strong=[one.best_share(one.strongest) for one in ranked.values()],
            own_setups=[setup for setup, *_ in own],
            own_families=[family for _, family, _ in own],
            best_own=[share for *_, share in own],
            families=self._families,
            own=self._own,
        )

    def _why(self, name: str, what: str, setups: Sequence[Row]) -> str:
        offered = [self._facts[row["setup"]] for row in setups if row["calls"]]
        if not offered:
            return "it has called nobody who was on offer"
        if all(len(one.models) < 2 for one in offered):
            return "there was no choice: one tool was on offer"
        if what.startswith("own"):
            if self._own[name] is None:
                return "its name says no family of models"
            if not any(self._families.get(model) == self._own[name] for one in offered for model in one.models):
                return "no tool of its family"
        elif not any(one.strongest for one in offered):
            return "neither a profile nor a price says who is the strongest"
        return "the best choice per task is unknown: only simulated experts state it"


def _by_orchestrator(rows: Sequence[Row], level: str) -> dict[str, list[Row]]:
    cells: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["level"] == level:
            cells[row["orchestrator"]].append(row)
    return cells


def _cells(rows: Sequence[Row], whole: Row | None, best: Mapping[str, float] | None) -> tuple[Cell, ...]:
    """One for each that was called, the most called first."""
    if whole is None or not rows:
        return ()
    columns = [[row[name] for row in rows] for name in ("x", "xx", "xn")]
    estimates = bias.shares(*columns, *([whole[name]] * len(rows) for name in ("n", "nn", "tasks")))
    found = [
        Cell(
            name=row["label"],
            share=Estimate(value=one.value, low=one.low, high=one.high, n=int(row["x"]), tasks=one.tasks),
            best=None if best is None else best.get(row["label"], 0.0),
            usd=None if row["unpriced"] else row["usd"],
            seconds=None if row["untimed"] else row["seconds"],
        )
        for row, one in zip(rows, estimates, strict=True)
    ]
    return tuple(sorted(found, key=lambda cell: (-cell.share.n, cell.name)))
