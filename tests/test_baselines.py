"""The benchmark of baselines runs, says that all of it is simulated, and puts the oracle where it belongs."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import baselines  # benchmarks are no installed package


def test_the_oracle_complies_always_and_every_row_says_simulated(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["baselines", "--tasks", "8", "--shuffled", "--json"])
    baselines.main()
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 12
    assert all(row["simulated"] and row["accuracy"]["of"] == 8 for row in rows)
    found = {(row["preference"], row["policy"]): row for row in rows}
    assert [found[wish, "oracle"]["compliance"]["rate"] for wish in ("cost", "latency")] == [1.0, 1.0]
    assert found["cost", "oracle"]["cost_usd"] < found["cost", "strongest"]["cost_usd"]
    assert found["latency", "oracle"]["latency_s"] < found["latency", "strongest"]["latency_s"]
