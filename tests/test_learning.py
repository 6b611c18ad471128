"""The benchmark of learning runs on the shipped checkpoints. What it finds at full size stands in benchmarks/README."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import learning  # benchmarks are no installed package


@pytest.mark.timeout(300)
def test_the_shipped_checkpoints_are_measured_beside_rules_and_the_oracle(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["learning", "--quick", "--json", "--seeds", "0"])
    learning.main()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    figures, claims = [one for one in lines if "kind" in one], [one for one in lines if "holds" in one]
    assert {one["contestant"] for one in figures} == {
        "always strongest", "always cheapest", "random", "conductor", "oracle", "warm start", "trained",
    }  # fmt: skip
    assert all(one["simulated"] for one in figures)
    told = {(one["kind"], one["contestant"]): one["figures"] for one in figures}
    assert told["all_new", "oracle"]["cost compliance"]["mean"] == 1.0
    assert told["seen", "trained"]["cost cost_usd"]["mean"] < told["seen", "warm start"]["cost cost_usd"]["mean"]
    assert len(claims) > 40
