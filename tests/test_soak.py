"""Load and faults at a miniature scale: all that is promised holds, and what was injected is told."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.soak import SCALES, SCENARIOS  # noqa: E402  # benchmarks are no installed package


@pytest.mark.timeout(300)
def test_what_breaks_loses_nothing_that_was_acknowledged_and_is_told():
    """Kill -9, a full disk, a clock that jumps, an endpoint that fails, long runs side by side."""
    names = ("spans", "killed", "disk", "clock", "endpoint")  # the others start the app, and browsers
    command = [sys.executable, "-m", "benchmarks.soak", "--quick", "--json", "--only", *names]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=280)
    claims = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr + done.stdout
    assert [one["name"] for one in claims if one["holds"] is False] == []
    assert len({one["name"] for one in claims}) == len(claims) > 20


def test_every_scale_has_every_size_and_grows():
    quick, small, full = (SCALES[name] for name in ("quick", "small", "full"))
    sizes = quick.__dataclass_fields__
    assert all(getattr(quick, size) <= getattr(small, size) <= getattr(full, size) for size in sizes)
    assert {"killed", "browsers", "long"} < set(SCENARIOS)
