"""`orchestra bias`: swaps played and reported, the drift of a training run, bad input in one line."""

import json
import sys

import pytest

from orchestra_lib.bias import Estimate
from orchestra_lib.cli import main
from orchestra_lib.cli.bias import points
from orchestra_lib.paper_bias import paper_bias
from orchestra_lib.training import conducting


@pytest.fixture
def orchestra(tmp_path, monkeypatch, capsys):
    """Call the command line in this process: (exit code, stdout, stderr)."""
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path))

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["orchestra", "bias", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return (ended.value.code or 0, *capsys.readouterr())

    return call


def test_swaps_are_played_and_reported_with_the_papers_figures_apart(orchestra):
    code, out, _ = orchestra("--swap", "2", "--orchestrator", "cheapest", "--prefer", "cost=1", "--json")
    data = json.loads(out)
    assert (code, data["runs"], [one["aspect"] for one in data["moves"]]) == (
        0,
        12,
        ["name", "position", "price", "description"],
    )
    assert data["paper"]["source"].startswith("ToolOrchestra")
    code, out, err = orchestra("--kind", "math")
    assert "cheapest" in out
    assert "answered by a simulated profile" in err


def test_the_drift_of_a_training_run_comes_from_its_steps(orchestra):
    code, out, _ = orchestra("--training", str(conducting.SHIPPED / "tiny-grpo"), "--json")
    data = json.loads(out)
    assert (code, len(data["steps"])) == (0, len(data["shares"]))
    assert data["change"]["low"] <= data["change"]["value"] <= data["change"]["high"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--swap", "3"), "--orchestrator"),
        (("--swap", "0", "--orchestrator", "random"), "play 1 to 1,000"),
        (("--swap", "3", "--orchestrator", "nobody"), "nobody"),
        (("--swap", "3", "--orchestrator", "random", "--experts", "small,unheard"), "no profile 'unheard'"),
        (("--kind", "poetry"), "math, code"),
        (("--training", "nowhere"), "no steps.jsonl"),
    ],
)
def test_bad_input_is_one_line_with_the_remedy(orchestra, arguments, said):
    code, out, err = orchestra(*arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.strip().splitlines()) == 1


def test_an_empty_store_says_how_to_begin(orchestra):
    code, _, err = orchestra()
    assert code == 0
    assert "--swap" in err


def test_a_half_of_a_point_goes_up_as_it_does_on_the_page():
    assert points(Estimate(value=0.425, low=-0.125, high=0.5)) == "+43 [\u221212, +50]"


def test_the_papers_table_adds_up():
    paper = paper_bias()
    for name in paper.calls_per_task:
        assert sum(paper.shares(name).values()) == pytest.approx(1.0)
    assert paper.own_share("GPT-5") == pytest.approx((2.7 + 5.6) / 10.7)
    assert paper.own_share("Claude Opus 4.1") is None
    assert paper.strongest_share("Orchestrator-8B") == pytest.approx(1.6 / 8.2)
