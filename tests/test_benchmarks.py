"""Every script that claims something runs, and its claims can be read. How fast this machine is, is not tested."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from browsing import CHROMIUM

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.claims import Rival, claim  # noqa: E402  # benchmarks are no installed package


def in_chromium(script):
    return pytest.param(
        script, marks=[pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")]
    )


TRAINS = pytest.param("training", marks=pytest.mark.timeout(300))  # imports torch and trl


@pytest.mark.parametrize(
    "script",
    ["engine", "store", "bias", "reward", "environment", "serve", TRAINS, in_chromium("page"), in_chromium("lab")],
)
def test_a_script_prints_claims_that_can_be_read(script):
    command = [sys.executable, "-m", f"benchmarks.{script}", "--quick", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=280)
    assert done.returncode == 0, done.stderr
    claims = [json.loads(line) for line in done.stdout.splitlines()]
    assert claims
    for one in claims:
        assert list(one) == ["name", "value", "unit", "rival", "ratio", "target", "holds"]
        assert isinstance(one["value"], (int, float))
        assert (one["target"] is None) == (one["holds"] is None)
        assert one["rival"] is None or set(one["rival"]) == {"name", "value"}


@pytest.mark.parametrize(
    "target, holds",
    [
        ({}, None),
        ({"at_most": 3}, True),
        ({"at_most": 2}, False),
        ({"at_least": 3}, True),
        ({"at_least": 4}, False),
        ({"ratio_at_most": 1.5}, True),
        ({"ratio_at_most": 1.4}, False),
    ],
)
def test_a_claim_holds_when_its_target_is_met(target, holds):
    assert claim("c", 3, "s", rival=Rival(name="r", value=2), **target).holds is holds


def test_nothing_holds_against_a_rival_of_zero():
    one = claim("c", 3, "s", rival=Rival(name="r", value=0), ratio_at_most=1.5)
    assert (one.ratio, one.holds) == (None, False)
