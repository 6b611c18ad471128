"""Rollouts of training: kept a step at a time, found in the store, out of everybody's way."""

import json
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestra_lib.errors import BadInput
from orchestra_lib.store.journal import Journal
from orchestra_lib.store.rollouts import StepRollouts, Worth
from orchestra_lib.store.store import Store
from orchestra_lib.store.summary import Filter
from tests.episodes import events, trajectory

KEPT = Worth(reward=0.5, advantage=1.25, kept=True)
WORTHS = "SELECT run_id, step, reward, advantage, kept, why FROM rollouts ORDER BY run_id"


def rollouts(*ids, worth=KEPT):
    return [(trajectory(one, minutes=place), worth) for place, one in enumerate(ids)]


def ids(store):
    return sorted(one.id for one in store.list())


def test_rollouts_are_found_with_what_they_were_worth_and_told_from_other_runs(tmp_path):
    with Store(tmp_path) as store:
        store.add(trajectory("by-hand"))
        unknown = Worth(reward=None, advantage=None, kept=False, why="no reward")
        StepRollouts(tmp_path, "tiny").put(12, [*rollouts("a"), (trajectory("b"), unknown)])
        assert store.list(Filter(training=False))[0].training is None
        found = store.list(Filter(training=True, training_run="tiny", training_step=12))
        assert sorted((one.id, one.training, one.training_step) for one in found) == [
            ("a", "tiny", 12),
            ("b", "tiny", 12),
        ]
        assert store.get("a") == trajectory("a")
        assert store.count() == 3
        assert store.query(WORTHS).rows == (("a", 12, 0.5, 1.25, True, ""), ("b", 12, None, None, False, "no reward"))
        assert store.hidden({"training": Filter(training=False), "tool": Filter(tool="search")}) == {
            "training": 2, "tool": 0,
        }  # fmt: skip


def test_they_are_the_truth_for_themselves(tmp_path):
    kept = StepRollouts(tmp_path, "tiny")
    kept.put(1, rollouts("a", "b"))
    kept.put(2, rollouts("c"), part=1)
    with Store(tmp_path) as store:
        assert store.rebuild().runs == 3
        assert store.sync() == 0
    (tmp_path / "workbench.duckdb").unlink()
    with Store(tmp_path) as store:
        assert ids(store) == ["a", "b", "c"]


def test_a_step_put_again_takes_the_place_of_the_first(tmp_path):
    kept = StepRollouts(tmp_path, "tiny")
    kept.put(1, rollouts("a", "b"))
    with Store(tmp_path) as store:
        kept.put(1, rollouts("b", "c", "d"))
        assert ids(store) == ["b", "c", "d"]
        assert len(store.query(WORTHS).rows) == 3


def test_a_run_that_goes_on_from_a_checkpoint_forgets_what_came_after_it(tmp_path):
    kept = StepRollouts(tmp_path, "tiny")
    for step in (1, 2, 3):
        kept.put(step, rollouts(f"s{step}"))
    StepRollouts(tmp_path, "other").put(3, rollouts("other"))
    with Store(tmp_path) as store:
        assert store.count() == 4
        kept.forget_after(1)
        assert ids(store) == ["other", "s1"]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 1), st.sets(st.integers(0, 4), max_size=4)), max_size=6))
def test_whatever_was_put_last_is_there_however_often_one_looks(tmp_path_factory, puts):
    home = tmp_path_factory.mktemp("home")
    kept, expected = StepRollouts(home, "tiny"), {}
    with Store(home) as store:
        for step, part, places in puts:
            named = [f"s{step}-{part}-{place}" for place in places]
            kept.put(step, rollouts(*named), part=part)
            expected[step, part] = named
            assert ids(store) == sorted(chain.from_iterable(expected.values()))


def test_an_id_of_another_run_is_left_out_and_said(tmp_path):
    with Journal(tmp_path).open("mine") as writer:
        for event in events("mine", answer="journal"):
            writer.append(event)
    StepRollouts(tmp_path, "one").put(1, rollouts("mine", "a"))
    StepRollouts(tmp_path, "two").put(1, rollouts("a", "b"))
    with Store(tmp_path) as store:
        assert ids(store) == ["a", "b", "mine"]
        assert store.get("mine").answer == "journal"
        assert store.list(Filter(training_run="two"))[0].id == "b"
        assert [(one.run_id, "those of other runs" in one.reason) for one in store.unreadable()] == [
            ("rollouts/one/step-000001.jsonl", True), ("rollouts/two/step-000001.jsonl", True),
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text.replace('"schema":1', '"schema":99', 1), "update it"),
        (lambda text: "{cut\n" + text, "line 1"),
        (lambda text: text.replace('"worth"', '"wurth"', 1), "worth: Field required"),
    ],
)
def test_a_damaged_line_costs_itself_and_is_named(tmp_path, damage, said):
    StepRollouts(tmp_path, "tiny").put(1, rollouts("a", "b"))
    StepRollouts(tmp_path, "tiny").put(2, rollouts("c"))
    file = tmp_path / "rollouts" / "tiny" / "step-000001.jsonl"
    file.write_text(damage(file.read_text()))
    with Store(tmp_path) as store:
        assert "c" in {one.id for one in store.list()}
        assert said in store.unreadable()[0].reason


def test_what_cannot_be_kept_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(BadInput, match=r"\.\./x"):
        StepRollouts(tmp_path, "../x")
    kept = StepRollouts(tmp_path, "tiny")
    for wrong in (rollouts("a", "a"), [(replace(trajectory("a"), stop=None), KEPT)]):
        with pytest.raises(BadInput, match="'a'"):
            kept.put(1, wrong)
    assert not list(tmp_path.rglob("*.jsonl"))


def test_a_rollout_is_not_deleted_or_graded_alone_but_the_training_run_can_go(tmp_path):
    StepRollouts(tmp_path, "tiny").put(1, rollouts("a"))
    with Store(tmp_path) as store:
        for change in (lambda: store.delete("a"), lambda: store.grade("a", None)):
            with pytest.raises(BadInput, match="training run tiny"):
                change()
        store.tag(["a"], "odd")
        shutil.rmtree(tmp_path / "rollouts" / "tiny")
        assert store.count() == 0
        assert store.query(WORTHS).rows == ()


WRITER = """
import sys
from pathlib import Path
from orchestra_lib.store.rollouts import StepRollouts
from tests.test_store_rollouts import rollouts
kept = StepRollouts(Path(sys.argv[1]), "tiny")
for step in range(100_000):
    kept.put(step, rollouts(f"s{step}-a", f"s{step}-b"))
    print(step, flush=True)
"""


def test_a_kill_loses_no_step_that_was_put(tmp_path):
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]) as writer:
        told = [next(writer.stdout) for _ in range(20)]
        writer.send_signal(signal.SIGKILL)
        told += [line for line in writer.stdout if line.endswith("\n")]
    with Store(tmp_path) as store:
        there = store.query("SELECT step, count(*) FROM rollouts GROUP BY 1 ORDER BY 1").rows
        assert [step for step, _ in there][: len(told)] == [*range(len(told))]
        assert {runs for _, runs in there} == {2}
        assert not store.unreadable()


def test_a_line_holds_the_whole_record(tmp_path):
    StepRollouts(tmp_path, "tiny").put(1, rollouts("a"))
    data = json.loads((tmp_path / "rollouts" / "tiny" / "step-000001.jsonl").read_text())
    assert data["schema"] == 1
    assert data["worth"]["kept"] is True
    assert data["trajectory"]["setting"]["run_id"] == "a"
