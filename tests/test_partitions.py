"""Trajectories past one machine: Parquet partitions answer as the store that they were written from."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from episodes import START, trajectory
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from object_store import object_store

from orchestra_lib.codec import to_data
from orchestra_lib.errors import BadInput, NewerSchema
from orchestra_lib.grade import Grade
from orchestra_lib.preference import Preference
from orchestra_lib.store import partitions as partitions_module
from orchestra_lib.store.bias_sums import BiasSums, Scope
from orchestra_lib.store.partition_writing import write_partitions
from orchestra_lib.store.partitions import Partitions
from orchestra_lib.store.rollouts import StepRollouts, Worth
from orchestra_lib.store.scan import batches
from orchestra_lib.store.store import Store
from orchestra_lib.store.summary import Filter
from orchestra_lib.store.tool_use import tool_use

EVERYTHING = Filter()
CROSS_TAB = """SELECT tool, orchestrator, count(*) AS calls, sum(c.cost_usd) AS usd
FROM calls c JOIN trajectories t ON c.run_id = t.id GROUP BY ALL ORDER BY ALL"""
TABLES = ("trajectories", "turns", "calls", "attempts", "grades", "rollouts", "tags", "notes", "grouped")


def run(run_id, **changes):
    outcome = changes.pop("outcome", None)
    made = trajectory(run_id, **changes)
    if outcome is None:
        return made
    grade = Grade(at=START + timedelta(days=9), by="exact", outcome=outcome, reason="", conditions={"exact": outcome})
    return replace(made, outcome=outcome, grades=(grade,))


def answers(store):
    """Everything that a page asks: lists, counts, spreads, cross-tabs, statistics of bias, records."""
    sums = BiasSums(store, Scope(wanted=Filter(simulated=False)))
    labels = {"search": "s", "small": None}
    asked = (sums.results(), sums.setups(), sums.paths(), sums.values(), sums.shares(labels))
    tables = {name: store.query(f"SELECT * EXCLUDE (raw) FROM {name} ORDER BY ALL" if name == "trajectories"
                                else f"SELECT * FROM {name} ORDER BY ALL").rows for name in TABLES}  # fmt: skip
    page = store.list(limit=3)
    return {
        "tables": tables,
        "cross-tab": [tuple(map(steady, row)) for row in store.query(CROSS_TAB).rows],
        "pages": (page, page and store.list(limit=2, before=(page[-1].started_at, page[-1].id))),
        "tool": store.list(Filter(tool="search", prefer="cost")),
        "text": [one.id for one in store.list(Filter(text="four"))],
        "counts": (store.count(), store.count(Filter(outcome="solved")), store.count(Filter(tag="odd"))),
        "hidden": store.hidden({"a": Filter(orchestrator="x"), "b": Filter(outcome="ungraded")}),
        "costs": store.costs(),
        "values": store.values(),
        "groups": store.groups(),
        "tools": unordered(to_data(one) | {"tool": name} for name, one in tool_use(store).items()),
        "bias": [unordered(rows) for rows in asked],
        "reward": [one.lines for one in batches(store, EVERYTHING)],
        "records": list(store.each()),
    }  # fmt: skip


def unordered(rows):
    """Rows that come in any order, with sums that were made in any order."""
    return sorted(({name: steady(one) for name, one in row.items()} for row in rows), key=repr)


def steady(value):
    """A sum to nine digits: the rest depends on the order of what was added."""
    return round(value, 9) if isinstance(value, float) else value


RUNS = st.lists(
    st.builds(
        dict,
        run_id=st.sampled_from([f"run-{number}" for number in range(6)]),
        turns=st.integers(1, 3),
        minutes=st.integers(0, 4000),
        tool=st.sampled_from(["search", "coder"]),
        orchestrator=st.sampled_from(["x", "a/b=c", "ü ..", "'); DROP TABLE calls; --"]),
        group=st.none() | st.sampled_from(["g", "h"]),
        outcome=st.none() | st.booleans(),
        preference=st.sampled_from([Preference(), Preference(cost=0.9, tools={"search": -1.0})]),
        observation=st.text(st.characters(codec="utf-8"), max_size=8),
    ),
    min_size=1, max_size=4, unique_by=lambda one: one["run_id"],
)  # fmt: skip


@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.generate],
)
@given(runs=RUNS, again=st.sets(st.integers(0, 5)), cut=st.integers(0, 5))
def test_partitions_answer_as_the_store_they_were_written_from(tmp_path_factory, runs, again, cut):
    """Written in two parts, and some of it twice."""
    home = tmp_path_factory.mktemp("home")
    made = [run(**one) for one in runs]
    with Store(home) as store:
        store.add_many(made[:cut])
        write_partitions(store, EVERYTHING, home / "parts")
        store.add_many(made[cut:])
        StepRollouts(home, "tiny").put(1, [(trajectory("rollout"), Worth(reward=None, advantage=None, kept=False))])
        store.tag([made[0].id], "odd")
        store.write_note(made[-1].id, "a note")
        write_partitions(store, EVERYTHING, home / "parts")
        for place in again:
            write_partitions(store, Filter(text=f"run-{place}"), home / "parts")
        with Partitions(home / "parts") as partitions:
            assert answers(partitions) == answers(store)


@pytest.fixture
def written(tmp_path):
    """A store of three runs, and the folder it was written to."""
    with Store(tmp_path / "home") as store:
        store.add_many([run("a", outcome=True), run("b", minutes=2000), run("c", orchestrator="other")])
        assert write_partitions(store, EVERYTHING, tmp_path / "parts") == 3
    return tmp_path / "parts"


def part(folder, table="trajectories"):
    return sorted(folder.glob(f"{table}/*/*/*.parquet"))[0]


def changed(file, change):
    """Write a file again with another table in it, as somebody might who can write there."""
    table = pq.read_table(file)
    metadata = table.schema.metadata
    table = change(table)
    pq.write_table(table.replace_schema_metadata(table.schema.metadata or metadata), file)


def column(name, values):
    def change(table):
        kind = table.schema.field(name).type
        made = pa.array(values * table.num_rows, kind if values == [None] else None)
        return table.set_column(table.schema.get_field_index(name), name, made)

    return change


def marked(**marks):
    return lambda table: table.replace_schema_metadata({f"orchestra.{name}": value for name, value in marks.items()})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.drop_columns(["marks"]), "no column 'marks'"),
        (lambda table: table.append_column("evil", pa.array([1] * table.num_rows)), "column 'evil'"),
        (column("cost_usd", ["dear"]), "VARCHAR in the column 'cost_usd', where DOUBLE"),
        (column("id", [None]), "'id' is missing"),
        (column("cost_usd", [float("nan")]), "'cost_usd'"),
        (column("known_usd", [-1.0]), "'known_usd'"),
        (column("preference", ["{cut"]), "'preference'"),
        (column("tools", [["search", None]]), "'tools'"),
        (lambda table: pa.concat_tables([table, table]), "'id' is missing, double"),
        (lambda table: table.replace_schema_metadata({"no": "mark"}), "which version"),
        (marked(schema="0", tables="7"), "never was"),
        (marked(schema="x", tables="7"), "which version"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_of_ours_is_refused_with_its_column_and_the_remedy(written, change, words):
    changed(part(written), change)
    with pytest.raises(BadInput, match="move it away") as refused:
        Partitions(written)
    assert words in str(refused.value)
    assert str(part(written)) in str(refused.value)


def test_newer_partitions_ask_for_a_newer_workbench(written):
    changed(part(written, "turns"), marked(schema="1", tables="999"))
    with pytest.raises(NewerSchema, match=r"999.*update it"):
        Partitions(written)


def test_what_is_no_parquet_and_what_has_a_foreign_name_are_refused(written):
    (written / "turns" / "other.parquet").write_bytes(b"PAR1")
    with pytest.raises(BadInput, match=r"other\.parquet is no partition"):
        Partitions(written)
    (written / "turns" / "other.parquet").unlink()
    part(written, "calls").write_bytes(b"not parquet at all")
    with pytest.raises(BadInput, match=r"part-.*cannot be read"):
        Partitions(written)


@pytest.mark.parametrize("raw", ["{cut", "[]", '{"setting": {}}'])
def test_a_record_that_is_none_is_named_when_it_is_asked_for(written, raw):
    changed(part(written), column("raw", [raw]))
    with Partitions(written) as partitions:
        run_id = pq.read_table(part(written)).column("id")[0].as_py()
        assert partitions.count() == 3
        with pytest.raises(BadInput, match=r"part-.*'raw'.*move it away"):
            partitions.get(run_id)


def test_no_rows_are_smuggled_in_under_another_run_and_none_count_twice(written):
    calls = part(written, "calls")
    kept = calls.read_bytes()
    changed(calls, column("run_id", ["c"]))
    with pytest.raises(BadInput, match="'run_id' the run 'c', which its batch does not have"):
        Partitions(written)
    calls.write_bytes(kept)
    file = part(written)
    again = file.parents[1] / "orchestrator=copy" / file.name
    again.parent.mkdir()
    again.write_bytes(file.read_bytes())
    with pytest.raises(BadInput, match="would count twice; remove one"):
        Partitions(written)


def test_a_record_of_another_run_is_refused(written, tmp_path):
    with Store(tmp_path / "home") as store:
        other = store.select("SELECT raw FROM trajectories WHERE id = 'c'", {})[0]["raw"]
    changed(part(written), column("raw", [other.replace('"c"', '"z"')]))
    with Partitions(written) as partitions, pytest.raises(BadInput, match="that of 'z'"):
        partitions.get(pq.read_table(part(written)).column("id")[0].as_py())


def test_a_preference_that_is_none_is_named(written):
    changed(part(written), column("preference", ['{"cost": "much"}']))
    with Partitions(written) as partitions, pytest.raises(BadInput, match=r"part-.*'preference'"):
        partitions.list()


def test_older_partitions_lack_columns_which_are_unknown(written):
    file = part(written)
    changed(file, lambda table: table.drop_columns(["described", "training"]))
    with Partitions(written) as partitions:
        rows = dict(partitions.query("SELECT id, described IS NULL FROM trajectories").rows)
        assert sorted(rows) == ["a", "b", "c"]
        assert set(rows.values()) == {True, False}
        assert partitions.count(Filter(training=False)) == 3


def test_a_writer_that_died_leaves_nothing_that_counts(written):
    for table in ("turns", "calls"):
        lost = part(written, table)
        lost.with_name(f"part-20990101T000000000000Z-{'0' * 8}.parquet").write_bytes(lost.read_bytes())
        lost.with_name(".part-cut.parquet.part").write_bytes(b"PAR1")
    with Partitions(written) as partitions:
        assert partitions.query("SELECT count(*), sum(turns) FROM trajectories").rows == ((3, 6),)
        assert partitions.query("SELECT count(*) FROM turns").rows == ((6,),)


def test_nothing_is_written_and_no_other_file_is_read(written, tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with Partitions(written) as partitions:
        for sql in (
            f"SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')",
            "SELECT * FROM read_text('/etc/passwd')",
            "DROP VIEW turns",
            f"COPY turns TO '{written / 'x.parquet'}'",
            "SET enable_external_access = true",
        ):
            with pytest.raises(BadInput):
                partitions.query(sql)
        assert partitions.query("SELECT count(*) FROM turns").rows == ((6,),)


WRITER = """
import sys
from pathlib import Path
from orchestra_lib.store.partition_writing import write_partitions
from orchestra_lib.store.store import Store
from orchestra_lib.store.summary import Filter
from tests.episodes import trajectory
with Store(Path(sys.argv[1])) as store:
    store.add_many([trajectory(f"{sys.argv[3]}-{number}") for number in range(5)])
    for _ in range(3):
        write_partitions(store, Filter(), Path(sys.argv[2]))
"""


def test_many_writers_side_by_side_lose_and_double_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(partitions_module, "_LOCAL_LOOK_S", 0.0)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path / name), str(tmp_path / "parts"), name],
            cwd=Path(__file__).parents[1],
        )
        for name in "abc"
    ]
    while not list((tmp_path / "parts").glob("trajectories/*/*/part-*")):
        time.sleep(0.05)
    with Partitions(tmp_path / "parts") as partitions:
        while any(writer.poll() is None for writer in writers):
            assert partitions.count() in (5, 10, 15)
            time.sleep(0.1)
        assert [writer.returncode for writer in writers] == [0, 0, 0]
        assert partitions.count() == 15
        assert partitions.query("SELECT count(*) FROM turns").rows == ((30,),)
        assert len(list((tmp_path / "parts").glob("trajectories/*/*/*.parquet"))) == 9


def test_an_object_store_is_read_and_written_as_a_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with object_store() as (where, objects), Store(tmp_path) as store:
        store.add_many([run("a", outcome=True), run("b", minutes=2000, orchestrator="a/b")])
        assert write_partitions(store, EVERYTHING, f"s3://bucket/runs{where}") == 2
        assert all(key.startswith("bucket/runs/") and key.endswith(".parquet") for key in objects)
        with Partitions(f"s3://bucket/runs{where}") as partitions:
            assert partitions.list() == store.list()
            assert partitions.get("b") == store.get("b")
            assert partitions.query(CROSS_TAB).rows == store.query(CROSS_TAB).rows
            with pytest.raises(BadInput, match="disabled by configuration"):
                partitions.query("SELECT * FROM read_text('/etc/passwd')")
        with pytest.raises(BadInput, match="s3://bucket/none holds no partitions"):
            Partitions(f"s3://key:hidden@bucket/none{where}")


def test_an_address_that_leads_nowhere_and_an_empty_folder_say_so(tmp_path):
    with pytest.raises(BadInput, match="gopher://x leads nowhere"):
        Partitions("gopher://x")
    with pytest.raises(BadInput, match="holds no partitions"):
        Partitions(tmp_path)
    assert os.listdir(tmp_path) == []
