"""`orchestra synth --llm`: tasks, journal and report in a folder; refusals in one line."""

import json

import pytest
from proposing import PRICES, Proposer, stages
from typer.testing import CliRunner

from orchestra_lib.cli import app, proposing
from orchestra_lib.environment.domain import load_domain
from orchestra_lib.errors import BadInput
from orchestra_lib.roster import Roster
from orchestra_lib.synthesis.verifying import verify


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """Run the command with a scripted model in place of a catalogue's."""
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(proposing, "find_table", lambda *_: PRICES)
    monkeypatch.setattr(Roster, "chat_model", lambda *_: Proposer())
    out = tmp_path / "out"

    def run(*more):
        return CliRunner().invoke(app, ["synth", "--llm", "scripted", "--domains", "mock", "--out", str(out), *more])

    return run, out


def test_tasks_are_written_with_a_report_and_verify(asked):
    run, out = asked
    result = run("--n", "4", "--json")
    assert result.exit_code == 0, result.output
    report = json.loads((out / "llm" / "report.json").read_text())
    assert report == json.loads(result.stdout)
    row = report["domains"][0]
    assert (row["domain"], row["wanted"], row["accepted"]) == ("mock", 4, 4)
    assert row["cost_usd"] == pytest.approx(0.011 * row["tries"])
    checked = list(verify([out / "mock.jsonl"]))
    assert [(one.failure, one.solver) for one in checked] == [(None, False)] * 4
    first = (out / "mock.jsonl").read_bytes()
    assert run("--n", "4").exit_code == 0
    assert (out / "mock.jsonl").read_bytes() == first


def test_progress_and_cost_go_to_stderr(asked):
    run, _ = asked
    result = run("--n", "1")
    assert "mock/task/00001 try 1: accepted · $0.0110 so far" in result.stderr
    assert "accepted" in result.stdout.splitlines()[0]


def test_an_interrupted_run_says_how_it_goes_on(asked, monkeypatch):
    run, out = asked

    async def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(proposing.Proposals, "run", interrupted)
    result = run("--n", "1")
    assert result.exit_code == 130
    assert f"stopped; every try is kept in {out / 'llm'}, and the same command goes on from there" in result.stderr


def test_too_few_tasks_is_exit_code_1_and_says_why(asked):
    run, _ = asked
    result = run("--n", "4", "--cost-limit", "0.01")
    assert result.exit_code == 1
    assert "limit of $0.01" in result.stderr


def test_how_many_must_be_said(asked):
    run, _ = asked
    assert isinstance(run().exception, BadInput)


def test_a_new_domain_is_written_and_asked_for_once(asked, monkeypatch):
    run, out = asked
    model = Proposer(*stages(), "no more")
    monkeypatch.setattr(Roster, "chat_model", lambda *_: model)
    result = run("--new-domain", "a weather service")
    assert result.exit_code == 0, result.output
    assert load_domain("proposed_one", out / "domains").title
    assert run("--new-domain", "a weather service").exit_code == 0
    assert len(model.asked) == 5


def test_a_domain_that_is_rejected_leaves_no_file(asked, monkeypatch):
    run, out = asked
    monkeypatch.setattr(Roster, "chat_model", lambda *_: Proposer("Bicycles, of course!"))
    result = run("--new-domain", "x", "--repairs", "0")
    assert result.exit_code == 1
    assert not (out / "domains").exists()
    assert "rejected: " in result.stderr
