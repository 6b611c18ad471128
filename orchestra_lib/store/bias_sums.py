"""The sums over tasks that statistics of bias are made of, in SQL over the columns of runs.

A run belongs to a *setup*: who was on offer at which prices, the wishes, and the kind of the task. What would have been
best depends on the setup alone, so that it is found once for each and handed back to the query as `Facts`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from orchestra_lib.errors import BadInput
from orchestra_lib.record import record
from orchestra_lib.simulated_tasks import DIFFICULTIES, KINDS
from orchestra_lib.store.queries import StoreQueries
from orchestra_lib.store.summary import Filter, where
from orchestra_lib.store.uses import LATE

MOST_SETUPS = 5_000
"""Of more setups than these the most frequent ones are known; runs in the others have no best choice."""

MANY_TASKS, GROUPS = 8_000, 1_024
"""More tasks than these are put into random groups of equal chance, which take the place of tasks in variances: the
method of random groups (Wolter, Introduction to Variance Estimation, 2nd ed., chapter 2)."""
_EVERY = 2**63

MOST_SWAPS = 20_000
"""So many runs of tasks that were played under several offers are looked at, the latest first."""

SLICES = ("kind", "difficulty", "domain", "turn")
Row = Mapping[str, Any]

NOBODY = ("try-out", "describe")
"""Orchestrators of runs in which nobody chose: a person, or a trial, asked one tool."""

_NUMBER = "CASE WHEN regexp_full_match(task_id, 'simulated-[0-9]+-[0-9]+') THEN split_part(task_id, '-', 3)::BIGINT END"
_PLACED = f"""SELECT id, started_at, orchestrator, status, outcome, cost_usd, simulated, nominal, offers, described,
    uses, path, preference, domain, hash(task) AS task,
    list_extract({list(KINDS)}, (number % {len(KINDS)} + 1)::INTEGER) AS kind,
    list_extract({list(DIFFICULTIES)}, (number // {len(KINDS)} % {len(DIFFICULTIES)} + 1)::INTEGER) AS difficulty,
    FROM (SELECT *, {_NUMBER} AS number FROM trajectories WHERE offers IS NOT NULL AND status <> 'running'
        AND orchestrator NOT IN {NOBODY})"""  # noqa: S608  # our own words
_USED = """used AS (
    SELECT orchestrator, task, setup, u.model AS model, u.calls AS calls, u.usd AS usd, u.seconds AS seconds
    FROM (SELECT orchestrator, task % $groups::UBIGINT AS task, setup, unnest(uses) AS u FROM runs)
    WHERE $turn IS NULL OR u.turn = $turn)"""
_SETUPS = """SELECT orchestrator, setup, any_value(offers) AS offers, any_value(preference) AS preference,
    any_value(kind) AS kind, any_value(difficulty) AS difficulty, count(*) AS runs,
    coalesce(sum(list_sum(list_transform({uses}, lambda u: u.calls))), 0)::BIGINT AS calls
FROM runs GROUP BY orchestrator, setup ORDER BY runs DESC, setup LIMIT $most"""
_SHARES = """, per AS MATERIALIZED (
    SELECT orchestrator, task, model, sum(calls)::DOUBLE AS x, sum(usd) AS usd, count(*) - count(usd) AS unpriced,
        sum(seconds) AS seconds, count(*) - count(seconds) AS untimed
    FROM used GROUP BY ALL),
whole AS MATERIALIZED (SELECT orchestrator, task, sum(x) AS n FROM per GROUP BY ALL),
groupings AS (SELECT unnest($models) AS model, unnest($groupings) AS label),
grouped AS (
    SELECT orchestrator, task, label, sum(x) AS x, sum(usd) AS usd, sum(unpriced) AS unpriced,
        sum(seconds) AS seconds, sum(untimed) AS untimed
    FROM per JOIN groupings USING (model) GROUP BY ALL),
labelled AS (
    SELECT 'model' AS level, orchestrator, task, model AS label, x, usd, unpriced, seconds, untimed
    FROM per SEMI JOIN groupings USING (model)
    UNION ALL BY NAME SELECT 'group' AS level, * FROM grouped)
SELECT level, orchestrator, label, sum(x) AS x, sum(x * x) AS xx, sum(x * n) AS xn, sum(usd) AS usd,
    sum(unpriced) AS unpriced, sum(seconds) AS seconds, sum(untimed) AS untimed
FROM labelled JOIN whole USING (orchestrator, task) GROUP BY level, orchestrator, label
UNION ALL BY NAME
SELECT 'whole' AS level, orchestrator, sum(n) AS n, sum(n * n) AS nn, count(*) AS tasks
FROM whole GROUP BY orchestrator"""
_INDICES = """, strong AS (SELECT unnest($strong_setups)::UBIGINT AS setup, unnest($strong_models) AS model, true AS strong),
families AS (SELECT unnest($models) AS model, unnest($families) AS family),
own AS (SELECT unnest($orchestrators) AS orchestrator, unnest($own) AS own_family),
facts AS (SELECT unnest($setups)::UBIGINT AS setup, unnest($best_strong)::DOUBLE AS best_strong),
bests AS (SELECT unnest($own_setups)::UBIGINT AS setup, unnest($own_families) AS own_family,
    unnest($best_own)::DOUBLE AS best_own),
played AS (
    SELECT orchestrator, task, setup, sum(calls)::DOUBLE AS n,
        coalesce(sum(calls) FILTER (strong), 0)::DOUBLE AS strongest,
        coalesce(sum(calls) FILTER (family = own_family), 0)::DOUBLE AS own
    FROM used LEFT JOIN strong USING (setup, model) LEFT JOIN families USING (model) LEFT JOIN own USING (orchestrator)
    GROUP BY ALL),
known AS (
    SELECT played.*, best_strong, best_own, facts.setup IS NOT NULL AS told, bests.setup IS NOT NULL AS related
    FROM played LEFT JOIN facts USING (setup) LEFT JOIN own USING (orchestrator)
    LEFT JOIN bests ON bests.setup = played.setup AND bests.own_family = own.own_family),
lines AS (
    SELECT 'strongest' AS what, orchestrator, task, strongest AS y, n FROM known WHERE told
    UNION ALL SELECT 'strongest_index', orchestrator, task, strongest - best_strong * n, n FROM known
        WHERE best_strong IS NOT NULL
    UNION ALL SELECT 'own', orchestrator, task, own, n FROM known WHERE related
    UNION ALL SELECT 'own_index', orchestrator, task, own - best_own * n, n FROM known WHERE best_own IS NOT NULL),
tasks AS (SELECT what, orchestrator, task, sum(y) AS y, sum(n) AS n FROM lines GROUP BY ALL)
SELECT what, orchestrator, sum(y) AS y, sum(y * y) AS yy, sum(y * n) AS yn, sum(n) AS n, sum(n * n) AS nn,
    count(*) AS tasks
FROM tasks GROUP BY what, orchestrator"""  # noqa: E501
_PATHS = """SELECT orchestrator, path[1] AS first, path[2] AS second, path[3] AS third,
    CASE WHEN len(path) < 3 THEN status END AS ended, count(*) AS runs
FROM runs GROUP BY ALL ORDER BY runs DESC, first, second, third, ended"""
_RESULTS = """, per AS (
    SELECT orchestrator, task, count(*) AS runs, count(outcome)::DOUBLE AS n,
        coalesce(sum(outcome::INTEGER), 0)::DOUBLE AS y, count(cost_usd) AS priced, sum(cost_usd) AS usd,
        avg(cost_usd) AS mean_usd, bool_or(simulated) AS simulated, bool_or(nominal) AS nominal
    FROM runs GROUP BY ALL)
SELECT orchestrator, sum(runs) AS runs, sum(n) AS n, sum(n * n) AS nn, sum(y) AS y, sum(y * y) AS yy,
    sum(y * n) AS yn, count(*) AS tasks, count(*) FILTER (n > 0) AS graded_tasks, sum(priced) AS priced,
    avg(mean_usd) AS mean_usd, stddev_samp(mean_usd) AS deviation, count(mean_usd) AS priced_tasks,
    bool_or(simulated) AS simulated, bool_or(nominal) AS nominal
FROM per GROUP BY orchestrator ORDER BY orchestrator"""
_SWAPS = """, several AS (
    SELECT orchestrator, task, preference FROM runs GROUP BY ALL HAVING count(DISTINCT hash(offers, described)) > 1)
SELECT id, orchestrator, task, hash(preference) AS wish, offers, described, path[1] AS first, uses
FROM runs JOIN several USING (orchestrator, task, preference) ORDER BY started_at DESC, id LIMIT $most"""
_VALUES = """SELECT kind, difficulty, domain, count(*) AS runs FROM runs GROUP BY ALL"""
_BEHIND = """SELECT id, orchestrator, status, outcome, cost_usd, simulated, list_sum(list_transform(uses, lambda u: u.calls)) AS calls,
    (SELECT left(t.task, 160) FROM trajectories t WHERE t.id = runs.id) AS title
FROM runs WHERE {clauses} ORDER BY started_at DESC, id LIMIT $limit"""  # noqa: E501
_COUNT = "SELECT count(*) AS runs FROM runs WHERE {clauses}"


@record
class Scope:
    """Which runs count. A slice that is None does not narrow; `turn` 4 is every turn from the fourth on.

    Raises `BadInput` for a kind, a difficulty or a turn that there is not.
    """

    wanted: Filter = Filter()
    kind: str | None = None
    difficulty: str | None = None
    domain: str | None = None
    turn: int | None = None

    def __post_init__(self) -> None:
        for name, values in (("kind", KINDS), ("difficulty", DIFFICULTIES)):
            value = getattr(self, name)
            if value is not None and value not in values:
                raise BadInput(f"{name} = {value[:40]!r} is unknown; use {', '.join(values)}")
        if self.turn is not None and not 1 <= self.turn <= LATE:
            raise BadInput(f"turn = {self.turn} is no slice; use 1 to {LATE}, where {LATE} is all turns from there on")


@record
class Facts:
    """What is known of setups, as columns: whom the strongest are, and the share of best choices among them.

    `strong_setups` and `strong_models` go together; so do `setups` and `best_strong` (None where the best choice is
    unknown), and `own_setups`, `own_families` and `best_own` for each family that was on offer.
    """

    strong_setups: Sequence[int] = ()
    strong_models: Sequence[str] = ()
    setups: Sequence[int] = ()
    best_strong: Sequence[float | None] = ()
    own_setups: Sequence[int] = ()
    own_families: Sequence[str] = ()
    best_own: Sequence[float | None] = ()
    families: Mapping[str, str | None] = field(default_factory=dict)
    own: Mapping[str, str | None] = field(default_factory=dict)


class BiasSums:
    """Answers from one store within one scope. Every method raises `StoreFault`."""

    def __init__(self, store: StoreQueries, scope: Scope) -> None:
        self._store, self._turn = store, scope.turn
        self._groups = _EVERY
        clause, parameters = where(scope.wanted)
        slices = {name: value for name in ("kind", "difficulty", "domain") if (value := getattr(scope, name))}
        inner = " AND ".join([f"{name} = $slice_{name}" for name in slices] or ["true"])
        ids = "" if clause == "true" else f" AND id IN (SELECT id FROM trajectories WHERE {clause})"  # noqa: S608
        setup = "hash(offers, preference, kind, difficulty) AS setup"
        self._runs = f"WITH runs AS (SELECT *, {setup} FROM ({_PLACED}) WHERE {inner}{ids})"  # noqa: S608
        self._parameters = {**parameters, **{f"slice_{name}": value for name, value in slices.items()}}

    def setups(self) -> Sequence[Row]:
        """For each orchestrator and setup: its offers, wishes and kind of task, its runs and calls."""
        narrowed = {} if self._turn is None else {"turn": self._turn}
        uses = "list_filter(uses, lambda u: u.turn = $turn)" if narrowed else "uses"
        return self.ask(_SETUPS.format(uses=uses), most=MOST_SETUPS, **narrowed)

    def shares(self, groupings: Mapping[str, str]) -> Sequence[Row]:
        """By orchestrator sums of calls, cost and seconds, where all are known: of each expert and of each group.

        `groupings` is the group of every expert. `level` tells rows of a `model` from those of a `group`, and from
        those of the `whole`, which have the sums over all calls of an orchestrator.
        """
        return self.ask(
            f", {_USED}{_SHARES}", turn=self._turn, groups=self._groups, models=[*groupings],
            groupings=[*groupings.values()],
        )  # fmt: skip

    def indices(self, facts: Facts) -> Sequence[Row]:
        """By orchestrator the sums of `strongest`, `own`, and of both less the best choice's (`…_index`)."""
        columns = {name: list(getattr(facts, name)) for name in _FACT_COLUMNS}
        return self.ask(
            f", {_USED}{_INDICES}", turn=self._turn, groups=self._groups, **columns,
            models=[*facts.families], families=[*facts.families.values()],
            orchestrators=[*facts.own], own=[*facts.own.values()],
        )  # fmt: skip

    def paths(self) -> Sequence[Row]:
        """How often whom the first three calls of a run reached, and how shorter runs ended."""
        return self.ask(_PATHS)

    def results(self) -> Sequence[Row]:
        """By orchestrator: outcomes and costs of its tasks. Asked first, it decides whether tasks are grouped."""
        found = self.ask(_RESULTS)
        if sum(row["tasks"] for row in found) > MANY_TASKS:
            self._groups = GROUPS
        return found

    def swaps(self) -> Sequence[Row]:
        """Runs of tasks that one orchestrator played under several offers, the latest first."""
        return self.ask(_SWAPS, most=MOST_SWAPS)

    def values(self) -> Sequence[Row]:
        """Which kinds, difficulties and domains there are, and of how many runs."""
        return self.ask(_VALUES)

    def behind(self, clauses: Mapping[str, Any], *, limit: int) -> tuple[int, Sequence[Row]]:
        """How many runs are behind a mark, and the latest of them. `clauses` are the keys of `MARKS` with values."""
        named = " AND ".join([MARKS[name] for name in clauses] or ["true"])
        given = {f"mark_{name}": value for name, value in clauses.items()}
        if any("$turn" in MARKS[name] for name in clauses):
            given["turn"] = self._turn
        (row,) = self.ask(f" {_COUNT.format(clauses=named)}", **given)
        return row["runs"], self.ask(f" {_BEHIND.format(clauses=named)}", **given, limit=limit)

    @property
    def groups(self) -> int:
        """Tasks are told apart by their number modulo this."""
        return self._groups

    @property
    def grouped(self) -> bool:
        """Whether tasks are put into groups."""
        return self._groups != _EVERY

    @property
    def turn(self) -> int | None:
        """The only turn that counts; None for all."""
        return self._turn

    def ask(self, sql: str, **parameters: Any) -> Sequence[Row]:
        """The rows of a statement over `runs`, the runs of this scope, with the setup of each."""
        lead = "" if sql.startswith((",", " ")) else " "
        return self._store.select(f"{self._runs}{lead}{sql}", {**self._parameters, **parameters})


_FACT_COLUMNS = (
    "strong_setups", "strong_models", "setups", "best_strong", "own_setups", "own_families", "best_own",
)  # fmt: skip

_CALLED = "len(list_filter(uses, lambda u: list_contains($mark_models, u.model) AND ($turn IS NULL OR u.turn = $turn)))"
MARKS: Mapping[str, str] = {
    "orchestrator": "orchestrator = $mark_orchestrator",
    "models": f"{_CALLED} > 0",
    "first": "path[1] = $mark_first",
    "second": "path[2] = $mark_second",
    "third": "path[3] = $mark_third",
    "length": "len(path) = $mark_length",
    "upto": "len(path) <= $mark_upto",
    "pair": "len(list_filter(list_zip(path, path[2:]), lambda p: p[1] = $mark_pair[1] AND p[2] = $mark_pair[2])) > 0",
    "last": "path[-1] = $mark_last",
    "status": "status = $mark_status",
    "ids": "list_contains($mark_ids, id)",
}
"""What a mark on the page stands for, as a condition on runs."""
