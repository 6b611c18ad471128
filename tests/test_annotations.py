"""Tags, deletion and undoing it: what people say of runs outlives the tables and reaches every process."""

import os

import pytest

from orchestra_lib.errors import BadInput
from orchestra_lib.store.annotations import AnnotationKind, Annotations, checked_tag
from orchestra_lib.store.artefacts import Artefacts
from orchestra_lib.store.database import OWNED
from orchestra_lib.store.journal import Journal
from orchestra_lib.store.store import Store
from orchestra_lib.store.summary import Filter
from orchestra_lib.tool import File
from tests.episodes import events, setting, trajectory


@pytest.fixture
def store(tmp_path):
    for minutes, run_id in enumerate(("run-1", "run-2", "run-3")):
        journal(tmp_path, run_id, minutes=minutes)
    with Store(tmp_path) as opened:
        yield opened


def journal(home, run_id, **changes):
    with Journal(home).open(run_id) as writer:
        for event in events(run_id, **changes):
            writer.append(event)


def ids(summaries):
    return [summary.id for summary in summaries]


def test_a_tag_finds_its_runs_until_it_is_taken_away(store):
    store.tag(["run-1", "run-3"], "  demo   run ")
    store.tag(["run-1"], "demo run")
    assert ids(store.list(Filter(tag="demo run"))) == ["run-3", "run-1"]
    assert store.tags_of(["run-1", "run-2"]) == {"run-1": ("demo run",)}
    store.tag(["run-1"], "demo run", on=False)
    assert ids(store.list(Filter(tag="demo run"))) == ["run-3"]


def test_tags_outlive_the_tables(store):
    store.tag(["run-2"], "keep")
    store.rebuild()
    assert store.tags_of(["run-2"]) == {"run-2": ("keep",)}
    store.close()
    (store.home / OWNED).unlink()
    with Store(store.home) as again:
        assert ids(again.list(Filter(tag="keep"))) == ["run-2"]


def test_a_process_without_the_file_hears_what_the_owner_says(store):
    Annotations(store.home).append(AnnotationKind.TAGGED, ["run-1"], "from elsewhere")
    assert ids(store.list(Filter(tag="from elsewhere"))) == ["run-1"]


def test_what_is_said_after_a_torn_line_is_not_lost_with_it(store):
    with store.home.joinpath("annotations.jsonl").open("a") as file:
        file.write('{"schema":1,"at":"2026-11')
    store.tag(["run-1"], "whole")
    assert store.tags_of(["run-1"]) == {"run-1": ("whole",)}


@pytest.mark.parametrize("tag", ["", " \n ", "x" * 41, "a\u202eb", "\x1b[31m"])
def test_a_tag_is_a_plain_word(tag):
    with pytest.raises(BadInput):
        checked_tag(tag)


def test_an_unknown_run_is_neither_tagged_nor_deleted(store):
    for act in (lambda: store.tag(["run-1", "nope"], "x"), lambda: store.delete("nope")):
        with pytest.raises(BadInput, match="nope"):
            act()
    assert store.tags_of(["run-1"]) == {}


def test_a_deleted_run_is_gone_from_every_table_and_comes_back_whole(store):
    before = store.get("run-2")
    store.tag(["run-2"], "keep")
    store.delete("run-2")
    assert ids(store.list()) == ["run-3", "run-1"]
    assert store.query("SELECT count(*) FROM calls WHERE run_id = 'run-2'").rows == ((0,),)
    with pytest.raises(BadInput):
        store.get("run-2")
    store.restore("run-2")
    assert store.get("run-2") == before
    assert ids(store.list(Filter(tag="keep"))) == ["run-2"]


def test_a_deleted_run_stays_deleted_when_the_tables_are_built_anew(store):
    store.delete("run-2")
    assert store.rebuild().runs == 2
    store.restore("run-2")
    assert store.rebuild().runs == 3


def test_a_run_that_goes_on_cannot_be_deleted(store):
    with Journal(store.home).open("run-9") as writer:
        writer.append(next(events("run-9")))
        with pytest.raises(BadInput, match="stop it first"):
            store.delete("run-9")


def test_a_run_without_a_journal_is_deleted_too(store):
    store.add(trajectory("imported"))
    store.delete("imported")
    assert "imported" not in ids(store.list())
    store.add(trajectory("imported"))
    assert "imported" in ids(store.list())


def test_what_is_purged_takes_only_its_own_artefacts_with_it(tmp_path):
    artefacts = Artefacts(tmp_path)
    own, shared = (artefacts.put(File(name="f", media_type="text/plain", data=data)) for data in (b"own", b"shared"))
    journal(tmp_path, "run-1", observation=f'"sha256":"{own.sha256}"')  # escaped in the journal: only text
    for run_id, refs in (("run-2", (own, shared)), ("run-3", (shared,))):
        with Journal(tmp_path).open(run_id) as writer:
            for event in events(run_id, artefacts=refs):
                writer.append(event)
    with Store(tmp_path) as store:
        store.delete("run-2")
        assert store.purge(artefacts) == 0
        assert store.purge(artefacts, older_than_s=0, unused_for_s=0) == 1
        with pytest.raises(BadInput, match="trash"):
            store.restore("run-2")
    assert artefacts.get(shared.sha256) == b"shared"
    assert not os.path.exists(artefacts.folder / own.sha256[:2] / own.sha256)


def test_paging_works_both_ways_from_anywhere(tmp_path):
    with Store(tmp_path) as store:
        store.add_many([trajectory(f"run-{n}", minutes=n // 2) for n in range(9)])
        whole = store.list()
        for place in range(9):
            here = (whole[place].started_at, whole[place].id)
            assert store.list(limit=3, before=here) == whole[place + 1 : place + 4]
            assert store.list(limit=3, after=here) == whole[max(0, place - 3) : place]


def test_filters_narrow_by_cost_time_date_outcome_and_provenance(store):
    one = store.list()[0]
    found = {
        "cost_from": one.cost_usd, "cost_to": one.cost_usd, "seconds_from": one.latency_s, "nominal": True,
        "seconds_to": one.latency_s, "since": one.started_at, "outcome": "ungraded", "simulated": False,
    }  # fmt: skip
    assert ids(store.list(Filter(**found))) == [one.id]
    for name, value in {
        "cost_from": 9.0,
        "seconds_to": 0.0,
        "until": setting().started_at,
        "outcome": "solved",
    }.items():
        assert store.list(Filter(**{name: value})) == ()
    with pytest.raises(BadInput, match="outcome"):
        Filter(outcome="won")


def test_an_artefact_that_a_run_put_lately_is_not_purged(tmp_path):
    artefacts = Artefacts(tmp_path)
    ref = artefacts.put(File(name="f", media_type="text/plain", data=b"again"))
    artefacts.remove(ref.sha256)
    assert artefacts.get(ref.sha256) == b"again"
    artefacts.remove("0" * 64)
