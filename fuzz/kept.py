"""What lies in files: journals, trajectories and tasks made elsewhere, settings, and SQL that asks for them."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache

import duckdb

from fuzz.target import Target, as_file, as_text, scratch
from orchestra_lib import configuration
from orchestra_lib.environment.assignment import read_assignments
from orchestra_lib.environment.domain import _json, domain_of
from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.event import fold
from orchestra_lib.families import load_families
from orchestra_lib.importing import inspect_log, jsonl
from orchestra_lib.ledger import ledger
from orchestra_lib.model.endpoint import Catalogue
from orchestra_lib.pricelist import load_table
from orchestra_lib.profilelist import load_profile
from orchestra_lib.published.questions import load_questions
from orchestra_lib.published.tau2 import load_tau2_domain, load_tau2_tasks
from orchestra_lib.published.toolscale import load_toolscale, load_training_rows
from orchestra_lib.spans import spans
from orchestra_lib.store.database import open_database
from orchestra_lib.store.entry import Entry, replace
from orchestra_lib.store.journal import Journal, Stamp
from orchestra_lib.store.query import run
from orchestra_lib.store.rows import rows
from orchestra_lib.toolkit.mcp.entry import load_entries
from orchestra_lib.training import settings
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.unfolding import unfold

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def journal(data: bytes) -> None:
    """A journal, and all that is made of a run that it tells."""
    folder = scratch() / "journals"
    folder.mkdir(exist_ok=True)
    (folder / "run-1.jsonl").write_bytes(data)
    kept = Journal(scratch())
    trajectory = kept.trajectory("run-1")
    if trajectory is not None:
        _used(trajectory)
    kept.recover(["run-1"])
    reading = kept.load("run-1")
    assert not reading.events or reading.torn_bytes == 0 or reading.events[-1].kind in ("run_finished", "graded")


def _used(trajectory: Trajectory) -> None:
    """What the workbench does with every trajectory: the store takes it, the bill and the spans are made."""
    found = rows(trajectory)
    cursor = _database()
    cursor.execute("BEGIN")
    try:
        stamp = Stamp(size=1, mtime_ns=1)
        replace(cursor, [Entry(run_id=trajectory.id, stamp=stamp, rows=found, unfinished=trajectory.stop is None)])
    finally:
        cursor.execute("ROLLBACK")
    ledger(trajectory)
    trajectory.bill()
    with suppress(BadInput):  # it goes on, or has times that no span can hold
        spans(trajectory, content=True)


def _taken(found: Sequence[Trajectory | None]) -> None:
    for trajectory in found:
        if trajectory is not None:
            _used(trajectory)
            assert fold(unfold(trajectory)) == trajectory, "the journal of an import tells another run"


def messages(data: bytes) -> None:
    """Conversations in OpenAI's form, and records of runs."""
    file = as_file(data, "rows.jsonl")
    _taken([row.trajectory for row in jsonl.rows(file, now=NOW)])


def inspect(data: bytes) -> None:
    """A log of inspect_ai, as JSON or as an archive."""
    _taken([row.trajectory for row in inspect_log.rows(as_file(data, "log.json"), now=NOW)])


def toolscale(data: bytes) -> None:
    """ToolScale's rows as JSON."""
    load_toolscale(as_file(data, "rows.jsonl"))


def toolscale_table(data: bytes) -> None:
    """ToolScale's rows as Parquet."""
    load_toolscale(as_file(data, "rows.parquet"))


def training_rows(data: bytes) -> None:
    """Rows of the published training file."""
    load_training_rows(as_file(data, "rows.jsonl"))


def tau2(data: bytes) -> None:
    """A file of tasks in tau2's form."""
    load_tau2_tasks(as_file(data, "tasks.json"), domain="d")


def tau2_domain(data: bytes) -> None:
    """The database of a domain in tau2's form."""
    folder = scratch() / "domain"
    folder.mkdir(exist_ok=True)
    (folder / "db.json").write_bytes(data)
    (folder / "policy.md").write_text("Be kind.", "utf-8")
    assert load_tau2_domain(folder).records is not None


def questions(data: bytes) -> None:
    """Questions with answers."""
    load_questions(as_file(data, "rows.jsonl"))


def assignments(data: bytes) -> None:
    """Tasks of a domain of ours."""
    list(read_assignments(as_file(data, "tasks.jsonl")))


def domain(data: bytes) -> None:
    """A domain of ours."""
    domain_of(_json(as_file(data, "domain.json")), where="fuzz")


def toml(data: bytes) -> None:
    """One file as every kind of settings; each may refuse it, and says so in one way."""
    file = as_file(data, "settings.toml")
    home = scratch()
    for name in ("mcp.toml", "families.toml"):
        as_file(data, name)
    for load in (
        lambda: configuration.to_toml(configuration.resolve(file, (), {})),
        lambda: settings.saved(settings.resolve(file, home=home)),
        lambda: load_table(file),
        lambda: load_entries(home),
        lambda: Catalogue.read([file]),
        lambda: load_families(home),
    ):
        try:
            load()
        except BadInput:
            continue


def setting(data: bytes) -> None:
    """One `--set`, read and written again."""
    order = configuration.resolve(None, [as_text(data)], {"task": "x"})
    again = as_file(configuration.to_toml(order).encode("utf-8", "replace"), "again.toml")
    configuration.resolve(again, (), {})


def profile(data: bytes) -> None:
    """A profile of simulated experts."""
    load_profile(as_file(data, "profile.json"))


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return open_database(scratch() / "home").connection.cursor()


_SLOW = re.compile(r"range|series|repeat|pad|recursive|unnest|sleep|resize|\d{4}", re.IGNORECASE)
"""What a short query can take long with: that is for the clock to stop, and no news to a fuzzer."""


def sql(data: bytes) -> None:
    """A query on a store of its own: it answers or is refused, and changes nothing, inside or outside."""
    text = as_text(data)
    if _SLOW.search(text):
        return
    cursor = _store()
    before, files = _state(cursor), sorted(os.listdir(scratch()))
    try:
        run(cursor, text, timeout_s=2.0, max_rows=10)
    finally:
        assert _state(cursor) == before, "a query changed the store"
        assert sorted(os.listdir(scratch())) == files, "a query wrote a file"


@cache
def _store() -> duckdb.DuckDBPyConnection:
    cursor = open_database(scratch() / "asked").connection.cursor()
    cursor.execute("INSERT INTO journals VALUES ('run-1', 10, 20, false, NULL)")
    return cursor


def _state(cursor: duckdb.DuckDBPyConnection) -> list[object]:
    tables = "SELECT table_name, column_count FROM duckdb_tables() ORDER BY ALL"
    return [*cursor.execute(tables).fetchall(), *cursor.execute("SELECT * FROM journals").fetchall()]


TARGETS = (
    Target("journal", "jsonl", (BadInput, StoreFault), journal),
    Target("messages", "jsonl", (), messages),
    Target("inspect", "json", (BadInput,), inspect),
    Target("toolscale", "jsonl", (BadInput,), toolscale),
    Target("toolscale_table", "bytes", (BadInput,), toolscale_table),
    Target("training_rows", "jsonl", (BadInput,), training_rows),
    Target("tau2", "json", (BadInput,), tau2),
    Target("tau2_domain", "json", (BadInput,), tau2_domain),
    Target("questions", "jsonl", (BadInput,), questions),
    Target("assignments", "jsonl", (BadInput,), assignments),
    Target("domain", "json", (BadInput,), domain),
    Target("toml", "text", (), toml),
    Target("setting", "text", (BadInput,), setting),
    Target("profile", "json", (BadInput,), profile),
    Target("sql", "text", (BadInput,), sql),
)
