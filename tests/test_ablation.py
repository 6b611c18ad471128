"""An ablation compares runs market by market and seed by seed, keeps what they did, and ships what its table says."""

import asyncio
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestra_lib.errors import BadInput
from orchestra_lib.paths import DATA
from orchestra_lib.training.tiny.evaluation import held_out, play_all, scripted

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import ablation  # benchmarks are no installed package
from benchmarks.ablated import WARM, Ablated, keep, key_of, place, read

MARKETS, STEPS = 12, 2


@pytest.fixture(scope="module")
def rules(tmp_path_factory):
    """What plain rules do on the markets of two seeds."""
    folder, policies = tmp_path_factory.mktemp("rules"), scripted()
    return {
        (seed, name): tuple(asyncio.run(play_all(held_out("seen", MARKETS, seed), policies[name], folder)))
        for seed in (0, 1)
        for name in ("always cheapest", "oracle", "random")
    }


def run_of(variant, seed, played):
    sets = () if variant == WARM else ablation.sets_of(ablation.VARIANTS[variant], STEPS)
    return Ablated(
        variant=variant, seed=seed, sets=sets, step=STEPS, cpu_s=None if variant == WARM else 3.0,
        made_at=datetime(2026, 1, 1, tzinfo=UTC), made_with={"torch": "1"}, kind="seen", simulated=True, played=played,
        excluded={} if variant == WARM else {"flat_group": 0.25, "no_answer": 0.05},
    )  # fmt: skip


@pytest.fixture
def runs(rules):
    """The warm start is random, the reference always cheapest, and without a gate it is the oracle."""
    who = {WARM: "random", ablation.REFERENCE: "always cheapest", "no gate": "oracle", "no cost": "always cheapest"}
    return {
        seed: {variant: run_of(variant, seed, rules[seed, name]) for variant, name in who.items()} for seed in (0, 1)
    }


def test_a_run_is_read_back_as_it_was(runs, tmp_path):
    run = runs[0]["no gate"]
    keep(run, place(tmp_path, run.variant, run.seed))
    again = read(tmp_path / "no-gate.0.json")
    assert replace(again, played=()) == replace(run, played=())
    for one, other in zip(again.played, run.played, strict=True):
        assert (one.solved, one.complies, one.counts) == (other.solved, other.complies, other.counts)
        assert one.cost_usd == pytest.approx(other.cost_usd, rel=1e-5)


def test_a_broken_file_is_named_with_the_remedy(tmp_path):
    (tmp_path / "paper.0.json").write_text('{"played": {"solved": [true], "kind": []}}', "utf-8")
    with pytest.raises(BadInput, match=r"paper.0.json holds no run of an ablation .* --train"):
        read(tmp_path / "paper.0.json")


def test_differences_are_those_of_each_seed_from_the_reference(runs):
    rows = {row["variant"]: row for row in ablation.compare(runs)}
    assert set(rows) == {WARM, "paper", "no gate", "no cost"}
    assert rows["paper"]["above"] == {}
    for title, one in rows["no cost"]["above"].items():
        assert (one["over markets"]["mean"], one["over markets"]["p_holm"]) == (0.0, 1.0), title
    for title, one in rows["no gate"]["above"].items():
        gap = rows["no gate"]["figures"][title]["mean"] - rows["paper"]["figures"][title]["mean"]
        for interval in one.values():
            assert interval["mean"] == pytest.approx(gap)
            assert interval["low"] <= interval["mean"] <= interval["high"]
    assert rows["no gate"]["figures"]["cost kept"]["mean"] == 1.0
    assert all(row["simulated"] for row in rows.values())


def test_a_variant_that_one_seed_lacks_is_compared_on_the_other(runs):
    del runs[1]["no gate"]
    (row,) = (row for row in ablation.compare(runs) if row["variant"] == "no gate")
    assert (row["seeds"], row["above"]["accuracy"]["over seeds"]["low"]) == ([0], None)


def test_runs_of_other_settings_are_refused(runs, tmp_path):
    keep(runs[0]["paper"], place(tmp_path, "paper", 0))
    asked = {"names": ["paper"], "seeds": [0], "markets": MARKETS}
    assert ablation.stored(tmp_path, **asked, steps=STEPS)[0]["paper"].step == STEPS
    with pytest.raises(BadInput, match=r"paper.0.json was made with .*grpo.steps=2.*ask for the same"):
        ablation.stored(tmp_path, **asked, steps=3)


@pytest.mark.timeout(300)
def test_what_is_missing_is_trained_and_what_is_there_is_not(runs, tmp_path, capsys):
    keep(run_of(WARM, 0, runs[0][WARM].played[:4]), place(tmp_path, WARM, 0))
    asked = {"names": ["no gate"], "seeds": [0], "steps": STEPS, "markets": 4}
    ablation.train(tmp_path, **asked)
    assert "seed 0, no gate: 2 steps" in capsys.readouterr().err
    made = read(tmp_path / "no-gate.0.json")
    assert (made.step, len(made.played), made.simulated) == (2, 4, True)
    assert made.key == key_of(ablation.sets_of(ablation.VARIANTS["no gate"], STEPS), 4)
    ablation.train(tmp_path, **asked)
    assert capsys.readouterr().err == ""


def test_what_ships_was_made_with_what_is_asked_for():
    runs = ablation.stored(
        DATA / "ablation", list(ablation.VARIANTS), range(5), steps=ablation.STEPS, markets=ablation.MARKETS
    )
    assert {WARM, *ablation.VARIANTS} >= set(runs[0]) >= {WARM, ablation.REFERENCE, "no gate", "all groups"}
    rows = {row["variant"]: row for row in ablation.compare(runs)}
    assert rows["no tools"]["figures"]["tool kept"]["mean"] < rows["paper"]["figures"]["tool kept"]["mean"]
