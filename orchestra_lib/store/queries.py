"""What can be asked of stored trajectories, wherever they lie: the same queries over the same tables."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import duckdb

from orchestra_lib.codec import from_data, well_formed
from orchestra_lib.errors import BadInput
from orchestra_lib.store import query
from orchestra_lib.store.annotations import Note
from orchestra_lib.store.forks import ROOT, TREE, Branch
from orchestra_lib.store.groups import GROUPS, MEMBERS, GroupSummary
from orchestra_lib.store.spread import VALUES, Costs, costs_of, costs_sql, hidden_sql
from orchestra_lib.store.summary import COLUMNS, Filter, Summary, summary, where
from orchestra_lib.trajectory import Trajectory

MAX_PAGE = 1000
_BATCH = 100
_EVERYTHING = Filter()
Place = tuple[datetime, str]


class StoreQueries(ABC):
    """The reading half of a store. What it reads is as fresh as `_refresh` makes it."""

    def list(
        self,
        wanted: Filter = _EVERYTHING,
        *,
        limit: int = 50,
        before: Place | None = None,
        after: Place | None = None,
    ) -> tuple[Summary, ...]:
        """Summaries, newest first: the newest of all, the next older than `before`, or the next newer than `after`.

        A place is the (started_at, id) of a run. Raises `BadInput` for a limit that is not 1 to 1,000, `StoreFault`.
        """
        if not 1 <= limit <= MAX_PAGE:
            raise BadInput(f"limit = {limit}; a page has 1 to {MAX_PAGE:,} trajectories")
        clause, parameters = where(wanted)
        if before is not None:
            clause += " AND (started_at, id) < ($before_time, $before_id)"
            parameters |= {"before_time": before[0], "before_id": before[1]}
        if after is not None:
            clause += " AND (started_at, id) > ($after_time, $after_id)"
            parameters |= {"after_time": after[0], "after_id": after[1]}
        self._refresh()
        way = "DESC" if after is None else "ASC"
        order = f"ORDER BY started_at {way}, id {way} LIMIT {limit}"
        found = self._read(f"SELECT {COLUMNS} FROM trajectories WHERE {clause} {order}", parameters)  # noqa: S608
        return tuple(self._summary(row) for row in (found if after is None else reversed(found)))

    def each(self, wanted: Filter = _EVERYTHING) -> Iterator[Trajectory]:
        """The whole trajectories behind a filter, newest first; one that goes meanwhile is left out."""
        place = None
        while page := self.list(wanted, limit=MAX_PAGE, before=place):
            for start in range(0, len(page), _BATCH):
                yield from self._whole([one.id for one in page[start : start + _BATCH]])
            if len(page) < MAX_PAGE:  # another look would only search everything once more
                return
            place = (page[-1].started_at, page[-1].id)

    def _whole(self, run_ids: Sequence[str]) -> Iterator[Trajectory]:
        sql = "SELECT id, raw FROM trajectories WHERE id IN (SELECT unnest($ids)) ORDER BY started_at DESC, id DESC"
        for row in self._read(sql, {"ids": list(run_ids)}):
            yield self._record(row["id"], row["raw"])

    def count(self, wanted: Filter = _EVERYTHING) -> int:
        """How many trajectories a filter lets through."""
        clause, parameters = where(wanted)
        self._refresh()
        return int(self._read(f"SELECT count(*) AS n FROM trajectories WHERE {clause}", parameters)[0]["n"])  # noqa: S608

    def hidden(self, parts: Mapping[str, Filter]) -> Mapping[str, int]:
        """For each part of a filter, how many runs it alone keeps out: those that all other parts let through.

        `parts` are named by whoever asks; each is a filter of its own, and all of them hold together.
        """
        if not parts:
            return {}
        read = {name: where(part) for name, part in parts.items()}
        parameters = {key: value for _, own in read.values() for key, value in own.items()}
        self._refresh()
        return self._read(hidden_sql({name: clause for name, (clause, _) in read.items()}), parameters)[0]

    def costs(self, wanted: Filter = _EVERYTHING) -> Costs:
        """How the costs of these runs spread."""
        clause, parameters = where(wanted)
        self._refresh()
        return costs_of(self._read(costs_sql(clause), parameters))

    def values(self) -> Mapping[str, tuple[str, ...]]:
        """The `orchestrators`, called `tools`, `tags` and `trainings` of all runs, and the latest `groups`."""
        self._refresh()
        row = self._read(VALUES, {})[0]
        return {name: tuple(found or ()) for name, found in row.items()}

    def get(self, run_id: str) -> Trajectory:
        """The whole trajectory. Raises `BadInput` naming an unknown id, `NewerSchema`, `StoreFault`."""
        self._refresh_one(run_id)
        found = self._read("SELECT raw FROM trajectories WHERE id = $id", {"id": run_id})
        if not found:
            raise self._missing(run_id)
        return self._record(run_id, found[0]["raw"])

    def select(self, sql: str, parameters: dict[str, Any]) -> Sequence[dict[str, Any]]:
        """The rows of a reading statement of this project's own. Raises `StoreFault`."""
        self._refresh()
        return self._read(sql, parameters)

    def arrow(self, sql: str, parameters: Mapping[str, Any]) -> Any:
        """The rows of such a statement as a `pyarrow.Table`, for those who write them down."""
        self._refresh()
        with self._cursor() as cursor:
            return cursor.sql(sql, params=dict(parameters)).to_arrow_table()

    def query(
        self,
        sql: str,
        *,
        max_rows: int = query.MAX_ROWS,
        timeout_s: float = query.TIMEOUT_S,
        started: query.Started | None = None,
    ) -> query.Answer:
        """Answer one reading SQL statement; see `query.run`."""
        self._refresh()
        with self._cursor() as cursor:
            return query.run(cursor, sql, max_rows=max_rows, timeout_s=timeout_s, started=started)

    def tags_of(self, run_ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """The tags of each of these runs, in order; a run without any is left out."""
        sql = "SELECT run_id, list(tag ORDER BY tag) AS tags FROM tags WHERE run_id IN (SELECT unnest($ids)) GROUP BY 1"
        return {row["run_id"]: tuple(row["tags"]) for row in self._read(sql, {"ids": list(run_ids)})}

    def note_of(self, run_id: str) -> Note | None:
        """What is noted about a run; None for nothing."""
        found = self._read("SELECT note AS text, noted_at AS at FROM notes WHERE run_id = $id", {"id": run_id})
        return Note(text=found[0]["text"], at=found[0]["at"].astimezone(UTC)) if found else None

    def groups(self, most: int = MAX_PAGE) -> tuple[GroupSummary, ...]:
        """Every group, the one with the latest run first."""
        return tuple(GroupSummary(**row) for row in self.select(GROUPS, {"most": most}))

    def members(self, name: str) -> tuple[str, ...]:
        """The ids of a group's runs, in the order in which they started; none for no such group."""
        self._refresh(wait=True)  # the link to a group is there as soon as its runs have begun
        return tuple(row["run_id"] for row in self._read(MEMBERS, {"name": name}))

    def forks(self, run_id: str) -> tuple[Branch, ...]:
        """The whole tree of forks that a run stands in, its root first. Raises `BadInput` for an unknown run."""
        self._check_known(run_id)
        self._refresh(wait=True)  # the fork that was just started is one of them
        root = self._read(ROOT, {"id": run_id})[0]["id"]
        return tuple(Branch(**row) for row in self._read(TREE, {"id": root}))

    def _check_known(self, run_id: str) -> None:
        self._refresh_one(run_id)
        if not self._read("SELECT 1 AS n FROM trajectories WHERE id = $id", {"id": run_id}):
            raise BadInput(f"there is no run {run_id!r}; it may have been deleted meanwhile")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Let go of what is open."""

    @abstractmethod
    def _refresh(self, *, wait: bool = False) -> None:
        """Have the tables hold what is there by now."""

    @abstractmethod
    def _refresh_one(self, run_id: str) -> None:
        """Have them hold one run as it is by now."""

    @abstractmethod
    def _missing(self, run_id: str) -> BadInput:
        """What to say of a run that no table has. May itself raise what keeps the run from being read."""

    @abstractmethod
    def _cursor(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """A cursor for one thread. Raises `StoreFault` for a store that is closed."""

    def _summary(self, row: Mapping[str, Any]) -> Summary:
        return summary(row)

    def _record(self, run_id: str, raw: str) -> Trajectory:
        return from_data(json.loads(raw), Trajectory, where=f"run {run_id}")

    def _read(self, sql: str, parameters: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
        return self._fetch(sql, parameters)

    def _fetch(self, sql: str, parameters: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
        with self._cursor() as cursor:
            cursor.execute(sql, {name: well_formed(v) if isinstance(v, str) else v for name, v in parameters.items()})
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
