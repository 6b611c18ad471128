"""Sums of bias by part: where an orchestrator calls the strongest, and whom it calls after whom."""

from collections.abc import Sequence

from orchestra_lib.store.bias_sums import SLICES, BiasSums, Facts, Row

MOST_GROUPS = 64
"""So many random groups of tasks give the variance of a part: enough for an interval, and few enough to be quick."""

_SETS = ", ".join(f"(orchestrator, task, {name})" for name in SLICES)
_WHICH = " ".join(f"WHEN GROUPING({name}) = 0 THEN '{name}'" for name in SLICES)
_SLICES = f""", strong AS (
    SELECT unnest($strong_setups)::UBIGINT AS setup, unnest($strong_models) AS model, true AS strong),
facts AS (SELECT unnest($setups)::UBIGINT AS setup, unnest($best_strong)::DOUBLE AS best),
used AS (
    SELECT orchestrator, task, setup, kind, difficulty, domain, u.turn AS turn, u.model AS model, u.calls AS calls
    FROM (SELECT orchestrator, task % $groups::UBIGINT AS task, setup, kind, difficulty, domain, unnest(uses) AS u
        FROM runs)
    WHERE $turn IS NULL OR u.turn = $turn),
played AS MATERIALIZED (
    SELECT orchestrator, task, setup, any_value(kind) AS kind, any_value(difficulty) AS difficulty, domain, turn,
        sum(calls)::DOUBLE AS n, coalesce(sum(calls) FILTER (strong), 0)::DOUBLE AS y
    FROM used LEFT JOIN strong USING (setup, model) GROUP BY orchestrator, task, setup, domain, turn),
per AS (
    SELECT CASE {_WHICH} END AS slice, coalesce(kind, difficulty, domain, turn::VARCHAR) AS value, orchestrator,
        task, sum(y) AS y, sum(n) AS n, sum(best * n) AS best, count(*) - count(best) AS unknown
    FROM played JOIN facts USING (setup) GROUP BY GROUPING SETS ({_SETS}))
SELECT slice, value, orchestrator, sum(y) AS y, sum(y * y) AS yy, sum(y * n) AS yn, sum(n) AS n, sum(n * n) AS nn,
    count(*) AS tasks, CASE WHEN sum(unknown) = 0 THEN sum(best) / sum(n) END AS best
FROM per WHERE value IS NOT NULL GROUP BY slice, value, orchestrator"""  # noqa: S608  # our own words
_TRANSITIONS = """ SELECT came, next, CASE WHEN next IS NULL THEN status END AS ended, count(*) AS times
FROM (SELECT status, unnest(list_prepend(NULL, path)) AS came, unnest(list_append(path, NULL)) AS next
    FROM runs WHERE orchestrator = $who)
GROUP BY ALL ORDER BY times DESC, came, next, ended"""
_WHOLE = """ SELECT count(*) AS runs, count(*) FILTER (len(path) < list_sum(list_transform(uses, lambda u: u.calls)))
    AS cut FROM runs WHERE orchestrator = $who"""


def slices(sums: BiasSums, facts: Facts) -> Sequence[Row]:
    """By orchestrator and value of each of `SLICES`: sums of the calls of the strongest and of all, over tasks.

    `best` is the share that the best choice would send to the strongest, None where it is unknown of any call.
    """
    groups = min(sums.groups, MOST_GROUPS) if sums.grouped else sums.groups
    return sums.ask(
        _SLICES, turn=sums.turn, groups=groups, strong_setups=[*facts.strong_setups],
        strong_models=[*facts.strong_models], setups=[*facts.setups], best_strong=[*facts.best_strong],
    )  # fmt: skip


def transitions(sums: BiasSums, who: str) -> tuple[Row, Sequence[Row]]:
    """How often whom came after whom in the runs of an orchestrator, and of how many runs not every call is known.

    Nobody comes before the first call, and after the last one a run ends by its status. Runs of older partitions have
    only their first calls in order.
    """
    (whole,) = sums.ask(_WHOLE, who=who)
    return whole, sums.ask(_TRANSITIONS, who=who)
