"""The check for machines with a GPU: its CPU variant holds every claim, and without a GPU it says why it skips."""

import json

import pytest
import torch

from scripts import gpu_check


@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.*:FutureWarning")
def test_a_tiny_policy_is_trained_and_checked_on_the_cpu(tmp_path, capsys):
    report = tmp_path / "report.json"
    assert gpu_check.main(["--cpu", "--steps", "1", "--json", "--out", str(report)]) == 0
    told = json.loads(report.read_text())
    claims = {one["name"]: one for one in told["claims"]}
    assert claims["rollouts with a wrong mask"]["value"] == 0
    assert claims["advantages against the numpy reference, worst"]["holds"]
    assert claims["the largest change of a weight"]["value"] > 0
    assert told["random_weights"]
    assert told["parameters"] == gpu_check.TINY.parameters
    assert [json.loads(line)["name"] for line in capsys.readouterr().out.splitlines()] == list(claims)


def test_without_a_gpu_it_skips_with_a_reason(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu_check.main([]) == 0
    assert "sees no GPU" in capsys.readouterr().err


def test_the_largest_policy_that_fits_is_taken(monkeypatch):
    sizes = {}
    for there_gb in (16, 40, 80, 141):
        card = type("Card", (), {"total_memory": there_gb * 1e9})
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _, card=card: card)
        sizes[there_gb] = gpu_check._plan(False, None, 1).name.removeprefix("Qwen/Qwen3-")
    assert sizes == {16: "0.6B", 40: "1.7B", 80: "4B", 141: "8B"}
