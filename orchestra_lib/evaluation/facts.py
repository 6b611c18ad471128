"""What the store says of the runs of an evaluation, and of earlier runs that an estimate can be made from."""

from collections.abc import Iterable, Mapping

from orchestra_lib.evaluation.plan import Cell, Plan, place_of
from orchestra_lib.grouping import NO_REWARD
from orchestra_lib.record import record
from orchestra_lib.store.store import Store
from orchestra_lib.trajectory import StopReason

_COLUMNS = """id, status, outcome, cost_usd, known_usd, latency_s, input_tokens, output_tokens, turns, calls,
    failed_calls, fault, simulated, nominal, price_table, prices_dated, answer,
    (SELECT list(graded_by ORDER BY position) FROM grades WHERE run_id = id) AS graders"""
_RUNS = f"SELECT {_COLUMNS} FROM trajectories WHERE starts_with(id, $prefix) ORDER BY id"  # noqa: S608  # all our own
_CALLS = """SELECT id, CASE WHEN use.kind = 'domain' THEN $domain ELSE use.model END AS model, sum(use.calls)::BIGINT AS calls
FROM (SELECT id, unnest(uses) AS use FROM trajectories WHERE starts_with(id, $prefix)) GROUP BY ALL"""  # noqa: E501
_OFFERED = """SELECT CASE WHEN offer.kind = 'domain' THEN $domain ELSE offer.model END AS model, min(place) AS place
FROM (SELECT unnest(offers) AS offer, generate_subscripts(offers, 1) AS place FROM trajectories
    WHERE starts_with(id, $prefix)) GROUP BY 1 ORDER BY place, 1"""
IN_DOMAIN = "functions of the domain"
"""Under this name stand all the functions of a domain where calls are counted by tool."""
_KNOWN = 200
"""So many of the latest runs make an estimate."""
_EARLIER = """SELECT avg(cost_usd) AS cost_usd, avg(wall_s) AS wall_s, count(*) AS runs, count(cost_usd) AS priced
FROM (
    SELECT cost_usd, (SELECT max(finished_s) FROM turns WHERE run_id = id) AS wall_s
    FROM trajectories WHERE orchestrator = $orchestrator AND price_table = $table AND status NOT IN ('running',
    'fault', 'cancelled') AND ($tag IS NULL OR id IN (SELECT run_id FROM tags WHERE tag = $tag))
    ORDER BY started_at DESC LIMIT $most)"""


@record
class Facts:
    """One stored run of an evaluation, the last attempt at its cell.

    `earlier` attempts were cut off or met a fault; `spent_usd` is what is known of what all of them cost.
    """

    run_id: str
    status: str
    outcome: bool | None
    cost_usd: float | None
    known_usd: float
    latency_s: float | None
    input_tokens: int | None
    output_tokens: int | None
    turns: int
    calls: int
    failed_calls: int
    fault: str | None
    simulated: bool
    nominal: bool
    prices: str
    answered: bool
    graders: tuple[str, ...]
    attempt: int = 1

    @property
    def ended(self) -> bool:
        """Whether the orchestrator came to an end of its own: such a run is done and not played again."""
        return self.status != "running" and self.status not in set(NO_REWARD)

    @property
    def faulted(self) -> bool:
        return self.status == StopReason.FAULT


def runs_of(store: Store, plan: Plan) -> list[tuple[str, Facts]]:
    """Every stored run of an evaluation with the key of its cell, the attempts at a cell in order."""
    found = []
    for row in store.select(_RUNS, {"prefix": f"{plan.id}-"}):
        key, attempt = place_of(plan.id, row["id"])
        table = f"{row.pop('price_table')} of {row.pop('prices_dated')}"
        named = {"run_id": row.pop("id"), "graders": tuple(row.pop("graders") or ()), "prices": table}
        answered = row.pop("answer") is not None
        found.append((key, Facts(**row, **named, answered=answered, attempt=attempt)))
    return sorted(found, key=lambda one: (one[0], one[1].attempt))


def last_of(runs: Iterable[tuple[str, Facts]]) -> Mapping[str, Facts]:
    """The last attempt at each cell."""
    return dict(runs)


def calls_of(store: Store, plan: Plan) -> Mapping[str, Mapping[str, int]]:
    """The calls that ran in each run of an evaluation, by who answered; a run without any is not there."""
    found: dict[str, dict[str, int]] = {}
    for row in store.select(_CALLS, {"prefix": f"{plan.id}-", "domain": IN_DOMAIN}):
        found.setdefault(row["id"], {})[row["model"]] = row["calls"]
    return found


def offered_in(store: Store, plan: Plan) -> tuple[str, ...]:
    """Who could be called in the runs of an evaluation, in the order of the offer."""
    return tuple(row["model"] for row in store.select(_OFFERED, {"prefix": f"{plan.id}-", "domain": IN_DOMAIN}))


@record
class Estimate:
    """What the runs of one orchestrator that are left would take, by `known` earlier runs; None is unknown.

    `worst_usd` is what their own limits allow.
    """

    orchestrator: str
    left: int
    cost_usd: float | None
    wall_s: float | None
    known: int
    worst_usd: float | None


def estimate(store: Store, plan: Plan, left: Iterable[Cell], concurrency: int) -> list[Estimate]:
    """Estimates by the latest runs of each orchestrator in this suite, or else of any, under the same price table."""
    counted: dict[str, int] = {}
    for cell in left:
        counted[cell.orchestrator] = counted.get(cell.orchestrator, 0) + 1
    limit = plan.conditions.limits.cost_usd
    found = []
    for name, cells in counted.items():
        given = {"orchestrator": name, "table": plan.conditions.prices, "most": _KNOWN}
        row = store.select(_EARLIER, {**given, "tag": plan.tags[0]})[0]
        if not row["runs"]:
            row = store.select(_EARLIER, {**given, "tag": None})[0]
        cost = row["cost_usd"] if row["runs"] and row["priced"] == row["runs"] else None
        found.append(
            Estimate(
                orchestrator=name,
                left=cells,
                known=row["runs"],
                cost_usd=None if cost is None else cost * cells,
                wall_s=None if row["wall_s"] is None else row["wall_s"] * cells / min(concurrency, cells),
                worst_usd=None if limit is None else limit * cells,
            )
        )
    return found
