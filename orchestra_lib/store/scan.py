"""What the reward of many runs follows from, read from columns: no record is taken apart for it.

The parts that no column holds are named by `doubtful`: their records must be read.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from orchestra_lib.codec import from_data
from orchestra_lib.preference import Preference
from orchestra_lib.pricing import Attempt, Usage
from orchestra_lib.record import record
from orchestra_lib.store.queries import StoreQueries
from orchestra_lib.store.summary import Filter, where

_BATCH = 2_000
"""Runs whose rows are read at once, or those of one group when it has more."""

_LINES = """SELECT name AS "group", id, task, task_id, tools, preference, price_table, prices_dated, nominal, status,
    answer, outcome, cost_usd, latency_s, turns, simulated, (started_at AT TIME ZONE 'UTC')::DATE AS day
FROM (SELECT * FROM trajectories WHERE {clause}) JOIN group_members ON run_id = id
WHERE name IN (SELECT unnest($names::VARCHAR[])) ORDER BY name, started_at, id"""

_COUNTS = """SELECT run_id, tool, count(*) AS uses FROM calls
WHERE status IN ('ok', 'error', 'timeout') AND run_id IN (SELECT unnest($ids::VARCHAR[])) GROUP BY ALL"""

_MALFORMED = """SELECT DISTINCT run_id, turn FROM (
    SELECT run_id, turn FROM calls WHERE recovered IS NOT NULL
    UNION ALL SELECT run_id, turn FROM turns WHERE content IS NOT NULL AND calls = 0 AND answer IS NULL
) WHERE run_id IN (SELECT unnest($ids::VARCHAR[])) ORDER BY run_id, turn"""

_DOUBTFUL = (
    """SELECT DISTINCT run_id FROM calls WHERE status = 'rejected' AND run_id IN (SELECT unnest($ids::VARCHAR[]))"""
)

_ATTEMPTS = """SELECT run_id, payee, priced_as, input_tokens, output_tokens, cached_tokens, reasoning_tokens, wall_s,
    billed
FROM attempts WHERE run_id IN (SELECT unnest($ids::VARCHAR[]))"""


@record
class Line:
    """One run of one group. `day` is the UTC date on which it began."""

    group: str
    id: str
    task: str
    task_id: str | None
    tools: tuple[str, ...]
    preference: Preference
    price_table: str
    prices_dated: date
    nominal: bool
    status: str
    answer: str | None
    outcome: bool | None
    cost_usd: float | None
    latency_s: float | None
    turns: int
    simulated: bool
    day: date


@record
class Batch:
    """Whole groups, with what their runs did. Turns of a `doubtful` run may be malformed in ways no column tells."""

    lines: tuple[Line, ...]
    counts: Mapping[str, Mapping[str, int]]
    malformed: Mapping[str, tuple[int, ...]]
    doubtful: frozenset[str]


def batches(store: StoreQueries, wanted: Filter) -> Iterator[Batch]:
    """The runs behind a filter that are in groups, whole groups at a time, by the groups' names."""
    clause, parameters = where(wanted)
    sizes = store.select(
        f"SELECT name, count(*) AS runs FROM trajectories JOIN group_members ON run_id = id WHERE {clause} "  # noqa: S608  # our own words
        "GROUP BY name ORDER BY name",
        parameters,
    )
    lines = _LINES.format(clause=clause)
    preferences: dict[str, Preference] = {}
    for names in _packed(sizes):
        found = [_line(row, preferences) for row in store.select(lines, {**parameters, "names": names})]
        yield _batch(store, found)


def offered(store: StoreQueries, wanted: Filter) -> tuple[str, ...]:
    """The tools that the grouped runs behind a filter had on offer, in order."""
    clause, parameters = where(wanted)
    sql = (
        f"SELECT DISTINCT unnest(tools) AS tool FROM trajectories WHERE {clause} "  # noqa: S608  # our own words
        "AND id IN (SELECT run_id FROM group_members) ORDER BY tool"
    )
    return tuple(row["tool"] for row in store.select(sql, parameters))


def attempts(store: StoreQueries, run_ids: Collection[str]) -> Mapping[str, list[tuple[str, Attempt]]]:
    """Every attempt of these runs with its payee. Tokens written to a cache stand in no column."""
    found: dict[str, list[tuple[str, Attempt]]] = {run_id: [] for run_id in run_ids}
    for row in store.select(_ATTEMPTS, {"ids": list(run_ids)}):
        usage = Usage(
            input_tokens=row["input_tokens"],
            output_tokens=row["output_tokens"],
            cached_tokens=row["cached_tokens"],
            reasoning_tokens=row["reasoning_tokens"],
        )
        attempt = Attempt(priced_as=row["priced_as"], usage=usage, wall_s=row["wall_s"], billed=row["billed"])
        found[row["run_id"]].append((row["payee"], attempt))
    return found


def _packed(sizes: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    names: list[str] = []
    runs = 0
    for row in sizes:
        if names and runs + row["runs"] > _BATCH:
            yield names
            names, runs = [], 0
        names.append(row["name"])
        runs += row["runs"]
    if names:
        yield names


def _line(row: Mapping[str, Any], preferences: dict[str, Preference]) -> Line:
    text = row["preference"]
    if text not in preferences:
        preferences[text] = from_data(json.loads(text), Preference, where=f"preference of run {row['id']}")
    return Line(**{**row, "tools": tuple(row["tools"]), "preference": preferences[text]})


def _batch(store: StoreQueries, lines: Sequence[Line]) -> Batch:
    ids = {"ids": list({line.id for line in lines})}
    counts: dict[str, dict[str, int]] = {}
    for row in store.select(_COUNTS, ids):
        counts.setdefault(row["run_id"], {})[row["tool"]] = row["uses"]
    malformed: dict[str, tuple[int, ...]] = {}
    for row in store.select(_MALFORMED, ids):
        malformed[row["run_id"]] = (*malformed.get(row["run_id"], ()), row["turn"])
    doubtful = frozenset(row["run_id"] for row in store.select(_DOUBTFUL, ids))
    return Batch(lines=tuple(lines), counts=counts, malformed=malformed, doubtful=doubtful)
