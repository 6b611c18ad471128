"""Load and faults at a miniature scale: all that is promised holds, and what was injected is told."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.soak import SCALES, SCENARIOS  # noqa: E402  # benchmarks are no installed package


def soaked(*names):
    command = [sys.executable, "-m", "benchmarks.soak", "--quick", "--json", "--only", *names]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=280)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.timeout(300)
def test_what_breaks_loses_nothing_that_was_acknowledged_and_is_told():
    """Kill -9, a full disk, a clock that jumps, an endpoint that fails, long runs side by side."""
    done, claims = soaked("spans", "killed", "disk", "clock", "endpoint")
    assert done.returncode == 0, done.stderr + done.stdout
    assert [one["name"] for one in claims if one["holds"] is False] == []
    assert len({one["name"] for one in claims}) == len(claims) > 20


@pytest.mark.timeout(300)
def test_a_queue_is_played_whole_and_in_order():
    _, claims = soaked("queue")
    held = {one["name"].partition(": ")[2]: one["holds"] for one in claims}
    assert held["not ended with their answer"] is True
    assert held["farthest from the order asked for"] is True


def test_every_scale_has_every_size_and_grows():
    quick, small, full = (SCALES[name] for name in ("quick", "small", "full"))
    sizes = quick.__dataclass_fields__
    assert all(getattr(quick, size) <= getattr(small, size) <= getattr(full, size) for size in sizes)
    assert {"killed", "browsers", "long"} < set(SCENARIOS)
