"""The table of all benchmarks: what is left out, broke off or fails stands in it with its reason."""

import json
import re
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import running  # noqa: E402  # benchmarks are no installed package
from benchmarks.__main__ import BENCHMARKS  # noqa: E402
from benchmarks.claims import Rival, claim  # noqa: E402
from benchmarks.machine import this_machine  # noqa: E402
from benchmarks.report import document  # noqa: E402
from benchmarks.running import Result, claims_in, run  # noqa: E402

CLAIM = claim("a | step", 3.0, "ms", rival=Rival(name="other", value=2.0), ratio_at_most=1.0)
MACHINE = replace(this_machine(), at=datetime(2026, 1, 2, 3, 4, tzinfo=UTC), commit="abc1234")


def rows(*results):
    table = document(results, MACHINE, "make bench")
    return [line for line in table.splitlines() if line.startswith("| ") and "verdict" not in line]


def test_every_script_that_can_be_run_is_on_the_list():
    helpers = {"contestants", "scripted_server", "served_scripts", "tau2_served", "__main__"}  # started by others
    scripts = {one.stem for one in (ROOT / "benchmarks").glob("*.py") if "\ndef main()" in one.read_text("utf-8")}
    assert {one.name for one in BENCHMARKS} == scripts - helpers


def test_a_claim_that_fails_stays_visible_beside_its_rival():
    (row,) = rows(Result(name="engine", claims=(CLAIM,), cpu_s=12.4))
    assert row == "| engine | a \\| step | 3 ms | ratio at most 1 | other: 2 | 1.5 | **FAILS** | 12 |"


def test_what_was_left_out_or_broke_off_says_why():
    left, broke = rows(Result(name="page", left_out="no Chromium"), Result(name="ray", fault="exit code 1", cpu_s=2.0))
    assert "left out: no Chromium" in left
    assert "exit code 1" in broke
    assert "**BROKE OFF**" in broke


def test_machine_moment_and_commit_stand_above_the_table():
    text = document([], MACHINE, "make bench")
    assert "2 January 2026, 03:04 UTC, commit abc1234" in text
    assert f"{MACHINE.cores} cores" in text


def test_claims_are_found_among_other_lines():
    other = json.dumps({"kind": "seen", "value": 1})
    assert claims_in("\n".join(["a word", other, json.dumps(asdict(CLAIM))])) == (CLAIM,)


def test_a_script_that_says_by_its_exit_code_that_a_claim_fails_has_not_broken_off(tmp_path, monkeypatch):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "one.py").write_text(f"print({json.dumps(asdict(CLAIM))!r}); raise SystemExit(1)")
    monkeypatch.setattr(running, "ROOT", tmp_path)
    assert (run("one").claims, run("one").fault) == ((CLAIM,), None)


@pytest.mark.parametrize(
    "script, fault, printed",
    [
        ("print('a table')", None, "a table"),
        ("raise SystemExit('no luck')", "exit code 1: no luck", ""),
        ("import time; time.sleep(60)", r"ended after 0\.5 s", ""),
    ],
)
def test_a_script_runs_alone_and_its_end_is_told(script, fault, printed, tmp_path, monkeypatch):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "one.py").write_text(script)
    monkeypatch.setattr(running, "ROOT", tmp_path)
    found = run("one", claims=False, limit_s=0.5 if "sleep" in script else 30)
    assert found.printed == printed
    assert (found.fault is None) if fault is None else re.search(fault, found.fault)
    assert found.cpu_s is not None
