"""Benchmarks of routers: contestants play the same held-out tasks, or choose among outcomes that were recorded."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import recorded_routers, routers  # benchmarks are no installed package


@pytest.fixture
def told(monkeypatch, capsys):
    def run(benchmark, *options):
        monkeypatch.setattr(sys, "argv", [benchmark.__name__, *options, "--quick", "--json"])
        benchmark.main()
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


@pytest.mark.timeout(300)
def test_contestants_are_compared_on_the_same_simulated_tasks(told):
    rows = told(routers, "--orchestrators", "cheapest", "knn-router", "oracle", "--beside", "oracle")
    by = {(row["preference"], row["orchestrator"]): row for row in rows}
    assert len(by) == 9
    assert all(row["simulated"] and row["tasks"] == row["runs"] == 8 for row in rows)
    for wish in ("outcome", "cost", "latency"):
        oracle, router = by[wish, "oracle"], by[wish, "knn-router"]
        assert oracle["reward apart"] is None
        gap = router["figures"]["reward"]["mean"] - oracle["figures"]["reward"]["mean"]
        assert router["reward apart"]["mean"] == pytest.approx(gap)
    assert (
        by["cost", "cheapest"]["figures"]["cost_cents"]["mean"]
        < by["outcome", "oracle"]["figures"]["cost_cents"]["mean"]
    )


def test_routers_choose_between_recorded_outcomes_of_real_models(told):
    rows = {(row["preference"], row["router"]): row for row in told(recorded_routers)}
    for wish in ("outcome", "cost"):
        assert rows[wish, "always coder"]["to_coder"] == 1.0
        best = rows[wish, "best"]["figures"]["accuracy"]["mean"]
        for name in ("always coder", "always generalist", "random", "knn-router", "mf-router"):
            assert rows[wish, name]["figures"]["accuracy"]["mean"] <= best
            assert not rows[wish, name]["simulated"]
