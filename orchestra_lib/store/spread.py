"""How many runs there are of what: for a histogram that filters, and for the choices of a filter."""

from collections.abc import Iterable, Mapping
from typing import Any

from orchestra_lib.record import record

PER_DECADE = 4
"""Bins of costs in each power of ten."""

VALUES = """SELECT
    (SELECT list(DISTINCT orchestrator ORDER BY orchestrator) FROM trajectories) AS orchestrators,
    (SELECT list(DISTINCT tool ORDER BY tool) FROM (SELECT unnest(called) AS tool FROM trajectories)) AS tools,
    (SELECT list(DISTINCT tag ORDER BY tag) FROM tags) AS tags,
    (SELECT list(name ORDER BY last DESC, name) FROM (
        SELECT name, max(started_at) AS last FROM group_members JOIN trajectories ON id = run_id
        WHERE training IS NULL GROUP BY name ORDER BY last DESC, name LIMIT 200)) AS groups,
    (SELECT list(DISTINCT training ORDER BY training) FROM rollouts) AS trainings"""


@record
class Costs:
    """Runs by cost in USD: bin n counts those from 10^(n/4) up to 10^((n+1)/4)."""

    bins: Mapping[int, int]
    free: int
    unknown: int

    @property
    def runs(self) -> int:
        """All of them."""
        return sum(self.bins.values()) + self.free + self.unknown


def costs_sql(clause: str) -> str:
    """The query behind `Costs` for a WHERE clause."""
    place = f"CASE WHEN cost_usd > 0 THEN floor({PER_DECADE} * log10(cost_usd) + 1e-9)::INTEGER END"
    return f"SELECT {place} AS place, cost_usd IS NULL AS unknown, count(*) AS runs FROM trajectories WHERE {clause} GROUP BY ALL"  # noqa: S608, E501  # our own words


def hidden_sql(clauses: Mapping[str, str]) -> str:
    """The query that counts, for each WHERE clause, the runs that only this one keeps out."""
    told = ", ".join(f'({clause}) AS "{name}"' for name, clause in clauses.items())
    alone = ", ".join(f'count(*) FILTER (WHERE {_only(name, clauses)}) AS "{name}"' for name in clauses)
    return f"SELECT {alone} FROM (SELECT {told} FROM trajectories)"  # noqa: S608  # our own words


def _only(wanted: str, names: Iterable[str]) -> str:
    return " AND ".join(f'"{name}" IS NOT TRUE' if name == wanted else f'"{name}"' for name in names)


def costs_of(rows: Iterable[Mapping[str, Any]]) -> Costs:
    """The rows of `costs_sql` as a value."""
    bins: dict[int, int] = {}
    other = {True: 0, False: 0}
    for row in rows:
        if row["place"] is None:
            other[row["unknown"]] += row["runs"]
        else:
            bins[row["place"]] = row["runs"]
    return Costs(bins=bins, free=other[False], unknown=other[True])
